"""The BLSTM-CNN-CRF submodel: trained and applied by NumPy; Keras on TensorFlow can train the same network."""
