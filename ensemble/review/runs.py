"""A finished run in the review page: what a person should look at, and the lists for the next run.

    notes = run_notes(Path("clean.run"))              pages of the words that are still in the output, in their lines
    lists = lists_of(notes.documents, decisions)      {"strike.txt": ["Hilard"], "always.txt": [], "never.txt": ["Pap"]}
    write_lists(lists, Path("lists"))                 for --strike, --always and --never

A word of `review.tsv` is suggested with the label STRIKE. Accepting it has the word removed everywhere, a label of the
engine instead has it found as that, and deleting it says that it is not PHI. The first page names the notes that were
held back and those that the engine was least sure of; it has nothing to judge.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from phistack.ensemble.batch.reports.audit import AUDIT
from phistack.ensemble.batch.reports.report import QUARANTINE, REVIEW
from phistack.ensemble.batch.reports.summary import read_summary
from phistack.ensemble.review.decisions import Decisions, Scheme, Suggestion, digest_of
from phistack.ensemble.review.order import Outlook
from phistack.features.documents import Document
from phistack.features.errors import CorpusError
from phistack.features.writing import new_folder

STRIKE = "STRIKE"

_ROWS, _LEAST_SURE, _MOST_OF_THOSE = 40, 0.7, 100


@dataclass(frozen=True)
class RunNotes:
    """The pages of a run as notes, what is suggested in each, and the labels."""

    documents: list[Document]
    outlooks: list[Outlook]
    scheme: Scheme


def is_run(path: Path) -> bool:
    """Whether a path is the folder of the reports of a run."""
    return (path / REVIEW).is_file() and (path / AUDIT).is_file()


def run_notes(run: Path) -> RunNotes:
    """The pages of a run; :raises CorpusError: if its summary cannot be read."""
    summary = read_summary(run)
    if summary is None:
        raise CorpusError(f"{run} has no summary that can be read; give the reports of a finished run")
    labels = {STRIKE: "OTHER", **dict.fromkeys(summary.by_label, "NAME")}
    words = _words(run)
    pages = [_page(n // _ROWS + 1, words[n : n + _ROWS]) for n in range(0, len(words), _ROWS)]
    look = "\n".join([*_held_back(run), *_least_sure(run)])
    first = [(Document("notes to look at", look), Outlook())] if look else []
    notes = [*first, *pages]
    return RunNotes([note for note, _ in notes], [outlook for _, outlook in notes], Scheme("run", labels, (), "en"))


def _words(run: Path) -> list[tuple[str, float, str]]:
    """Word, likelihood and line of each row of the review list; without its line, the word alone."""
    lines = (run / REVIEW).read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]
    return [(row[0], float(row[1]), row[6] if len(row) > 6 and row[0] in row[6] else row[0]) for row in rows]


def _page(number: int, rows: Sequence[tuple[str, float, str]]) -> tuple[Document, Outlook]:
    text, suggestions = "", []
    for word, likely, line in rows:
        start = len(text) + line.index(word)
        suggestions.append(Suggestion(start, start + len(word), STRIKE, likely))
        text += f"{line}\n"
    return Document(f"words {number}", text), Outlook(tuple(suggestions))


def _held_back(run: Path) -> Iterator[str]:
    for line in (run / QUARANTINE).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield f"{row['id']} was held back: {row['reason']}"


def _least_sure(run: Path) -> Iterator[str]:
    rows = map(json.loads, (run / AUDIT).read_text(encoding="utf-8").splitlines())
    doubtful = sorted((row["lowest"], row["id"]) for row in rows if row.get("lowest", 1.0) < _LEAST_SURE)
    for lowest, id in doubtful[:_MOST_OF_THOSE]:
        yield f"{id} has an identifier of which the engine was sure by {lowest:.2f} only"


def lists_of(documents: Iterable[Document], decisions: Decisions) -> dict[str, list[str]]:
    """What was decided on the pages that are done, as the lines of each list.

    :raises CorpusError: if none is done, or a phrase of several words is to be struck.
    """
    strike, never, always = set[str](), set[str](), dict[str, set[str]]()
    done = [(note, judgement) for note in documents if (judgement := decisions.of(note.id)) and judgement.done]
    done = [(note, judgement) for note, judgement in done if judgement.begun.text == digest_of(note.text)]
    if not done:
        raise CorpusError("no page of the run is done; review some, or those of this run if it was run again")
    for note, judgement in done:
        for span in judgement.spans:
            phrase = " ".join(note.text[span.start : span.end].split())
            if span.label == STRIKE and " " in phrase:
                raise CorpusError(f"{note.id}: the span {span.start}-{span.end} has several words; give it a label")
            (strike if span.label == STRIKE else always.setdefault(span.label, set())).add(phrase)
        places = {(span.start, span.end) for span in judgement.spans}
        never |= {note.text[s.start : s.end] for s in judgement.begun.suggestions if (s.start, s.end) not in places}
    found = [line for label, phrases in sorted(always.items()) for line in (f"[{label}]", *sorted(phrases))]
    return {"strike.txt": sorted(strike), "always.txt": found, "never.txt": sorted(never - strike)}


def write_lists(lists: Mapping[str, Sequence[str]], folder: Path) -> None:
    """Write the lists that have any line into a new folder."""
    with new_folder(folder) as part:
        for name, lines in lists.items():
            if lines:
                (part / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
