"""Experiments on a whole engine: what each part brings, how much training text it needs, how far it travels.

Each gives results: figures for JSON, tables, pictures, and how they came about; `write_results` makes a folder of them.
`parts` trains, lets every system answer and scores it; `choosers` compares the stack with other ways to choose.
"""
