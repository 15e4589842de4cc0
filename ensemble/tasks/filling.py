"""The command `fill`: invented identifiers where PHI was taken out, which makes an annotated corpus.

    filled = fill(corpus, Style.of("mimic-iii"), seed=1)
    filled.corpus                 the notes with identifiers and their spans, by exact offsets
    filled.unfilled               the placeholders that are left, by offsets in the new notes, with reasons

The same placeholder with the same number is the same person, place or number in all notes of a patient. One without a
number is one of the persons and things of the patient, who has the sex of most pronouns of the notes. The days that
placeholders give are all moved alike for a patient: the latest becomes the first visit of an invented patient.

If a placeholder does not say what was there, such as `___`, or whose name it was, a CRF decides by the words around
it. It learns from invented notes (or others) in which a single word replaces all PHI.
"""

from __future__ import annotations

import hashlib
import random
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import count

from phistack.ensemble.deidentification.names.stated_sex import pronouns
from phistack.ensemble.deidentification.word_lists import LANGUAGES as WORDS
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.synthesis.grammar import Placeholder, expand
from phistack.ensemble.synthesis.habits import Context, around, habits_of
from phistack.ensemble.synthesis.marked_text import rewritten
from phistack.ensemble.synthesis.notes import LANGUAGES
from phistack.ensemble.synthesis.patients import PEOPLE, Patient, invent_patient
from phistack.ensemble.synthesis.scene import Scene
from phistack.ensemble.synthesis.templates import table
from phistack.ensemble.tasks.placeholders import STYLES, Placed, Style, label_of, slots_of_labels
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import propose
from phistack.features.columns.settings import FeatureSettings
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.files import sheet
from phistack.features.labels import LabelSet
from phistack.features.ranges import overlapping_groups, touching
from phistack.features.shown import shown_id

_MIDDLE = 15
"""The day of a month that is given without one."""
_YEARS = range(1800, 2300)
"""The years that placeholders may give."""
_TO_TELL_CASE, _ALL = 40, 0.99
"""How many letters outside placeholders show the case of a note, and the share of them that counts as all."""
_DRAWN = ("DATE", "AGE", "KIN", "EMAIL", "ADDRESS")
"""Kinds that are drawn anew for each mention; only a number shows which mentions are the same."""
_WORD = "Xxxxx"
"""Replaces all PHI; the surrounding words must show what it was."""
_NOTES = 300
"""How many invented notes the CRF learns this from."""
Notes = Sequence[tuple[Document, Sequence[Placed]]]
"""Notes with their placeholders."""

SURE = 0.6
"""The least probability of a kind that the surrounding words show."""


@dataclass(frozen=True, slots=True)
class Unfilled:
    """A placeholder that is left, by its offsets in the new note."""

    document: str
    start: int
    end: int
    why: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Filled:
    """Notes with invented identifiers.

    :param style: the name of the style of their placeholders.
    :param counts: label -> how many spans were written.
    """

    corpus: Corpus
    style: str
    counts: Counter[str]
    unfilled: tuple[Unfilled, ...]


def fill(
    corpus: Corpus,
    style: Style | None = None,
    *,
    language: str = "",
    like: Corpus | None = None,
    sure: float = SURE,
    copies: int = 1,
    seed: int = 0,
) -> Filled:
    """Fill the placeholders of some notes.

    :param corpus: their spans, if any, move with the text.
    :param style: by default the shipped one that has the most placeholders in the notes.
    :param language: by default the language of the style, or of the notes.
    :param like: annotated notes in the labels of the language, to learn from them what the surrounding words tell; by
        default invented ones.
    :param sure: the least probability of what the surrounding words tell.
    :param copies: how many of each note are made, about different patients; two or more are named `NOTE-COPY`. More
        copies show more of the forms that an identifier may have in a place.
    :raises CorpusError: if there is no placeholder, or none that is known.
    :raises SettingsError: for a language in which nothing can be invented.
    """
    language = language or (style.language if style else "") or corpus.label_set.language
    if language not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise SettingsError(f"nothing can be invented in the language {language}, only in {known}; give --language")
    label_set = LabelSet.named(table(f"{language}/world")["label_set"])
    if any(span.label not in label_set.labels for note in corpus.documents for span in note.spans):
        raise CorpusError(
            f"the notes have spans with labels that {label_set.name} lacks, in which what is filled is labelled; turn "
            f"them into its labels first: phistack convert NOTES OUT --map-labels {label_set.name}"
        )
    style = style or _recognised(corpus, language)
    notes = _placeholders_of(corpus, style, language)
    if style.by_context or any(len(placed.write) > 1 for _, found in notes for placed in found):
        notes = _labelled_by_context(notes, language, like, sure, seed)
    sexes = dict(_sexes(corpus.documents, language))
    seeds = [seed, *(random.Random(f"{seed}/copy/{copy}").getrandbits(32) for copy in range(1, copies))]
    fillers = [Filler(notes, language, of_copy, sexes) for of_copy in seeds]
    made = [
        filler.fill(replace(note, id=f"{note.id}-{copy}") if copies > 1 else note, found)
        for note, found in notes
        for copy, filler in enumerate(fillers, 1)
    ]
    before = Counter(span.label for note in corpus.documents for span in note.spans for _ in fillers)
    after = Counter(span.label for note, _ in made for span in note.spans)
    why = f"less than {sure:g} sure what it was" if style.by_context else "of a kind that the style does not know"
    left = [Unfilled(note.id, *place, why, note.text[slice(*place)]) for note, places in made for place in places]
    filled = Corpus(tuple(note for note, _ in made), label_set, corpus.warnings, corpus.remarks)
    return Filled(filled, style.name, after - before, tuple(left))


