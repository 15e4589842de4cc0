"""Invented hospital notes to measure engines on; nothing is ever trained on them.

    python -m benchmarks.hospital_notes english                    what the policy safe-harbor does with 400 notes
    invented("en", 400, seed=0)                                    the notes, with the places of all identifiers

`LANGUAGE.txt` has the templates, `LANGUAGE.toml` the values for them, `names.toml` names of many origins.
"""
