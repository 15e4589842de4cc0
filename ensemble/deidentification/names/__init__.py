"""Surrogates of names: forms, tables by language, the index of a patient's names."""
