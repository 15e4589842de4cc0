"""`--recall everything`: what is not known to be safe is replaced.

    safe = SafeText.of(("en",))
    safe.doubtful("Seen by Hunt at 9 Elm. BP 120/80, denies pain.")    [(8, 12), (16, 21)]: `Hunt` and `9 Elm`

A note is read in stretches without white space. A stretch is safe if each of its parts is: a word of the language that
is not a name in its place, a number with a unit or after what it measures, or what `safe.toml` has. A word with a
capital is safe at the start of a sentence or in a heading, or anywhere if it is clinical. Everything else is in doubt.

The words are in `safe/LANGUAGE.txt`, without those that are also names. Drugs, terms and longer abbreviations are those
of the column `clinical`, except for `safe/clinical_names.txt`, which are also names. `benchmarks/safe_words.py` makes
these files.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources

from phistack.ensemble.engine.reading import Batch, Reading
from phistack.ensemble.stacking.overruling import Overruling
from phistack.features.columns.installed import clinical_words
from phistack.features.documents import Span
from phistack.features.passages import IN_DOUBT
from phistack.features.ranges import Range, overlapping_each, ranges_of, remainders
from phistack.features.registry import packaged_table

_PACKAGE = "phistack.ensemble.engine"
_STRETCH = re.compile(r"\S+")
_PART = re.compile(r"[^\W_]+")
_LETTERS = re.compile(r"[^\W\d_]+")
_OPENS = re.compile(r"(?:^|[.!?:;]|\n)[\s\"'(\[*•#>-]*$")
"""What comes before the first word of a sentence, a line or a field."""

_MARKS = ".,;:!?()[]{}<>\"'“”‘’«»*-–—/#=+~|_•"
_MOST_INITIALS = 3
_NAMING_NOBODY = ("abbreviations", "drugs", "terms")
"""Categories of the clinical lexicon; eponyms, devices and scores are named after people."""
_SIGNS = re.compile(r"[.\])]*(?:[ \t]*(?:\n|$)|[ \t]{2})")
_AFTER_NUMBER = re.compile(r"\d[ \t]$")
_NUMBERING = re.compile(r"\(?\d{1,2}[.)]")
_LONGEST_NUMBER = 4
_DAY_AND_MONTH = re.compile(r"(?!(?:\d|10)/10$)[0-3]?\d/[0-3]?\d")
"""In doubt even where a number is measured. Of ten may be a score: it is safe after what it scores."""
_HEADING = re.compile(r"[^\W\d]+(?:[ /&-]+[^\W\d]+){0,4} ?:")
_LONGEST_HEADING = 40


@dataclass(frozen=True)
class SafeText:
    """Text that identifies no one, in some languages.

    :param words: in small letters, that are not names.
    :param clinical: words and abbreviations, in small letters, that are safe with a capital anywhere.
    :param forms: matches a whole stretch that is safe, such as `120/80mmHg` or `pT2N0`.
    :param units: what makes the number before it safe.
    :param measures: what makes the number after it safe.
    """

    languages: tuple[str, ...]
    words: frozenset[str] = field(repr=False)
    clinical: frozenset[str]
    forms: re.Pattern[str]
    units: frozenset[str]
    measures: frozenset[str]

    @classmethod
    def of(cls, languages: Sequence[str], own: Iterable[str] = ()) -> SafeText:
        """Text that is safe in any of these languages.

        :param own: further words, in small letters, that are not names.
        """
        known = tuple(language for language in languages if word_list(language))
        words = frozenset().union(own, *map(word_list, known))
        table = packaged_table(_PACKAGE, "safe.toml")
        clinical, units, measures = (
            frozenset(word for language in ("all", *known) for word in table[name].get(language, "").split())
            for name in ("clinical", "units", "measures")
        )
        clinical |= frozenset().union(*map(lexicon, known)) - word_list("clinical_names")
        forms = re.compile("|".join(f"(?:{form})" for form in table["forms"].values()))
        return cls(known, words, clinical, forms, units, measures)

    def doubtful(self, text: str) -> list[Range]:
        """Start and end of each stretch that is not known to be safe, without the marks around it."""
        place = _Place(text)
        stretches = [match.span() for match in _STRETCH.finditer(text)]
        near = ["", "", *(text[start:end].strip(_MARKS).lower() for start, end in stretches), ""]
        found = []
        for number, (start, end) in enumerate(stretches):
            is_measured = near[number + 3] in self.units or not self.measures.isdisjoint(near[number : number + 2])
            parts = [match.span() for match in _PART.finditer(text, start, end)]
            if parts and not self._is_safe(place, (start, end), parts, is_measured):
                found.append((parts[0][0], parts[-1][1]))
        return found

    def _is_safe(self, place: _Place, stretch: Range, parts: Sequence[Range], is_measured: bool) -> bool:
        written = place.text[slice(*stretch)]
        bare = written.strip(_MARKS)
        if self.forms.fullmatch(bare) or (_NUMBERING.fullmatch(written) and place.opens(*stretch)):
            return True
        if _DAY_AND_MONTH.fullmatch(bare):
            return False
        return all(self._is_safe_part(place, *part, is_measured) for part in parts)

    def _is_safe_part(self, place: _Place, start: int, end: int, is_measured: bool) -> bool:
        part = place.text[start:end]
        if part.isdecimal():
            return is_measured and len(part) <= _LONGEST_NUMBER
        if not part.isalpha():
            return bool(self.forms.fullmatch(part)) or part.lower() in self.clinical
        word = part.lower()
        if place.signs_entry(start, end):
            return word in self.units
        if not place.may_be_initials(start, end) and (word in self.clinical or word in self.units):
            return True
        if part.islower():
            return word in self.words
        return word in self.words and ("de" in self.languages or place.is_in_capitals or place.opens(start, end))


@dataclass(frozen=True)
class _Place:
    text: str = field(repr=False)

    @cached_property
    def is_in_capitals(self) -> bool:
        """Whether most letters of the text are capitals."""
        letters = "".join(_LETTERS.findall(self.text))
        return 2 * sum(map(str.isupper, letters)) > len(letters)

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    @cached_property
    def _are_capitals(self) -> list[bool]:
        """Whether each line has no small letter."""
        return [line.isupper() for line in self.text.split("\n")]

    def may_be_initials(self, start: int, end: int) -> bool:
        """Whether it is one capital, or two or three where staff sign: at the end of a line or before a gap."""
        part = self.text[start:end]
        is_short = part.isupper() and len(part) <= _MOST_INITIALS
        return is_short and (len(part) == 1 or bool(_SIGNS.match(self.text, end)))

    def signs_entry(self, start: int, end: int) -> bool:
        """Whether it is two or three letters, of any case, between a number and the end of a line, where staff sign."""
        is_short = 1 < end - start <= _MOST_INITIALS and _AFTER_NUMBER.search(self.text, max(0, start - 2), start)
        return bool(is_short and _SIGNS.match(self.text, end))

    def opens(self, start: int, end: int) -> bool:
        """Whether a word begins a sentence or a line, or is in a heading: a few words before a colon."""
        number = bisect_right(self._lines, start) - 1
        line = self._lines[number]
        if _OPENS.search(self.text, max(0, start - 12), start) or self._are_capitals[number]:
            return True
        return start - line < _LONGEST_HEADING and bool(
            _HEADING.match(self.text, line, end + _LONGEST_HEADING) and ":" not in self.text[line:start]
        )


@cache
def word_list(name: str) -> frozenset[str]:
    """The words of a list in `safe`, in small letters; those of a language are not names. Empty without a list."""
    file = resources.files(_PACKAGE) / "safe" / f"{name}.txt"
    return frozenset(file.read_text(encoding="utf-8").split() if file.is_file() else ())


@cache
def lexicon(language: str) -> frozenset[str]:
    """Clinical words of a language that name nobody, in small letters; words of up to three letters may be initials."""
    words = clinical_words(language)
    found = (word for category in _NAMING_NOBODY for word in words[category])
    return frozenset(word for word in found if len(word) > _MOST_INITIALS)


@dataclass(frozen=True)
class InDoubt:
    """Replaces all that is not known to be safe and all that a submodel proposed, except for the `never` list."""

    safe: SafeText
    overruling: Overruling

    def __call__(self, batch: Batch) -> None:
        for reading in batch.to_read:
            reading.unread = tuple(sorted((*reading.unread, *self._found(reading))))

    def _found(self, reading: Reading) -> Iterator[Span]:
        view, text = reading.view, reading.document.text
        doubtful = [view.place(start, end) for start, end in self.safe.doubtful(view.document.text)]
        rejected = (decision.span for decision in reading.decisions if not decision.accepted)
        proposed = ranges_of((*rejected, *reading.rejected_beside))
        spans = sorted({Span(start, end, IN_DOUBT) for start, end in (*doubtful, *proposed)})
        kept = self.overruling.without_never(view, text, spans) if self.overruling else spans
        taken = overlapping_each(kept, [*reading.accepted, *reading.unread])
        pairs = zip(kept, map(ranges_of, taken), strict=True)
        left = (rest for span, ranges in pairs for rest in remainders((span.start, span.end), ranges))
        yield from (Span(start, end, IN_DOUBT) for start, end in _joined(text, sorted(left)))


def _joined(text: str, ranges: Sequence[Range]) -> Iterator[Range]:
    """The ranges that have a letter or a digit, joined if only blanks and marks of one line are between them."""
    joined: list[Range] = []
    for start, end in ranges:
        if joined and (start <= joined[-1][1] or not re.search(r"[^\W_]|\n", text[joined[-1][1] : start])):
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif _PART.search(text, start, end):
            joined.append((start, end))
    yield from joined
