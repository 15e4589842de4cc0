"""What pretraining on general text with names gains when own notes are few.

    python -m benchmarks.pretraining                                  the network alone; an hour on a slow core
    python -m benchmarks.pretraining --only court-en --of stack --seeds 1

One network first learns from 400 invented notes, if the language has any, or from these and from news, Wikipedia or
tweets in `../shared/corpora`, labelled with persons, places and organisations. Quarters of the patients (templates of
presidio-synth-v2, kinds of invented hospital notes) are held out and scored; handwritten notes are those of
`benchmarks.handwritten`. With `--of crf` a CRF learns from the general text as further notes, with its labels mapped to
those of the corpus. Strict F1 over all quarters and seeds, with intervals by patient.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from benchmarks.handwritten import handwritten
from benchmarks.hospital_notes.notes import corpus_of, invented
from benchmarks.measuring import CORPORA
from benchmarks.running import run_main
from benchmarks.stacking_cases import settings_for
from benchmarks.stacking_corpora import StackingCorpus, known_corpora
from phistack.ensemble.deidentification.kinds import label_like
from phistack.ensemble.evaluation import criterion_named
from phistack.ensemble.evaluation.tables import Table, TableRow, gap, share
from phistack.ensemble.experiments.parts import STACK, answers_of, systems_of
from phistack.ensemble.stacking.folds import grouped_by
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.features.documents import Corpus, Document, Span
from phistack.features.formats import read_corpus

_TEXTS = {
    "court-en": "general-en", "presidio": "general-en", "hospital-de": "general-de", "handwritten-de": "general-de",
    "handwritten-sv": "general-sv", "handwritten-no": "general-no",
}  # fmt: skip
"""Notes -> the general text of their language."""
_HOSPITAL_NOTES, _MOST = 160, 80
_WHOSE = ("PER", "LOC", "ORG")
_MEMBERS = {"blstm": ("blstm",), STACK: ("regex", "tbed", "crf", "blstm"), "crf": ("crf",)}


def notes_of(name: str, folder: Path) -> StackingCorpus:
    """The notes with a name in `_TEXTS`."""
    kind, _, language = name.partition("-")
    if kind == "hospital":
        made = corpus_of(invented(language, _HOSPITAL_NOTES, seed=0), language)
        return StackingCorpus(name, grouped_by(made, r"^\w+-([a-z]+)-"), _MOST)
    if kind == "handwritten":
        parts = handwritten(language, synthesize(1, language=language).label_set)
        first, kept = parts["looked at"], parts["kept back"]
        return StackingCorpus(name, replace(first, documents=(*first.documents, *kept.documents)))
    return next(known_corpora(folder, [name]))


def added_to(corpus: Corpus, text: Corpus) -> list[Document]:
    """General text as further notes of a corpus: its persons, places and organisations get labels of the corpus."""
    table = {label: label_like(label, text.label_set, corpus.label_set) for label in _WHOSE}
    known = {label: own for label, own in table.items() if own in corpus.label_set}
    return [d.with_spans(s for s in d.spans if s.label in known).relabelled(known) for d in text.documents]


def measured(name: str, arguments: argparse.Namespace) -> list[TableRow]:
    """For each system a row: its F1 without the text and with it, and the difference."""
    case, path = notes_of(name, arguments.corpora), arguments.corpora / _TEXTS[name] / "train.jsonl"
    settings = settings_for(case.notes, _MEMBERS[arguments.of], arguments.folds)
    of_one = {name: {"networks": 1} if name == "blstm" else given for name, given in settings.submodels.items()}
    plain = replace(settings, submodels=of_one)
    added: list[Document] = []
    if arguments.of == "crf":
        added, changed = added_to(case.notes, read_corpus(path)), plain
    else:
        changed = plain.with_pretraining([path])
    scored, answers = list[Document](), defaultdict[str, list[Sequence[Span]]](list)
    for seed in range(arguments.seeds):
        for training, held_out in case.rounds(arguments.rounds, seed=seed):
            scored += [replace(d, id=f"{d.id} {number}") for number, d in enumerate(held_out.documents, len(scored))]
            for way, chosen, more in (("without", plain, []), ("with", changed, added)):
                found = answers_of(
                    training, replace(chosen, seed=seed), unseen=held_out.documents, stack=arguments.of == STACK,
                    added=more, jobs=arguments.jobs, cache=arguments.cache,
                )  # fmt: skip
                for system, spans in found.items():
                    answers[f"{system} {way}"] += spans
    gold = Corpus(tuple(scored), case.notes.label_set)
    systems = systems_of(gold, answers, gold.label_set, criterion_named("strict"))
    names = [name for name in found if name in (arguments.of, "blstm")]
    pairs = [(f"{system} with", f"{system} without") for system in names]
    gaps = systems.differences(pairs, ["f1"])
    return [
        (name, system, *(share(systems.scores[one].f1) for one in reversed(pair)), gap(gaps[*pair, "f1"].gap))
        for system, pair in zip(names, pairs, strict=True)
    ]


def main() -> None:
    """Parse the arguments and print a table for each of the notes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(_TEXTS), help="names of notes")
    parser.add_argument("--of", choices=[*_MEMBERS], default="blstm", help="the network, the stack, or a CRF that adds")
    parser.add_argument("--corpora", type=Path, default=CORPORA)
    parser.add_argument("--rounds", type=int, default=2, help="how many quarters are scored")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cache", type=Path)
    arguments = parser.parse_args()
    columns = ("notes", "system", "without", "with", "difference")
    title = f"Strict F1, {arguments.rounds} quarters, {arguments.seeds} seeds, without general text and with it"
    for name in comma_list(arguments.only):
        rows = measured(name, arguments)
        Console(width=120).print(Table(columns, [rows], title, "with 95 % intervals by patient"))


if __name__ == "__main__":
    run_main(main)
