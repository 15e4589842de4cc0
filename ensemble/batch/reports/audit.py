"""The audit log: what happened to each note, in lines chained by hashes.

    {"run": {...}, "chain": "5f1c..."}                                 versions and settings
    {"n": 1, "id": "110-01", "input": "...", "output": "...", "counts": {"DOCTOR": 1}, ..., "chain": "..."}
    {"end": 240, "quarantined": 1, "bytes": "...", "reports": {...}, "summary": "...", ..., "seal": "", "chain": "..."}
                        the last line, so that cutting off is seen; the checksums of the output and of the other reports

Each line's `chain` is the SHA-256 of the previous chain and the line. Whoever changes, removes or moves a line must
change all that follow, and the seal: an HMAC under the user's key, written if the run had one. The log holds no text,
and ids can be hidden as HMACs.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypedDict

import msgspec

from phistack.ensemble.batch.columns import Columns
from phistack.ensemble.batch.reports.summary import PAGE, SUMMARY, Start, Summary, read_summary
from phistack.ensemble.batch.rows import NO_LIMIT, FormatSettings, InputFormat, open_format, texts_digest
from phistack.ensemble.batch.settings import key_from, run_folder
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.shown import shown_id

AUDIT = "audit.jsonl"
ATTACKED = re.compile(rb'(?<=<ul id="attack">\n)(?:<li>(?:[^<]|<a href="attack\.html">|</a>)*</li>\n)*(?=</ul>)')
"""The items of the summary's page that `phistack attack` writes after the log was sealed."""

_OTHER_OUTPUT = "the output differs from the one that the run wrote"
_OTHER_REPORT = "{} differs from the one that the run wrote, or is missing"
_START = hashlib.sha256(b"phistack audit 1").hexdigest()


class _Facts(TypedDict, total=False):
    """The parts of a line that the check reads."""

    chain: str
    n: int
    id: str
    output: str
    end: int
    bytes: str
    reports: dict[str, str]
    summary: str


