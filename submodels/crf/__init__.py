"""The CRF submodel: feature templates over columns, trained by CRFsuite, emissions computed as arrays."""
