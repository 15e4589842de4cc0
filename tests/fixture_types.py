"""The types of what the fixtures of `conftest` give."""

from collections.abc import Callable

Phistack = Callable[..., tuple[int, str, str]]
"""Runs the command with such arguments; gives its status, standard output and standard error."""
