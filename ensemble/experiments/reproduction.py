"""The tables of a paper, in its own rows and columns, from its system trained on one's own notes.

    found = reproduce("zhao2020", training, test, settings)
    found.tables[1].table              table 4: what the paper reports, and what was found here
    write_reproduction(out, lambda: reproduce(...))

    out/results.json                   every figure, the settings and the protocol
    out/table-4.txt, table-4.tex       each table as text and for LaTeX
    out/annotated.jsonl                the test notes as the system annotates them, where they are asked for
    out/figure-4.png, figure-4.svg     a picture, where the paper has one
    out/figure-2.txt, ...              a learning curve as table and picture, where the paper has one
    out/seeds.txt, seeds.tex           means and deviations over seeds, where there are several

Submodels propose once for all tables: fold by fold for the training notes, and for the test notes after training on
all of the others; each row is a submodel alone or a stack over some of them. A learning curve trains each submodel
again and again, which takes longest. With a cache the predictions are kept, and a run that was stopped goes on. The
paper's figures stand beside ours; they are of another corpus, unless it is its own.
"""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from phistack.ensemble.evaluation.measures import Macro
from phistack.ensemble.evaluation.systems import mean_figures, mean_table
from phistack.ensemble.evaluation.tables import Table
from phistack.ensemble.experiments.learning_curve import LearningCurve
from phistack.ensemble.experiments.method_picture import method_picture
from phistack.ensemble.experiments.paper_curves import paper_curves, write_paper_curve
from phistack.ensemble.experiments.paper_runs import STACKING, PaperPlan
from phistack.ensemble.experiments.paper_tables import PaperTable, filled
from phistack.ensemble.experiments.parts import over_seeds, seeded
from phistack.ensemble.experiments.results import CorpusFacts, Origin
from phistack.ensemble.tools.progress import stage
from phistack.ensemble.training.fit_tasks import apart_from
from phistack.ensemble.training.settings import EngineSettings, merged
from phistack.features.documents import Corpus
from phistack.features.errors import SettingsError
from phistack.features.extras import need
from phistack.features.formats import write_corpus
from phistack.features.suggestions import no_such
from phistack.features.writing import new_folder, refuse_taken, write_json

_LOG = logging.getLogger("phistack")
SCHEMA = "phistack.reproduction.v1"
_PAPERS = resources.files("phistack.ensemble.experiments") / "papers"

