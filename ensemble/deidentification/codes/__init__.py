"""Surrogates of numbers: identifiers, phone numbers and e-mail addresses, with valid check digits."""
