"""Rules for names: titles, initials, given names, interfixes, family names.

    rules = NameRules(DutchLists.shipped())
    list(rules.find(Reading("Mw. J.P. van der Berg-Smit")))       [Found(12, 26, "Name", "title")]

What says that a word with a capital is a family name: a title, initials or a given name before it, an interfix that
precedes hardly anything else (`van der`), or a list. Titles are cut from what is found, as the names of NUT have none.
Where the head of a note says who the patient is (`Naam: ...`), the parts of that name are found in any case, and one
edit away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from phistack.ensemble.papers.deduce.lists import DutchLists, Reading
from phistack.features.letters import edits

NAME = "Name"
_HYPHENS = ("-", "–")
_SHORTEST_PART, _LONG_PART = 3, 5
_MOST_FAMILY_NAMES = 3


class Found(NamedTuple):
    """Tokens that a rule takes for PHI.

    :ivar first: token; `last` is the one after the last.
    :ivar type: of NUT.
    :ivar rule: its name.
    """

    first: int
    last: int
    type: str
    rule: str


@dataclass(frozen=True)
class NameRules:
    """The rules over some lists.

    :param fuzzy: whether a long word one edit from a name of a list counts as that.
    """

    lists: DutchLists
    fuzzy: bool = True

    def find(self, reading: Reading) -> Iterator[Found]:
        """All names, from left to right."""
        patient = self._patient(reading)
        i = 0
        while i < len(reading):
            key = self._after_key(reading, i)
            first = self.after_titles(reading, key)
            last, rule = self._name(reading, first, patient, titled=first > i, of_patient=key > i)
            if last > first:
                yield Found(first, last, NAME, rule)
            i = max(last, i + 1)

    def _patient(self, reading: Reading) -> frozenset[str]:
        """The folded parts of the patient's name, where a key names it."""
        for i in range(len(reading)):
            if (key := self._after_key(reading, i)) > i:
                first = self.after_titles(reading, key)
                last, _ = self._name(reading, first, frozenset(), titled=True, of_patient=True)
                if last > first:
                    return frozenset(filter(self._is_part, reading.folded[first:last]))
        return frozenset()

    def _after_key(self, reading: Reading, i: int) -> int:
        """The token after a key at the head of a line that names the patient; the token itself if there is none."""
        colon = i if reading.joins(i) else self.lists.end("patient_keys", reading, i)
        return colon + 1 if colon > i and reading.joins(colon + 1) and reading.words[colon] == ":" else i

    def _is_part(self, folded: str) -> bool:
        """Whether a word of the patient's name tells it from others."""
        long = len(folded) >= _SHORTEST_PART and folded.isalpha()
        return long and not self.lists.has("interfixes", folded) and not self.lists.has("ambiguous", folded)

    def after_titles(self, reading: Reading, i: int) -> int:
        """The token after the titles that begin at a token."""
        while i < len(reading) and (end := self.lists.end("titles", reading, i)) > i:
            end += reading.glued(end) and reading.words[end] in ".:"
            if not reading.joins(end):
                break
            i = end
        return i

    def _name(
        self, reading: Reading, i: int, patient: frozenset[str], *, titled: bool, of_patient: bool
    ) -> tuple[int, str]:
        """The token after the name that begins at a token, and the rule; the token itself if there is none."""
        after_initials = self._initials(reading, i)
        given = self._given(reading, after_initials, patient)
        has_given = given > after_initials
        begun = titled or given > i
        interfix = self._interfix(reading, given, begun=begun)
        strong = self.lists.end("strong_interfixes", reading, given) == interfix > given
        family = self._family(reading, interfix, supported=begun or strong, joined=interfix > i)
        if titled and interfix == i < family:
            family = self._further(reading, family)
        if family > interfix:
            rule = "title" if titled else "initials" if after_initials > i else "given" if has_given else "family"
            whole = family if has_given and not of_patient else self._inverted(reading, family, patient, of_patient)
            return whole, rule
        if of_patient and has_given:
            return self._inverted(reading, given, patient, of_patient), "title"
        alone = has_given and (titled or given - after_initials > 1 or self._stands_alone(reading, given - 1, patient))
        return (given, "title" if titled else "given") if alone else (i, "")

    def _further(self, reading: Reading, i: int) -> int:
        """The token after a family name, where the word before it is a given name that no list has."""
        interfix = self._interfix(reading, i, begun=True)
        end = self._family(reading, interfix, supported=True, joined=True)
        return end if end > interfix else i

    def _initials(self, reading: Reading, i: int) -> int:
        """The token after initials, single capitals with full stops."""
        while (
            i + 1 < len(reading) and len(reading.words[i]) == 1 and reading.is_capital(i)
            and reading.words[i + 1] == "." and reading.glued(i + 1) and reading.joins(i + 2)
        ):  # fmt: skip
            i += 2
        return i

    def _given(self, reading: Reading, i: int, patient: frozenset[str]) -> int:
        """The token after given names, or parts of the patient's name."""
        first = i
        while i < len(reading) and (i == first or reading.joins(i)) and self._is_given(reading, i, patient):
            i = _after_hyphenated(reading, i + 1)
        return i

    def _is_given(self, reading: Reading, i: int, patient: frozenset[str]) -> bool:
        if i < len(reading) and _is_like(reading.folded[i], patient):
            return True
        if not self._may_be_name(reading, i):
            return False
        return self._listed("given", reading, i) or (not reading.is_first(i) and self._before_family(reading, i))

    def _before_family(self, reading: Reading, i: int) -> bool:
        """Whether a token that is no family name is followed by one."""
        family = self._interfix(reading, i + 1, begun=True)
        strong = self.lists.end("strong_interfixes", reading, i + 1) == family > i + 1
        after = self._family(reading, family, supported=strong, joined=True)
        return after > family and not self._listed("family", reading, i)

    def _listed(self, name: str, reading: Reading, i: int) -> bool:
        """Whether a list has a word, or one near it where no list has it."""
        word = reading.words[i]
        exact = any(self.lists.has(one, word) for one in ("given", "family", "towns"))
        return self.lists.has(name, word, fuzzy=self.fuzzy and not exact and not reading.is_first(i))

    def _may_be_name(self, reading: Reading, i: int) -> bool:
        return (
            reading.is_capital(i)
            and len(reading.words[i]) > 1
            and not self.lists.has("words", reading.words[i])
            and not any(self.lists.has(name, reading.words[i]) for name in self.lists.labels("institutions"))
        )

    def _stands_alone(self, reading: Reading, i: int, patient: frozenset[str]) -> bool:
        return reading.folded[i] in patient or not self.lists.has("ambiguous", reading.words[i])

    def _interfix(self, reading: Reading, i: int, *, begun: bool) -> int:
        """The token after an interfix before a word with a capital; the token itself if there is none.

        :param begun: whether a title or another part of a name precedes it.
        """
        if i >= len(reading) or (begun and not reading.joins(i)):
            return i
        end = self.lists.end("interfixes" if begun else "leading_interfixes", reading, i)
        return end if reading.joins(end) and reading.is_capital(end) else i

    def _family(self, reading: Reading, i: int, *, supported: bool, joined: bool) -> int:
        """The token after family names; the token itself if there is none."""
        first = i
        while i < len(reading) and i - first < _MOST_FAMILY_NAMES and (reading.joins(i) or not (joined or i > first)):
            listed = self._may_be_name(reading, i) and self._listed("family", reading, i)
            sure = listed and not self.lists.has("ambiguous", reading.words[i])
            if not (sure or (self._may_be_name(reading, i) and supported and (i == first or listed))):
                break
            i = _after_hyphenated(reading, i + 1)
        return i

    def _inverted(self, reading: Reading, i: int, patient: frozenset[str], any_word: bool) -> int:
        """The token after family names, or after the given name or initials that follow a comma."""
        if i >= len(reading) or reading.words[i] != "," or not reading.joins(i + 1):
            return i
        end = self._given(reading, self._initials(reading, i + 1), patient)
        end += any_word and end == i + 1 and self._may_be_name(reading, end)
        return end if end > i + 1 else i


def _after_hyphenated(reading: Reading, i: int) -> int:
    """The token after the names that are joined by hyphens to the token before."""
    while all(map(reading.glued, (i, i + 1))) and reading.words[i] in _HYPHENS and reading.is_capital(i + 1):
        i += 2
    return i


def _is_like(folded: str, patient: frozenset[str]) -> bool:
    """Whether a word is a part of the patient's name, or of a long part one edit away."""
    return folded in patient or any(
        len(part) >= _LONG_PART and part[0] == folded[:1] and edits(folded, part, 1) <= 1 for part in patient
    )
