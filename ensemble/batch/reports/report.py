"""The reports of a run: OUT.run, beside the output.

    audit.jsonl         each note, chained by hashes
    quarantine.jsonl    id, place and reason of each note that did not come out
    review.tsv          words still in the output for a person to look at
    summary.json, summary.html

The last line of the audit log holds the checksums of all others. They hold no text of a note, but for the words of the
review list, which are in the output too.
"""

from __future__ import annotations

import hmac
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from ensemble.batch.journal import GO_ON
from ensemble.batch.reports.audit import AuditLog, output_digest, summary_digest
from ensemble.batch.reports.summary_page import render_page
from ensemble.batch.settings import RunSettings
from ensemble.batch.store import Store
from ensemble.batch.workers.job import may_pass
from ensemble.batch.workers.leak_search import IN_COLUMN
from features.writing import refused_by_disk, write_json

__all__ = [
    "AUDIT",
    "PASSED_OVER",
    "QUARANTINE",
    "REVIEW",
    "SUMMARY",
    "TRIED_AGAIN",
    "notices",
    "read_summary",
    "write_reports",
]

AUDIT, QUARANTINE, REVIEW, SUMMARY = "audit.jsonl", "quarantine.jsonl", "review.tsv", "summary.json"
PAGE = "summary.html"
TRIED_AGAIN = "quarantined, tried again by the same command"
"""In the summary: how many notes are held back for a reason that may pass."""

PASSED_OVER = "passed over"
"""In the summary: what of the input was not read as notes, and how many files that were."""

_ENCODING = re.compile(r"(?i)utf-8|cp\d+|(iso-?)?8859-\d+|latin-?\d+")
_AUDITED = ("input", "output", "counts", "strategies", "unresolved", "lowest", "second_pass", "problem")
_SUMMED = ("counts", "strategies", "second_pass")
_LEAKS = {
    "outside": "identifiers still in the output",
    "short": "short identifiers, also by chance",
    IN_COLUMN: "identifiers in columns kept as they are",
    "inside": "surrogates equal to another identifier",
}


def write_reports(
    settings: RunSettings, fingerprint: Mapping[str, Any], store: Store, facts: Mapping[str, Any]
) -> None:
    """Write all reports into the folder of the unfinished run.

    :param facts: on this start, for the summary only, as they differ from start to start.
    """
    folder = store.folder / "reports"
    shutil.rmtree(folder, ignore_errors=True)
    with refused_by_disk(folder, GO_ON):
        folder.mkdir()
        _write_all(folder, settings, fingerprint, store, facts)


def _write_all(
    folder: Path, settings: RunSettings, fingerprint: Mapping[str, Any], store: Store, facts: Mapping[str, Any]
) -> None:
    totals: dict[str, Counter[str]] = {name: Counter() for name in (*_SUMMED, "problems", "notes")}
    store.journal.clear_review()
    input = store.journal.fact("input")
    with (folder / AUDIT).open("w", encoding="utf-8") as audit_file:
        audit = AuditLog(audit_file, {**_without_key(fingerprint), "input": input}, settings.key)
        with (folder / QUARANTINE).open("w", encoding="utf-8") as quarantine:
            for _, records in store.records():
                for record in records:
                    _write_record(settings, record, audit, quarantine)
                    _sum(totals, record)
                store.journal.add_review(_review(records))
        leaks = _leaks(store)
        n_words = _write_review(folder / REVIEW, store.journal.review())
        reported = {"input": input, PASSED_OVER: store.journal.fact(PASSED_OVER) or {}, "words to review": n_words}
        summary = {**_summary(totals), **leaks, **reported, "settings": dict(fingerprint)}
        (folder / PAGE).write_text(render_page(summary), encoding="utf-8")
        reports = {name: output_digest(folder / name) for name in (QUARANTINE, REVIEW, PAGE)}
        output = output_digest(store.folder / "output" / settings.target.name)
        audit.end({"bytes": output, "reports": reports, "summary": summary_digest(summary), **leaks})
    summary |= {"audit log ends with": audit.head, "this start": _start(facts)}
    write_json(folder / SUMMARY, summary)


def _without_key(fingerprint: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fingerprint.items() if name != "key"}


def _write_record(settings: RunSettings, record: dict[str, Any], audit: AuditLog, quarantine: IO[str]) -> None:
    named = {"id": _shown(settings, record["id"]), "place": _shown_place(settings, record["place"])}
    if "problem" in record:
        quarantine.write(json.dumps({**named, "reason": record["problem"]}, ensure_ascii=False) + "\n")
    audit.add({**named, **{name: record[name] for name in _AUDITED if name in record}})


