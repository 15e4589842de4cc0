"""The BLSTM-CNN-CRF submodel: trained by TensorFlow, applied by NumPy."""
