"""The tables of a paper, in its own rows and columns, from its system trained on your notes.

    found = reproduce("zhao2020", training, test, settings)
    found.tables[2].table              table 4: what the paper reports, and what was found here
    write_reproduction(out, lambda: reproduce(...))

    out/index.html                     all tables and figures on one page
    out/results.json                   every figure, the settings and the protocol
    out/table-4.txt, table-4.tex       each table as text and for LaTeX
    out/annotated.jsonl                the test notes as the system annotates them, if asked for
    out/figure-4.png, figure-4.svg     a picture, if the paper has one and matplotlib is installed
    out/figure-2.txt, ...              a learning curve as table and picture, if the paper has one
    out/seeds.txt, seeds.tex           means and deviations over seeds, if there are several

The paper's figures stand beside ours; they come from another corpus, unless yours is the paper's. Each table says on
which notes our systems were trained and scored, and whether the run was a quick one. A learning curve trains each
submodel many times, which takes longest. A cache keeps the predictions, and a run that was stopped continues from them.
"""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import Any

from phistack.ensemble.evaluation.measures import Macro
from phistack.ensemble.evaluation.systems import mean_figures, mean_table
from phistack.ensemble.evaluation.tables import Table, escaped
from phistack.ensemble.experiments.learning_curve import LearningCurve, learning_curve
from phistack.ensemble.experiments.parts import CorpusFacts, Origin, over_seeds, seeded
from phistack.ensemble.experiments.pictures import BLUE, GREY, PALE, picture
from phistack.ensemble.papers.options import DEFAULT, PAPERS, PUBLISHED, PaperOptions
from phistack.ensemble.papers.plan import STACKING, PaperPlan
from phistack.ensemble.papers.run import missing_parts
from phistack.ensemble.papers.tables import PaperTable, filled
from phistack.ensemble.tools.progress import stage
from phistack.ensemble.tools.templates import template
from phistack.ensemble.training.fit_tasks import apart_from
from phistack.ensemble.training.settings import EngineSettings, merged
from phistack.features.documents import Corpus
from phistack.features.errors import SettingsError, how_to_install, no_such
from phistack.features.formats import write_corpus
from phistack.features.writing import new_folder, refuse_taken, write_json

_LOG = logging.getLogger("phistack")
SCHEMA = "phistack.reproduction.v2"

_HERE = "Here: trained on {}, scored on {}, language {}{}. The paper: {}."
_QUICK = "; a quick run, of fewer folds and steps and at other rates than the paper's"
_STACKED = "The stackers learned from candidates that were proposed out of fold by {unsplit}, {folds} folds."
_FOLDS = "Folds are by {unsplit}, {folds} of them."
_ADDED = (
    "Added corpus {number}, {notes} notes, was also learned from, in a run of its own: in each fold all but a part of "
    "1 in {folds}, and {learned} of its notes where the test notes are scored; never notes of a patient, or with a "
    "text, that is scored."
)
_OFF_TOKENS = "{share:.2%} of the PHI of the training notes begin or end within a token ({paper} in the paper)."

_STYLES = (("#009E73", "^"), ("#E69F00", "s"), ("#D55E00", "D"), (BLUE, "o"), (GREY, "v"))
_APART = 0.16
"""The distance between the dots of a category in a picture; categories are 1 apart."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All tables of a paper.

    :param here: on which notes our figures were made, and whether the run was a quick one.
    :param training: the corpus that was trained on; `test`: the one that was scored.
    :param annotated: the test notes as the system annotates them, if asked for.
    :param curves: the number of a figure -> the learning curve that it shows.
    :param has_text: whether tables of places show the text of the notes.
    :param seeds: of all trainings; the tables show the first.
    :param of_seeds: the mean scores of each system over the seeds; empty for one seed.
    """

    origin: Origin
    paper: str
    here: str
    training: CorpusFacts
    test: CorpusFacts
    tables: tuple[PaperTable, ...] = field(repr=False)
    annotated: Corpus | None = field(default=None, repr=False)
    curves: Mapping[int, LearningCurve] = field(default_factory=dict, repr=False)
    has_text: bool = False
    seeds: tuple[int, ...] = ()
    of_seeds: Mapping[str, Macro] = field(default_factory=dict, repr=False)

    @property
    def shown(self) -> dict[str, Table]:
        """All tables by the names of their files."""
        tables = {f"table-{table.number}": table.table for table in self.tables}
        curves = {f"figure-{number}": curve.table() for number, curve in self.curves.items()}
        seeds = {"seeds": mean_table(f"{len(self.seeds)} seeds", self.of_seeds)} if self.of_seeds else {}
        return tables | curves | seeds

    def to_dict(self) -> dict[str, Any]:
        means = {name: mean_figures(mean) for name, mean in self.of_seeds.items()}
        return {
            **self.origin.to_dict(),
            "paper": self.paper,
            "training": self.training.to_dict(),
            "test": self.test.to_dict(),
            "tables": {str(table.number): table.rows for table in self.tables},
            "notes": {str(table.number): table.table.note for table in self.tables},
            **({"figures": {str(n): curve.to_dict() for n, curve in self.curves.items()}} if self.curves else {}),
            **({"seeds": list(self.seeds), "mean of seeds": means} if means else {}),
        }


