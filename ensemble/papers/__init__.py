"""The systems, tables and tests of five papers, registered as another package would register them.

presets, policies       their settings and their treatment of PHI, with crosses, templates, token_patterns and spaces
deduce, entities        kinds of submodels that only they have
published               their figures and tables, which `commands` fills: see `reproduction`
note_commands           causes of errors, the reader test, and texts in the first person

Nothing outside of this room imports it; `setup.cfg` names what it adds, under `phistack.*`.
"""
