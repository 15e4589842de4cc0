"""Dates and ages: parsing, patterns, shifting, generalising."""