def read_summary(folder: Path) -> dict[str, Any] | None:
    """The summary in a folder of reports; nothing if there is none that can be read."""
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return summary if isinstance(summary, dict) else None


def notices(summary: Mapping[str, Any]) -> dict[str, int]:
    """What of a summary the user must be told though the run has done all that it can, and how many that are."""
    again = summary.get(TRIED_AGAIN, 0)
    advice = "notes were held back because a process died or time ran out; the same command tries them again"
    return {**summary.get(PASSED_OVER, {}), **({advice: again} if again else {})}


def _shown(settings: RunSettings, id: str) -> str:
    if not settings.hide_ids:
        return id
    return hmac.digest(settings.key or b"", b"id:" + id.encode("utf-8", "surrogatepass"), "sha256").hex()[:32]


def _shown_place(settings: RunSettings, place: str) -> str:
    """A line number is no identifier, but the name of a file may be one."""
    is_number = place.rpartition(" ")[2].isdigit() and place.partition(" ")[0] in ("line", "row", "file")
    return place if is_number else _shown(settings, place)


def _sum(totals: Mapping[str, Counter[str]], record: Mapping[str, Any]) -> None:
    for name in _SUMMED:
        totals[name].update(record.get(name, {}))
    totals["notes"]["all"] += 1
    totals["notes"]["with PHI"] += bool(record.get("counts"))
    totals["notes"]["unresolved"] += record.get("unresolved", 0)
    if "problem" in record:
        totals["notes"]["quarantined"] += 1
        totals["notes"]["may pass"] += may_pass(record["problem"])
        totals["problems"][_kind_of_problem(record["problem"])] += 1


def _kind_of_problem(problem: str) -> str:
    """The reason without what differs from note to note, so that reasons can be counted."""
    words = problem.partition(": ")[2] if problem.startswith("the note, ") else problem
    return " ".join(
        "N" if any(c.isdigit() for c in word) and not _ENCODING.fullmatch(word) else word for word in words.split()
    )


def _review(records: Iterable[Mapping[str, Any]]) -> list[tuple[str, int, int]]:
    words: dict[str, list[int]] = {}
    for record in records:
        for column, name in enumerate(("capitalised", "resembling")):
            for word, count in record.get(name, {}).items():
                words.setdefault(word, [0, 0])[column] += count
    return [(word, *counts) for word, counts in sorted(words.items())]  # type: ignore[misc]


def _write_review(path: Path, words: Iterable[tuple[str, int, int]]) -> int:
    n = 0
    with path.open("w", encoding="utf-8") as file:
        file.write("# word\tcapitalised within a sentence\tlike an identifier of the patient\n")
        for n, (word, capitalised, resembling) in enumerate(words, 1):  # noqa: B007
            file.write(f"{word}\t{capitalised}\t{resembling}\n")
    return n


def _leaks(store: Store) -> dict[str, dict[str, int]]:
    """What was found when the output was searched: by where it stands and by label, in columns by their names."""
    leaks: dict[str, Counter[str]] = {place: Counter() for place in _LEAKS}
    for number in store.journal.numbers():
        for label, place, count in store.journal.searched(number) or ():
            if place.startswith(IN_COLUMN):
                leaks[IN_COLUMN][place.removeprefix(IN_COLUMN)] += count
            else:
                leaks[place][label] += count
    return {name: _sorted(leaks[place]) for place, name in _LEAKS.items()}


def _summary(totals: Mapping[str, Counter[str]]) -> dict[str, Any]:
    return {
        "notes": totals["notes"]["all"],
        "quarantined": totals["notes"]["quarantined"],
        TRIED_AGAIN: totals["notes"]["may pass"],
        "notes with PHI": totals["notes"]["with PHI"],
        "PHI by label": _sorted(totals["counts"]),
        "PHI by strategy": _sorted(totals["strategies"]),
        "tagged as nothing else was possible": totals["notes"]["unresolved"],
        "quarantined by reason": _sorted(totals["problems"]),
        "found by the second pass": _sorted(totals["second_pass"]),
    }


def _start(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {"finished": datetime.now(UTC).isoformat(timespec="seconds"), **facts}


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(((name, n) for name, n in counts.items() if n), key=lambda item: (-item[1], item[0])))