def _placeholders_of(corpus: Corpus, style: Style, language: str) -> Notes:
    """The notes with their placeholders; refuses them if there are none, or none that is known."""
    notes = [(note, style.find(note.text, language)) for note in corpus.documents]
    n_found = sum(len(found) for _, found in notes)
    if not n_found:
        raise CorpusError(
            f"the {len(corpus)} notes have no placeholder of the style {style.name}; name another with --style "
            f"({', '.join(STYLES.names)}), or give a TOML file with a pattern of your own"
        )
    if not style.by_context and not any(placed.write for _, found in notes for placed in found):
        raise CorpusError(
            f"none of the {n_found} placeholders of the style {style.name} is of a kind that it knows; give a TOML "
            "file with these kinds with --style"
        )
    return notes


def unfilled_sheet(unfilled: Iterable[Unfilled], *, with_text: bool = False) -> str:
    """The placeholders that are left, as tab-separated values; :param with_text: whether to show ids and text."""
    columns = ("document", "start", "end", "why")
    rows = (
        (one.document if with_text else shown_id(one.document), one.start, one.end, one.why, one.text)
        for one in unfilled
    )
    return sheet(
        (*columns, "text") if with_text else columns, (row if with_text else row[:-1] for row in rows), between="\t"
    )


def _recognised(corpus: Corpus, language: str) -> Style:
    """The shipped style that has the most placeholders in the notes."""
    styles = [Style.of(name) for name in STYLES.names]
    styles = [style for style in styles if style.language in ("", language)]

    def known(style: Style) -> int:
        found = (placed for note in corpus.documents for placed in style.find(note.text, language))
        return sum(bool(placed.write) or style.by_context for placed in found)

    counts = [known(style) for style in styles]
    if not any(counts):
        raise CorpusError(
            f"the {len(corpus)} notes have no placeholder that phistack knows ({', '.join(STYLES.names)}); give a TOML "
            "file with a pattern of your own with --style"
        )
    return styles[counts.index(max(counts))]


def _sexes(documents: Iterable[Document], language: str) -> Iterator[tuple[str, str]]:
    """The patients whose notes have more pronouns of one sex, and that sex."""
    said: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for note in documents:
        said[note.group].update(pronouns(note.text, language) if language in WORDS else {})
    for group, counts in said.items():
        if counts["female"] != counts["male"]:
            yield group, "F" if counts["female"] > counts["male"] else "M"


def scrubbed(note: Document, spans: Iterable[Span], write: Callable[[Span], str]) -> Document:
    """The note with other text in place of some spans; of those that overlap, the first counts."""
    kept = [group[0] for group in overlapping_groups(spans)]
    pieces = list(note.text)
    for span in kept:
        pieces[span.start : span.end] = [write(span), *[""] * (span.end - span.start - 1)]
    text, moved = rewritten(note.text, kept, pieces)
    return replace(note, text=text, spans=moved)


