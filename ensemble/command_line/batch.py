"""Commands that de-identify many notes and check what was done."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from phistack.ensemble.command_line.config import ConfigOption, merged
from phistack.ensemble.command_line.options import (
    AlwaysOption,
    AnyLanguageOption,
    CascadeOption,
    ColumnOption,
    FormOption,
    IdColumnOption,
    JobsOption,
    KeyOption,
    KnownOption,
    ModelChoiceOption,
    NeverOption,
    PatientColumnOption,
    PatternsOption,
    PolicyOption,
    PresentYearOption,
    RecallOption,
    StrategyOption,
)
from phistack.ensemble.command_line.output import fail, say, tell_reliability, told_engines, warn
from phistack.ensemble.tools.processes import keeping
from phistack.features.errors import SettingsError
from phistack.features.shown import explained


def deidentify(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(metavar="IN", help="A folder, JSONL, CSV or Parquet.", show_default=False)],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The output, in the format of IN.", show_default=False)],
    model: ModelChoiceOption = None,
    config: ConfigOption = None,
    policy: PolicyOption = "tag",
    strategy: StrategyOption = None,
    present_year: PresentYearOption = None,
    key_file: KeyOption = None,
    known: KnownOption = None,
    strike: Annotated[Path | None, typer.Option(help="Words to be removed everywhere.", show_default=False)] = None,
    always: AlwaysOption = None,
    never: NeverOption = None,
    patterns: PatternsOption = None,
    recall: RecallOption = "balanced",
    form: FormOption = "",
    id_column: IdColumnOption = "id",
    text_column: Annotated[
        list[str] | None,
        typer.Option(metavar="<str>", help="Column with the text of the note; may be repeated.", show_default="text"),
    ] = None,
    patient_column: PatientColumnOption = "group",
    column: ColumnOption = None,
    encoding: Annotated[str, typer.Option(help="Encoding of text, brat and CSV files.")] = "utf-8",
    timeout: Annotated[float, typer.Option(help="Seconds for a note; 0 for no limit.", min=0)] = 60.0,
    second_pass: Annotated[bool, typer.Option(help="Run the detector over the output too.")] = True,
    any_language: AnyLanguageOption = False,
    cascade: CascadeOption = True,
    hide_ids: Annotated[bool, typer.Option("--hide-ids", help="Name notes in reports by HMACs of their ids.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Discard what an unfinished run did.")] = False,
    jobs: JobsOption = 1,
    cluster: Annotated[str, typer.Option(help="Address of a Dask scheduler, tcp://HOST:PORT.")] = "",
) -> None:
    """Take the PHI out of many notes; after an interruption, the same command continues. Reports are in OUT.run."""
    from phistack.ensemble.batch import Columns, FormatSettings, RunSettings, deidentify, first_texts, kept, notices
    from phistack.ensemble.batch.commands import key_from, policy_from
    from phistack.ensemble.batch.formats.columns import treatments_of
    from phistack.ensemble.batch.reports.terminal_summary import done, held_back
    from phistack.ensemble.batch.settings import read_struck
    from phistack.ensemble.stacking.overruling import read_overruling

    if "-" in (str(source), str(out)):
        raise SettingsError(
            "deidentify needs files, not - for a stream, so that an interrupted run can continue; give file names"
        )

    treatments = treatments_of(merged(context, "column", column))
    columns = Columns(id_column, tuple(text_column or ("text",)), patient_column, treatments)
    format_settings = FormatSettings(columns, encoding)
    model, by_language = told_engines(model, lambda most: first_texts(source, format_settings, form=form, most=most))
    settings = RunSettings(
        source, out, model, policy_from(policy, merged(context, "strategy", strategy), present_year=present_year), key_from(key_file),
        form, format_settings, read_struck(strike), timeout,
        read_overruling(always, never, patterns), recall, known=known, by_language=by_language,
        second_pass=second_pass, any_language=any_language, cascade=cascade, hide_ids=hide_ids, jobs=jobs,
        cluster=cluster, restart=restart,
    )  # fmt: skip
    tell_reliability(model)
    with keeping(lambda: kept(settings)):
        summary = deidentify(settings)
    warn(notices(summary))
    say(done(summary, out))
    for reason in held_back(summary):
        print(f"phistack: {reason}", file=sys.stderr)
    if summary.quarantined:
        where = f"see {out}.run/quarantine.jsonl"
        fail(f"{summary.quarantined} of {summary.notes} notes are in quarantine and not in {out}; {where}", 3)


def audit(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The output of a finished run.", show_default=False)],
    key_file: Annotated[
        Path | None,
        typer.Option(help="Key file to check the seal of the log; default: PHISTACK_KEY.", show_default=False),
    ] = None,
) -> None:
    """Check that no line of a run's audit log was removed or changed, and that the output is what it says."""
    from phistack.ensemble.batch import audit_run

    report = audit_run(out, key_file=key_file)
    for problem in report.problems:
        print(f"phistack: {problem}{explained(problem)}", file=sys.stderr)
    if report.problems:
        sys.exit(1)
    seal = "its seal is right" if report.sealed else "its seal was not checked, as no key was given"
    say(f"the log of {report.notes} notes is complete, the output matches it, and {seal}")
