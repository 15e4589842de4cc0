"""A general tagger of named entities with rules for dates, mail and web addresses, and numbers, as a submodel."""