def _labelled_by_context(notes: Notes, language: str, like: Corpus | None, sure: float, seed: int) -> Notes:
    """The placeholders with the label that a CRF gives them by the surrounding words; none where it is unsure."""
    learned = like or synthesize(_NOTES, seed=seed, language=language, registers="all")
    learned = replace(learned, documents=tuple(scrubbed(n, n.spans, lambda _: _WORD) for n in learned.documents))
    places = [[Span(placed.start, placed.end, _WORD) for placed in found] for _, found in notes]
    unseen = [scrubbed(note, of_note, lambda _: _WORD) for (note, _), of_note in zip(notes, places, strict=True)]
    settings = EngineSettings(features=FeatureSettings(language=language), seed=seed).only(("crf",))
    proposed = propose(learned, settings, unseen=unseen, out_of_fold=False)
    labelled = []
    rows = zip(notes, unseen, proposed.unseen, proposed.on_unseen["crf"], strict=True)
    for (note, found), words, read, candidates in rows:
        scores: defaultdict[tuple[int, int], dict[str, float]] = defaultdict(dict)
        for candidate in candidates:
            span = read.view.in_note(candidate.span)
            scores[span.start, span.end][span.label] = candidate.score
        pairs = zip(found, words.spans, strict=True)
        decided = [_decided(placed, scores[span.start, span.end], language, sure) for placed, span in pairs]
        labelled.append((note, decided))
    return labelled


def _decided(placed: Placed, scores: Mapping[str, float], language: str, sure: float) -> Placed:
    """A placeholder with one thing to write: of several the likelier one, else the label, if it is sure enough."""
    if placed.write:
        best = max(placed.write, key=lambda way: scores.get(label_of(way, language), 0.0)) if placed.write[1:] else ""
        return replace(placed, write=(best,)) if best else placed
    label = max(scores, key=scores.__getitem__, default="")
    return replace(placed, write=(label,)) if label and scores[label] >= sure else placed


