"""Patterns with gates and validators, scanned in one pass: the regex submodel."""
