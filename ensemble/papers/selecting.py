"""Which notes to annotate: sentences that are likely to have PHI, or documents of all kinds and institutions.

    preselected(corpus, "en")                          sentences in which a list or pattern finds something, marked
    sampled(surveys, reports, Sampling("^[^-]+"))      so many surveys and patient files of each institution

AnonyMate (Adams et al. 2019, section 2.2) selects inputs by lexical resources and rules, which also annotate them
beforehand. Trienes et al. (2020, section 3.1) draw from each institution 70 surveys, stratified by type, and 70 patient
files of 10 reports each, with 50 to 1,000 tokens and no patient twice.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice, zip_longest

from phistack.ensemble.experiments.samples import Sentences
from phistack.ensemble.papers.options import Sampling
from phistack.ensemble.papers.rule_submodel import Mark, first_of_overlapping
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.labels import LabelSet
from phistack.features.tokens import Tokeniser
from phistack.submodels.regex.pattern_files import ANY_SET, shipped_patterns
from phistack.submodels.regex.scanner import Scanner

_SET = "anonymate2019"
_LISTED = {
    "first_name": "Person", "last_name": "Person", "city": "Location", "region": "Location", "country": "Location",
}  # fmt: skip
"""Gazetteer column -> the AnonyMate type for its entries; only entries with a capital are marked."""


def preselected(corpus: Corpus, language: str) -> Corpus:
    """Each sentence in which a list of names or places or a shipped pattern finds something, as a note.

    :param corpus: notes; their own spans are ignored.
    :param language: of the notes, as an ISO 639-1 code.
    :returns: the sentences with what was found as spans of AnonyMate types, for annotators to correct.
    """
    settings = FeatureSettings(language=language)
    cut: list[Document] = []
    for number, place in enumerate(Sentences.of(corpus.with_spans([()] * len(corpus)), settings).places, 1):
        note = corpus.documents[place.note]
        text = note.text[place.start : place.end].strip()
        cut += [Document(f"{note.id}-{number}", text, (), note.group)] if text else []
    named = [(pattern, pattern.label_in(_SET)) for pattern in shipped_patterns(language)]
    patterns = [replace(pattern, labels={ANY_SET: label}) for pattern, label in named if label]
    found: list[list[Mark]] = [[] for _ in cut]
    for note_number, number, start, end in Scanner(patterns).find([note.text for note in cut], language):
        label = patterns[number].labels[ANY_SET]
        found[note_number].append(Mark(start, end, label, label, ""))
    for marks, table in zip(found, FeatureSpace(settings).fit(cut) if cut else (), strict=True):
        marks += _listed(table)
    kept = [
        note.with_spans(Span(mark.start, mark.end, mark.type) for mark in first_of_overlapping(marks, len(note.text)))
        for note, marks in zip(cut, found, strict=True)
        if marks
    ]
    return Corpus(tuple(kept), LabelSet.named(_SET))


def _listed(table: FeatureTable) -> Iterator[Mark]:
    """Runs of capitalised words that are in a list, by type; words of two types get the first."""
    types = [""] * len(table)
    for column, of_type in _LISTED.items():
        values = table.space.values(column)
        for token, value in enumerate(table.column(column).tolist()):
            if values[value] and table.words[token][0].isupper():
                types[token] = types[token] or of_type
    starts, ends = (offsets.tolist() for offsets in table.offsets)
    for of_type, run in groupby(range(len(types)), key=types.__getitem__):
        tokens = list(run)
        if of_type:
            yield Mark(starts[tokens[0]], ends[tokens[-1]], of_type, of_type, "")


def sampled(surveys: Corpus, reports: Corpus, plan: Sampling) -> Corpus:
    """Documents drawn from each institution: surveys, then patient files, each with the patient's id.

    :raises SettingsError: if a pattern is no regular expression.
    :raises CorpusError: if nothing can be drawn.
    """
    for pattern in (plan.institution, plan.type):
        try:
            re.compile(pattern)
        except re.error as error:
            raise SettingsError(f"{pattern!a} is no regular expression: {error}") from None

    def fits(note: Document) -> bool:
        return plan.least <= len(Tokeniser("liu").cut(note.text)[0]) <= plan.most

    chance = random.Random(plan.seed)
    drawn: list[Document] = []
    of_surveys = _by(filter(fits, surveys.documents), plan.institution)
    of_reports = _by(reports.documents, plan.institution)
    for institution in sorted({*of_surveys, *of_reports}):
        by_type = list(_by(of_surveys.get(institution, ()), plan.type).values())
        for notes in by_type:
            chance.shuffle(notes)
        chance.shuffle(by_type)
        in_turn = {note.group: note for notes in zip_longest(*by_type) for note in notes if note is not None}
        drawn += islice(in_turn.values(), plan.surveys)
        taken = {note.group for note in drawn}
        patients = defaultdict(list)
        for note in of_reports.get(institution, ()):
            if note.group not in taken:
                patients[note.group].append(note)
        files = (_file(chance.sample(notes, min(len(notes), plan.reports))) for notes in patients.values())
        fitting = list(filter(fits, files))
        drawn += chance.sample(fitting, min(len(fitting), plan.files))
    if not drawn:
        raise CorpusError("no document can be drawn; see that --least and --most fit the notes")
    return replace(surveys, documents=tuple(drawn))


def _by(notes: Sequence[Document] | Iterator[Document], pattern: str) -> dict[str, list[Document]]:
    """The notes by what a pattern finds in their names; by "" without a pattern or if it finds nothing."""
    found: dict[str, list[Document]] = defaultdict(list)
    for note in notes:
        match = re.search(pattern, note.id) if pattern else None
        found[match[0] if match else ""].append(note)
    return found


def _file(reports: Sequence[Document]) -> Document:
    """Some reports of a patient as one document, an empty line between any two."""
    text, spans = "", []
    for report in reports:
        text += "\n\n" * bool(text)
        spans += [span.moved(len(text)) for span in report.spans]
        text += report.text
    group = reports[0].group
    return Document(group, text, tuple(spans), group)
