"""What shows that somebody is over 89: ages in words and shorthand, and years of birth.

    [text[a:b] for a, b in old_ages("97f, her mother is ninety-five years old")]    ["97", "ninety-five"]
    kept_year("5/12/1925", "en", {2026})                                            None: 101 years ago

45 CFR 164.514(b)(2)(i)(C) removes "all ages over 89 and all elements of dates (including year) indicative of such age";
both may become "a single category of age 90 or older". That holds whatever a detector finds, so the text itself is
searched, for the words of all languages (`over_89.toml`), since a note may hold a passage in another. A figure alone is
no age. Beside a letter for the sex (`97f`) it is one, unless what stands before it is a temperature (`T 98 F`), a
distance (`walked 100 m`) or the like.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from phistack.ensemble.deidentification.dates.parsing import year_of
from phistack.ensemble.deidentification.word_lists import shipped

OLDEST_AGE = 89
"""The greatest age in years that Safe Harbor lets stand."""

GREATEST_AGE = 125


def _any(name: str) -> str:
    """The expressions of all languages under a name, as one."""
    tables = shipped("over_89").values()
    return "|".join(one.replace("{ones}", table["ones"]) for table in tables for one in table[name])


_WORDS = rf"(?<!\w)(?:{_any('numbers')})"
_AFTER = r"(?![\d%+]|[.,:/]\d)"
_FIGURES = rf"(?<![\w+'’])(?<!\d[.,/])(?:9\d|1[01]\d|12[0-5]){_AFTER}"
_APART = rf"(?<![\w+'’])(?<!\d[\s.,/])9 \d{_AFTER}"
_CLAUSE_END = r"(?=\s*(?:[,;)!]|\.(?!\d)|$|(?:and|but|who|with)(?!\w)))"

_STATED = re.compile(
    rf"(?:{_FIGURES}|{_APART}|{_WORDS})(?=[\s-]{{0,3}}(?:{_any('units')}))"
    rf"|(?<!\w)(?:{_any('labels')})[\s:=.,(-]{{1,4}}(?:(?:is|was|de|at|now)\s+)?(?P<labelled>{_FIGURES}|{_WORDS}(?!\w))"
    r"(?!\s*(?:k|kg|lbs?|cm|mg|percent|days?|months?|weeks?|minutes?|degrees?)(?!\w))"
    rf"|(?<!\w)(?:{_any('states')})\s+(?P<said>{_FIGURES}|{_WORDS}(?!\w)){_CLAUSE_END}"
    rf"|{_FIGURES}(?=[\s-](?:{_any('people')})(?!\w))"
    rf"|(?<!\w)(?:{_any('people')})[\s,/]{{1,2}}(?:de\s)?(?P<of>{_FIGURES})(?!\s*(?:k|kg|lbs?|cm)(?!\w))"
    rf"|(?<!\w)[mf]/(?P<sex>{_FIGURES})"
    rf"|(?<!\w)(?:{_any('nouns')})(?!\w)"
    r"|(?<!\w)(?:his|her|their)\s+(?:(?:early|mid|late)[\s-]*)?(?P<decade>nineties|90['’]?s)(?!\w)",
    re.IGNORECASE,
)
_SHORTHAND = re.compile(rf"(?<!-){_FIGURES}(?=\s?/?[mfw](?![\w/%²°'’]|\s?[-+=]))", re.IGNORECASE)
_MEASURED_BEFORE = re.compile(
    r"(?<!\w)(?:t|temp\w*|tmax|tm|tc|vitals?|vs|a?febrile|fever\w*|deg\w*|walk\w*|ambulat\w*|r[au]n\w*|sw[ai]m\w*|jog\w*|"
    r"distance|6mwt?|within|over|for|every|last\w*|about|approx\w*|x|q|wbc|plt|hr|bp|rr|o2|spo2|sats?)(?!\w)[^\n]{0,20}$",
    re.IGNORECASE,
)
_MEASURED_AFTER = re.compile(
    r"\s?[mfw]\s*(?:,?\s*\d|(?:walk|run|dash|race|sprint|swim|freestyle|away|apart|high|long|deep|distance|oral|rectal|"
    r"tympanic|axillary|per)(?!\w))",
    re.IGNORECASE,
)
_SPELT = re.compile(rf"(?<!\w)(?:{_any('numbers')}|{_any('nouns')}|nineties|90['’]?s|9 \d)(?![\d/])", re.IGNORECASE)

_BORN = rf"(?<!\w)(?:{_any('birth')})(?!\w)"
_BORN_BEFORE = re.compile(rf"(?:{_BORN}|(?<!\w)(?:b\.|\*)(?=\s*\d))[^\d;]{{0,24}}$", re.IGNORECASE)
_BORN_AFTER = re.compile(rf"[^\w\n.;]{{0,3}}{_BORN}", re.IGNORECASE)
_BORN_ON = re.compile(
    rf"{_BORN}[^\d\n;]{{0,24}}(?P<date>(?:\d{{1,2}}(?:[\s./-]{{1,2}}|\.?\s(?:de\s|of\s)?[^\W\d]{{3,10}}[\s.,]{{1,2}}(?:de\s)?|"
    r",\s)){0,2}(?:\d{4}|['’]?\d{2})(?:-\d{1,2}){0,2})(?![\w/-])",
    re.IGNORECASE,
)


def old_ages(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every number, in words or figures, that is an age over 89 by what stands beside it."""
    for match in _STATED.finditer(text):
        yield match.span(match.lastgroup or 0)
    for match in _SHORTHAND.finditer(text):
        start, end = match.span()
        if not (_MEASURED_BEFORE.search(text, max(0, start - 40), start) or _MEASURED_AFTER.match(text, end)):
            yield start, end


def without_spelt_ages(mention: str, oldest: str) -> str:
    """The mention of an age with every number over 89 in words as `oldest`, which may be a figure."""
    return _SPELT.sub(oldest, mention)


def births(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every date that the text calls one of birth, as far as it ends with a year."""
    return (match.span("date") for match in _BORN_ON.finditer(text))


def is_birth(text: str, start: int, end: int) -> bool:
    """Whether the words before or after a date say that it is one of birth."""
    return bool(_BORN_BEFORE.search(text, max(0, start - 50), start) or _BORN_AFTER.match(text, end))


def kept_year(
    mention: str, language: str, present: Collection[int], *, is_birth: bool = False, is_old: bool = False
) -> str | None:
    """The year of a date, if it shows no age over 89.

    :param present: the years in which somebody's age may count: that of the run, and the latest of the patient.
    :param is_birth: whether the date is one of birth; then two digits that may be of the last century count as such.
    :param is_old: whether an age over 89 is stated in the patient's notes; then no year of birth is kept.
    :returns: nothing if there is no year, or more than one, or it shows such an age.
    """
    year = year_of(mention, language)
    if year is None or (is_birth and is_old):
        return None
    if len(year) == 4:
        return year if max(present) - int(year) <= OLDEST_AGE else None
    # Two digits are of the latest year that they can mean: '25 in a note of 2019 is 1925.
    ago = [(now - int(year.strip("'"))) % 100 for now in present]
    hidden = max(ago) > OLDEST_AGE or (is_birth and min(ago) <= GREATEST_AGE - 100)
    return None if hidden else year
