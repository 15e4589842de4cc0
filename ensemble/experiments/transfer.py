"""How far an engine travels: trained on each corpus, tested on each.

    out/results.json                     the matrix of every system, with intervals
    out/matrix.png, out/matrix.svg       one panel a system
    out/table.tex                        for LaTeX with booktabs: table 9 of Trienes 2020 for any corpora
    out/others.tex                       each corpus against all others together: table 8

A fifth of the patients of each corpus is held out; every engine, of whichever corpus, is tested on these notes, so that
the figures of one column compare. Pooled engines are trained on all corpora but one, or on all together, each time on
the notes that are not held out; what one that is pooled from all others makes of a corpus, it makes of a new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from phistack.ensemble.evaluation import Criterion, Score, criterion_named
from phistack.ensemble.evaluation.intervals import RESAMPLES
from phistack.ensemble.evaluation.systems import Systems
from phistack.ensemble.evaluation.tables import Cell, Table, share, strong
from phistack.ensemble.experiments.domains import ALL_BUT, Domain, pools_of
from phistack.ensemble.experiments.parts import STACK, all_answers, fitting, systems_of
from phistack.ensemble.experiments.pictures import matrix_picture
from phistack.ensemble.experiments.results import BOOTSTRAP, CorpusFacts, Origin
from phistack.ensemble.stacking.folds import held_out_patients
from phistack.ensemble.tools.progress import stage
from phistack.ensemble.training.proposals import propose
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus, Document
from phistack.features.errors import SettingsError

SCHEMA = "phistack.transfer.v1"
_PROTOCOL = (
    "Each corpus split by patient: trained on four fifths, with these settings and the language of the training "
    "corpus; tested on the held-out fifth of every corpus."
)
_POOLED = " Pooled engines are trained on four fifths of several corpora, with the settings of the first of them."
_ON_OTHERS, _FROM_OTHERS = "trained on it, tested on all others", "trained on all others, tested on it"


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
    :param others: system -> trained on -> score on the held-out notes of all corpora that it was not trained on.
    :param pooled: name of a pooled engine -> the notes it was trained on.
    """

    origin: Origin
    domains: Mapping[str, DomainFacts]
    matrix: Mapping[str, Mapping[str, Mapping[str, Score]]]
    others: Mapping[str, Mapping[str, Score]]
    pooled: Mapping[str, CorpusFacts]

    @property
    def caption(self) -> str:
        """What the table for LaTeX shows."""
        several = " or several" if self.pooled else ""
        return (
            f"F1 in percent, trained on four fifths of the patients of one corpus{several} and tested on the held-out "
            f"fifth of each; criterion: {self.origin.criterion}. In brackets {BOOTSTRAP}."
        )

    def others_table(self) -> Table:
        """F1 of every system between each corpus, a column, and all others together."""
        ways = [(_ON_OTHERS, ""), (_FROM_OTHERS, ALL_BUT)][: 1 + (len(self.pooled) > 1)]
        sections = [
            [
                (_shown(system), way, *(share(of[before + name].f1) for name in self.domains))
                for system, of in self.others.items()
            ]
            for way, before in ways
        ]
        title = self.origin.title("F1 between a corpus and all others, 95 % intervals")
        return Table(("system", "", *self.domains), sections, title, n_texts=2, is_wide=True)

    def table(self) -> Table:
        """F1 of every system, a section each: a row for each training corpus, a column for each test corpus."""
        sections = [
            [(_shown(system), trained, *(share(score.f1) for score in row.values())) for trained, row in matrix.items()]
            for system, matrix in self.matrix.items()
        ]
        columns = ("system", "trained on", *(f"tested on {name}" for name in self.domains))
        return Table(columns, sections, self.origin.title("F1, 95 % intervals"), n_texts=2, is_wide=True)

    def draw(self, folder: Path) -> None:
        """The matrix of each system, and the table of others for LaTeX."""
        matrix_picture(self.origin.title("F1 in percent"), self.matrix, folder)
        caption = (
            f"F1 in percent between one corpus and all others together; criterion: {self.origin.criterion}. In "
            f"brackets {BOOTSTRAP}."
        )
        table = self.others_table().latex(self.origin.comment, caption)
        (folder / "others.tex").write_text(table, encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Every figure as JSON can hold it."""
        return {
            **self.origin.to_dict(),
            "corpora": {name: facts.to_dict() for name, facts in self.domains.items()},
            "pooled": {name: facts.to_dict() for name, facts in self.pooled.items()},
            "bootstrap resamples": RESAMPLES,
            "matrix": {
                system: {
                    trained: {tested: score.to_dict() for tested, score in row.items()}
                    for trained, row in matrix.items()
                }
                for system, matrix in self.matrix.items()
            },
            "tested on all others": {
                system: {trained: score.to_dict() for trained, score in of.items()}
                for system, of in self.others.items()
            },
        }


def _shown(system: str) -> str | Cell:
    return strong(system) if system == STACK else system


def transfer(
    domains: Sequence[Domain],
    *,
    pooled: bool = False,
    stack: bool = True,
    criterion: str = "strict",
    jobs: int = 1,
    cache: Path | None = None,
) -> Transfer:
    """Train on each domain, test on each.

    :param domains: at least two, which train the same submodels.
    :param pooled: whether to train on all domains but one too, for each, and on all together.
    :param stack: whether the stack is scored beside the submodels; without it nothing is trained on folds.
    :param criterion: `strict`, `spans` (types do not count), or the name of any criterion.
    :param jobs: processes; the result does not depend on it.
    :param cache: a folder in which candidates are kept for the next run.
    :raises SettingsError: if there are fewer than two domains, or their types cannot be compared or pooled.
    """
    rule = criterion_named(criterion)
    _check(domains, rule, pooled)
    parts = {d.name: held_out_patients(d.settings.grouped(d.corpus), seed=d.settings.seed) for d in domains}
    tests = {name: held_out for name, (_, held_out) in parts.items()}
    single = [replace(domain, corpus=parts[domain.name][0]) for domain in domains]
    trained = [(domain, (domain.name,)) for domain in single] + (pools_of(single) if pooled else [])
    rows, others = {}, {}
    with stage("transfer", total=len(trained)):
        for number, (domain, members) in enumerate(trained, 1):
            with stage(f"round {number} of {len(trained)}, trained on {domain.name}", total=1.0):
                row = rows[domain.name] = _row(domain, tests, rule, stack, jobs, cache)
            if unseen := [row[name] for name in tests if name not in members]:
                others[domain.name] = _together(unseen, seed=domain.settings.seed)
    facts = {domain.name: DomainFacts(domain.settings, *map(CorpusFacts.of, parts[domain.name])) for domain in domains}
    systems = list(rows[domains[0].name][domains[0].name])
    matrix = {
        system: {name: {tested: scores[system] for tested, scores in row.items()} for name, row in rows.items()}
        for system in systems
    }
    on_others = {system: {name: scores[system] for name, scores in others.items()} for system in systems}
    pools = {domain.name: CorpusFacts.of(domain.corpus) for domain, members in trained if len(members) > 1}
    origin = Origin(SCHEMA, rule.name, _PROTOCOL + _POOLED * pooled, domains[0].settings)
    return Transfer(origin, facts, matrix, on_others, pools)


def _together(scores: Sequence[Mapping[str, Score]], *, seed: int) -> Mapping[str, Score]:
    """The scores of each system on several corpora as on one."""
    counts = {system: np.concatenate([of[system].by_document for of in scores]) for system in scores[0]}
    return Systems(counts, seed=seed).scores


def _check(domains: Sequence[Domain], criterion: Criterion, pooled: bool) -> None:
    if len(domains) < 2:
        raise SettingsError("a transfer matrix needs at least two corpora")
    if len({tuple(domain.settings.submodels) for domain in domains}) > 1:
        raise SettingsError("all corpora of a transfer matrix must have the same submodels")
    names = sorted({domain.corpus.label_set.name for domain in domains})
    if pooled and len(names) > 1:
        raise SettingsError(
            f"the corpora have the label sets {' and '.join(names)}, which cannot be learned together; convert them to "
            "one set with --map-labels, or leave out --pooled"
        )
    if criterion.typed != "none" and len(names) > 1:
        raise SettingsError(
            f"the corpora have the label sets {' and '.join(names)}, whose types cannot be compared; convert them to "
            "one set with --map-labels, or compare spans only with --criterion spans"
        )


def _row(
    domain: Domain,
    tests: Mapping[str, Corpus],
    criterion: Criterion,
    stack: bool,
    jobs: int,
    cache: Path | None,
) -> dict[str, dict[str, Score]]:
    """One engine, tested on every corpus: corpus -> system -> scores."""
    training, settings = domain.corpus, fitting(domain.settings, domain.corpus)
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
