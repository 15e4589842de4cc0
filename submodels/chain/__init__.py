"""The linear-chain CRF that the CRF and the BLSTM-CNN-CRF share: scores, lattice, spans, candidates."""
