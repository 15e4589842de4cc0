"""Commands that de-identify many notes and check what was done."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from phistack.ensemble.command_line.choices import FORMATS, one_of
from phistack.ensemble.command_line.config import ConfigOption, merged
from phistack.ensemble.command_line.groups import EngineUseOptions
from phistack.ensemble.command_line.options import (
    IdColumnOption,
    JobsOption,
    KeyOption,
    ModelChoiceOption,
    PatientColumnOption,
    PolicyOption,
    PresentYearOption,
    StrategyOption,
    SubstituteOption,
    argument,
    option,
)
from phistack.ensemble.command_line.output import choose_engines, fail, say, tell_reliability, warn
from phistack.ensemble.tools.processes import keeping
from phistack.features.errors import SettingsError
from phistack.features.shown import explained


def deidentify(
    context: typer.Context,
    source: Annotated[Path, argument("IN", "A folder or file of notes, in any known format.")],
    out: Annotated[Path, argument("OUT", "The output, in the format of IN.")],
    *,
    model: ModelChoiceOption = None,
    config: ConfigOption = None,
    policy: PolicyOption = "tag",
    strategy: StrategyOption = None,
    present_year: PresentYearOption = None,
    substitute: SubstituteOption = None,
    key_file: KeyOption = None,
    use: EngineUseOptions,
    strike: Annotated[Path | None, option("Words to be removed everywhere.")] = None,
    form: Annotated[
        str, option(f"Format of IN: {one_of(FORMATS)}; default: recognised.", "--from", "--form", names=FORMATS)
    ] = "",
    id_column: IdColumnOption = "id",
    text_column: Annotated[
        list[str] | None,
        option("Column with the text of the note; may be repeated.", metavar="<str>", show_default="text"),
    ] = None,
    patient_column: PatientColumnOption = "group",
    column: Annotated[
        list[str] | None,
        option(
            "For each column but the text: keep, remove, redact (read it), pseudonym (a code; needs a key), or what "
            "all of it is: NAME, DATE, ID, CONTACT, LOCATION, AGE or a label of the engine.",
            metavar="NAME=TREATMENT",
        ),
    ] = None,
    encoding: Annotated[str, option("Encoding of text, brat, CoNLL and CSV files.")] = "utf-8",
    timeout: Annotated[float, option("Seconds for a note; 0 for no limit.", min=0)] = 60.0,
    second_pass: Annotated[bool, option("Run the detector over the output too.")] = True,
    hide_ids: Annotated[bool, option("Name notes in reports by HMACs of their ids.", "--hide-ids")] = False,
    restart: Annotated[bool, option("Discard what an unfinished run did.", "--restart")] = False,
    jobs: JobsOption = 1,
    cluster: Annotated[str, option("Address of a Dask scheduler, tcp://HOST:PORT.")] = "",
) -> None:
    """Take the PHI out of many notes; after an interruption, the same command continues. Reports are in OUT.run."""
    from phistack.ensemble.batch import Columns, FormatSettings, RunSettings, deidentify, first_texts, kept, notices
    from phistack.ensemble.batch.columns import treatments_of
    from phistack.ensemble.batch.commands import key_from, policy_from
    from phistack.ensemble.batch.reports.shown_summary import done, held_back
    from phistack.ensemble.batch.settings import read_struck

    if "-" in (str(source), str(out)):
        raise SettingsError("deidentify needs files, so that an interrupted run can continue; give file names, not -")
    treatments = treatments_of(merged(context, "column", column))
    columns = Columns(id_column, tuple(text_column or ("text",)), patient_column, treatments)
    format_settings = FormatSettings(columns, encoding)
    path, by_language, beside = choose_engines(
        model, lambda most: first_texts(source, format_settings, form=form, most=most)
    )
    chosen = policy_from(
        policy, merged(context, "strategy", strategy), merged(context, "substitute", substitute), present_year
    )
    settings = RunSettings(
        source, out, path, chosen, key_from(key_file), form, format_settings, read_struck(strike),
        known=use.known, unmatched_roster=use.unmatched_roster, by_language=by_language,
        options=replace(use.options, beside=beside), timeout=timeout, second_pass=second_pass, hide_ids=hide_ids,
        jobs=jobs, cluster=cluster, restart=restart,
    )  # fmt: skip
    tell_reliability(path)
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
    out: Annotated[Path, argument("OUT", "The output of a finished run.")],
    key_file: Annotated[Path | None, option("Key file to check the seal of the log; default: PHISTACK_KEY.")] = None,
) -> None:
    """Check that no line of a run's audit log was removed or changed, and that the output matches the log."""
    from phistack.ensemble.batch import audit_run

    report = audit_run(out, key_file=key_file)
    for problem in report.problems:
        print(f"phistack: {problem}{explained(problem)}", file=sys.stderr)
    if report.problems:
        sys.exit(1)
    seal = "its seal is right" if report.sealed else "its seal was not checked, as no key was given"
    say(f"the log of {report.notes} notes is complete, the output matches it, and {seal}")
