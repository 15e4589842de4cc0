"""How far an engine travels: trained on each corpus, tested on each.

    out/results.json                     the matrix of every system, with intervals
    out/matrix.png, out/matrix.svg       one panel a system
    out/table.tex                        for LaTeX with booktabs

A fifth of the patients of each corpus is held out; every engine, of whichever corpus, is tested on these notes, so that
the figures of one column compare. Tables 8 and 9 of Trienes 2020 for any corpora.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ensemble.evaluation import Criterion, Score, criterion_named
from ensemble.evaluation.intervals import RESAMPLES
from ensemble.evaluation.tables import Table, share, strong
from ensemble.experiments.parts import STACK, all_answers, fitting, systems_of
from ensemble.experiments.pictures import matrix_picture
from ensemble.experiments.results import BOOTSTRAP, CorpusFacts, Origin
from ensemble.stacking.folds import held_out_patients
from ensemble.tools.progress import stage
from ensemble.training.proposals import propose
from ensemble.training.settings import EngineSettings
from features.documents import Corpus, Document
from features.errors import SettingsError

__all__ = ["SCHEMA", "Domain", "DomainFacts", "Transfer", "transfer"]

SCHEMA = "phistack.transfer.v1"
_PROTOCOL = (
    "Each corpus split by patient: trained on four fifths, with these settings and the language of the training "
    "corpus; tested on the held-out fifth of every corpus."
)


@dataclass(frozen=True, slots=True)
class Domain:
    """One corpus of the matrix.

    :param name: as tables show it.
    :param corpus: annotated notes; all domains have the same label set, or types do not count.
    :param settings: how an engine for it is trained.
    """

    name: str
    corpus: Corpus
    settings: EngineSettings


@dataclass(frozen=True, slots=True)
class DomainFacts:
    """One corpus of the matrix in figures.

    :param settings: with which its engine was trained.
    :param training: the notes of four fifths of the patients.
    :param test: those of the others.
    """

    settings: EngineSettings
    training: CorpusFacts
    test: CorpusFacts

    def to_dict(self) -> dict[str, Any]:
        """The facts as JSON can hold them."""
        return {
            "language": self.settings.features.language,
            "settings hash": self.settings.digest,
            "training": self.training.to_dict(),
            "test": self.test.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Transfer:
    """The matrix.

    :param domains: name -> figures of the corpus.
    :param matrix: system -> trained on -> tested on -> score.
    """

    origin: Origin
    domains: Mapping[str, DomainFacts]
    matrix: Mapping[str, Mapping[str, Mapping[str, Score]]]

    @property
    def caption(self) -> str:
        """What the table for LaTeX shows."""
        return (
            f"F1 in percent, trained on four fifths of the patients of one corpus and tested on the held-out fifth of "
            f"each; criterion: {self.origin.criterion}. In brackets {BOOTSTRAP}."
        )

    def table(self) -> Table:
        """F1 of every system, a section each: a row for each training corpus, a column for each test corpus."""
        sections = [
            [
                (strong(system) if system == STACK else system, trained, *(share(score.f1) for score in row.values()))
                for trained, row in matrix.items()
            ]
            for system, matrix in self.matrix.items()
        ]
        columns = ("system", "trained on", *(f"tested on {name}" for name in self.domains))
        return Table(columns, sections, self.origin.title("F1, 95 % intervals"), n_texts=2, is_wide=True)

    def draw(self, folder: Path) -> None:
        """The matrix of each system."""
        matrix_picture(self.origin.title("F1 in percent"), self.matrix, folder)

    def to_dict(self) -> dict[str, Any]:
        """Every figure as JSON can hold it."""
        return {
            **self.origin.to_dict(),
            "corpora": {name: facts.to_dict() for name, facts in self.domains.items()},
            "bootstrap resamples": RESAMPLES,
            "matrix": {
                system: {
                    trained: {tested: score.to_dict() for tested, score in row.items()}
                    for trained, row in matrix.items()
                }
                for system, matrix in self.matrix.items()
            },
        }


def transfer(
    domains: Sequence[Domain],
    *,
    stack: bool = True,
    criterion: str = "strict",
    jobs: int = 1,
    cache: Path | None = None,
) -> Transfer:
    """Train on each domain, test on each.

    :param domains: at least two, which train the same submodels.
    :param stack: whether the stack is scored beside the submodels; without it nothing is trained on folds.
    :param criterion: `strict`, `spans` (types do not count), or the name of any criterion.
    :param jobs: processes; the result does not depend on it.
    :param cache: a folder in which candidates are kept for the next run.
    :raises SettingsError: if there are fewer than two domains, or their types cannot be compared.
    """
    rule = criterion_named(criterion)
    _check(domains, rule)
    parts = {d.name: held_out_patients(d.settings.grouped(d.corpus), seed=d.settings.seed) for d in domains}
    tests = {name: held_out for name, (_, held_out) in parts.items()}
    rows = {}
    with stage("transfer", total=len(domains)):
        for number, domain in enumerate(domains, 1):
            with stage(f"round {number} of {len(domains)}, trained on {domain.name}", total=1.0):
                rows[domain.name] = _row(domain, parts[domain.name][0], tests, rule, stack, jobs, cache)
    facts = {domain.name: DomainFacts(domain.settings, *map(CorpusFacts.of, parts[domain.name])) for domain in domains}
    matrix = {
        system: {trained: {tested: scores[system] for tested, scores in row.items()} for trained, row in rows.items()}
        for system in rows[domains[0].name][domains[0].name]
    }
    return Transfer(Origin(SCHEMA, rule.name, _PROTOCOL, domains[0].settings), facts, matrix)


def _check(domains: Sequence[Domain], criterion: Criterion) -> None:
    if len(domains) < 2:
        raise SettingsError("a transfer matrix needs at least two corpora")
    if len({tuple(domain.settings.submodels) for domain in domains}) > 1:
        raise SettingsError("all corpora of a transfer matrix must have the same submodels")
    names = sorted({domain.corpus.label_set.name for domain in domains})
    if criterion.typed != "none" and len(names) > 1:
        raise SettingsError(
            f"the corpora have the label sets {' and '.join(names)}, whose types cannot be compared; convert them to "
            "one set with --map-labels, or compare spans only with --criterion spans"
        )


def _row(
    domain: Domain,
    training: Corpus,
    tests: Mapping[str, Corpus],
    criterion: Criterion,
    stack: bool,
    jobs: int,
    cache: Path | None,
) -> dict[str, dict[str, Score]]:
    """One engine, tested on every corpus: corpus -> system -> scores."""
    settings = fitting(domain.settings, training)
    unseen: list[Document] = [document for test in tests.values() for document in test.documents]
    proposed = propose(training, settings, unseen=unseen, out_of_fold=stack, jobs=jobs, cache=cache)
    answers = all_answers(proposed, settings)
    row: dict[str, dict[str, Score]] = {}
    begin = 0
    for name, gold in tests.items():
        end = begin + len(gold)
        found = {system: spans[begin:end] for system, spans in answers.items()}
        row[name] = systems_of(gold, found, training.label_set, criterion, seed=settings.seed).scores
        begin = end
    return row
