"""A finished run in words, from its summary: on the terminal, and as one HTML page that loads nothing from any network.

    done(summary, Path("clean.csv"))
    "1,204 identifiers replaced in 30 notes, which are in clean.csv; 3 columns kept as they are: id, group, ward; 4
    identifiers may still be in the output (see clean.csv.run/summary.html)"

    statements(summary, Path("clean.csv"))     the parts of that, without the paths
    next_steps(summary, Path("clean.csv"))     what to do next
    held_back(summary)      ["12 notes held back: not utf-8 at byte N; try --encoding cp1252"]
    render_page(summary, Path("clean.csv"))    the page

It never says that a text is without PHI, which cannot be known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from phistack.ensemble.batch.columns import KEEP, PSEUDONYM, REMOVE, Columns
from phistack.ensemble.batch.reports.summary import KEYS, PAGE, CountsByName, Summary
from phistack.ensemble.batch.settings import run_folder
from phistack.ensemble.tools.progress import many
from phistack.ensemble.tools.templates import template
from phistack.features.formats.recognise import FORMATS
from phistack.features.passages import IN_DOUBT, UNREAD

_UNCHECKED = {True: "the output was not checked, as --no-second-pass was given", False: "there is nothing to check"}
_REMEDIES = (
    (r"(the file is )?not utf-8 ", "try --encoding cp1252"),
    (r"not UTF-8", "convert the file to UTF-8"),
    (r"(the file is )?not \S+ at byte", "try another --encoding"),
    (r"longer than the limit, or a quote", "close the quotes of the record that begins there"),
    (r"longer than the limit", "split them into parts"),
    (r"a quote is misplaced", "correct the record: double each quote within a field, and put the field in quotes"),
    (r"the record has N fields", "correct the record: put a field that holds a delimiter or line end in quotes"),
    (
        r"not valid JSON|not a JSON object|more than one JSON|an object with one",
        "correct the line: one object, each name once",
    ),
    (r"it has a column that no option names", "give it a treatment with --column NAME=keep, remove, redact or a label"),
    (r".* is neither a string nor a number", "remove the column with --column NAME=remove"),
    (r".* is missing or not a valid name of a patient", "fill it in, or name another column with --patient-column"),
    (r".* is missing or not a valid id", "fill it in, or name another column with --id-column"),
    (r".* is missing or is not a string", "fill it in, or name another column with --text-column"),
    (r"its name is not a valid id", "rename the file: one line, at most 200 characters"),
    (r"the row group cannot be read", "get a complete copy of the file"),
    (r"the file cannot be read: ", "give yourself permission to read the file"),
    (r"the encoding \S+ has no code for", "convert the input to UTF-8"),
    (r"the format of the output cannot hold", "give the notes as jsonl"),
    (r"a name of the roster is in", "redact or remove the column with --column NAME=redact, or rename the files"),
    (r"it took longer than", "allow more with --timeout"),
    (r"its process ", "run the same command again, with fewer --jobs if memory is short"),
    (r"\w+Error in \w+\.py line N", "this is a bug in phistack: please report it, without any text of the note"),
)
"""How a reason begins -> what to do."""

_TABLES = {
    "second_pass": "What the engine still finds when it reads the output.",
    "still_there": "Identifiers replaced in one note that are in the output of the same patient.",
    "in_kept_columns": "Identifiers of the row's patient, by column.",
    "by_label": "",
    "by_strategy": "What became of it.",
    "known": "Accepted because the roster has it for the note's patient.",
    "passed_over": "Input that was not read as notes.",
    "by_chance": "Identifiers of fewer than four letters and digits, which are also there by chance.",
    "equal_surrogates": "Surrogates of the output that are an identifier of the patient.",
}
"""Field of the summary -> what it counts, in the order of the page."""
_UNCERTIFIED = (
    "no certificate says how much is left at most; with annotated notes that no engine saw, phistack certify makes one"
)
_FIRST_ROWS = 100
_TOTALS = ("notes", "quarantined", "with_phi", "unresolved", "not_in_roster", "words_to_review")


def done(summary: Summary, target: Path) -> str:
    """What was replaced, what was kept, and what may still be in the output."""
    replaced, *others = statements(summary, target, brief=True)
    return "; ".join([f"{replaced}, written to {target}", *others]) + f" (see {run_folder(target) / PAGE})"


def statements(summary: Summary, output: Path, *, brief: bool = False) -> list[str]:
    """The same in parts: how much was replaced comes first, what the checks found last; `brief` only counts fields."""
    kept = summary.by_strategy.get("keep", 0)
    replaced, n_notes = sum(summary.by_strategy.values()) - kept, summary.notes - summary.quarantined
    parts = [f"{many(replaced, 'identifier')} replaced in {many(n_notes, 'note')}"]
    if len(summary.by_engine) > 1:
        read = (f"{many(count, 'note')} by {engine}" for engine, count in summary.by_engine.items())
        parts.append(f"read {', '.join(read)}")
    if kept:
        parts.append(f"{many(kept, 'identifier')} kept by the policy")
    columns = summary.settings["columns"]
    if columns:
        parts += _columns(msgspec.convert(columns, Columns), brief=brief)
    elif output.is_dir():
        parts.append(f"{many(n_notes, 'file name')} {_kept_as(n_notes)}")
    elif FORMATS[summary.settings["form"]].single_file:
        parts.append(f"{many(n_notes, 'note id')} {_kept_as(n_notes)}")
    parts += _unread(summary.unread)
    found = f"{many(summary.n_left, 'identifier')} may still be in the output"
    if not summary.n_left:
        found = "the checks found no others" if summary.is_checked else _UNCHECKED[n_notes > 0]
    where = "the column " if columns else ""
    found += "".join(
        f", {count:,} of them in {where}{_listed([name])}" for name, count in summary.in_kept_columns.items()
    )
    return [*parts, found]


def _unread(unread: CountsByName) -> Iterator[str]:
    passages = {label: count for label, count in unread.items() if label != IN_DOUBT}
    if n_passages := sum(passages.values()):
        what, were = ("passage in a language", "was") if n_passages == 1 else ("passages in languages", "were")
        languages = _listed(label.removeprefix(f"{UNREAD}IN ").capitalize() for label in passages)
        yield f"{n_passages:,} {what} that no engine reads {were} replaced whole: {languages}"
    if n_words := unread.get(IN_DOUBT):
        yield f"{many(n_words, 'further word')} replaced, as not known to be safe"


def held_back(summary: Summary) -> list[str]:
    """Each reason why notes are in quarantine: how many notes, and what to do."""
    return [
        f"{many(count, 'note')} held back: {reason}{_remedy(reason)}" for reason, count in summary.by_reason.items()
    ]


def drifted(summary: Summary) -> list[str]:
    """That the certificate of the run does not hold, if its notes are unlike those of the certificate."""
    if not summary.drift:
        return []
    found = ", ".join(f"{name} (p {'< 0.0001' if p < 1e-4 else f'= {p:.4f}'})" for name, p in summary.drift.items())
    return [
        f"the certificate does not hold here, as the notes differ from those on which it was measured: {found}; "
        "certify the engine on notes drawn from these"
    ]


def next_steps(summary: Summary, output: Path) -> list[str]:
    """How a person best spends the next ten minutes, judged by the run; the most useful step first."""
    run, settings = run_folder(output), summary.settings
    steps = []
    if summary.n_left:
        steps.append(
            f"find in {run}/summary.html which identifiers are still there, and name them in a list for --always"
        )
    if summary.words_to_review:
        rows = f"the first {_FIRST_ROWS} lines" if summary.words_to_review > _FIRST_ROWS else "the lines"
        steps.append(
            f"read {rows} of {run}/review.tsv, delete those of words that may stay, and run again with --strike"
        )
    if not settings.get("roster") and any(
        "PATIENT" in label.upper() or "NAME" in label.upper() for label in summary.by_label
    ):
        steps.append(
            "name what the hospital knows of its patients with --known: it is found in any case, order or spelling"
        )
    if summary.notes > summary.quarantined:
        steps.append(f"draw notes to read with: phistack sample {output} --notes 50")
    return steps


def untried(summary: Summary, output: Path) -> list[str]:
    """The step that the page suggests until it is done: then `phistack attack` writes its findings there."""
    attack = f"search the output for what was missed, as an attacker would, with: phistack attack {output}"
    return [attack] if summary.is_attackable else []


def _columns(columns: Columns, *, brief: bool) -> Iterator[str]:
    kept, coded = columns.having(KEEP), columns.having(PSEUDONYM)
    redacted = [name for name in columns.others if columns.label(name) is not None and name not in coded]
    ways = (kept, _kept_as(len(kept))), (coded, "replaced by codes"), (redacted, "redacted")
    for names, what in (*ways, (columns.having(REMOVE), "removed")):
        if names:
            listed = "" if brief and columns.numbered else f": {_listed(names)}"
            yield f"{many(len(names), 'field' if columns.numbered else 'column')} {what}{listed}"


def _kept_as(count: int) -> str:
    return "kept as it is" if count == 1 else "kept as they are"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(name if name.isprintable() else ascii(name) for name in names)


def _remedy(reason: str) -> str:
    return next((f"; {remedy}" for begin, remedy in _REMEDIES if re.match(begin, reason)), "")


def render_page(summary: Summary, output: Path) -> str:
    """The page; whatever comes from the run is escaped. It holds no times, as the audit log holds its checksum.

    What is zero or empty is left out.
    """
    first, *others, found = statements(summary, output)
    used = summary.by_engine or summary.engines
    engines = [f"engine {name}: {known}" for name, known in summary.engines.items() if name in used]
    certified = summary.settings.get("certificate")
    tables = [(_sentence(KEYS[name]), meaning, getattr(summary, name)) for name, meaning in _TABLES.items()]
    totals = {KEYS.get(name, name): getattr(summary, name) for name in _TOTALS}
    return template("phistack.ensemble.batch.reports", "summary_template.html").render(
        verdict=f"On {summary.begun_on}, {first}; {found}",
        is_bad=summary.n_left > 0,
        done=map(_sentence, [*others, *engines]),
        certified=_sentence(f"certificate: {certified}" if certified else _UNCERTIFIED),
        drifted=map(_sentence, drifted(summary)),
        attack=[f"Not tried yet: {step}" for step in untried(summary, Path("OUT"))],
        held=[f"{_sentence(reason)} (see quarantine.jsonl)" for reason in held_back(summary)],
        steps=[_sentence(step) for step in next_steps(summary, Path("OUT"))],
        totals={name: count for name, count in totals.items() if count},
        tables=[table for table in tables if table[-1]],
        facts=dict(_facts({**summary.settings, "input": summary.input})),
    )


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _facts(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Settings that were given, each with its value in words."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _facts(value, f"{above}{name}: ")
        elif isinstance(value, bool):
            yield above + name, "yes" if value else "no"
        elif value not in (None, "", []):
            yield above + name, ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
