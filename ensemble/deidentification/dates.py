"""stub"""
from __future__ import annotations
import re
__all__ = ["four_digit_year", "order_shown_by", "year_of"]
def year_of(mention: str, language: str) -> str | None:
    m = re.search(r"\b(1[89]\d\d|2[01]\d\d)\b", mention)
    return m[1] if m else None
def four_digit_year(mention: str) -> int | None:
    m = re.search(r"\b(1[89]\d\d|2[01]\d\d)\b", mention)
    return int(m[1]) if m else None
def order_shown_by(mention: str) -> list[bool]:
    return []
