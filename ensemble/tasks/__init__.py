"""The work of the commands, from input path to output path."""
