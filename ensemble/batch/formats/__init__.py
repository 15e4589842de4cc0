"""The forms of an input and an output: rows, their columns, and who reads and writes them."""
