"""What a person looks at: the page of notes in colour, and why a span was decided as it was."""
