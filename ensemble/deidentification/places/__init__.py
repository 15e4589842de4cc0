"""Surrogates of places: cities, addresses, organisations."""
