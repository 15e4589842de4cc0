"""Text, the PHI marked in it, and what can be read off it: documents, tokens, tags, columns, corpus formats."""
