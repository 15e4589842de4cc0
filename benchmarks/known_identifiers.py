"""What a roster gains on invented notes: which mentions of its entries are found, and what else is.

    phistack synthesize notes --documents 120 --seed 1
    phistack train notes --model engine --submodels regex,tbed,crf
    python -m benchmarks.known_identifiers --documents 400 --seed 2 --model engine --carriers FOLDER

The people in the invented notes are known, so a roster can list them: names, birth dates, record and telephone numbers,
addresses, relatives and staff. A mention belongs to the record if it is PHI whose words are all in one name of the
record, or that is the record's birth date or one of its numbers. Four parts: the notes as they are, with these
mentions; the same with a typing error in a word of five letters or more of each name; with initials in place of each
name (`J.S.`, `J. S.`, `J.S`, `JS`); with a part in place of each birth date. For each, without an engine and with one:
how many mentions the record proposes, how many are accepted, and the false hits: accepted spans from a record that
touch no PHI. `engine alone` is how many mentions the engine finds without the roster.

`--carriers` names folders of plain notes without identifiers. Each is read without an engine, with the records of ten
invented patients in turn. None of them is in the note, so every hit is false.
"""

from __future__ import annotations

import argparse
import csv
import random
from calendar import month_name
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from benchmarks.running import run_main
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.deidentification.dates.parsing import parse_dates
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.known import KNOWN
from phistack.ensemble.stacking.known.identifiers import KnownIdentifiers, RecordSearch
from phistack.ensemble.stacking.known.roster import Roster
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.synthesis.names import Name
from phistack.ensemble.synthesis.patients import Patient, invent_patient
from phistack.features.documents import Document, Span
from phistack.features.labels import LabelSet
from phistack.features.letters import fold
from phistack.features.ranges import covering, touching
from phistack.features.text_words import words_of

Pairs = Sequence[tuple[Document, Sequence[Span]]]
"""Notes, each with its mentions that the record knows."""
Decide = Callable[[Iterable[Document]], Iterator[list[Decision]]]
_NAMES = ("PATIENT", "DOCTOR")
_NUMBERS = {"MEDICALRECORD": ("own",), "PHONE": ("home", "work", "cell", "relative")}
"""Label -> the roles of the patient's numbers."""
_LONG_WORD = 5
_RECORDS_OF_A_CARRIER = 10


@dataclass(frozen=True, slots=True)
class MentionCounts:
    """Counts over all notes.

    :param mentions: that the record knows.
    :param proposed: those that a span of the source `known` covers, accepted or not.
    :param accepted: those that accepted spans cover.
    :param false_hits: accepted spans of the source `known` that touch no PHI.
    """

    mentions: int
    proposed: int
    accepted: int
    false_hits: int


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--model", type=Path, help="an engine that was not trained on these notes")
    parser.add_argument("--carriers", type=Path, nargs="*", default=[], help="folders of notes without identifiers")
    arguments = parser.parse_args()
    notes = synthesize(arguments.documents, seed=arguments.seed).documents
    patients = {note.group: invent_patient(int(note.group), seed=arguments.seed) for note in notes}
    rng = random.Random(arguments.seed)
    exact = [(note, mentions_of(note, patients[note.group])) for note in notes]
    table = Table("", "mentions", "proposed", "accepted", "false hits")
    with TemporaryDirectory() as folder:
        roster = Roster.open(write_roster(patients, Path(folder) / "roster.csv"))
        parts: dict[str, Pairs] = {"exact": exact, "one typing error": [mistyped(*pair, rng) for pair in exact]}
        parts["initials"] = [with_initials(*pair, patients[pair[0].group], rng) for pair in exact]
        parts["part of the birth date"] = [with_part_of_date(*pair, patients[pair[0].group], rng) for pair in exact]
        carriers = [text for folder in arguments.carriers for text in _texts(folder)]
        strangers = [(note, ()) for note in _of_strangers(carriers, sorted(patients))]
        parts |= {f"{len(carriers)} carriers": strangers} if carriers else {}
        for what, pairs in parts.items():
            for system, decide in _systems(roster, arguments.model if pairs is not strangers else None):
                counts = outcome(pairs, decide)
                figures = (counts.mentions, counts.proposed, counts.accepted, counts.false_hits)
                table.add_row(f"{what}, {system}", *map(str, figures))
    Console(width=110).print(table)


def _systems(roster: Roster, model: Path | None) -> Iterator[tuple[str, Decide]]:
    alone = KnownIdentifiers(roster, RecordSearch(LabelSet.named("i2b2-2014"), "en"))
    yield "roster alone", lambda notes: (alone.added(note, []) for note in notes)
    if model is not None:
        engine = load_bundle(model)
        yield "engine alone", engine.decide
        yield "both", engine.with_options(roster=roster).decide


