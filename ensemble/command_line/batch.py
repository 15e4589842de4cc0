"""Commands that de-identify many notes, check what was done, attack it, and draw notes to read."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from phistack.ensemble.command_line import options
from phistack.ensemble.command_line.groups import EngineUseOptions, ReadingOptions
from phistack.ensemble.command_line.options import FORMATS_READ, LAYOUTS, RECORDS, argument, one_of, option
from phistack.ensemble.command_line.output import choose_engines, fail, say, tell_reliability, warn
from phistack.ensemble.tools.processes import keeping
from phistack.features.errors import SettingsError, no_such
from phistack.features.files import file_named, read_toml
from phistack.features.shown import explained, shown_id
from phistack.features.writing import new_file, refuse_taken

if TYPE_CHECKING:
    from phistack.features.documents import Corpus
    from phistack.features.formats import Reader

_TABLES = {"columns": "column", "strategies": "strategy", "substitutes": "substitute"}
"""Table of the file -> the option NAME=VALUE that each of its entries is."""


def _take(context: typer.Context, path: Path | None) -> Path | None:
    """Let the entries of the file be the defaults of the options."""
    if path is not None and not context.resilient_parsing:
        of_command = (option for option in context.command.params if option.param_type_name == "option")
        named = {_shown(option): option for option in of_command}
        known = {name: option for name, option in named.items() if name not in ("config", "help", *_TABLES.values())}
        with file_named("the file of --config", path):
            entries = read_toml(path)
            for name in sorted(entries.keys() - {*known, *_TABLES}):
                raise SettingsError(no_such("option", name, (*known, *_TABLES)))
            context.meta.update({given: _pairs(table, entries.get(table, {})) for table, given in _TABLES.items()})
            context.default_map = {
                option.name: _typed(name, option, entries[name]) for name, option in known.items() if name in entries
            }
    return path


ConfigOption = Annotated[
    Path | None,
    option(
        "A TOML file with these options by name, and tables columns, strategies and substitutes.",
        "--config", is_eager=True, callback=_take,
    ),
]  # fmt: skip


def merged(context: typer.Context, option: str, given: Sequence[str] | None) -> list[str]:
    """The NAME=VALUE pairs of the file and, over them, those of the command line."""
    named = {pair.rpartition("=")[0] for pair in given or ()}
    in_file = (pair for pair in context.meta.get(option, ()) if pair.rpartition("=")[0] not in named)
    return [*in_file, *(given or ())]


def _typed(name: str, option: Any, value: Any) -> Any:
    """A value as the command line has it; :raises SettingsError: if the option cannot have it."""
    if option.is_flag:
        wanted, is_right = "true or false", isinstance(value, bool)
    elif option.multiple:
        value = [value] if isinstance(value, str) else value
        wanted, is_right = "a string or a list of strings", isinstance(value, list) and all(map(_is_string, value))
    else:
        wanted, is_right = "one string or number", type(value) in (str, int, float)
        value = str(value)
    if not is_right:
        raise SettingsError(f"{name} must be {wanted}")
    return value


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


def _shown(option: Any) -> str:
    return str(max(option.opts, key=len)).removeprefix("--")


def _pairs(table: str, entries: Any) -> list[str]:
    if not isinstance(entries, dict) or not all(map(_is_string, entries.values())):
        raise SettingsError(f'[{table}] must be a table of NAME = "VALUE"')
    return [f"{name}={value}" for name, value in entries.items()]


def deidentify(
    context: typer.Context,
    source: Annotated[Path, argument("IN", "A folder or file of notes, in any known format.")],
    out: Annotated[Path, argument("OUT", "The output, in the format of IN.")],
    *,
    model: options.ModelChoiceOption = None,
    config: ConfigOption = None,
    policy: options.PolicyOption = "tag",
    strategy: options.StrategyOption = None,
    present_year: options.PresentYearOption = None,
    substitute: options.SubstituteOption = None,
    key_file: options.KeyOption = None,
    use: EngineUseOptions,
    strike: Annotated[Path | None, option("List of words to remove everywhere.")] = None,
    form: Annotated[
        str,
        option(
            f"Format of IN: {one_of((*FORMATS_READ, *RECORDS))}; default: recognised, but for {one_of(RECORDS)}. "
            f"{one_of(LAYOUTS)}: a table with the columns of OMOP's NOTE, which need no other option.",
            "--from",
            "--form",
            names=(*FORMATS_READ, *RECORDS, *LAYOUTS),
        ),
    ] = "",
    write: Annotated[
        str, option("docx: write Word documents as such, not as text.", metavar="docx", names=("docx",))
    ] = "",
    id_column: options.IdColumnOption = "id",
    text_column: Annotated[
        list[str] | None,
        option("Column with the text of the note; may be repeated.", metavar="<str>", show_default="text"),
    ] = None,
    patient_column: options.PatientColumnOption = "group",
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
    certificate: Annotated[
        Path | None, option("Certificate of this engine and policy (certify --out), if the engine has none.")
    ] = None,
    hide_ids: Annotated[bool, option("Name notes in reports by HMACs of their ids.", "--hide-ids")] = False,
    review_lines: Annotated[
        bool, option("Show the line of each word in review.tsv, without what was replaced.", "--review-lines")
    ] = False,
    note_nlp: Annotated[
        Path | None, option("Write what was replaced to this file, as rows of OMOP's NOTE_NLP.", "--note-nlp")
    ] = None,
    restart: Annotated[bool, option("Discard what an unfinished run did.", "--restart")] = False,
    vault: Annotated[
        Path | None, option("File for the originals, encrypted with --vault-key, for reidentify; default: none.")
    ] = None,
    vault_key: Annotated[Path | None, option("File with the secret key of the vault; not that of surrogates.")] = None,
    jobs: options.JobsOption = 1,
    cluster: Annotated[str, option("Address of a Dask scheduler, tcp://HOST:PORT.")] = "",
    spark: Annotated[
        str, option("Master of Spark, as local[2] or spark://HOST:PORT; sc://HOST:PORT for Spark Connect.")
    ] = "",
) -> None:
    """Take the PHI out of many notes; after an interruption, the same command continues. Reports are in OUT.run."""
    from phistack.ensemble.batch import Columns, FormatSettings, RunSettings, deidentify, first_texts, kept, notices
    from phistack.ensemble.batch.columns import treatments_of
    from phistack.ensemble.batch.reports.note_nlp import refuse_without_ids, write_note_nlp
    from phistack.ensemble.batch.reports.shown_summary import done, drifted, held_back, next_steps, untried
    from phistack.ensemble.batch.rows import laid_out
    from phistack.ensemble.batch.settings import key_from, policy_from, read_struck
    from phistack.ensemble.bundles.certificate import certificate_for
    from phistack.ensemble.deidentification import read_key

    if "-" in (str(source), str(out)):
        raise SettingsError("deidentify needs files, so that an interrupted run can continue; give file names, not -")
    if note_nlp is not None:
        refuse_taken(note_nlp)
    treatments = treatments_of(merged(context, "column", column))
    columns = Columns(id_column, tuple(text_column or ("text",)), patient_column, treatments)
    format_settings = FormatSettings(columns, encoding, write=write)
    if form in LAYOUTS:
        format_settings, form = laid_out(source, form, format_settings), ""
    if note_nlp is not None:
        refuse_without_ids(source, format_settings, form)
    path, by_language, beside = choose_engines(
        model, lambda most: first_texts(source, format_settings, form=form, most=most)
    )
    chosen = policy_from(
        policy, merged(context, "strategy", strategy), merged(context, "substitute", substitute), present_year
    )
    is_alone = not (by_language or beside)
    if certificate is not None and not is_alone:
        raise SettingsError("a certificate is about one engine; name that one with --model")
    settings = RunSettings(
        source, out, path, chosen, key_from(key_file), form=form, form_settings=format_settings,
        struck=read_struck(strike), known=use.known, unmatched_roster=use.unmatched_roster, by_language=by_language,
        options=replace(use.options, beside=beside), timeout=timeout, second_pass=second_pass, hide_ids=hide_ids,
        review_lines=review_lines, jobs=jobs, cluster=cluster, spark=spark, restart=restart,
        vault=vault, vault_key=read_key(vault_key) if vault_key else None,
        certificate=certificate_for(path, chosen, use.options, certificate) if is_alone else None,
    )  # fmt: skip
    tell_reliability(path)
    if settings.certified:
        print(f"certificate: {settings.certified}", file=sys.stderr)
    with keeping(lambda: kept(settings)):
        summary = deidentify(settings)
    if note_nlp is not None:
        say(f"{write_note_nlp(out, note_nlp):,} rows of NOTE_NLP written to {note_nlp}; keep them apart from {out}")
    warn(notices(summary))
    for difference in drifted(summary):
        print(f"phistack: warning: {difference}", file=sys.stderr)
    say(done(summary, out))
    for step in (*next_steps(summary, out), *untried(summary, out)):
        say(f"next: {step}")
    for reason in held_back(summary):
        print(f"phistack: {reason}", file=sys.stderr)
    if summary.quarantined:
        where = f"see {out}.run/quarantine.jsonl"
        fail(f"{summary.quarantined} of {summary.notes} notes are in quarantine and not in {out}; {where}", 3)


def reidentify(
    notes: Annotated[Path, argument("NOTES", "The output of a finished run with a vault.")],
    vault: Annotated[Path, option("The vault that the run wrote.")],
    vault_key: Annotated[Path, option("File with the secret key of the vault.")],
    note: Annotated[list[str] | None, option("Id of a note in NOTES; may be repeated.", show_default="all")] = None,
) -> None:
    """Print the originals of notes as JSON lines; who asks, when and for which notes is added to VAULT.log."""
    from phistack.ensemble.batch.vault import originals
    from phistack.ensemble.deidentification import read_key

    for found in originals(notes, vault, read_key(vault_key), note or ()):
        say(json.dumps(found, ensure_ascii=False))


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


def attack(
    out: Annotated[Path, argument("OUT", "The output of a finished run, with surrogates.")],
    text: Annotated[bool, option("Show the text of each place, too.", "--text")] = False,
    jobs: options.JobsOption = 1,
) -> None:
    """Search a run's output for what was missed, as an attacker would; writes OUT.run/attack.tsv and attack.html."""
    from phistack.ensemble.batch.attack import attack
    from phistack.ensemble.batch.reports.shown_attack import LIST, statements, write_attack

    found = attack(out, jobs=jobs)
    write_attack(out, found, with_text=text)
    say("".join(f"{statement}.\n" for statement in statements(found)) + f"The places are in {out}.run/{LIST}.")


