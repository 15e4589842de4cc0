"""Plain clinical prose with invented identifiers put in.

    carry(notes, seed=7)        the same notes, annotated, about invented patients

Real prose shows an engine how much of a note is not PHI, which no template can. The notes must have no identifiers
except a few names. Persons after a title or with two known names are replaced by invented ones in the whole note;
dates, ages and weekdays are marked as they are; a sentence with another word that may be a name, a place or an employer
is left out. Then lines and sentences of the templates, with identifiers of all kinds, are inserted.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from phistack.ensemble.synthesis.grammar import Placeholder
from phistack.ensemble.synthesis.marked_text import Marked
from phistack.ensemble.synthesis.notes import NoteWriter, style, with_noise
from phistack.ensemble.synthesis.patients import Patient, invent_patient
from phistack.features.columns.gazetteers import Gazetteers
from phistack.features.documents import Corpus, Document
from phistack.features.labels import LabelSet

_NAME = r"[A-Z][a-z]+(?:['’-][A-Z][a-z]+)*"
_TITLED = re.compile(
    rf"\b(?P<title>Mr|Mrs|Ms|Miss|Dr|Doctor)(?P<dot>\.? +)(?P<first>{_NAME} +)?(?P<last>{_NAME})(?!\w)"
)
_PAIR = re.compile(rf"(?<!\w)(?P<first>{_NAME}) (?P<last>{_NAME})(?!\w)")
_NAMES = re.compile(rf"{_NAME}(?: {_NAME})?")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SENTENCE = re.compile(r"[^\n]*?(?:[.!?](?=\s|$)[ \t]*|(?=\n)|$)|\n", re.DOTALL)
_MARKED = {
    "AGE": re.compile(r"\b\d{1,3}(?=[ -](?:year|yr)s?[ -]old|[ -]?y[./]?o\b)|(?:(?<=[Aa]ge )|(?<=[Aa]ged ))\d{1,3}\b"),
    "DATE": re.compile(
        r"\b(?:\d{1,2}/\d{1,2}/(?:\d{4}|\d\d)|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day(?=s?\b)|(?:19|20)\d\d(?!\w))"
    ),
}
"""Label -> text that is marked and kept."""
_LEFT_OUT = re.compile(
    r"\b(?:works? (?:as|for|at|in)|job|employed|retired|occupation|profession"
    r"|January|February|March|April|June|July|August|September|October|November|December"
    r"|Thanksgiving|Christmas|Easter|Labor Day)\b"
    r"|\b[A-Z]\w+ (?:Hospital|Clinic|Center|Centre|University|School|Church|Club)\b"
    r"|\bMay\b(?! (?:be|have|need|use|take))"
)
_PLACE = re.compile(rf"\b(?:in|at|from|near|around|outside) (?P<word>{_NAME})")
_PRONOUNS = {"F": re.compile(r"\b(?:[Ss]he|[Hh]er|Ms|Mrs)\b"), "M": re.compile(r"\b(?:[Hh]e|[Hh]is|Mr)\b")}
_THE_PATIENT = re.compile(
    r"(?:^|(?<=[.\n] ))(?:The patient|Patient|Pt)(?= (?:is|has|was|denies|reports|presents|states))"
)

_COLUMNS = {"first": ("first_name",), "last": ("last_name",), "place": ("city", "region", "country")}
"""Kind of name -> the lists that hold them."""
_LINES = ("history", "findings", "plan")
_TYPE = "discharge"
"""The note type whose templates are inserted."""
_AFTER_LINE, _AFTER_SENTENCE, _NAMED = 0.10, 0.05, 0.15
"""How often a template follows a line or sentence of the note, and how often the patient is named."""
_WITHOUT_MORE = 0.3
"""The share of notes in which names are only replaced, and no identifiers inserted."""


@dataclass(frozen=True, slots=True)
class _Knowledge:
    """Names by kind (`first`, `last` or `place`), in lower case, and words that occur in small letters in the notes."""

    names: Mapping[str, frozenset[str]] = field(repr=False)
    words: frozenset[str] = field(repr=False)

    @classmethod
    def of(cls, texts: Sequence[str]) -> _Knowledge:
        lists = Gazetteers.of_language("en").to_dict()
        names = {
            kind: frozenset(name.casefold() for column in columns for name in lists[column])
            for kind, columns in _COLUMNS.items()
        }
        return cls(names, frozenset(w for text in texts for w in _WORD.findall(text) if w.islower()))

    def is_full_name(self, first: str, last: str, *, surely: bool) -> bool:
        """Whether two capitalised words are a given and a family name; :param surely: whether the second is one."""
        given, family = first.casefold(), last.casefold()
        known = given in self.names["first"] and family in self.names["last"] and family not in self.words
        return (surely or known) and given not in self.words

    def is_strange(self, word: str) -> bool:
        """Whether a word never occurs in small letters, and is no day of the week."""
        return word.casefold() not in self.words and not _MARKED["DATE"].fullmatch(word)

    def may_identify(self, word: str) -> bool:
        """Whether a capitalised word may be a name or a place."""
        known = word.casefold().removesuffix("'s").removesuffix("’s")
        return known not in self.words and any(known in names for names in self.names.values())


def carry(notes: Sequence[Document], *, seed: int = 0, copies: int = 1) -> Corpus:
    """Annotated notes in the label set of i2b2 2014, made from English ones without identifiers.

    :param notes: their spans are ignored.
    :param copies: how many of each note are made, about different patients.
    :returns: documents named `NOTE-COPY`, those of one note in one group.
    """
    knowledge = _Knowledge.of([note.text for note in notes])
    documents = [
        Document(f"{note.id}-{copy}", *_carried(note, copy, knowledge, seed), group=note.group)
        for note in notes
        for copy in range(1, copies + 1)
    ]
    return Corpus(tuple(documents), LabelSet.named("i2b2-2014"))


def _carried(note: Document, copy: int, knowledge: _Knowledge, seed: int) -> Marked:
    rng = random.Random(f"{seed}/carrier/{note.id}/{copy}")
    patient = _fitting_patient(note.text, rng)
    writer = NoteWriter.begun(patient, _TYPE, patient.first_visit, rng, style(rng.random() < 0.2, rng))
    _Carrier(writer, _persons(note.text, knowledge), knowledge, rng.random() < _WITHOUT_MORE).write(note.text)
    return with_noise(*writer.builder.build(), rng, "hospital")


def _fitting_patient(text: str, rng: random.Random) -> Patient:
    """A patient of the sex that the pronouns of the note have."""
    said = {sex: len(pattern.findall(text)) for sex, pattern in _PRONOUNS.items()}
    wanted = max(said, key=said.__getitem__)
    patients = (invent_patient(number, seed=rng.getrandbits(32)) for number in count(100))
    return next(patient for patient in patients if patient.sex == wanted or not any(said.values()))


def _persons(text: str, knowledge: _Knowledge) -> dict[str, Placeholder]:
    """Each word that names a person of the note -> its placeholder; the person named most is the patient."""
    last: Counter[str] = Counter()
    found: dict[str, Placeholder] = {}
    doctors: set[str] = set()
    for match in _TITLED.finditer(text):
        if match["title"].startswith("D"):
            doctors.add(match["last"])
        last[match["last"]] += 1
        if match["first"]:
            found[match["first"].strip()] = Placeholder("PATIENT", "", "first")
    for match in _PAIR.finditer(text):
        if knowledge.is_full_name(match["first"], match["last"], surely=match["last"] in last):
            found.setdefault(match["first"], Placeholder("PATIENT", "", "first"))
            last[match["last"]] += 1
    patients = [name for name, _ in last.most_common() if name not in doctors]
    for name in last:
        kind = "COLLEAGUE" if name in doctors else "PATIENT" if name == patients[0] else "RELATIVE"
        found[name] = Placeholder(kind, "", "lastname")
    return found


@dataclass(frozen=True, slots=True)
class _Carrier:
    """Writes one note; nothing is inserted into a bare one."""

    writer: NoteWriter
    persons: Mapping[str, Placeholder] = field(repr=False)
    knowledge: _Knowledge = field(repr=False)
    bare: bool

    def write(self, text: str) -> None:
        """Write the whole note."""
        rng = self.writer.scene.rng
        if not self.bare:
            self._insert("header", rng.randint(0, 6))
        for sentence in _SENTENCE.findall(text):
            if sentence == "\n":
                self.writer.builder.literal("\n")
                self._maybe(_AFTER_LINE, "\n")
            elif not self._is_left_out(sentence):
                self._write(sentence)
                if sentence.endswith((". ", "? ")):
                    self._maybe(_AFTER_SENTENCE, " ")
        if not self.bare:
            self.writer.builder.literal("\n")
            self._insert("closing", rng.randint(0, 2))

    def _maybe(self, share: float, after: str) -> None:
        if not self.bare and self.writer.scene.rng.random() < share:
            self._insert(self.writer.scene.rng.choice(_LINES), 1, after)

    def _insert(self, part: str, number: int, after: str = "\n") -> None:
        pool = self.writer.pool(part)
        for template in self.writer.scene.rng.choices(pool, [template.weight for template in pool], k=number):
            self.writer.write(template.text)
            self.writer.builder.literal(after)

    def _is_left_out(self, sentence: str) -> bool:
        """Whether a sentence may identify a person by a word that is not replaced."""
        if _LEFT_OUT.search(sentence):
            return True
        if any(self.knowledge.is_strange(match["word"]) for match in _PLACE.finditer(sentence)):
            return True
        capitals = (word for word in _WORD.findall(sentence) if word[0].isupper() and not word.isupper())
        return any(self.knowledge.may_identify(word) and word not in self.persons for word in capitals)

    def _write(self, sentence: str) -> None:
        """A sentence with its persons replaced and its dates and ages marked."""
        rng, end = self.writer.scene.rng, 0
        if not self.bare and rng.random() < _NAMED and (match := _THE_PATIENT.match(sentence)):
            self.writer.write("{Mr} [[PATIENT:last]]")
            end = match.end()
        for start, stop, what in sorted(self._finds(sentence), key=lambda found: (found[0], -found[1])):
            if start < end:
                continue
            self.writer.builder.literal(sentence[end:start])
            if isinstance(what, Placeholder):
                for text, label in self.writer.scene.pieces(what):
                    self.writer.builder.phi(text, label)
            else:
                self.writer.builder.phi(sentence[start:stop], what)
            end = stop
        self.writer.builder.literal(sentence[end:])

    def _finds(self, sentence: str) -> Iterator[tuple[int, int, Placeholder | str]]:
        for match in _NAMES.finditer(sentence):
            people = [self.persons.get(name) for name in match[0].split(" ")]
            if len(people) == 2 and people[0] and people[1]:
                yield match.start(), match.end(), replace(people[1], form="full")
        for name, person in self.persons.items():
            named = re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", sentence)
            yield from ((*match.span(), person) for match in named)
        for label, pattern in _MARKED.items():
            yield from ((*match.span(), label) for match in pattern.finditer(sentence))