def write_roster(patients: Mapping[str, Patient], path: Path) -> Path:
    """A roster of invented patients as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", "name", "dob", "mrn", "phone", "address", "relatives", "staff"])
        for group, patient in patients.items():
            street, city, state, postcode = (patient.fact(kind, "home") for kind in ("STREET", "CITY", "STATE", "ZIP"))
            numbers = ["; ".join(_numbers(patient, label)) for label in _NUMBERS]
            name, relative, *staff = map(_whole, _people(patient))
            address = f"{street}, {city}, {state} {postcode}"
            writer.writerow([group, name, patient.born.isoformat(), *numbers, address, relative, "; ".join(staff)])
    return path


def _people(patient: Patient) -> list[Name]:
    """The patient, the relative, and the staff."""
    return [person for persons in patient.people.values() for person in persons]


def _numbers(patient: Patient, label: str) -> list[str]:
    return [patient.fact(label, role) for role in _NUMBERS[label]]


def _whole(person: Name) -> str:
    return " ".join(filter(None, (person.first, person.middle, person.last)))


def mentions_of(note: Document, patient: Patient) -> list[Span]:
    """The PHI of a note that its patient's record knows."""
    names = [_words(_whole(person)) for person in _people(patient)]
    numbers = {_bare(number) for label in _NUMBERS for number in _numbers(patient, label)}

    def is_of_record(span: Span) -> bool:
        text = note.text[span.start : span.end]
        if span.label in _NAMES:
            # Bare initials, and names without a whole word, are left to the submodels.
            words = _words(text)
            return any(words <= name and max(map(len, words)) > 1 for name in names)
        if span.label == "DATE":
            points = parse_dates(text, "en", False) or ()
            born = patient.born
            return any((p.month, p.days) == (born.month, (born.day,)) and p.year == born.year for p in points)
        return span.label in _NUMBERS and _bare(text) in numbers

    return [span for span in note.spans if is_of_record(span)]


def _words(text: str) -> set[str]:
    return {fold(text[start:end]) for start, end in words_of(text)}


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def mistyped(note: Document, mentions: Sequence[Span], rng: random.Random) -> tuple[Document, list[Span]]:
    """The note with a typing error in each mention of a name that has a long word, and these mentions."""

    def written(mention: str) -> str:
        places = [(s, e) for s, e in words_of(mention) if e - s >= _LONG_WORD and mention[s:e].isalpha()]
        if not places:
            return mention
        start, end = rng.choice(places)
        return mention[:start] + _one_edit(mention[start:end], rng) + mention[end:]

    return _rewritten(note, [span for span in mentions if span.label in _NAMES], written)


def with_initials(
    note: Document, mentions: Sequence[Span], patient: Patient, rng: random.Random
) -> tuple[Document, list[Span]]:
    """The note with initials in place of each mention of a name, and these mentions."""

    def written(mention: str) -> str:
        person = next(person for person in _people(patient) if _words(mention) <= _words(_whole(person)))
        letters = [person.first[0].upper(), person.last[0].upper()]
        return rng.choice(("{}.{}.", "{}. {}.", "{}.{}", "{}{}")).format(*letters)

    return _rewritten(note, [span for span in mentions if span.label in _NAMES], written)


def with_part_of_date(
    note: Document, mentions: Sequence[Span], patient: Patient, rng: random.Random
) -> tuple[Document, list[Span]]:
    """The note with a part in place of each mention of the birth date, and these mentions."""
    born = patient.born
    month = month_name[born.month]
    parts = (f"{month} {born.day}", f"{born.day} {month[:3]}", f"{month} {born.year}", f"{born.month}/{born.year}",
             f"{born.month}/{born.day}", f"{born.year}")  # fmt: skip
    return _rewritten(note, [span for span in mentions if span.label == "DATE"], lambda _: rng.choice(parts))


def _texts(folder: Path) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.txt"))]


def _of_strangers(texts: Iterable[str], patients: Sequence[str]) -> Iterator[Document]:
    """Each text as notes of some patients who are not in it."""
    for number, text in enumerate(texts):
        for record in range(_RECORDS_OF_A_CARRIER):
            patient = patients[(number * _RECORDS_OF_A_CARRIER + record) % len(patients)]
            yield Document(f"{patient}-{number}-{record}", text, (), patient)


def _rewritten(note: Document, mentions: Sequence[Span], written: Callable[[str], str]) -> tuple[Document, list[Span]]:
    """The note with some mentions rewritten, and the places of those that changed."""
    text, spans, changed, shift = "", [], [], 0
    position = 0
    for span in note.spans:
        mention = note.text[span.start : span.end]
        new = written(mention) if span in mentions else mention
        text += note.text[position : span.start] + new
        moved = Span(span.start + shift, span.start + shift + len(new), span.label)
        position, shift = span.end, shift + len(new) - len(mention)
        spans.append(moved)
        changed += [moved] if new != mention else []
    return replace(note, text=text + note.text[position:], spans=tuple(spans)), changed


def _one_edit(word: str, rng: random.Random) -> str:
    at, letter = rng.randrange(len(word) - 1), rng.choice("aeilnorst")
    letter = letter.upper() if word.isupper() else letter
    return rng.choice(
        (
            word[:at] + letter + word[at:],
            word[:at] + word[at + 1 :],
            word[:at] + letter + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        )
    )


def outcome(pairs: Pairs, decide: Decide) -> MentionCounts:
    """Compare decisions on notes with the mentions that the records know."""
    n_mentions = proposed = accepted = false_hits = 0
    for (note, mentions), decisions in zip(pairs, decide([note for note, _ in pairs]), strict=True):
        known = [d for d in decisions if any(vote.source == KNOWN for vote in d.votes)]
        is_proposed = covering((d.span.start, d.span.end) for d in known)
        is_accepted = covering((d.span.start, d.span.end) for d in decisions if d.accepted)
        is_phi = touching((span.start, span.end) for span in note.spans)
        n_mentions += len(mentions)
        proposed += sum(is_proposed(span.start, span.end) for span in mentions)
        accepted += sum(is_accepted(span.start, span.end) for span in mentions)
        false_hits += sum(d.accepted and not is_phi(d.span.start, d.span.end) for d in known)
    return MentionCounts(n_mentions, proposed, accepted, false_hits)


if __name__ == "__main__":
    run_main(main)
