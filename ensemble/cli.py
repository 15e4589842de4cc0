"""The command `phistack`.

Every command ends with status 0 only if it did all that it was asked. What goes wrong is one sentence on standard
error, never a traceback and never a patient's text. Heavy imports happen inside the commands, so that `--help` is
quick.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from features.errors import PhistackError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from features.documents import Document

__all__ = ["app", "main"]

app = typer.Typer(
    name="phistack",
    help="Find and remove protected health information (PHI) in clinical notes with a stacked ensemble.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

CorpusPath = Annotated[Path, typer.Argument(help="A folder or file of notes, in any known format.", show_default=False)]
Model = Annotated[
    Path, typer.Option("--model", help="The trained engine: a bundle folder or .zip.", show_default=False)
]
Labels = Annotated[
    str, typer.Option("--label-set", help="i2b2-2014, ngrid-2016, meddocan or nut; otherwise recognised.")
]
Unknown = Annotated[
    bool, typer.Option("--accept-unknown-labels", help="Take labels that the label set does not have, as they are.")
]
Config = Annotated[Path | None, typer.Option("--config", help="A TOML file of settings.", show_default=False)]
Cache = Annotated[Path | None, typer.Option("--cache", help="A folder for fold predictions.", show_default=False)]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write all figures there.", show_default=False)]
Page = Annotated[
    Path | None, typer.Option("--html", help="Write a page, which shows the notes' text.", show_default=False)
]
Seed = Annotated[int, typer.Option("--seed", help="Of every random choice.")]
Jobs = Annotated[int, typer.Option("--jobs", min=1, help="Parallel processes; the result is the same.")]

Out = Annotated[Path, typer.Option("--out", help="The folder to make.", show_default=False)]
Submodels = Annotated[str, typer.Option("--submodels", help="Names joined by commas: regex,tbed,crf,blstm.")]
Language = Annotated[str, typer.Option("--language", help="ISO 639-1 code; otherwise that of the label set.")]
Folds = Annotated[int | None, typer.Option("--folds", help="Parts for out-of-fold prediction.", show_default="5")]
SeedOrConfig = Annotated[int | None, typer.Option("--seed", help="Of every random choice.", show_default="0")]
CriterionName = Annotated[str, typer.Option("--criterion", help="strict, spans, or a name that `evaluate` prints.")]
WithStack = Annotated[bool, typer.Option(help="Score the stack too, which trains on every fold as well.")]
TestCorpus = Annotated[
    Path | None, typer.Option("--test", help="Other annotated notes to score on.", show_default=False)
]


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", help="The folder to write to.")] = Path("demo_output"),
    documents: Annotated[int, typer.Option(help="How many synthetic notes.", min=20)] = 240,
    seed: Seed = 0,
    jobs: Jobs = 2,
) -> None:
    """Train, score, explain and redact on synthetic notes, end to end, and leave a page that shows it."""
    from ensemble.demo import run_demo

    run_demo(out, n_documents=documents, seed=seed, jobs=jobs)


@app.command()
def synthesize(
    out: Annotated[Path, typer.Argument(help="The folder or file to write.", show_default=False)],
    documents: Annotated[int, typer.Option(help="How many notes.", min=1)] = 100,
    to: Annotated[str, typer.Option(help="i2b2, brat, conll, jsonl or text.")] = "i2b2",
    seed: Seed = 0,
) -> None:
    """Write annotated synthetic English notes."""
    from ensemble.synthesis import synthesize
    from features.formats import write_corpus

    corpus = synthesize(documents, seed=seed)
    write_corpus(corpus, out, format=to)
    _say(f"{len(corpus)} notes with {_n_spans(corpus.documents)} PHI are in {out}")


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A corpus.", show_default=False)],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="What to write.", show_default=False)],
    to: Annotated[str, typer.Option(help="i2b2, ngrid, meddocan, brat, conll, jsonl or text.", show_default=False)],
    label_set: Labels = "",
    map_labels: Annotated[str, typer.Option("--map-labels", help="Turn labels into those of this set.")] = "",
    accept_unknown_labels: Unknown = False,
) -> None:
    """Turn a corpus into another format, and its labels into those of another set."""
    from features.formats import read_corpus, write_corpus

    corpus = read_corpus(source, label_set=label_set or None, accept_unknown_labels=accept_unknown_labels)
    if map_labels:
        corpus = corpus.mapped(map_labels)
    write_corpus(corpus, out, format=to)
    _warn(corpus.warnings)
    _say(f"{len(corpus)} notes with {_n_spans(corpus.documents)} PHI are in {out}")


@app.command()
def train(
    corpus_path: CorpusPath,
    model: Model,
    config: Config = None,
    preset: Annotated[str, typer.Option(help="The settings of a published system: zhao2020.")] = "",
    submodels: Submodels = "",
    language: Language = "",
    folds: Folds = None,
    cache: Cache = None,
    label_set: Labels = "",
    accept_unknown_labels: Unknown = False,
    jobs: Jobs = 2,
    seed: SeedOrConfig = None,
) -> None:
    """Train all submodels and the stacker, and write a bundle."""
    from ensemble.commands import train_bundle
    from ensemble.experiments.request import Request
    from ensemble.figures import table_of

    request = Request(config, submodels, language, folds, seed, label_set, accept_unknown_labels, preset=preset)
    corpus = request.corpus(corpus_path)
    _warn(corpus.warnings)
    training, figures = train_bundle(corpus, model, request.settings(corpus), jobs=jobs, cache=cache)
    _warn(training.warnings)
    _console().print(table_of("strict, out of fold by patient", figures))
    _say(f"the engine is in {model}")


@app.command()
def annotate(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Notes in any known format.", show_default=False)],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="What to write.", show_default=False)],
    model: Model,
    to: Annotated[str, typer.Option(help="Format of OUT; otherwise that of IN, and brat for plain text.")] = "",
) -> None:
    """Find the PHI of notes and write them in a shared-task format; any spans in IN are not looked at."""
    from ensemble.commands import annotate_corpus

    corpus = annotate_corpus(source, out, model, format=to or None)
    _say(f"{len(corpus)} notes with {_n_spans(corpus.documents)} PHI are in {out}")


@app.command()
def evaluate(
    gold: Annotated[Path, typer.Argument(help="The annotated notes.", show_default=False)],
    system: Annotated[Path, typer.Argument(help="The same notes as a system annotated them.", show_default=False)],
    json_file: JsonFile = None,
    label_set: Labels = "",
    accept_unknown_labels: Unknown = False,
    allow_missing: Annotated[bool, typer.Option(help="Score the notes that both have, and name the others.")] = False,
) -> None:
    """Score annotated notes by all criteria of the shared tasks."""
    import json

    from ensemble.evaluation import evaluate, print_report
    from features.formats import read_corpus

    gold_corpus = read_corpus(gold, label_set=label_set or None, accept_unknown_labels=accept_unknown_labels)
    system_corpus = read_corpus(system, label_set=gold_corpus.label_set, accept_unknown_labels=accept_unknown_labels)
    report = evaluate(gold_corpus, system_corpus, allow_missing=allow_missing)
    if json_file:
        _write_new(json_file, json.dumps(report.to_dict(), indent=2) + "\n")
    print_report(report, _console())


@app.command()
def explain(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A note or corpus.", show_default=False)],
    model: Model,
    html: Page = None,
    text: Annotated[bool, typer.Option("--text", help="Show the text of the spans.")] = False,
) -> None:
    """Show who proposed which span, and how it was decided."""
    from ensemble.commands import explain_corpus

    explain_corpus(source, model, _console(), html=html, show_text=text)


@app.command()
def rules(
    model: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A trained engine.", show_default=False)],
    score: Annotated[
        Path | None,
        typer.Option("--score", help="Annotated notes: what each rule does there.", show_default=False),
    ] = None,
    write: Annotated[
        Path | None, typer.Option("--write", help="Write the rules to this file, to edit them.", show_default=False)
    ] = None,
    use: Annotated[
        Path | None, typer.Option("--use", help="Take the rules of this file; needs --out.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The new bundle, with the rules of --use.", show_default=False)
    ] = None,
) -> None:
    """List the learned TBED rules in words, score them on new notes, or replace them by an edited file."""
    from ensemble.rule_review import print_rules, replace_rules, write_rules

    if (use is None) != (out is None):
        raise SettingsError("--use and --out belong together: the edited rules, and the new bundle that gets them")
    if use and out:
        replace_rules(model, use, out)
        _say(f"the engine with the rules of {use} is in {out}")
    elif write:
        write_rules(model, write)
        _say(f"the rules are in {write}")
    else:
        print_rules(model, _console(), score_on=score)


@app.command()
def ablate(
    corpus_path: CorpusPath,
    out: Out,
    test: TestCorpus = None,
    groups: Annotated[bool, typer.Option("--groups", help="Leave out feature groups too, and train again.")] = False,
    shuffles: Annotated[int, typer.Option(help="Of the paired randomisation.", min=1)] = 9999,
    criterion: CriterionName = "strict",
    config: Config = None,
    submodels: Submodels = "",
    language: Language = "",
    folds: Folds = None,
    cache: Cache = None,
    label_set: Labels = "",
    accept_unknown_labels: Unknown = False,
    jobs: Jobs = 2,
    seed: SeedOrConfig = None,
) -> None:
    """Score the stack with each part left out: submodels, feature groups, stacker features; with significance."""
    from ensemble.experiments.ablation import write_ablation
    from ensemble.experiments.request import Request
    from ensemble.experiments.tables import ablation_table

    request = Request(config, submodels, language, folds, seed, label_set, accept_unknown_labels)
    corpus = request.corpus(corpus_path)
    other = request.corpus(test, corpus.label_set) if test else None
    _warn(corpus.warnings)
    ablation = write_ablation(
        out, corpus, request.settings(corpus), test=other, groups=groups, criterion=criterion, shuffles=shuffles,
        jobs=jobs, cache=cache,
    )  # fmt: skip
    _console().print(ablation_table(ablation.results))
    _say(f"table, chart and cases are in {out}")


@app.command()
def curve(
    corpus_path: CorpusPath,
    out: Out,
    test: TestCorpus = None,
    shares: Annotated[str, typer.Option(help="Percents of the training patients.")] = "10,20,30,40,50,60,70,80,90,100",
    samples: Annotated[int, typer.Option(help="Random orders of the patients.", min=1)] = 3,
    stack: WithStack = True,
    criterion: CriterionName = "strict",
    config: Config = None,
    submodels: Submodels = "",
    language: Language = "",
    folds: Folds = None,
    cache: Cache = None,
    label_set: Labels = "",
    accept_unknown_labels: Unknown = False,
    jobs: Jobs = 2,
    seed: SeedOrConfig = None,
) -> None:
    """Draw the learning curve: the score by the number of training patients, with a 95 % band."""
    from ensemble.experiments.learning_curve import write_curve
    from ensemble.experiments.request import Request, shares_of
    from ensemble.experiments.tables import curve_table

    request = Request(config, submodels, language, folds, seed, label_set, accept_unknown_labels)
    corpus = request.corpus(corpus_path)
    other = request.corpus(test, corpus.label_set) if test else None
    _warn(corpus.warnings)
    results = write_curve(
        out, corpus, request.settings(corpus), test=other, shares=shares_of(shares), samples=samples, stack=stack,
        criterion=criterion, jobs=jobs, cache=cache,
    )  # fmt: skip
    _console().print(curve_table(results))
    _say(f"figures and picture are in {out}")


@app.command()
def transfer(
    corpus_paths: Annotated[list[Path], typer.Argument(metavar="CORPUS...", help="Two corpora or more.")],
    out: Out,
    map_labels: Annotated[str, typer.Option("--map-labels", help="Turn all labels into those of this set.")] = "",
    stack: WithStack = True,
    criterion: CriterionName = "strict",
    config: Config = None,
    submodels: Submodels = "",
    language: Language = "",
    folds: Folds = None,
    cache: Cache = None,
    accept_unknown_labels: Unknown = False,
    jobs: Jobs = 2,
    seed: SeedOrConfig = None,
) -> None:
    """Train on each corpus and test on each: how far an engine travels."""
    from ensemble.experiments.request import Request
    from ensemble.experiments.tables import transfer_table
    from ensemble.experiments.transfer import write_transfer

    request = Request(config, submodels, language, folds, seed, "", accept_unknown_labels, map_labels)
    domains = request.domains(corpus_paths)
    for domain in domains:
        _warn(domain.corpus.warnings)
    results = write_transfer(out, domains, stack=stack, criterion=criterion, jobs=jobs, cache=cache)
    for table in transfer_table(results):
        _console().print(table)
    _say(f"figures and picture are in {out}")


@app.command()
def deidentify(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A folder, JSONL, CSV or Parquet.", show_default=False)],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="What to write, in the form of IN.", show_default=False)],
    model: Model,
    policy: Annotated[str, typer.Option(help="A ready policy, or a TOML file.")] = "tag",
    strategy: Annotated[
        list[str] | None, typer.Option(help="LABEL=STRATEGY, over the policy; may be repeated.", show_default=False)
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="Holds the secret of surrogates; otherwise PHISTACK_KEY.", show_default=False)
    ] = None,
    strike: Annotated[Path | None, typer.Option(help="Words to be removed everywhere.", show_default=False)] = None,
    form: Annotated[str, typer.Option(help="Form of IN; otherwise recognised.")] = "",
    id_column: Annotated[str, typer.Option(help="Of JSONL, CSV and Parquet.")] = "id",
    text_column: Annotated[str, typer.Option(help="The only column that changes.")] = "text",
    patient_column: Annotated[str, typer.Option(help="If there is none, the id tells the patient.")] = "group",
    encoding: Annotated[str, typer.Option(help="Of text, brat and CSV files.")] = "utf-8",
    timeout: Annotated[float, typer.Option(help="Seconds for a note; 0 for no limit.", min=0)] = 60.0,
    second_pass: Annotated[bool, typer.Option(help="Run the detector over the output too.")] = True,
    hide_ids: Annotated[bool, typer.Option("--hide-ids", help="Name notes in reports by HMACs of their ids.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Throw away what an unfinished run did.")] = False,
    jobs: Jobs = 1,
    cluster: Annotated[str, typer.Option(help="Address of a Dask scheduler, tcp://HOST:PORT.")] = "",
) -> None:
    """Take the PHI out of many notes; after an interruption, the same command goes on. Reports are in OUT.run."""
    from ensemble.batch import Columns, FormSettings, deidentify_files

    summary = deidentify_files(
        source, out, model, policy=policy, strategies=strategy or (), key_file=key_file, strike=strike, form=form,
        form_settings=FormSettings(Columns(id_column, text_column, patient_column), encoding), timeout=timeout,
        second_pass=second_pass, hide_ids=hide_ids, restart=restart, jobs=jobs, cluster=cluster,
    )  # fmt: skip
    _say(f"{summary['notes'] - summary['quarantined']} notes without PHI are in {out}, the reports in {out}.run")
    if summary["quarantined"]:
        _fail(f"{summary['quarantined']} of {summary['notes']} notes are in quarantine and not in {out}", 3)


@app.command()
def audit(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The output of a finished run.", show_default=False)],
    key_file: Annotated[
        Path | None, typer.Option(help="Checks the seal of the log; otherwise PHISTACK_KEY.", show_default=False)
    ] = None,
) -> None:
    """Check that no line of a run's audit log was removed or changed, and that the output is what it says."""
    from ensemble.batch import audit_run

    report = audit_run(out, key_file=key_file)
    for problem in report.problems:
        print(f"phistack: {problem}", file=sys.stderr)
    if report.problems:
        sys.exit(1)
    seal = "its seal is right" if report.sealed else "its seal was not checked, as no key was given"
    _say(f"the log of {report.notes} notes is whole, the output is what it says, and {seal}")


