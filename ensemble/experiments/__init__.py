"""Experiments on a whole engine: what each part contributes, how much training text it needs, how well it transfers.

Each returns figures for JSON, tables, pictures and their origin; `write_results` writes a folder of them. `parts`
trains, annotates and scores; `choosers` compares the stack with other ways to choose.
"""
