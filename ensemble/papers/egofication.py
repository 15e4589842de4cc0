"""Egofication: a biography in the third person becomes a text that its subject might have written.

    biography = Document("1", "Mata Hari danste. Haar vader kende haar niet.", (Span(0, 9, "PER"),))
    egofied(biography, Subject("Mata Hari", "female"), "nl").text     "Ik danste. Mijn vader kende mij niet."

Notes of patients cannot be shared, and biographies of the famous can; told in the first person they are like what
people write of themselves, and a de-identification system can be tried on them (Tjong Kim Sang et al. 2019). The
subject's name and pronouns become those of the first person, in Dutch and English; verbs stay, as biographies are in
the past tense, in which both persons have the same forms. Spans move along; those of the subject's name are gone.

There is no parser behind it. A name after a preposition is an object, any other a subject; `zijn` and `haar`, `his`
and `her` are told apart by their neighbours; pronouns of others of the same gender change too. So a person reads the
result, as in the paper.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError

GENDERS = ("male", "female")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:]['\"”’)]*\s+|\n\s*)['\"“‘(]*$")
_CAPITAL_BEFORE = re.compile(r"([^\W\d_][\w-]*) +$")
_CAPITAL_AFTER = re.compile(r" +([^\W\d_][\w-]*)")
_SOME = 60
"""Characters before a word that are looked at."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose biography it is.

    :param name: in full, for example `Rembrandt van Rijn`; parts of it that stand alone are found too.
    :param gender: one of `GENDERS`, which decides on the pronouns.
    :raises SettingsError: for an empty name, or another gender.
    """

    name: str
    gender: str

    def __post_init__(self) -> None:
        if not _WORD.search(self.name):
            raise SettingsError("the name of the subject has no letter; give it in full, as in --subject 'Mata Hari'")
        if self.gender not in GENDERS:
            raise SettingsError(f"the gender of the subject must be {' or '.join(GENDERS)}, not {self.gender[:20]!a}")

    @property
    def forms(self) -> list[str]:
        """The name and its parts, the longest first: given names, and the surname with and without particles."""
        words = self.name.split()
        first = next((i for i, word in enumerate(words) if word[0].islower()), len(words) - 1)
        surname = " ".join(words[first:])
        parts = {" ".join(words), " ".join(words[:first]), surname, surname[:1].upper() + surname[1:], words[-1]}
        return sorted((part for part in parts if part), key=lambda part: (-len(part), part))


class _Edit(NamedTuple):
    """A word or name, and what comes in its place."""

    start: int
    end: int
    new: str


def egofication_languages() -> tuple[str, ...]:
    """The languages that there are words for, as ISO 639-1 codes."""
    return tuple(_tables())


def egofied(document: Document, subject: Subject, language: str) -> Document:
    """A biography in the first person.

    :param document: with or without spans; what would change a part of a span only stays as it is.
    :param language: one of `egofication_languages`.
    :raises SettingsError: for another language.
    """
    if language not in _tables():
        raise SettingsError(f"there are no words to egofy {language}; the languages are {', '.join(_tables())}")
    table, text = _tables()[language], document.text
    names = list(_names(text, subject, table))
    taken = {i for edit in names for i in range(edit.start, edit.end)}
    pronouns = (edit for edit in _pronouns(text, subject.gender, table) if edit.start not in taken)
    edits = [edit for edit in sorted([*names, *pronouns]) if _whole(edit, document)]
    return replace(document, text=_applied(text, edits), spans=tuple(_moved(document, edits)))


def _names(text: str, subject: Subject, table: Mapping[str, Any]) -> Iterator[_Edit]:
    genitive = "|".join(map(re.escape, sorted(table["genitive"], key=len, reverse=True)))
    forms = "|".join(re.escape(form).replace("\\ ", "\\s+") for form in subject.forms)
    for match in re.finditer(rf"(?<!\w)(?:{forms})(?P<genitive>{genitive})?(?!\w)", text):
        if _of_somebody_else(text, match, subject, table):
            continue
        before = _word_before(text, match.start())
        role = "possessive" if match["genitive"] else "object" if before in _words(table, "prepositions") else "subject"
        yield _Edit(*match.span(), _in_case(table[role], text, match.start()))


def _of_somebody_else(text: str, match: re.Match[str], subject: Subject, table: Mapping[str, Any]) -> bool:
    """Whether the name is a part of a longer one, such as that of a son or a street.

    A capital at the beginning of a sentence may be any word's; before a surname it is a name's, if not of a small word.
    """
    before = _CAPITAL_BEFORE.search(text[max(0, match.start() - _SOME) : match.start()])
    after = _CAPITAL_AFTER.match(text, match.end()) if not match["genitive"] else None
    own, small = set(subject.name.split()), _words(table, "function_words") | _words(table, "prepositions")
    joined = before is not None and before[1][0].isupper() and before[1] not in own
    if joined and before is not None and _starts_sentence(text, match.start() - len(before[0])):
        is_given = match[0].startswith(subject.name.split()[0])
        joined = not is_given and before[1].lower() not in small
    return joined or (after is not None and after[1][0].isupper() and after[1] not in own)


def _pronouns(text: str, gender: str, table: Mapping[str, Any]) -> Iterator[_Edit]:
    own = table["pronouns"][gender]
    roles = {word: role for role in own for word in own[role].split()}
    reflexive: Mapping[str, str] = table["pronouns"]["both"]["reflexive"]
    for match in _WORD.finditer(text):
        word = match[0].lower().replace("’", "'")
        if word in reflexive:
            yield _Edit(*match.span(), _in_case(reflexive[word], text, match.start()))
        elif word in roles and not _is_plural(text, match, roles[word], table):
            role = roles[word] if roles[word] != "ambiguous" else _role(text, match, word, table)
            if role:
                yield _Edit(*match.span(), _in_case(table[role], text, match.start()))


def _is_plural(text: str, match: re.Match[str], role: str, table: Mapping[str, Any]) -> bool:
    """Whether a Dutch `zij` or `ze` is they, by the verb that follows."""
    return role == "subject" and _word_after(text, match.end()) in _words(table["verbs"], "plural")


def _role(text: str, match: re.Match[str], word: str, table: Mapping[str, Any]) -> str:
    """What a word is that may be two things; empty for the Dutch verb `zijn`."""
    before, after = _word_before(text, match.start()), _word_after(text, match.end())
    if word == "zijn":
        verbs = table["verbs"]
        is_verb = not after or before in _words(verbs, "after") or after in _words(verbs, "before")
        return "" if is_verb else "possessive"
    if word == "his":
        return "possessive" if after and after not in _words(table, "function_words") else "alone"
    return "possessive" if after and after not in _words(table, "function_words") else "object"


def _word_before(text: str, place: int) -> str:
    """The word right before a place, in small letters; empty where a mark or the beginning is between."""
    found = re.search(r"([^\W\d_]+)\s+$", text[max(0, place - _SOME) : place])
    return found[1].lower() if found else ""


def _word_after(text: str, place: int) -> str:
    found = re.match(r"\s+([^\W\d_]+)", text[place : place + _SOME])
    return found[1].lower() if found else ""


def _starts_sentence(text: str, place: int) -> bool:
    return _SENTENCE_START.search(text[max(0, place - _SOME) : place]) is not None


def _in_case(word: str, text: str, place: int) -> str:
    """With a capital where a sentence begins."""
    return word[0].upper() + word[1:] if _starts_sentence(text, place) else word


def _whole(edit: _Edit, document: Document) -> bool:
    """Whether no span holds more than what changes, or is cut by it."""
    touched = (span for span in document.spans if span.start < edit.end and edit.start < span.end)
    return all(edit.start <= span.start and span.end <= edit.end for span in touched)


def _applied(text: str, edits: list[_Edit]) -> str:
    pieces, done = [], 0
    for edit in edits:
        pieces += [text[done : edit.start], edit.new]
        done = edit.end
    return "".join([*pieces, text[done:]])


def _moved(document: Document, edits: list[_Edit]) -> Iterator[Span]:
    """The spans where they are now, without those that are gone."""
    for span in document.spans:
        if not any(edit.start < span.end and span.start < edit.end for edit in edits):
            by = sum(len(edit.new) - (edit.end - edit.start) for edit in edits if edit.end <= span.start)
            yield Span(span.start + by, span.end + by, span.label)


def _words(table: Mapping[str, Any], name: str) -> frozenset[str]:
    return _split(table[name])


@cache
def _split(words: str) -> frozenset[str]:
    return frozenset(words.split())


@cache
def _tables() -> dict[str, dict[str, Any]]:
    return tomllib.loads((resources.files("phistack.ensemble.papers") / "egofication.toml").read_text(encoding="utf-8"))