def published(paper: str) -> dict[str, Any]:
    """The tables of a paper; :raises SettingsError: for an unknown one."""
    if paper not in PAPERS:
        raise SettingsError(no_such("paper", paper, PAPERS))
    return tomllib.loads((PUBLISHED / f"{paper}.toml").read_text(encoding="utf-8"))


def settings_of(paper: str, settings: EngineSettings, *, quick: bool = False) -> EngineSettings:
    """The settings of a paper's system, with what a quick run changes in them.

    :param settings: those of the preset, with the user's changes.
    """
    if not quick:
        return settings
    return EngineSettings.from_dict(merged(settings.to_dict(), published(paper)["quick"]))


def reproduce(
    paper: str,
    training: Corpus,
    test: Corpus,
    settings: EngineSettings,
    options: PaperOptions = DEFAULT,
    *,
    added: Sequence[Corpus] = (),
    jobs: int = 1,
    cache: Path | None = None,
) -> Reproduction:
    """Train what the tables need, and fill them.

    :param settings: those of the paper's preset from `settings_of`, with the submodels that its tables have.
    :param options: `quick` says that the settings are those of a quick run.
    :param added: further corpora to learn from, one at a time, for tables with columns for them.
    :param jobs: processes; the result does not depend on it.
    :param cache: a folder in which candidates are kept for the next run.
    :raises SettingsError: for an unknown paper or submodel, settings that lack a submodel of the tables, or an added
        corpus that has no column in them or only notes of patients that are scored.
    :raises TrainingError: if nothing can be learned from the training corpus.
    """
    declared = published(paper)
    plan = PaperPlan.of(declared, settings, options)
    _check_added(paper, declared["tables"], added, test)
    with stage(f"reproducing {paper}", total=(1 + STACKING) * (options.seeds + len(added))):
        run, *others = [plan.run(training, test, added=more, jobs=jobs, cache=cache) for more in (None, *added)]
        seeds = seeded(plan.settings, options.seeds)
        again = [replace(plan, settings=own).run(training, test, jobs=jobs, cache=cache) for own in seeds[1:]]
    means = over_seeds([found.systems.scores for found in (run, *again)]) if again else {}
    run = replace(run, with_added=tuple(others))
    facts = CorpusFacts.of(training), CorpusFacts.of(test)
    sizes = (f"{corpus.documents} notes ({corpus.label_set})" for corpus in facts)
    here = _HERE.format(*sizes, run.language, _QUICK if options.quick else "", declared["corpus"])
    folds, unsplit = plan.settings.folds, plan.settings.unsplit
    protocol = [
        here,
        f"Scored by exact start, end and type, seed {settings.seed}.",
        (_STACKED if plan.stacks else _FOLDS if plan.has_folds else "").format(unsplit=unsplit, folds=folds),
        *(f"{name}: {part}." for name, part in missing_parts(plan.settings).items()),
        *(
            _ADDED.format(number=n, notes=len(corpus), folds=folds, learned=_n_apart(corpus, test))
            for n, corpus in enumerate(added, 1)
        ),
        _OFF_TOKENS.format(share=run.off_tokens / max(facts[0].spans, 1), paper=declared["within_tokens"]),
    ]
    tables = tuple(filled(table, run, options) for table in declared["tables"])
    origin = Origin(SCHEMA, "strict", " ".join(filter(None, protocol)), plan.settings)
    notes = test.with_spans(run.answers[plan.system]) if options.annotated else None
    curves: dict[int, LearningCurve] = {}
    if options.curve and (drawn := declared.get("curve")):
        size = {name: drawn[name] for name in ("shares", "samples", "runs")} | (drawn["quick"] if options.quick else {})
        alone = settings.only(plan.members)
        curves[drawn["figure"]] = learning_curve(
            training, alone, test=test, by=drawn["by"], stack=False, jobs=jobs, cache=cache, **size
        )
    has_text = options.text and any(table.get("kind") == "places" for table in declared["tables"])
    every = tuple(own.seed for own in seeds)
    return Reproduction(origin, paper, here, *facts, tables, notes, curves, has_text, every, means)


