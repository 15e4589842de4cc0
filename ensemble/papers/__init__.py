"""The systems, tables and tests of five papers, registered as another package would register them.

presets, policies       how they are set up and how they treat PHI, with crosses, templates, token_patterns and spaces
deduce, entities        submodels that only they use
published               their figures and tables, which `commands` fills: see `reproduction`
note_commands           causes of errors, the reader test, and texts in the first person

No other room imports this one; `setup.cfg` lists what it adds, under `phistack.*`.
"""
