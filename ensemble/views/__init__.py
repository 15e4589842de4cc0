"""What a person looks at: notes in colour, why a span was decided as it was, what was decided wrongly."""
