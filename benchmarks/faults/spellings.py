"""Identifiers with signs and markup between or inside them, in other spellings, and a roster or list that knows them.

    in_clear(cases_of(SIGNS))                what the roster leaves of the identifiers in `RECORD`: role, sign and place
    in_clear(spelt_cases())                  the same of user names, short forms, other letters and scripts
    unlisted()                               phrases of a list of what is always PHI that are not found

A sign is between the words of an identifier, in the middle of each word, or between all of its letters and digits.
Markup is recognised whether the engine reads HTML or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from phistack.ensemble.stacking.known.identifiers import RecordSearch
from phistack.ensemble.stacking.known.roster import Record
from phistack.ensemble.stacking.phrase_lists import ALWAYS, parse_list
from phistack.features.documents import Document
from phistack.features.labels import LabelSet
from phistack.features.plain_view import plain_text
from phistack.features.text_words import words_of

RECORD: Record = {
    "name": ("Anselm Birchwood", "Hilda Quackenbush"),
    "staff": ("Trevor van der Berg",),
    "record_number": ("7284519", "MX-40-22871"),
    "telephone": ("617-555-0123",),
    "email": ("anselm.birchwood@example.org",),
    "address": ("12 Larkspur Street, Springfield",),
    "birth_date": ("1950-04-03",),
}
SIGNS = (
    " ", "\u00a0", "\u2009", "\t", "\v", "-", "\u2010", "\u2013", "\u2014", "\u00ad", "_", ".", "\u00b7", ",", "/",
    "\\", "|", "^", "~", "'", "\u2019", "\u200b", "\u2060", "\u2800", "\u20dd", "\u0336", "\u0085", "\u0007",
)  # fmt: skip
"""Blanks, dashes, invisible characters, marks over letters, control characters, what programs put between fields."""

MARKUPS = ("<b></b>", '<span class="x"></span>', "<br>", "&ndash;", "&shy;", "%20", "=20", "-\n")
"""HTML, characters written as their bytes, and a word that is hyphenated at a line end."""

SPELLINGS = {
    "Anselm Birchwood": (
        "#AnselmBirchwood", "AnselmBirchwood@", "Anselm%20Birchwood", "&#65;nselm", "BirchwoodAnselm",
        "anselmbirchwood", "anselm.birchwood", "BIRCHWOOD^ANSELM", "Birch-\nwood", "An=\nselm", "abirchwood7",
        "Mr.Birchwood",
    ),
    "Hilda Quackenbush": ("quackenbush123", "hquackenbush2", "hilda_quackenbush", "HQuackenbush", "quackenbushh99"),
    "Guadalupe Soto": ("Lupe", "Lupita", "lupe soto"),
    "William Oakes": ("Bill Oakes", "Liam Oakes"),
    "Åse Østergård": ("aase", "oestergaard", "Ase Ostergard", "AASE OESTERGAARD"),
    "Aase Oestergaard": ("Åse Østergaard",),
    "Karl Müller-Lüdenscheid": ("muellerluedenscheid", "Mueller", "Luedenscheid", "MullerLudenscheid"),
    "Ian MacDonald": ("mac donald", "Macdonald", "MAC DONALD"),
    "王伟": ("患者王伟今天",),
    "田中 太郎": ("田中さん", "田中太郎"),
    "김민수": ("김민수는",),
    "สมชาย ใจดี": ("คุณสมชาย",),
}  # fmt: skip
"""Name -> how notes write it; in a script without blanks, with other words around it."""

LISTED = {
    "crow's nest": "crow’s nest", "back-room": "back–room", "crème fraîche": "creme fraiche",
    "creme brulee": "Crème Brûlée", "Straße 7": "STRASSE 7", "St. Anselm's": "St. Anselm`s",
}  # fmt: skip
"""Phrase of a list -> as a note writes it."""

_BEFORE, _AFTER = "They wrote ", " (see above)"
_LABEL_SET = LabelSet.named("i2b2-2014")


@dataclass(frozen=True, slots=True)
class Case:
    """A note with one identifier.

    :param what: the role of the identifier, the sign, and where that is; no text of it.
    :param text: of the note.
    :param letters: offsets of the letters and digits of the identifier.
    :param record: that the roster has.
    """

    what: str
    text: str
    letters: frozenset[int]
    record: Record = field(default_factory=lambda: RECORD)


def cases_of(signs: Iterable[str]) -> Iterator[Case]:
    """Each identifier with each sign in each kind of place."""
    for role, values in RECORD.items():
        for value in values:
            for sign in signs:
                for place in ("between", "inside", "everywhere"):
                    yield _case(role, value, sign, place)


def _case(role: str, value: str, sign: str, place: str) -> Case:
    words = [value[start:end] for start, end in words_of(value)]
    if place == "inside":
        words = [part for word in words for part in (word[: len(word) // 2], word[len(word) // 2 :]) if part]
    elif place == "everywhere":
        words = list("".join(words))
    text, letters = _BEFORE, set()
    for number, word in enumerate(words):
        text += sign if number else ""
        letters |= {*range(len(text), len(text) + len(word))}
        text += word
    return Case(f"{role} with {sign.encode('unicode_escape').decode()} {place}", text + _AFTER, frozenset(letters))


def spelt_cases() -> Iterator[Case]:
    """Each name in each of its spellings; the digits of a user name are no part of it."""
    for number, (name, spellings) in enumerate(SPELLINGS.items()):
        for spelling in spellings:
            part = next((word for word in (name.replace(" ", ""), *name.split()) if word in spelling), spelling)
            start = len(_BEFORE) + spelling.index(part)
            text = _BEFORE + spelling + _AFTER
            letters = frozenset(at for at in range(start, start + len(part)) if text[at].isalpha())
            yield Case(f"spelling {spellings.index(spelling)} of name {number}", text, letters, {"name": (name,)})


def in_clear(cases: Iterable[Case]) -> list[str]:
    """The cases with a letter or digit that is not covered."""
    search = RecordSearch(_LABEL_SET, "en")
    left = []
    for case in cases:
        decisions = search.added(Document("1", case.text), [], search.index(case.record))
        covered = {at for d in decisions if d.accepted for at in range(d.span.start, d.span.end)}
        left += [] if case.letters <= covered else [case.what]
    return left


def unlisted() -> list[str]:
    """The phrases of `LISTED` that a list of what is always PHI does not find."""
    return [
        phrase
        for phrase, written in LISTED.items()
        if not list(parse_list(f"[HOSPITAL]\n{phrase}\n", ALWAYS).find(plain_text(f"at {written}, then"), "en"))
    ]
