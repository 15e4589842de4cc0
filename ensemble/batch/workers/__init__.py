"""Who handles the notes: the work on a chunk, the processes that do it, and a note alone under suspicion."""
