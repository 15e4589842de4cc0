"""A trained engine on disk: its files, their check, the self-test and the model card."""