_PROTOCOL = (
    "The system of {paper}, trained on one corpus and scored on another by exact start, end and type, seed {seed}. "
    "{folds}{left_out}{quick}{added}"
    "{off:.2%} of the PHI of the training notes begin or end within a token ({paper_off} in the paper). "
    "The paper's figures are those of {corpus}, its own corpus."
)
_STACKED = "The stackers learned from candidates that were proposed out of fold by {unsplit}, {folds} folds. "
_FOLDS = "Folds are by {unsplit}, {folds} of them. "
_ADDED = (
    "An added corpus of {notes} notes was learned from too, in a run of its own: in each fold all but a part of 1 in "
    "{folds}, and {learned} of its notes where the test notes are scored; never notes of a patient, or with a text, "
    "that is scored. "
)
_QUICK = "A quick run, of fewer folds and steps and at other rates than the paper's. "


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All tables of a paper.

    :param training: the corpus that was trained on.
    :param test: that was scored on.
    :param annotated: the same notes as the whole system annotates them, where they are asked for.
    :param curves: the number of a figure -> the learning curve that it shows.
    :param of_seeds: the mean scores of each row over seeds; empty for one seed, and the tables are of the first.
    """

    origin: Origin
    paper: str
    training: CorpusFacts
    test: CorpusFacts
    tables: tuple[PaperTable, ...] = field(repr=False)
    annotated: Corpus | None = field(default=None, repr=False)
    curves: Mapping[int, LearningCurve] = field(default_factory=dict, repr=False)
    of_seeds: Mapping[str, Macro] = field(default_factory=dict, repr=False)
    seeds: tuple[int, ...] = ()

    @property
    def seed_tables(self) -> list[Table]:
        """Means and deviations over seeds, or nothing for one seed."""
        return [mean_table(f"{len(self.seeds)} seeds", self.of_seeds)] if self.of_seeds else []

    def to_dict(self) -> dict[str, Any]:
        """Every figure as JSON can hold it."""
        means = {name: mean_figures(mean) for name, mean in self.of_seeds.items()}
        return {
            **self.origin.to_dict(),
            "paper": self.paper,
            "training": self.training.to_dict(),
            "test": self.test.to_dict(),
            "tables": {str(table.number): table.rows for table in self.tables},
            **({"figures": {str(n): curve.to_dict() for n, curve in self.curves.items()}} if self.curves else {}),
            **({"seeds": list(self.seeds), "mean of seeds": means} if means else {}),
        }


def papers() -> tuple[str, ...]:
    """The papers whose tables there are."""
    return tuple(sorted(file.name.removesuffix(".toml") for file in _PAPERS.iterdir() if file.name.endswith(".toml")))


def published(paper: str) -> dict[str, Any]:
    """The figures of a paper; :raises SettingsError: for one whose tables there are not."""
    if paper not in papers():
        raise SettingsError(no_such("paper", paper, papers()))
    return tomllib.loads((_PAPERS / f"{paper}.toml").read_text(encoding="utf-8"))


def settings_of(paper: str, settings: EngineSettings, *, quick: bool = False) -> EngineSettings:
    """The settings of a paper's system, with what a quick run changes in them.

    :param settings: those of the preset, with what a user changes.
    """
    if not quick:
        return settings
    return EngineSettings.from_dict(merged(settings.to_dict(), published(paper)["quick"]))


def reproduce(
    paper: str,
    training: Corpus,
    test: Corpus,
    settings: EngineSettings,
    *,
    quick: bool = False,
    only_right: str = "tbed",
    text: bool = False,
    annotated: bool = False,
    added: Sequence[Corpus] = (),
    curve: bool = True,
    seeds: int = 1,
    jobs: int = 1,
    cache: Path | None = None,
) -> Reproduction:
    """Train what the tables need, and fill them.

    :param settings: those of the paper's preset, as `settings_of` gives them; with the submodels that its tables have.
    :param quick: whether they are those of a quick run.
    :param only_right: the submodel of the table of cases, which lists the places where it alone is right.
    :param text: whether that table shows the text of the notes.
    :param annotated: whether to give the test notes as the system annotates them.
    :param curve: whether to make the learning curve too, where the paper has one.
    :param added: further corpora to learn from, one at a time, for tables that have rows of them.
    :param seeds: how many seeds to train with, for means and deviations of each row; all tables are of the first.
    :param jobs: processes; the result does not depend on it.
    :param cache: a folder in which candidates are kept for the next run.
    :raises SettingsError: for another paper, submodel, or submodels that the tables do not have, or for a corpus that
        they have no row of, or of which every note is of a patient that is scored.
    :raises MissingResourceError: if the paper has a figure, and what draws it is not installed.
    :raises TrainingError: if nothing can be learned from the training corpus.
    """
    declared = published(paper)
    drawn = declared.get("curve", {}) if curve else {}
    if drawn or any("apart" in table for table in declared["tables"]):
        need("matplotlib", "pictures", f"a figure of {paper}")
    plan = PaperPlan.of(declared, settings, only_right=only_right, text=text, whole=annotated)
    _check_added(paper, declared["tables"], added, test)
    with stage(f"reproducing {paper}", total=(1 + STACKING) * (seeds + len(added))):
        run, *others = [plan.run(training, test, added=more, jobs=jobs, cache=cache) for more in (None, *added)]
        every = seeded(plan.settings, seeds)
        again = [replace(plan, settings=own).run(training, test, jobs=jobs, cache=cache) for own in every[1:]]
    run = replace(run, with_added=tuple(others))
    protocol = _PROTOCOL.format(
        paper=paper, seed=settings.seed, corpus=declared["corpus"], folds=_folds(plan),
        left_out=_without_taggers(settings, declared.get("taggers", ("pos", "ner"))), quick=_QUICK if quick else "",
        added="".join(_ADDED.format(notes=len(c), folds=settings.folds, learned=_n_apart(c, test)) for c in added),
        off=run.off_tokens / max(sum(len(d.spans) for d in training.documents), 1), paper_off=declared["within_tokens"],
    )  # fmt: skip
    tables = tuple(filled(table, run) for table in declared["tables"])
    origin = Origin(SCHEMA, "strict", protocol, settings)
    notes = test.with_spans(run.answers[plan.members]) if annotated else None
    facts = CorpusFacts.of(training), CorpusFacts.of(test)
    curves = paper_curves(drawn, training, test, settings.only(plan.members), quick=quick, jobs=jobs, cache=cache)
    means = over_seeds([found.scores for found in (run, *again)]) if again else {}
    of_seeds = {"+".join(row): mean for row, mean in means.items()}
    return Reproduction(origin, paper, *facts, tables, notes, curves, of_seeds, tuple(own.seed for own in every))


def _folds(plan: PaperPlan) -> str:
    """What the folds were for, if there were any."""
    said = _STACKED if plan.stacks else _FOLDS if plan.fold_rows else ""
    return said.format(unsplit=plan.settings.unsplit, folds=plan.settings.folds)


def _check_added(paper: str, tables: Sequence[Any], added: Sequence[Corpus], test: Corpus) -> None:
    n_rows = max(row.get("added", 0) for table in tables for row in (table, *table.get("rows", ())))
    if len(added) > n_rows:
        raise SettingsError(f"the tables of {paper} have rows of {n_rows} added corpora, not of {len(added)}")
    for number, corpus in enumerate(added, 1):
        n_left_out = len(corpus) - _n_apart(corpus, test)
        if n_left_out == len(corpus):
            raise SettingsError(
                f"all {len(corpus)} notes of added corpus {number} are of patients, by their ids, or have texts that "
                "are scored, so none can be learned from; where the patients are others, give the notes other ids"
            )
        if n_left_out:
            _LOG.warning(
                "of the %d notes of added corpus %d, %d are of patients of the test notes, by their ids, or have one "
                "of their texts; they are not learned from where the test notes are scored",
                len(corpus),
                number,
                n_left_out,
            )


def _n_apart(added: Corpus, test: Corpus) -> int:
    """How many of the notes that are added can be learned from where others are scored."""
    return sum(map(apart_from(test.documents), added.documents))


def _without_taggers(settings: EngineSettings, taggers: Sequence[str]) -> str:
    """What the paper has of the columns of taggers, and these settings leave out."""
    names = {"pos": "part of speech", "ner": "general named entities"}
    missing = [names[column] for column in taggers if not getattr(settings.features, column)]
    return f"Without {' and '.join(missing)}, which the paper has. " if missing else ""


def write_reproduction(out: Path, measure: Callable[[], Reproduction]) -> Reproduction:
    """Fill the tables, and write the folder that holds them, complete or not at all.

    :param measure: gives the tables; not called where the folder is taken.
    :raises SettingsError: if there is anything at the path.
    """
    refuse_taken(out)
    found = measure()
    with new_folder(out) as folder:
        write_json(folder / "results.json", found.to_dict())
        if found.annotated is not None:
            write_corpus(found.annotated, folder / "annotated.jsonl", format="jsonl")
        for number, table, caption, rows, apart in found.tables:
            lines = [table.title, "", *table.markdown(), "", found.origin.protocol, ""]
            (folder / f"table-{number}.txt").write_text("\n".join(lines), encoding="utf-8")
            latex = table.latex(found.origin.comment, caption)
            (folder / f"table-{number}.tex").write_text(latex, encoding="utf-8")
            if apart is not None:
                method_picture(table.title, str(number), rows, folder, apart=apart)
        for seed_table in found.seed_tables:
            text = [seed_table.title, "", *seed_table.markdown(), "", found.origin.protocol, ""]
            (folder / "seeds.txt").write_text("\n".join(text), encoding="utf-8")
            (folder / "seeds.tex").write_text(seed_table.latex(found.origin.comment), encoding="utf-8")
        for figure, curve in found.curves.items():
            write_paper_curve(curve, folder, f"figure-{figure}")
    return found