def sample(
    out: Annotated[Path, argument("OUT", "The output of a finished run; with --to, notes to draw from.")],
    *,
    notes: Annotated[int, option("How many notes to read; with --to, the fewest to annotate.", min=1)] = 50,
    seed: Annotated[int, option("Another seed draws other notes.")] = 0,
    list_to: Annotated[Path | None, option("File for the ids and places in full, tab-separated.", "--list")] = None,
    to: Annotated[
        Path | None,
        option("New folder (brat) or .jsonl file for the notes to annotate: all those of patients drawn at random."),
    ] = None,
    max_leak: Annotated[
        float | None, option("With --to: draw the patients that this bound takes if nothing is left.", min=0.0001)
    ] = None,
    confidence: options.ConfidenceOption = 0.95,
    stratify: Annotated[
        str,
        option(
            "With --to: draw of each ward, hospital or kind of note its share, by a column of a table, or for other "
            "formats by what this regular expression finds in the names of the notes.",
            metavar="COLUMN|PATTERN",
        ),
    ] = "",
    reading: ReadingOptions,
) -> None:
    """Draw notes of a run to read, or notes to annotate for a certificate, and say what that shows."""
    if to is not None:
        _draw_to_annotate(out, to, notes, seed, max_leak, confidence, stratify, reading)
        return
    for name, given in (("--max-leak", max_leak), ("--stratify", stratify)):
        if given:
            raise SettingsError(f"{name} is for notes to annotate; name a folder for them with --to")
    from phistack.ensemble.batch.sampling import draw
    from phistack.ensemble.evaluation.bounds import CONFIDENCE, binomial_upper
    from phistack.ensemble.evaluation.tables import percent

    drawn = draw(out, notes, seed)
    n_read = len(drawn.sample)
    if list_to is not None:
        with new_file(list_to) as part:
            part.write_text("".join(f"{id}\t{place}\n" for id, place in drawn.sample), encoding="utf-8")
    else:
        say("\n".join(shown_id(id) for id, _ in drawn.sample))
    bounds = {found: percent(binomial_upper(found, n_read)) for found in (0, 1, 2, 5) if found < n_read}
    more = "".join(f"; if {found}, {bound} %" for found, bound in bounds.items() if found)
    where = f", in {list_to}" if list_to else ""
    say(
        f"\nThese are {n_read:,} of the {drawn.notes:,} notes that came out{where}. Read each beside its original, and "
        f"count those with an identifier left. If none has one, at most {bounds[0]} % of all notes have one, with "
        f"{CONFIDENCE:.0%} confidence{more}."
    )


