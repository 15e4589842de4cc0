"""The tables of a paper, in its own rows and columns, from its system trained on one's own notes.

    found = reproduce("zhao2020", training, test, settings)
    found.tables[1].table              table 4: what the paper reports, and what was found here
    write_reproduction(out, lambda: reproduce(...))

    out/results.json                   every figure, the settings and the protocol
    out/table-4.txt, table-4.tex       each table as text and for LaTeX
    out/annotated.jsonl                the test notes as the system annotates them, where they are asked for
    out/figure-4.png, figure-4.svg     a picture, where the paper has one

Submodels propose once for all tables: fold by fold for the training notes, and for the test notes after training on
all of the others; each row is a submodel alone or a stack over some of them. With a cache the predictions are kept, and
a run that was stopped goes on. The paper's figures stand beside ours; they are of another corpus, unless it is its own.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from ensemble.evaluation import criterion_named
from ensemble.experiments.entity_baselines import entity_baselines
from ensemble.experiments.method_picture import method_picture
from ensemble.experiments.paper_tables import Members, PaperRun, PaperTable, filled
from ensemble.experiments.parts import Answers, alone_answers, stack_answers, systems_of
from ensemble.experiments.results import CorpusFacts, Origin
from ensemble.stacking.candidates import chosen_spans
from ensemble.stacking.merged_rules import MERGED_RULES, MergedRules
from ensemble.tools.progress import progress, stage
from ensemble.training.proposals import Proposed, propose
from ensemble.training.settings import EngineSettings, merged
from features.documents import Corpus
from features.errors import SettingsError
from features.extras import need
from features.formats import write_corpus
from features.suggestions import no_such
from features.writing import new_folder, refuse_taken, write_json
from submodels.base import KIND, kind_of

__all__ = ["SCHEMA", "Reproduction", "papers", "published", "reproduce", "settings_of", "write_reproduction"]

SCHEMA = "phistack.reproduction.v1"
_PAPERS = resources.files("ensemble.experiments") / "papers"
_STACKING = 0.1
_BASELINE = " baseline"
"""At the end of the name of a row that is none of submodels; see `ensemble.experiments.entity_baselines`."""

_PROTOCOL = (
    "The system of {paper}, trained on one corpus and scored on another by exact start, end and type; the stackers "
    "learned from candidates that were proposed out of fold by {unsplit}, {folds} folds, seed {seed}. {left_out}{quick}"
    "{off:.2%} of the PHI of the training notes begin or end within a token ({paper_off} in the paper). "
    "The paper's figures are those of {corpus}, its own corpus."
)
_QUICK = "A quick run, of fewer folds and steps and at other rates than the paper's. "


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All tables of a paper.

    :param training: the corpus that was trained on.
    :param test: that was scored on.
    :param annotated: the same notes as the whole system annotates them, where they are asked for.
    """

    origin: Origin
    paper: str
    training: CorpusFacts
    test: CorpusFacts
    tables: tuple[PaperTable, ...] = field(repr=False)
    annotated: Corpus | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Every figure as JSON can hold it."""
        return {
            **self.origin.to_dict(),
            "paper": self.paper,
            "training": self.training.to_dict(),
            "test": self.test.to_dict(),
            "tables": {str(table.number): table.rows for table in self.tables},
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
    jobs: int = 1,
    cache: Path | None = None,
) -> Reproduction:
    """Train what the tables need, and fill them.

    :param settings: those of the paper's preset, as `settings_of` gives them; with the submodels that its tables have.
    :param quick: whether they are those of a quick run.
    :param only_right: the submodel of the table of cases, which lists the places where it alone is right.
    :param text: whether that table shows the text of the notes.
    :param annotated: whether to give the test notes as the system annotates them.
    :param jobs: processes; the result does not depend on it.
    :param cache: a folder in which candidates are kept for the next run.
    :raises SettingsError: for another paper, submodel, or submodels that the tables do not have.
    :raises MissingResourceError: if the paper has a figure, and what draws it is not installed.
    :raises TrainingError: if nothing can be learned from the training corpus.
    """
    declared = published(paper)
    if any("apart" in table for table in declared["tables"]):
        need("matplotlib", "pictures", f"a figure of {paper}")
    members, further = tuple(declared["members"]), declared.get("further", {})
    rows = [row for table in declared["tables"] for row in _rows_of(table)]
    wanted = tuple(dict.fromkeys([members, *((name,) for name in members), *rows]))
    has_cases = any(table["kind"] == "cases" for table in declared["tables"])
    named_here = (*members, only_right) if has_cases else members
    if missing := [name for name in named_here if name not in settings.submodels]:
        raise SettingsError(no_such("submodel of these settings", missing[0], settings.submodels))
    own = settings.only(members)
    whole = replace(own, submodels={**own.submodels, **{name: _like(own, given) for name, given in further.items()}})
    with stage(f"reproducing {paper}", total=1 + _STACKING):
        proposed = propose(training, whole, unseen=test.documents, jobs=jobs, cache=cache)
        learned = [row for row in wanted if not row[0].endswith(_BASELINE)]
        answers = _answers(proposed, learned, settings) | _baselines(wanted, training, test)
    rule = criterion_named("strict")
    named = {"+".join(row): spans for row, spans in answers.items()}
    systems = systems_of(test, named, training.label_set, rule, seed=settings.seed)
    scores = {row: systems.scores["+".join(row)] for row in wanted}
    run = PaperRun(training, test, answers, scores, members, only_right, text, systems)
    off = proposed.warnings["spans off the token grid"] / max(sum(len(d.spans) for d in training.documents), 1)
    protocol = _PROTOCOL.format(
        paper=paper, unsplit=settings.unsplit, folds=settings.folds, seed=settings.seed, corpus=declared["corpus"],
        left_out=_without_taggers(settings, declared.get("taggers", ("pos", "ner"))), quick=_QUICK if quick else "",
        off=off, paper_off=declared["within_tokens"],
    )  # fmt: skip
    tables = tuple(filled(table, run) for table in declared["tables"])
    origin = Origin(SCHEMA, rule.name, protocol, settings)
    notes = test.with_spans(answers[members]) if annotated else None
    return Reproduction(origin, paper, CorpusFacts.of(training), CorpusFacts.of(test), tables, notes)


def _rows_of(table: Mapping[str, Any]) -> list[Members]:
    """The submodels of all that a table has figures of."""
    named = [row["ours"] for row in table.get("rows", ()) if "ours" in row]
    return list(map(tuple, [*named, *([table["ours"]] if "ours" in table else []), *table.get("methods", {}).values()]))


def _without_taggers(settings: EngineSettings, taggers: Sequence[str]) -> str:
    """What the paper has of the columns of taggers, and these settings leave out."""
    names = {"pos": "part of speech", "ner": "general named entities"}
    missing = [names[column] for column in taggers if not getattr(settings.features, column)]
    return f"Without {' and '.join(missing)}, which the paper has. " if missing else ""


def _like(settings: EngineSettings, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a submodel of another kind, or like another of the system, but for what is given."""
    if "like" not in given:
        return dict(given)
    like = given["like"]
    own = settings.submodels[like]
    return {**own, KIND: kind_of(like, own), **{name: value for name, value in given.items() if name != "like"}}