class Filler:
    """Writes invented identifiers in place of placeholders, the same for all notes of a patient.

    :param notes: all of them, with their placeholders; a patient's days are moved together, the latest to the first
        visit of an invented patient.
    :param sexes: patient -> `F` or `M`, where it is known.
    """

    def __init__(self, notes: Notes, language: str, seed: int, sexes: Mapping[str, str]) -> None:
        self.language, self.seed, self._sexes = language, seed, sexes
        self._patients: dict[tuple[str, str], Patient] = {}
        latest: dict[str, date] = {}
        for note, found in notes:
            days = [day for placed in found if "year" in placed.on and (day := _day_of(placed.on))]
            latest[note.group] = max([*days, latest.get(note.group, date.min)])
        self._numbered: dict[tuple[str, str], Placeholder] = {}
        self._shifts = {
            group: self._patient(group).first_visit - day for group, day in latest.items() if day > date.min
        }

    def fill(self, note: Document, found: Sequence[Placed]) -> tuple[Document, list[tuple[int, int]]]:
        """The note with text in place of the known placeholders, and the places of the others.

        The note's own spans move with the text, except those that a filled placeholder touches.
        """
        patient = self._patient(note.group)
        scene = Scene.begun(patient, patient.first_visit, random.Random(f"{self.seed}/fill/{note.id}"))
        in_case = _case_of(note.text, found)
        pieces: list[str] = []
        spans: list[Span] = []
        left: list[tuple[int, int]] = []
        moved = [(0, 0)]  # from where on, and by how much
        length = at = 0
        for placed, contexts in zip(found, self._contexts(note, found), strict=True):
            if not placed.write:
                left.append((placed.start + length - at, placed.end + length - at))
                continue
            written = [(in_case(text), label) for text, label in self._written(note.group, placed, contexts, scene)]
            for text, label in [(note.text[at : placed.start], ""), *written]:
                spans += [Span(length, length + len(text), label)] if label else []
                pieces.append(text)
                length += len(text)
            at = placed.end
            moved.append((at, length - at))
        is_filled = touching([(placed.start, placed.end) for placed in found if placed.write])
        for span in note.spans:
            if not is_filled(span.start, span.end):
                by = moved[bisect_right(moved, (span.start, length)) - 1][1]
                spans.append(span.moved(by))
        return replace(note, text="".join([*pieces, note.text[at:]]), spans=tuple(spans)), left

    def _contexts(self, note: Document, found: Sequence[Placed]) -> Iterator[Sequence[Context]]:
        """The contexts of each placeholder of a text, in which the others are labels in brackets."""
        tags = [label_of(placed.write[0], self.language) if placed.write else "" for placed in found]
        places = [Span(one.start, one.end, f"[{tag or 'PHI'}]") for one, tag in zip(found, tags, strict=True)]
        tagged = scrubbed(note, places, lambda span: span.label)
        return (around(tagged.text, span.start, span.end) for span in tagged.spans)

    def _written(self, group: str, placed: Placed, contexts: Sequence[Context], scene: Scene) -> list[tuple[str, str]]:
        """The text in place of a placeholder, in pieces with labels; literal text has none."""
        which = f"{placed.kind}/{placed.which}" if placed.which else ""
        day = self._moved(placed, group, scene.note_date)
        # A scene has no day before the patient is a year old.
        born = min(scene.patient.born, day - timedelta(days=366)) if placed.on else scene.patient.born
        scene = replace(scene, note_date=day, patient=replace(scene.patient, born=born))
        written: list[tuple[str, str]] = []
        for piece in self._template(placed.write[0], contexts, scene.rng):
            written += [(piece, "")] if isinstance(piece, str) else self._pieces(piece, group, which, scene)
        return written

    def _template(self, way: str, contexts: Sequence[Context], rng: random.Random) -> list[str | Placeholder]:
        """What a placeholder calls for; the context gives kind, role and form where these are left open."""
        habits = habits_of(self.language)
        if known := slots_of_labels(self.language).get(way):
            return [habits.drawn(way, contexts, rng) or rng.choice(known)]
        labels: Mapping[str, str] = table(f"{self.language}/world")["labels"]
        return [
            piece if isinstance(piece, str) else habits.formed(piece, labels.get(piece.kind, ""), contexts, rng)
            for piece in expand(way, {}, rng)
        ]

    def _pieces(self, slot: Placeholder, group: str, which: str, scene: Scene) -> list[tuple[str, str]]:
        """The text of PHI in pieces with labels; if it has a number, for what the number means."""
        if which:
            slot = self._the_same(slot, group, which)
            if slot.kind in _DRAWN:
                scene = replace(scene, rng=random.Random(f"{self.seed}/{group}/{which}"))
            elif slot.kind != "PATIENT":
                scene = replace(scene, patient=self._patient(group, which))
        return scene.pieces(slot)

    def _the_same(self, slot: Placeholder, group: str, which: str) -> Placeholder:
        """The slot that a number means: of one kind wherever it is, for drawn things also of one form."""
        if slot.kind in PEOPLE:
            kind = "RELATIVE" if (slot.kind, slot.role) == ("PATIENT", "other") else slot.kind
            one = Placeholder(kind if PEOPLE[kind] == 1 else "DOCTOR")
        elif slot.kind in _DRAWN:
            one = slot
        else:
            one = replace(slot, role="own" if slot.role in ("", "other") else slot.role)
        first = self._numbered.setdefault((group, which), one)
        return replace(first, form=slot.form) if first.kind in PEOPLE and slot.kind in PEOPLE else first

    def _patient(self, group: str, which: str = "") -> Patient:
        """Whom or what a placeholder means: the patient, or one like it for each other person, place or number."""
        if (group, which) not in self._patients:
            digest = hashlib.sha256(f"{group}/{which}".encode()).digest()
            numbers = count(int.from_bytes(digest[:6], "big"))
            made = (invent_patient(number, seed=self.seed, language=self.language) for number in numbers)
            sex = self._sexes.get(group, "") if not which else ""
            self._patients[group, which] = next(patient for patient in made if sex in ("", patient.sex))
        return self._patients[group, which]

    def _moved(self, placed: Placed, group: str, usual: date) -> date:
        """The day that a placeholder gives, moved like all of the patient's; the day of the note if it gives none."""
        shift = self._shifts.get(group, timedelta())
        given = _day_of({"year": (usual - shift).year, **placed.on}) if placed.on else None
        return usual if given is None else given + shift


def _day_of(on: Mapping[str, int]) -> date | None:
    """A day, given with or without month and day; None if it does not exist or its year is out of range."""
    try:
        return date(on["year"], on.get("month", 6), on.get("day", _MIDDLE)) if on["year"] in _YEARS else None
    except ValueError:
        return None


def _case_of(text: str, found: Sequence[Placed]) -> Callable[[str], str]:
    """How PHI of a note is cased: in capitals or small letters where all else is."""
    ends, starts = [0, *(placed.end for placed in found)], [*(placed.start for placed in found), len(text)]
    letters = [sign for end, start in zip(ends, starts, strict=True) for sign in text[end:start] if sign.isalpha()]
    upper = sum(map(str.isupper, letters)) / len(letters) if len(letters) >= _TO_TELL_CASE else 0.5
    return str.upper if upper > _ALL else str.lower if upper < 1 - _ALL else str