def _draw_to_annotate(
    source: Path,
    to: Path,
    notes: int,
    seed: int,
    max_leak: float | None,
    confidence: float,
    stratify: str,
    reading: ReadingOptions,
) -> None:
    from phistack.ensemble.batch.sampling import draw_patients
    from phistack.ensemble.evaluation.bounds import betting_upper, units_for_mean
    from phistack.ensemble.evaluation.tables import percent
    from phistack.features.documents import patient_of
    from phistack.features.formats import write_corpus

    refuse_taken(to)
    there, strata = _stratified(source, stratify, reading.reader)
    wanted = {"patients": units_for_mean(max_leak, confidence)} if max_leak else {"notes": notes}
    drawn = draw_patients(there.documents, **wanted, strata=strata, seed=seed)
    in_file = to.suffix == ".jsonl"
    if not in_file and any(document.group != patient_of(document.id.rpartition("/")[2]) for document in drawn):
        raise SettingsError(
            "a folder cannot keep the patient of each note, as the ids do not name patients; give --to a .jsonl file"
        )
    write_corpus(replace(there, documents=tuple(drawn)), to, format="jsonl" if in_file else "brat")
    n, n_all = (len({document.group for document in documents}) for documents in (drawn, there.documents))
    best = betting_upper([0.0] * n, confidence)
    shares = f", of each of {len({*strata})} strata its share" if strata else ""
    say(
        f"{to} has all {len(drawn):,} notes of {n:,} of the {n_all:,} patients, drawn at random{shares}. Annotate "
        f"them, and certify an engine on them. If it leaves nothing there, at most {percent(best)} % of a patient's "
        f"identifiers are left on average, with {confidence:.0%} confidence; if it leaves any, the bound takes more "
        "patients."
    )


def _stratified(source: Path, stratify: str, reader: Reader) -> tuple[Corpus, list[str]]:
    """The notes, and the stratum of each by a column or by their names; none if none are asked for."""
    from phistack.ensemble.stacking.folds import groups_in_names
    from phistack.features.formats.recognise import format_named

    is_table = bool(stratify) and format_named(reader.format_of(source)).table is not None
    columns = replace(reader.columns, unit=stratify if is_table else None)
    notes = replace(reader, columns=columns).read(source, accept_unknown_labels=True)
    if is_table:
        return notes, [document.fold_group for document in notes.documents]
    in_names = groups_in_names(notes.documents, stratify, "the pattern of --stratify", "--stratify") if stratify else ()
    return notes, [name or "" for name in in_names]
