"""Engines trained on notes from `fill`, scored on notes that were never scrubbed.

    python -m benchmarks.fill --notes 200 --scored 200
    python -m benchmarks.fill --notes 80 --scored 100 --submodels crf --styles tags     within some minutes

Invented hospital notes, which nothing in phistack was made from, are scrubbed to each style of placeholders and filled
again, as three notes each (`--copies`). One engine is trained on these, another on the original notes; both are scored
strictly on other such notes. Most of these share a template, and its forms of PHI, with the training notes, which helps
the engine that learned from the originals. What MIMIC leaves in its notes (ages under 90, professions; in MIMIC-III
also what has no placeholder) stays with its span. Equal mentions of a patient have the same number. What kind of PHI a
`___` replaced is learned from the notes that `synthesize` invents; the table also shows how often that is right.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cache

from rich.console import Console

from benchmarks.hospital_notes.notes import corpus_of, invented
from benchmarks.running import run_main
from benchmarks.stacking_cases import settings_for
from phistack.ensemble.evaluation import compare, evaluate, print_comparison
from phistack.ensemble.evaluation.tables import percent
from phistack.ensemble.experiments.parts import STACK, answers_of
from phistack.ensemble.tasks.filling import Filled, fill, scrubbed
from phistack.ensemble.tasks.placeholders import Style
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.features.columns.gazetteers import Gazetteers
from phistack.features.documents import Corpus, Document, Span
from phistack.features.ranges import overlapping_groups

_SEED, _SEED_OF_SCORED = 0, 7_001
_FULL_DATE = re.compile(r"\D*\d{1,4}[/.-]\d{1,2}[/.-]\d{2,4}\D*|.*\b(?:19|20)\d\d\b.*")
_MONTH_DAY = re.compile(r".*\d.*")
_INITIALS = re.compile(r"[^\W\d_]{1,2}|(?:[^\W\d_]\.? ?){2,3}")

_MIMIC_III = {
    "HOSPITAL": "Hospital1", "DEPARTMENT": "Hospital Ward Name", "CITY": "Location (un)", "STATE": "State",
    "STREET": "Street Address(1)", "COUNTRY": "Country", "ORGANIZATION": "Company", "PHONE": "Telephone/Fax (1)",
    "FAX": "Telephone/Fax (3)", "EMAIL": "E-mail address", "URL": "URL", "MEDICALRECORD": "Medical Record Number",
    "SSN": "Social Security Number", "IDNUM": "Numeric Identifier", "LICENSE": "MD Number(1)",
    "DEVICE": "Serial Number",
}  # fmt: skip
_DE_ID = {
    "PATIENT": "NAME", "DOCTOR": "NAME", "DATE": "DATE", "AGE": "AGE", "HOSPITAL": "INSTITUTION", "CITY": "PLACE",
    "STREET": "STREET-ADDRESS", "ZIP": "ZIP-CODE", "ROOM": "ROOM", "PHONE": "PHONE", "EMAIL": "EMAIL", "URL": "WEB-LOC",
    "SSN": "SSN", "ACCOUNT": "ACCOUNT", "DEVICE": "DEVICE-ID", "LICENSE": "LICENSE", "VEHICLE": "VEHICLE-ID",
    "IDNUM": "PATH-NUMBER", "MEDICALRECORD": "ID-NUM",
}  # fmt: skip
"""Label -> what the scrubber writes; PHI of other labels stays."""

Scrubber = Callable[[str, str, int], str]
"""Takes the text of a mention, its label and its number in the note; gives a placeholder, empty if it stays."""


def _mimic_iii(text: str, label: str, which: int) -> str:
    if label == "DATE":
        on = f"2151-{which % 12 + 1}-{which % 28 + 1}"
        return (
            f"[**{on if _FULL_DATE.fullmatch(text) else on[5:] if _MONTH_DAY.fullmatch(text) else 'Month (only) 9'}**]"
        )
    kind = _mimic_name(text, label) if label in ("PATIENT", "DOCTOR") else _MIMIC_III.get(label)
    return f"[**{kind} {which}**]" if kind else ""


def _mimic_name(text: str, label: str) -> str:
    """The kind of a name as deid finds it, by surrounding words and lists of names."""
    if _INITIALS.fullmatch(text):
        return "Initials (NamePattern4)"
    if len(text.split()) > 1:
        return "Name (NI)" if label == "PATIENT" else "First Name3 (LF)" if "," in text else "Name6 (MD)"
    is_first = (text.casefold(),) in _first_names()
    known = ("Known firstname", "Known lastname"), ("First Name8 (NamePattern2)", "Last Name (STitle)")
    return known[label == "DOCTOR"][not is_first]


@cache
def _first_names() -> Collection[tuple[str, ...]]:
    return Gazetteers.of_language("en").entries["first_name"]


def _de_id(text: str, label: str, which: int) -> str:
    if label not in _DE_ID:
        return ""
    if label in ("PATIENT", "DOCTOR") and _INITIALS.fullmatch(text):
        return "**INITIALS"
    words = len(text.split()) if _DE_ID[label] == "NAME" else 1
    letters = [chr(ord("A") + (which + word) % 26) * 3 for word in range(words)]
    return f"**{_DE_ID[label]}[{(', ' if ',' in text else ' ').join(letters)}]"


SCRUBBERS: dict[str, Scrubber] = {
    "mimic-iii": _mimic_iii,
    "mimic-iv": lambda text, label, which: "" if label in ("AGE", "PROFESSION") else "___",
    "i2b2": _de_id,
    "tags": lambda text, label, which: f"[{label}]",
}
"""Style -> how notes are scrubbed to it."""


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=200, help="notes to learn from")
    parser.add_argument("--scored", type=int, default=200, help="notes to score on")
    parser.add_argument("--copies", type=int, default=3, help="notes that are made of each")
    parser.add_argument("--styles", default=",".join(SCRUBBERS))
    parser.add_argument("--submodels", default="regex,tbed,crf")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    original = corpus_of(invented("en", arguments.notes, seed=_SEED), "en")
    unseen = corpus_of(invented("en", arguments.scored, seed=_SEED_OF_SCORED), "en")
    members = comma_list(arguments.submodels)
    settings, alone = settings_for(original, members, arguments.folds), len(members) == 1

    def answered(corpus: Corpus) -> Corpus:
        """The unseen notes as marked by an engine trained on a corpus."""
        answers = answers_of(corpus, settings, unseen=unseen.documents, stack=not alone, jobs=arguments.jobs)
        return unseen.with_spans(answers[members[0] if alone else STACK])

    systems = {"originals": answered(original)}
    for name in comma_list(arguments.styles):
        taken_out = replace(original, documents=tuple(scrub(note, SCRUBBERS[name]) for note in original.documents))
        filled = fill(taken_out, Style.of(name), copies=arguments.copies, seed=_SEED)
        systems[name] = answered(filled.corpus)
        score = evaluate(unseen, systems[name]).strict.f1.value
        print(f"{name}: strict F1 {percent(score)}; {_told(original, filled, SCRUBBERS[name])}", flush=True)
    print_comparison(compare(unseen, systems), Console(width=120))


def scrub(note: Document, scrubber: Scrubber) -> Document:
    """The note with placeholders, and with the spans that stay; the first of overlapping spans counts."""
    which: dict[tuple[str, str], int] = {}

    def written(span: Span) -> str:
        text = note.text[span.start : span.end]
        number = which.setdefault((span.label, text.casefold()), len(which) + 1)
        return scrubber(text, span.label, number)

    new = scrubbed(note, note.spans, lambda span: written(span) or note.text[span.start : span.end])
    kept = [group[0] for group in overlapping_groups(note.spans)]
    return new.with_spans(moved for span, moved in zip(kept, new.spans, strict=True) if not written(span))


def _told(original: Corpus, filled: Filled, scrubber: Scrubber) -> str:
    """How many placeholders were filled, and how many of these with the original label."""
    n = n_filled = n_right = 0
    left = [(one.document, one.start, "") for one in filled.unfilled]
    copies = len(filled.corpus) // len(original)
    for note, new in zip(original.documents, filled.corpus.documents[::copies], strict=True):
        now = [(span.start, span.label) for span in new.spans] + [(at, "") for id, at, _ in left if id == new.id]
        for group, (_, label) in zip(overlapping_groups(note.spans), sorted(now), strict=False):
            span = group[0]
            if scrubber(note.text[span.start : span.end], span.label, 1):
                n, n_filled, n_right = n + 1, n_filled + bool(label), n_right + (label == span.label)
    return f"{n_filled} of {n} placeholders were filled, {n_right} of them with the label that was there"


if __name__ == "__main__":
    run_main(main)
