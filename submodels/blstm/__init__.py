"""The BLSTM-CNN-CRF submodel: trained and applied by NumPy; TensorFlow can train the same network."""