class AuditLog:
    """Writes a log.

    :param run: versions and settings, for the first line.
    :param key: seals the log, if given.
    """

    def __init__(self, file: IO[str], run: Mapping[str, Any], key: bytes | None) -> None:
        self._file = file
        self._key = key
        self._chain = _START
        self._notes = self._quarantined = 0
        self._write({"run": dict(run)})

    def add(self, facts: Mapping[str, Any]) -> None:
        """Write the line of a note; a fact `problem` says that it is in quarantine."""
        self._notes += 1
        self._quarantined += "problem" in facts
        self._write({"n": self._notes, **facts})

    def end(self, facts: Mapping[str, Any]) -> str:
        """Write the last line, with facts about the whole run; :returns: its chain, which the summary holds."""
        line: dict[str, Any] = {"end": self._notes, "quarantined": self._quarantined, **facts}
        if self._key is not None:
            line["seal"] = _seal(self._key, self._chain, line)
        self._write(line)
        return self._chain

    def _write(self, line: dict[str, Any]) -> None:
        self._chain = _link(self._chain, line)
        self._file.write(_json({**line, "chain": self._chain}) + "\n")


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The result of checking a log and an output.

    :param notes: how many lines about notes are unchanged.
    :param problems: what is wrong, first to last; at most one about the chain, as nothing after a break can be trusted.
    :param sealed: whether the seal was checked with a key and is right.
    """

    notes: int
    problems: tuple[str, ...]
    sealed: bool


def audit_run(target: Path, *, key_file: Path | None = None) -> AuditReport:
    """Check the audit log of a finished run, and that the output is what the log says.

    :param target: the output; its log is in the folder `target.run` beside it.
    :raises CorpusError: if there is no such run, or its output cannot be opened.
    """
    path, key = run_folder(target) / AUDIT, key_from(key_file)
    form, summary = opened_output(target)
    outputs = (texts_digest(row.texts, None) for row in form.rows() if row.parts)
    problems: list[str] = []
    notes, chain, last = 0, _START, {}
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            facts, link = _parsed(line)
            if link is None or link != _link(chain, facts):
                broken = f"line {number} of {path} was changed, or a line before it was removed"
                return AuditReport(notes, (*problems, broken), False)
            before, chain, last = chain, link, facts
            notes += "n" in facts
            if "output" in facts and next(outputs, "") != facts["output"] and not problems:
                problems.append(
                    f"the output of {shown_id(facts.get('id', ''))} differs from the one that the run wrote, or "
                    "is missing"
                )
    if "end" not in last or last["end"] != notes:
        return AuditReport(notes, (*problems, f"the last lines of {path} were removed"), False)
    if not problems and (next(outputs, None) is not None or last.get("bytes") != output_digest(target)):
        problems.append(_OTHER_OUTPUT)
    problems += _changed_reports(path.parent, last)
    if last.get("summary") != summary_digest(summary):
        problems.append(_OTHER_REPORT.format(path.parent / SUMMARY))
    elif summary.log_end != chain:
        problems.append(f"{path} is not the log that the summary of the run describes")
    sealed = key is not None and _is_sealed(key, before, last)
    if key is not None and not sealed:
        wrong = (
            "is of another key, or forged"
            if "seal" in last
            else "is missing: the run had no key, or the seal was removed"
        )
        problems.append(f"the seal of the log {wrong}")
    return AuditReport(notes, tuple(problems), sealed)


def opened_output(target: Path) -> tuple[InputFormat, Summary]:
    """The output of a finished run, to be read as the run wrote it, and its summary; raises what `audit_run` does."""
    folder = run_folder(target)
    summary = read_summary(folder)
    if summary is None or not (folder / AUDIT).is_file():
        raise CorpusError(
            f"{folder} has no summary and audit log as a run writes them; give the OUT of a finished deidentify"
        )
    try:
        run = summary.settings
        columns = msgspec.convert(run["columns"], Columns).of_output() if run["columns"] else Columns()
        settings, name = FormatSettings(columns, run["encoding"], NO_LIMIT), run["form of output"]
    except (KeyError, TypeError, ValueError, SettingsError):
        raise CorpusError(
            f"the summary in {folder} was changed after the run, so the output cannot be checked"
        ) from None
    return open_format(target, target, settings, name), summary


def _changed_reports(folder: Path, last: Mapping[str, Any]) -> list[str]:
    reported: Mapping[str, str] = last.get("reports", {})
    there = {name for name in reported if (folder / name).is_file()}
    changed = [name for name in reported if name not in there or report_digest(folder / name) != reported[name]]
    return [_OTHER_REPORT.format(folder / name) for name in changed]


def summary_digest(summary: Summary) -> str:
    """SHA-256 of a summary without the times of a start and the end of the log, which holds this digest."""
    reported = msgspec.structs.replace(summary, log_end="", start=Start()).to_dict()
    return hashlib.sha256(json.dumps(reported, sort_keys=True).encode()).hexdigest()


def output_digest(path: Path) -> str:
    """SHA-256 over the bytes of a file, or over the names and bytes of all files of a folder."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    digest = hashlib.sha256()
    for parent, folders, names in os.walk(path):
        folders.sort()
        for found in (Path(parent) / name for name in sorted(names)):
            named = os.fsencode(found.relative_to(path))
            digest.update(len(named).to_bytes(8, "big") + named + bytes.fromhex(output_digest(found)))
    return digest.hexdigest()


def report_digest(path: Path) -> str:
    """SHA-256 of a report; of the summary's page without what an attack found."""
    if path.name != PAGE:
        return output_digest(path)
    return hashlib.sha256(ATTACKED.sub(b"", path.read_bytes(), count=1)).hexdigest()


def _parsed(line: str) -> tuple[dict[str, Any], str | None]:
    try:
        facts = json.loads(line)
        link = msgspec.convert(facts, _Facts)["chain"]
        del facts["chain"]
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return {}, None
    # A line that is spelled differently was changed, even if it means the same.
    return (facts, str(link)) if _json({**facts, "chain": link}) + "\n" == line else ({}, None)


def _link(chain: str, facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(f"{chain}\n{_json(facts)}".encode()).hexdigest()


def _seal(key: bytes, chain: str, facts: Mapping[str, Any]) -> str:
    return hmac.digest(key, f"phistack audit seal\n{chain}\n{_json(facts)}".encode(), "sha256").hex()


def _is_sealed(key: bytes, chain: str, last: Mapping[str, Any]) -> bool:
    facts = {name: value for name, value in last.items() if name != "seal"}
    return hmac.compare_digest(str(last.get("seal", "")), _seal(key, chain, facts))


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(", ", ": "))