def _baselines(wanted: Sequence[Members], training: Corpus, test: Corpus) -> dict[Members, Answers]:
    """What the baselines mark, where there are any among the rows."""
    names = {row: row[0].removesuffix(_BASELINE) for row in wanted if row[0].endswith(_BASELINE)}
    found = entity_baselines(training, test) if names else {}
    return {row: [document.spans for document in found[name].documents] for row, name in names.items()}


def _answers(proposed: Proposed, wanted: Sequence[Members], settings: EngineSettings) -> dict[Members, Answers]:
    answers: dict[Members, Answers] = {}
    with progress("stacking", total=len(wanted), weight=_STACKING) as advance:
        for row in wanted:
            answers[row] = _marked(proposed, row, settings)
            advance(" and ".join(row))
    return answers


def _marked(proposed: Proposed, row: Members, settings: EngineSettings) -> Answers:
    """What a submodel alone marks, or a stack of several; with the rules that are merged after it only where named."""
    learned, stacker = tuple(name for name in row if name != MERGED_RULES), settings.stacker
    if not learned:
        rules = MergedRules.of(stacker.rule_labels, stacker.rules_file, settings.features.language)
        views = [table.view for table in proposed.unseen]
        return list(map(chosen_spans, rules.find(proposed.unseen), views))
    if row == learned:
        stacker = replace(stacker, rule_labels=(), rules_file="")
    if len(row) == 1:
        return alone_answers(proposed, row[0])
    return stack_answers(proposed, learned, stacker, seed=settings.seed)


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
    return found