def main() -> None:
    """Run the command line; the process ends with its status."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    logging.basicConfig(level=logging.WARNING, format="phistack: %(message)s", stream=sys.stderr)
    try:
        app()
    except PhistackError as error:
        _fail(str(error), 1)
    except OSError as error:
        _fail(f"{error.strerror or type(error).__name__}: {error.filename or 'no file is named'}", 1)
    except MemoryError:
        _fail("there is not enough memory; give fewer notes at once, or fewer processes with --jobs", 1)
    except KeyboardInterrupt:
        _fail("stopped", 130)
    except Exception as error:
        if os.environ.get("PHISTACK_DEBUG"):
            raise
        _fail(f"internal error, {_place(error)}; PHISTACK_DEBUG=1 shows more, which may include text of notes", 70)


def _place(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{Path(trace.tb_frame.f_code.co_filename).name} line {trace.tb_lineno}" if trace else "place unknown"
    return f"{type(error).__name__} in {where}"


def _fail(sentence: str, status: int) -> None:
    print(f"phistack: {sentence}", file=sys.stderr)
    sys.exit(status)


def _say(sentence: str) -> None:
    print(sentence)


def _warn(counts: dict[str, int]) -> None:
    for what, count in sorted(counts.items()):
        print(f"phistack: warning: {what}: {count}", file=sys.stderr)


def _console() -> Console:
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 120)


def _n_spans(documents: Iterable[Document]) -> int:
    return sum(len(document.spans) for document in documents)


def _write_new(path: Path, text: str) -> None:
    if path.exists():
        raise SettingsError(f"{path} is already there; remove it or give another name")
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
