"""Egofication: rewrites a biography in the third person as if its subject had written it.

    biography = Document("1", "Mata Hari danste. Haar vader kende haar niet.", (Span(0, 9, "PER"),))
    egofied(biography, Subject("Mata Hari", "female"), "nl").text     "Ik danste. Mijn vader kende mij niet."

Patient notes cannot be shared; biographies of famous people can. In the first person they resemble what patients write
about themselves, and a de-identification system can be tried on them (Tjong Kim Sang et al. 2019). The subject's name
and pronouns become first-person pronouns, in Dutch and English. Verbs stay: biographies are in the past tense, where
both persons have the same forms. Spans move along; those of the subject's name are dropped.

It uses no parser. A name after a preposition counts as an object, any other as a subject; neighbouring words decide
what `zijn`, `haar`, `his` and `her` are; pronouns of other people of the same gender change too. So a person checks the
result, as in the paper.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError
from phistack.features.registry import packaged_table

GENDERS = ("male", "female")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:]['\"”’)]*\s+|\n\s*)['\"“‘(]*$")
_CAPITAL_BEFORE = re.compile(r"([^\W\d_][\w-]*) +$")
_CAPITAL_AFTER = re.compile(r" +([^\W\d_][\w-]*)")
_SOME = 60
"""How many characters before a word are looked at."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The person whom a biography is about.

    :param name: the full name, for example `Rembrandt van Rijn`; parts of it are found too.
    :param gender: one of `GENDERS`, which decides the pronouns.
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
    """A word or name, and its replacement."""

    start: int
    end: int
    new: str

    def touches(self, span: Span) -> bool:
        """Whether a span shares characters with it."""
        return span.start < self.end and self.start < span.end


def egofied(document: Document, subject: Subject, language: str) -> Document:
    """A biography in the first person.

    :param document: with or without spans; an edit that would change only a part of a span is left out.
    :param language: `nl` or `en`.
    :raises SettingsError: for another language.
    """
    tables = packaged_table("phistack.ensemble.papers", "egofication.toml")
    if language not in tables:
        raise SettingsError(f"egofy has no words for {language}; the languages are {', '.join(tables)}")
    table = tables[language]
    words = {name: frozenset(listed.split()) for name, listed in table["words"].items()}
    edits = [
        edit
        for edit in _Biography(document.text, subject, table, words).edits()
        if all(edit.start <= s.start and s.end <= edit.end for s in document.spans if edit.touches(s))
    ]
    ends = [0, *(edit.end for edit in edits)]
    text = "".join(document.text[end : edit.start] + edit.new for end, edit in zip(ends, edits, strict=False))
    # How much longer the text is after each edit: spans move by this much.
    longer = [0, *accumulate(len(edit.new) - (edit.end - edit.start) for edit in edits)]
    spans = [
        span.moved(longer[bisect_right(ends, span.start, 1) - 1])
        for span in document.spans
        if not any(edit.touches(span) for edit in edits)
    ]
    return replace(document, text=text + document.text[ends[-1] :], spans=tuple(spans))


@dataclass(frozen=True, slots=True)
class _Biography:
    """A text about its subject; `table` has the words to put in, and `words` those that say what another word is."""

    text: str
    subject: Subject
    table: Mapping[str, Any]
    words: Mapping[str, frozenset[str]]

    def edits(self) -> list[_Edit]:
        """All words and names to replace, from left to right."""
        names = list(self._names())
        taken = {place for edit in names for place in range(edit.start, edit.end)}
        return sorted([*names, *(edit for edit in self._pronouns() if edit.start not in taken)])

    def _edit(self, match: re.Match[str], word: str) -> _Edit:
        """The word in place of a match, with a capital where a sentence begins."""
        return _Edit(*match.span(), word[0].upper() + word[1:] if self._starts_sentence(match.start()) else word)

    def _names(self) -> Iterator[_Edit]:
        genitive = "|".join(map(re.escape, sorted(self.table["genitive"], key=len, reverse=True)))
        forms = "|".join(re.escape(form).replace("\\ ", "\\s+") for form in self.subject.forms)
        for match in re.finditer(rf"(?<!\w)(?:{forms})(?P<genitive>{genitive})?(?!\w)", self.text):
            if not self._is_of_another(match):
                is_object = self._word_before(match) in self.words["prepositions"]
                role = "possessive" if match["genitive"] else "object" if is_object else "subject"
                yield self._edit(match, self.table[role])

    def _is_of_another(self, match: re.Match[str]) -> bool:
        """Whether the name is part of a longer one, such as that of a son or a street.

        Any word may have a capital at the beginning of a sentence; before a surname it marks a name, unless the word is
        a small one.
        """
        before = _CAPITAL_BEFORE.search(self.text[max(0, match.start() - _SOME) : match.start()])
        after = _CAPITAL_AFTER.match(self.text, match.end()) if not match["genitive"] else None
        own, small = self.subject.name.split(), self.words["function_words"] | self.words["prepositions"]
        joined = before is not None and before[1][0].isupper() and before[1] not in own
        if joined and before is not None and self._starts_sentence(match.start() - len(before[0])):
            joined = not match[0].startswith(own[0]) and before[1].lower() not in small
        return joined or (after is not None and after[1][0].isupper() and after[1] not in own)

    def _pronouns(self) -> Iterator[_Edit]:
        own = self.table["pronouns"][self.subject.gender]
        roles = {word: role for role, words in own.items() for word in words.split()}
        reflexive: Mapping[str, str] = self.table["reflexive"]
        for match in _WORD.finditer(self.text):
            word = match[0].lower().replace("’", "'")
            role = roles.get(word, "")
            if word in reflexive:
                yield self._edit(match, reflexive[word])
            elif role == "ambiguous":
                role = self._role(match, word)
            # A plural verb after Dutch `zij` or `ze` makes it "they"; after `hij`, `zijn` is "his".
            is_they = word in self.words["also_plural"] and self._word_after(match) in self.words["plural_verbs"]
            if role and not is_they:
                yield self._edit(match, self.table[role])

    def _role(self, match: re.Match[str], word: str) -> str:
        """Which role an ambiguous word has; empty for the Dutch verb `zijn`."""
        before, after = self._word_before(match), self._word_after(match)
        if word == "zijn":
            is_verb = not after or before in self.words["before_verb"] or after in self.words["after_verb"]
            return "" if is_verb else "possessive"
        if after and after not in self.words["function_words"]:
            return "possessive"
        return "alone" if word == "his" else "object"

    def _word_before(self, match: re.Match[str]) -> str:
        """The word right before, in lower case; empty after a punctuation mark or at the beginning."""
        found = re.search(r"([^\W\d_]+)\s+$", self.text[max(0, match.start() - _SOME) : match.start()])
        return found[1].lower() if found else ""

    def _word_after(self, match: re.Match[str]) -> str:
        found = re.match(r"\s+([^\W\d_]+)", self.text[match.end() : match.end() + _SOME])
        return found[1].lower() if found else ""

    def _starts_sentence(self, place: int) -> bool:
        return _SENTENCE_START.search(self.text[max(0, place - _SOME) : place]) is not None
