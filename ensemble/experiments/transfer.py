"""How far an engine travels: trained on each corpus, tested on each.

    out/results.json                     the matrix of every system, with intervals
    out/matrix.png, out/matrix.svg       one panel a system
    out/table.tex                        for LaTeX with booktabs

A fifth of the patients of each corpus is held out; every engine, of whichever corpus, is tested on these notes, so that
the figures of one column compare. Tables 4 and 5 of Trienes 2020 for any corpora.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ensemble.evaluation import Criterion, criterion_named
from ensemble.evaluation.intervals import RESAMPLES
from ensemble.experiments.latex import transfer_latex
from ensemble.experiments.measuring import counts_of, measured
from ensemble.experiments.parts import all_answers, described, fitting
from ensemble.experiments.pictures import matrix_picture
from ensemble.experiments.results import head, write_results
from ensemble.stacking.folds import held_out_patients
from ensemble.tools.progress import stage
from ensemble.training.proposals import propose
from ensemble.training.settings import EngineSettings
from features.documents import Corpus, Document
from features.errors import SettingsError

__all__ = ["SCHEMA", "Domain", "transfer", "write_transfer"]

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


def transfer(
    domains: Sequence[Domain],
    *,
    stack: bool = True,
    criterion: str = "strict",
    jobs: int = 1,
    cache: Path | None = None,
) -> dict[str, Any]:
    """Train on each domain, test on each.

    :param domains: at least two, which train the same submodels.
    :param stack: whether the stack is scored beside the submodels; without it nothing is trained on folds.
    :param criterion: `strict`, `spans` (types do not count), or the name of any criterion.
    :param jobs: processes; the result does not depend on it.
    :param cache: a folder in which candidates are kept for the next run.
    :returns: the results, as JSON can hold them; `matrix[system][trained on][tested on]`.
    :raises SettingsError: if there are fewer than two domains, or their types cannot be compared.
    """
    rule = criterion_named(criterion)
    _check(domains, rule)
    parts = {domain.name: held_out_patients(domain.corpus, seed=domain.settings.seed) for domain in domains}
    tests = {name: held_out for name, (_, held_out) in parts.items()}
    rows = {}
    with stage("transfer", total=len(domains)):
        for number, domain in enumerate(domains, 1):
            with stage(f"round {number} of {len(domains)}, trained on {domain.name}", total=1.0):
                rows[domain.name] = _row(domain, parts[domain.name][0], tests, rule, stack, jobs, cache)
    systems = list(next(iter(rows[domains[0].name].values())))
    return {
        **head(SCHEMA, domains[0].settings, criterion=rule.name, protocol=_PROTOCOL),
        "corpora": {
            domain.name: {
                "language": domain.settings.features.language,
                "settings hash": domain.settings.digest,
                "training": described(parts[domain.name][0]),
                "test": described(tests[domain.name]),
            }
            for domain in domains
        },
        "bootstrap resamples": RESAMPLES,
        "matrix": {
            system: {trained: {tested: row[tested][system] for tested in row} for trained, row in rows.items()}
            for system in systems
        },
    }


def write_transfer(out: Path, domains: Sequence[Domain], **options: Any) -> dict[str, Any]:
    """Run `transfer` and write the folder of results, complete or not at all.

    :param options: as for `transfer`.
    :raises SettingsError: if the folder is already there; that is seen before training begins.
    """
    return write_results(out, lambda: transfer(domains, **options), matrix_picture, transfer_latex)


def _check(domains: Sequence[Domain], criterion: Criterion) -> None:
    if len(domains) < 2:
        raise SettingsError("a transfer matrix needs at least two corpora")
    if len({tuple(domain.settings.submodels) for domain in domains}) > 1:
        raise SettingsError("all corpora of a transfer matrix must train the same submodels")
    names = sorted({domain.corpus.label_set.name for domain in domains})
    if criterion.typed != "none" and len(names) > 1:
        raise SettingsError(
            f"the corpora have the label sets {' and '.join(names)}, whose types cannot be compared; turn them into "
            "one with --map-labels, or compare spans only with --criterion spans"
        )


def _row(
    domain: Domain,
    training: Corpus,
    tests: Mapping[str, Corpus],
    criterion: Criterion,
    stack: bool,
    jobs: int,
    cache: Path | None,
) -> dict[str, dict[str, Any]]:
    """One engine, tested on every corpus: corpus -> system -> scores."""
    settings = fitting(domain.settings, training)
    unseen: list[Document] = [document for test in tests.values() for document in test.documents]
    proposed = propose(training, settings, unseen=unseen, out_of_fold=stack, jobs=jobs, cache=cache)
    answers = all_answers(proposed, settings)
    row: dict[str, dict[str, Any]] = {}
    begin = 0
    for name, gold in tests.items():
        end = begin + len(gold)
        counts = {
            system: counts_of(gold, spans[begin:end], training.label_set, criterion)
            for system, spans in answers.items()
        }
        scores = measured(counts, seed=settings.seed)
        row[name] = {system: scores[system].to_dict() for system in scores}
        begin = end
    return row
