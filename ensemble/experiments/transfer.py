"""How well an engine transfers: trained on each corpus, tested on each.

    out/matrix.png, ...     F1, one panel a system
    out/table.tex           the same with intervals: table 9 of Trienes 2020 for any corpora
    out/others.tex          each corpus against all others together: table 8
    out/differences.tex     trained elsewhere less trained at home, and each submodel less the stack, with p-values

A fifth of the patients of each corpus is held out, and every engine is tested on these notes, so the figures of one
column are comparable. Pooled engines are trained on all corpora but one, or on all, without the held-out notes. The
score of an engine pooled from all others shows what to expect on a new corpus.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np

from phistack.ensemble.evaluation import Criterion, Score, criterion_named, holm
from phistack.ensemble.evaluation.measures import IntArray
from phistack.ensemble.evaluation.resampling import BY_PATIENT, Resampling, Units
from phistack.ensemble.evaluation.systems import Difference, Systems, counts_of
from phistack.ensemble.evaluation.tables import Table, gap, share
from phistack.ensemble.experiments.choosers import difference_facts
from phistack.ensemble.experiments.parts import STACK, CorpusFacts, Origin, answers_of, plain, system_cell
from phistack.ensemble.experiments.pictures import matrix_picture
from phistack.ensemble.stacking.folds import held_out_patients, patients_in_several
from phistack.ensemble.tools.progress import stage
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Corpus
from phistack.features.errors import SettingsError

SCHEMA = "phistack.transfer.v1"
_ALL, _ALL_BUT = "all together", "all but "
"""The names of pools; the second precedes the name of the corpus that is left out."""
_LOG = logging.getLogger("phistack")
_PROTOCOL = (
    "Each corpus split by patient: trained on four fifths, with these settings and the language of the training "
    "corpus; tested on the held-out fifth of every corpus."
)
_POOLED = " Pooled engines are trained on four fifths of several corpora, with the settings of the first of them."
_ON_OTHERS, _FROM_OTHERS = "trained on it, tested on all others", "trained on all others, tested on it"


@dataclass(frozen=True, slots=True)
class Domain:
    """One annotated corpus of the matrix, and the settings to train its engine with."""

    name: str
    corpus: Corpus
    settings: EngineSettings


@dataclass(frozen=True, slots=True)
class Transfer:
    """The matrix.

    :param domains: name of a corpus -> the settings of its engine, and the facts of its training and test notes.
    :param matrix: system -> trained on -> tested on -> score.
    :param others: system -> trained on -> score on the held-out notes of all other corpora.
    :param pooled: name of a pooled engine -> its training notes.
    :param gaps: (system, other system, tested on) -> the first minus the second.
    """

    origin: Origin
    domains: Mapping[str, Mapping[str, Any]]
    matrix: Mapping[str, Mapping[str, Mapping[str, Score]]]
    others: Mapping[str, Mapping[str, Score]]
    pooled: Mapping[str, CorpusFacts]
    gaps: Mapping[tuple[str, str, str], Difference]

    def tables(self) -> dict[str, Table]:
        """The matrix, each corpus against all others, and the differences."""
        how, names = f"{self.origin.counted}, in percent, {self.origin.intervals}", tuple(self.domains)
        matrix = [
            [
                (system_cell(system), trained, *(share(score.f1) for score in row.values()))
                for trained, row in rows.items()
            ]
            for system, rows in self.matrix.items()
        ]
        ways = [(_ON_OTHERS, ""), (_FROM_OTHERS, _ALL_BUT)][: 1 + (len(self.pooled) > 1)]
        others = [
            [(system_cell(n), way, *(share(of[before + name].f1) for name in names)) for n, of in self.others.items()]
            for way, before in ways
        ]
        gaps = [
            [(*names, gap(found.gap), f"{found.p_holm:.4f}") for names, found in rows]
            for _, rows in groupby(self.gaps.items(), key=lambda item: item[0][2])
        ]
        p_values = f"p of {self.origin.units.p_values}" if self.origin.units else ""
        note = f"{p_values}, after Holm's correction over {len(self.gaps)} differences"
        one = "one corpus or several" if self.pooled else "one corpus"
        caption = f"F1, trained on four fifths of the patients of {one}, tested on the held-out fifth of each"
        between, differences = "F1 between one corpus and all others together", "Differences in F1, in points"
        tested = (f"tested on {name}" for name in names)
        return {
            "table": Table(("system", "trained on", *tested), matrix, f"F1, {how}", "", 2, f"{caption}; {how}."),
            "others": Table(("system", "", *names), others, between, "", 2, f"{between}; {how}."),
            "differences": Table(
                ("system", "less", "tested on", "points", "p (Holm)"), gaps, differences, note, 3,
                f"{differences}, {self.origin.intervals}; {note}.",
            ),
        }  # fmt: skip

    def draw(self, folder: Path) -> None:
        title = f"F1 in percent, {self.origin.counted}"
        matrix_picture(title, self.matrix, folder, comment=self.origin.comment)

    def to_dict(self) -> dict[str, Any]:
        differences = [
            {"of": of, "less": less, "tested on": tested, **difference_facts(found)}
            for (of, less, tested), found in self.gaps.items()
        ]
        scores = {"matrix": self.matrix, "tested on all others": self.others, "differences": differences}
        return {**self.origin.to_dict(), **plain({"corpora": self.domains, "pooled": self.pooled, **scores})}


def _name(trained: str, system: str) -> str:
    return f"{system}, trained on {trained}"


def transfer(
    domains: Sequence[Domain],
    *,
    pooled: bool = False,
    stack: bool = True,
    criterion: str = "strict",
    resampling: Resampling = BY_PATIENT,
    jobs: int = 1,
    cache: Path | None = None,
) -> Transfer:
    """Train on each domain, test on each.

    :param domains: at least two, with the same submodels.
    :param pooled: whether to train on all domains together too, and on all but each one.
    :raises SettingsError: if there are fewer than two domains, or their types cannot be compared or pooled.
    """
    rule = criterion_named(criterion)
    _check(domains, rule, pooled)
    parts = {d.name: held_out_patients(d.settings.grouped(d.corpus), seed=d.settings.seed) for d in domains}
    tests = {name: held_out for name, (_, held_out) in parts.items()}
    single = [replace(domain, corpus=parts[domain.name][0]) for domain in domains]
    trained = [(domain, (domain.name,)) for domain in single] + (_pools_of(single) if pooled else [])
    unseen = [document for test in tests.values() for document in test.documents]
    counts: dict[str, dict[str, IntArray]] = {name: {} for name in tests}
    with stage("transfer", total=len(trained)):
        for number, (domain, _) in enumerate(trained, 1):
            with stage(f"round {number} of {len(trained)}, trained on {domain.name}", total=1.0):
                found = answers_of(domain.corpus, domain.settings, unseen=unseen, stack=stack, jobs=jobs, cache=cache)
            for system, spans in found.items():
                rest = iter(spans)
                for name, gold in tests.items():
                    answer = replace(gold, label_set=domain.corpus.label_set).with_spans([*islice(rest, len(gold))])
                    counts[name][_name(domain.name, system)] = counts_of(gold, answer, rule)
    resampling = replace(resampling, seed=domains[0].settings.seed)
    patients = {name: [f"{name}/{note.group}" for note in test.documents] for name, test in tests.items()}
    tested = {name: Systems(of, patients[name], resampling) for name, of in counts.items()}
    others: dict[str, dict[str, Score]] = {system: {} for system in found}
    for domain, members in trained:
        if new := [name for name in tests if name not in members]:
            joined = {s: np.concatenate([counts[name][_name(domain.name, s)] for name in new]) for s in found}
            scored = Systems(joined, [patient for name in new for patient in patients[name]], resampling)
            for system, score in scored.scores.items():
                others[system][domain.name] = score
    names = [domain.name for domain, _ in trained]
    return Transfer(
        Origin(
            SCHEMA, rule.name, _PROTOCOL + _POOLED * pooled, domains[0].settings, domains[0].corpus.label_set.name,
            Units.of([patient for of in patients.values() for patient in of], resampling),
        ),
        {domain.name: _facts_of(domain.settings, *parts[domain.name]) for domain in domains},
        {system: {n: {t: tested[t].scores[_name(n, system)] for t in tests} for n in names} for system in found},
        others,
        {domain.name: CorpusFacts.of(domain.corpus) for domain, members in trained if len(members) > 1},
        _gaps(tested, names, list(found)),
    )  # fmt: skip


def _facts_of(settings: EngineSettings, training: Corpus, test: Corpus) -> dict[str, Any]:
    facts = {"training": CorpusFacts.of(training), "test": CorpusFacts.of(test)}
    return {"language": settings.features.language, "settings hash": settings.digest, **facts}


def _pools_of(domains: Sequence[Domain]) -> list[tuple[Domain, tuple[str, ...]]]:
    """All domains but each one, if there are three or more, and all domains; each pool with the names of its members.

    A pool has the settings of its first member; several languages or shared patient names cause a warning.
    """
    languages = sorted({domain.settings.features.language for domain in domains})
    if len(languages) > 1:
        several = "the corpora are in several languages (%s); each pooled engine is made for that of its first corpus"
        _LOG.warning(several, ", ".join(languages))
    if n_shared := patients_in_several(domain.corpus for domain in domains):
        alike = (
            "%d names of patients are in more than one corpus and are taken for different people; if they are the "
            "same, pooled engines are tested on patients from their training"
        )
        _LOG.warning(alike, n_shared)
    members = [(_ALL_BUT + out.name, [d for d in domains if d is not out]) for out in domains if len(domains) > 2]
    members.append((_ALL, list(domains)))
    return [(_pool(name, of), tuple(domain.name for domain in of)) for name, of in members]


def _pool(name: str, members: Sequence[Domain]) -> Domain:
    """Several domains as one; ids and patients begin with the name of the domain."""
    notes, labels = [], members[0].corpus.label_set
    for domain in members:
        labels = labels.extended(domain.corpus.label_set.categories)
        for note in domain.corpus.documents:
            fold_group = note.fold_group and f"{domain.name}/{note.fold_group}"
            id, group = f"{domain.name}/{note.id}", f"{domain.name}/{note.group}"
            notes.append(replace(note, id=id, group=group, fold_group=fold_group))
    return Domain(name, Corpus(tuple(notes), labels), members[0].settings)


def _gaps(
    tested: Mapping[str, Systems], trained: Sequence[str], systems: Sequence[str]
) -> dict[tuple[str, str, str], Difference]:
    """Trained elsewhere minus trained on the tested corpus, and submodel minus stack; Holm's correction covers all."""
    found: dict[tuple[str, str, str], Difference] = {}
    for name, of in tested.items():
        pairs = [(_name(on, system), _name(name, system)) for system in systems for on in trained if on != name]
        if STACK in systems:
            pairs += [(_name(on, system), _name(on, STACK)) for on in trained for system in systems if system != STACK]
        found |= {(one, less, name): gap for (one, less, _), gap in of.differences(pairs, ["f1"]).items()}
    corrected = holm([gap.p for gap in found.values()])
    return {key: gap._replace(p_holm=p) for (key, gap), p in zip(found.items(), corrected, strict=True)}


def _check(domains: Sequence[Domain], criterion: Criterion, pooled: bool) -> None:
    if len(domains) < 2:
        raise SettingsError("a transfer matrix needs at least two corpora")
    if len({tuple(domain.settings.submodels) for domain in domains}) > 1:
        raise SettingsError("all corpora of a transfer matrix must have the same submodels")
    names = sorted({domain.corpus.label_set.name for domain in domains})
    if len(names) > 1 and (pooled or criterion.typed != "none"):
        what = "which cannot be learned together" if pooled else "whose types cannot be compared"
        instead = "leave out --pooled" if pooled else "compare spans only with --criterion spans"
        raise SettingsError(
            f"the corpora have the label sets {' and '.join(names)}, {what}; convert them to one set with "
            f"--map-labels, or {instead}"
        )