def _check_added(paper: str, tables: Sequence[Any], added: Sequence[Corpus], test: Corpus) -> None:
    most = max(column.get("added", 0) for table in tables for column in (table, *table.get("columns", ())))
    if len(added) > most:
        raise SettingsError(f"the tables of {paper} have columns of {most} added corpora, not of {len(added)}")
    for number, corpus in enumerate(added, 1):
        n_apart = _n_apart(corpus, test)
        if not n_apart:
            raise SettingsError(
                f"all {len(corpus)} notes of added corpus {number} are of patients, by their ids, or have texts that "
                "are scored, so none can be learned from; where the patients are others, give the notes other ids"
            )
        if n_apart < len(corpus):
            _LOG.warning(
                "of the %d notes of added corpus %d, %d are of patients of the test notes, by their ids, or have one "
                "of their texts; they are not learned from where the test notes are scored",
                len(corpus), number, len(corpus) - n_apart,
            )  # fmt: skip


def _n_apart(added: Corpus, test: Corpus) -> int:
    """How many added notes can be learned from while the test notes are scored."""
    return sum(map(apart_from(test.documents), added.documents))


def write_reproduction(out: Path, measure: Callable[[], Reproduction]) -> Reproduction:
    """Fill the tables, and write their folder, complete or not at all.

    :param measure: gives the tables; not called if the folder exists.
    :raises SettingsError: if the path exists.
    """
    refuse_taken(out)
    found = measure()
    with new_folder(out) as folder:
        write_json(folder / "results.json", found.to_dict())
        if found.annotated is not None:
            write_corpus(found.annotated, folder / "annotated.jsonl", format="jsonl")
        for name, table in found.shown.items():
            _write_table(folder, name, table, found)
        _draw(folder, found)
        pictures = {path.stem: _svg(path) for path in folder.glob("*.svg")}
        page = template("phistack.ensemble.papers", "index_template.html").render(
            paper=found.paper,
            protocol=found.origin.protocol,
            tables=found.shown.items(),
            pictures=pictures,
            has_text=found.has_text,
        )
        (folder / "index.html").write_text(page, encoding="utf-8")
    return found


def _write_table(folder: Path, name: str, table: Table, found: Reproduction) -> None:
    """Write a table as text and for LaTeX; each says on which notes our figures were made."""
    lines = [table.title, "", *table.markdown(), "", table.note, "", found.origin.protocol, ""]
    (folder / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")
    caption = escaped(f"{table.title}. {found.here} {table.note}".strip())
    latex = table.latex(f"{found.origin.comment}. {found.origin.protocol}", caption)
    (folder / f"{name}.tex").write_text(latex, encoding="utf-8")


def _draw(folder: Path, found: Reproduction) -> None:
    """Draw the figures of the paper; without matplotlib only their tables are written."""
    drawn = [table for table in found.tables if table.apart is not None]
    if (drawn or found.curves) and find_spec("matplotlib") is None:
        _LOG.warning("without matplotlib the figures are written as tables only: %s", how_to_install("pictures"))
        return
    for table in drawn:
        _draw_methods(table, folder)
    for number, curve in found.curves.items():
        curve.draw(folder, name=f"figure-{number}")


def _draw_methods(table: PaperTable, folder: Path) -> None:
    """F1 of each method by category as dots, like figure 4 of Liu 2017; much lower categories get their own panel."""
    rows, apart = table.rows, table.apart or ()
    panels = [[row for row in rows if (row["category"] in apart) == is_apart] for is_apart in (False, True)]
    panels = list(filter(None, panels))
    widths, methods = list(map(len, panels)), list(rows[0]["ours"])
    with picture(folder, str(table.number), table.table.title, size=(2.0 + 0.9 * sum(widths), 3.4)) as figure:
        all_axes = figure.subplots(1, len(panels), width_ratios=widths, squeeze=False)[0]
        for axes, panel in zip(all_axes, panels, strict=True):
            for number, (method, (colour, marker)) in enumerate(zip(methods, cycle(_STYLES), strict=False)):
                shift = _APART * (number - (len(methods) - 1) / 2)
                dots = {n + shift: 100 * r["ours"][method][0] for n, r in enumerate(panel) if r["ours"][method]}
                axes.plot([*dots], [*dots.values()], marker, color=colour, markersize=6, label=method)
            axes.set_xticks(range(len(panel)), [row["category"] for row in panel], fontsize=7)
            axes.set_xlim(-0.6, len(panel) - 0.4)
            axes.grid(axis="y", color=PALE, linewidth=0.6)
            axes.set_axisbelow(True)
            axes.tick_params(axis="x", length=0)
        all_axes[0].set_ylabel("F1 in percent, strict")
        handles, names = all_axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)


def _svg(path: Path) -> str:
    """The drawing without the file's header, for use in a page."""
    text = path.read_text(encoding="utf-8")
    return text[text.index("<svg") :]
