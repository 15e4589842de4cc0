"""The reports of a run: OUT.run, beside the output.

    audit.jsonl         each note, chained by hashes
    quarantine.jsonl    id, place and reason of each note that did not come out
    review.tsv          words still in the output for a person to look at
    replaced.jsonl      where the output of each note has surrogates and tags, for `phistack attack`
    summary.json, summary.html

The last line of the audit log holds the checksums of all others. They hold no text of a note, except for the words of
the review list, which are in the output too. Anyone with replaced.jsonl can tell surrogates from what was missed.
"""

from __future__ import annotations

import hmac
import json
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from phistack.ensemble.batch.journal import GO_ON
from phistack.ensemble.batch.reports.audit import AUDIT, AuditLog, output_digest, report_digest, summary_digest
from phistack.ensemble.batch.reports.review import ReviewRow, collect, write_review
from phistack.ensemble.batch.reports.shown_summary import render_page
from phistack.ensemble.batch.reports.summary import KEYS, PAGE, SUMMARY, Start, Summary
from phistack.ensemble.batch.rows import InputFormat, Row
from phistack.ensemble.batch.settings import RunSettings, run_folder
from phistack.ensemble.batch.store import Store
from phistack.ensemble.batch.workers.identifier_register import IN_COLUMN
from phistack.ensemble.batch.workers.job import is_transient
from phistack.ensemble.bundles.files import read_manifest
from phistack.ensemble.bundles.model_card import reliability_of
from phistack.ensemble.evaluation.drift import NoteFacts, Summaries, differences
from phistack.features.writing import refused_by_disk, write_json

QUARANTINE, REVIEW, REPLACED = "quarantine.jsonl", "review.tsv", "replaced.jsonl"
PASSED_OVER = KEYS["passed_over"]
"""The fact of the journal on what was not read as notes, with the number of files."""

_ENCODING = re.compile(r"(?i)utf-8|cp\d+|(iso-?)?8859-\d+|latin-?\d+")
_SUMMED = {"counts": "by_label", "strategies": "by_strategy"} | {
    name: name for name in ("second_pass", "known", "unread")
}
"""Fact of a note -> the field of the summary that has its sum."""
_AUDITED = (
    "input", "output", "engine", "counts", "strategies", "unread", "lists", "known", "in roster", "unresolved",
    "lowest", "second_pass", "problem",
)  # fmt: skip


def replaced_in(target: Path, form: InputFormat) -> Iterator[tuple[Row, dict[str, Any]]]:
    """The rows with texts of the output of a finished run, each with what was replaced in them."""
    with (run_folder(target) / REPLACED).open(encoding="utf-8") as lines:
        yield from zip((row for row in form.rows() if row.parts), map(json.loads, lines), strict=True)


def write_reports(settings: RunSettings, fingerprint: Mapping[str, Any], store: Store, start: Start) -> str:
    """Write all reports into the folder of the unfinished run; :returns: the hash at the end of the audit log.

    :param start: for the summary only.
    """
    folder = store.folder / "reports"
    shutil.rmtree(folder, ignore_errors=True)
    with refused_by_disk(folder, GO_ON):
        folder.mkdir()
        return _write_all(folder, settings, fingerprint, store, start)


def _write_all(folder: Path, settings: RunSettings, fingerprint: Mapping[str, Any], store: Store, start: Start) -> str:
    totals = _Totals()
    rows: dict[str, ReviewRow] = {}
    with (
        (folder / AUDIT).open("w", encoding="utf-8") as audit_file,
        (folder / QUARANTINE).open("w", encoding="utf-8") as quarantine,
        (folder / REPLACED).open("w", encoding="utf-8") as replaced,
    ):
        shown = {name: value for name, value in fingerprint.items() if name != "key"}
        audit = AuditLog(audit_file, {**shown, "input": store.journal.fact("input")}, settings.key)
        for record in (record for _, records in store.records() for record in records):
            named = {"id": _shown(settings, record["id"]), "place": _shown_place(settings, record["place"])}
            if "problem" in record:
                quarantine.write(json.dumps({**named, "reason": record["problem"]}, ensure_ascii=False) + "\n")
            else:
                of_note = {"id": named["id"], "patient": _shown(settings, record["patient"])}
                places = {name: record[name] for name in ("read as", "replaced")}
                replaced.write(json.dumps({**of_note, **places}) + "\n")
            audit.add({**named, **{name: record[name] for name in _AUDITED if name in record}})
            totals.add(record)
            collect(rows, named["id"], record.get("review", ()))
        quarantine.flush()
        replaced.flush()
        write_review(folder / REVIEW, rows)
        summary = _summary(settings, store, totals, fingerprint, len(rows))
        output = store.folder / "output" / settings.target.name
        (folder / PAGE).write_text(render_page(summary, output), encoding="utf-8")
        reports = {name: report_digest(folder / name) for name in (QUARANTINE, REVIEW, REPLACED, PAGE)}
        found = {"summary": summary_digest(summary), KEYS["drift"]: summary.drift}
        end = audit.end({"bytes": output_digest(output), "reports": reports, **found})
    write_json(folder / SUMMARY, msgspec.structs.replace(summary, log_end=end, start=start).to_dict())
    return end


class _Totals:
    """Sums over all notes, by the fields of the summary."""

    def __init__(self) -> None:
        self.notes = Counter(
            dict.fromkeys(("notes", "quarantined", "tried_again", "with_phi", "unresolved", "not_in_roster"), 0)
        )
        self.by_name: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.summaries = Summaries()

    def add(self, record: Mapping[str, Any]) -> None:
        problem = record.get("problem", "")
        self.notes.update(
            notes=1,
            quarantined=bool(problem),
            tried_again=is_transient(problem),
            with_phi=bool(record.get("counts")),
            unresolved=record.get("unresolved", 0),
            not_in_roster=not record.get("in roster", True),
        )
        for fact, name in _SUMMED.items():
            self.by_name[name].update(record.get(fact, {}))
        if "facts" in record:
            patient, *facts = record["facts"]
            self.summaries.add(patient, NoteFacts(*facts))
        self.by_name["by_engine"].update([record["engine"]] if "engine" in record else [])
        self.by_name["by_reason"].update([_kind_of_problem(problem)] if problem else [])


def _summary(
    settings: RunSettings, store: Store, totals: _Totals, fingerprint: Mapping[str, Any], n_words: int
) -> Summary:
    """The summary without the end of the log and the times of this start."""
    leaks = _leaks(store)
    engines = (settings.model, *settings.by_language.values())
    named = (*_SUMMED.values(), "by_engine", "by_reason")
    sums: dict[str, Any] = {**totals.notes, **{name: _sorted(totals.by_name[name]) for name in named}}
    return Summary(
        begun_on=store.journal.fact("begun on") or "",
        engines={path.stem: reliability_of(read_manifest(path)).sentence for path in engines},
        still_there=leaks["outside"],
        by_chance=leaks["short"],
        in_kept_columns=leaks[IN_COLUMN],
        equal_surrogates=leaks["inside"],
        input=store.journal.fact("input"),
        passed_over=store.journal.fact(PASSED_OVER) or {},
        words_to_review=n_words,
        settings=dict(fingerprint),
        drift=_drift(settings, totals),
        **sums,
    )


def _drift(settings: RunSettings, totals: _Totals) -> dict[str, float]:
    """How the notes differ from those of the run's certificate."""
    profiles = settings.certificate.profiles if settings.certificate else {}
    return differences(profiles.get(settings.options.recall, {}), totals.summaries.profile)


def _shown(settings: RunSettings, id: str) -> str:
    if not settings.hide_ids:
        return id
    return hmac.digest(settings.key or b"", b"id:" + id.encode("utf-8", "surrogatepass"), "sha256").hex()[:32]


def _shown_place(settings: RunSettings, place: str) -> str:
    """A line number is not an identifier, but the name of a file may be one."""
    is_number = place.rpartition(" ")[2].isdigit() and place.partition(" ")[0] in ("line", "row", "file")
    return place if is_number else _shown(settings, place)


def _kind_of_problem(problem: str) -> str:
    """The reason without what differs from note to note, for counting reasons."""
    words = problem.partition(": ")[2] if problem.startswith("the note, ") else problem
    return " ".join(
        "N" if any(c.isdigit() for c in word) and not _ENCODING.fullmatch(word) else word for word in words.split()
    )


def _leaks(store: Store) -> dict[str, dict[str, int]]:
    """What the search of the output found: by place and label, in columns by their names."""
    leaks: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for number in store.journal.numbers():
        for label, place, count in store.journal.searched(number) or ():
            if place.startswith(IN_COLUMN):
                leaks[IN_COLUMN][place.removeprefix(IN_COLUMN)] += count
            else:
                leaks[place][label] += count
    return {place: _sorted(leaks[place]) for place in ("outside", "short", IN_COLUMN, "inside")}


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(((name, n) for name, n in counts.items() if n), key=lambda item: (-item[1], item[0])))
