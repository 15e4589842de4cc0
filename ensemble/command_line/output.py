"""How commands speak: results on standard output, warnings on standard error, both without text of notes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from phistack.ensemble.tools.progress import stage
from phistack.features.errors import SettingsError
from phistack.features.shown import explained, shown_id
from phistack.features.writing import write_new

if TYPE_CHECKING:
    from rich.console import Console

    from phistack.ensemble.bundles.choice import EnginesBeside
    from phistack.ensemble.evaluation.tables import Table
    from phistack.features.documents import Corpus, Document


def say(sentence: str) -> None:
    """Print a result."""
    print(sentence)


def say_where(notes: Sequence[Document], path: Path) -> None:
    """Print how many notes a command wrote; on standard error, if it wrote them to standard output."""
    say_written(len(notes), n_spans(notes), path)


def say_written(n_notes: int, n_phi: int, path: Path) -> None:
    """The same, of notes that were counted as they were written."""
    is_stream = str(path) == "-"
    place = "on standard output" if is_stream else f"in {path}"
    noun, is_or_are = ("note", "is") if n_notes == 1 else ("notes", "are")
    print(f"{n_notes} {noun} with {n_phi} PHI {is_or_are} {place}", file=sys.stderr if is_stream else sys.stdout)


def say_remarks(corpus: Corpus) -> None:
    """Print the remarks and warnings of the reader of a corpus."""
    for remark in corpus.remarks:
        print(f"phistack: {remark}{explained(remark)}", file=sys.stderr)
    warn(corpus.warnings)


def warn(counts: Mapping[str, int]) -> None:
    """Print oddities and how often each occurred."""
    for what, count in sorted(counts.items()):
        if count:
            print(f"phistack: warning: {what}: {count}", file=sys.stderr)


def report_misaligned_spans(notes: Corpus, warnings: Mapping[str, int]) -> None:
    """Print what share of the PHI begins or ends within a token, by the counts of what tags cannot express exactly."""
    n_phi = n_spans(notes.documents)
    n_off = warnings.get("spans off the token grid", 0) + warnings.get("spans without a token", 0)
    share = f"{n_off / max(n_phi, 1):.2%} of the PHI ({n_off} of {n_phi})"
    say(f"{share} begin or end within a token, so tags cannot mark them exactly")


def choose_engines(
    models: Sequence[Path] | None, sample: Callable[[int], Iterable[str]]
) -> tuple[Path, Mapping[str, Path], EnginesBeside | None]:
    """The engine that was named, or the one that ships for the language of the notes, which is then printed.

    :param sample: the texts of at most so many of the notes.
    :returns: the bundle; those for all languages, none if one was named; and the others that were named.
    :raises SettingsError: if none was named and none ships for the notes.
    """
    if models:
        from phistack.ensemble.bundles.choice import EnginesBeside

        return models[0], {}, EnginesBeside.of(models[0], models[1:])
    with stage("looking in what language the notes are"):
        from phistack.ensemble.bundles.choice import MOST_NOTES, engine_for

        chosen = engine_for(sample(MOST_NOTES))
    others = "; text in other languages is read by their engines" if len(chosen.by_language) > 1 else ""
    print(f"engine: {chosen.reason}{others}; --model names one for all", file=sys.stderr)
    return chosen.path, chosen.by_language, None


def tell_reliability(model: Path) -> None:
    """Print on standard error how much an engine is known to find, with a warning if a person must check.

    :raises BundleError: if there is no bundle.
    """
    from phistack.ensemble.bundles.files import read_manifest
    from phistack.ensemble.bundles.model_card import reliability_of

    for line in reliability_of(read_manifest(model)).lines:
        print(line, file=sys.stderr)


def fail(sentence: str, status: int) -> NoReturn:
    """Print what went wrong and end the process; :raises SystemExit: always."""
    print(f"phistack: {sentence}", file=sys.stderr)
    sys.exit(status)


def fail_for(held_back: Mapping[str, str], n_others: int) -> None:
    """List the notes that were held back, id -> reason, and end the process if there are any.

    :param n_others: how many notes were not held back.
    :raises SystemExit: with status 3, if there are any.
    """
    lines = [f"phistack: held back: document {shown_id(id)}: {reason}" for id, reason in held_back.items()]
    for line in lines:
        print(line, file=sys.stderr)
    if held_back:
        names = explained("\n".join(lines))
        fail(f"{len(held_back)} of {len(held_back) + n_others} notes were held back{names}", 3)


def console() -> Console:
    """Where tables are printed: as wide as the terminal, and 120 characters elsewhere."""
    from rich.console import Console

    class Piped(Console):
        """One that leaves a closed pipe to the wrapper of the command."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Piped(width=None if sys.stdout.isatty() else 120)


def print_tables(tables: Iterable[Table]) -> None:
    """Print tables, one below the other."""
    for table in tables:
        console().print(table)


def write_figures(path: Path | None, figures: object) -> None:
    """Write figures as JSON into a new file, if one was named."""
    if path:
        write_new(path, json.dumps(figures, indent=2, ensure_ascii=False) + "\n")


def names_of(paths: Sequence[Path]) -> list[str]:
    """The shortest ends of the paths that distinguish them: `train`, or `a/train` and `b/train`.

    :raises SettingsError: if a path is given twice.
    """
    parts = [path.resolve().parts for path in paths]
    if len(set(parts)) < len(parts):
        raise SettingsError("the same path is given twice; give each corpus or system once")
    for length in range(1, max(map(len, parts), default=1) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if len(set(names)) == len(names):
            break
    return names


def n_spans(documents: Iterable[Document]) -> int:
    """The number of spans of some notes."""
    return sum(len(document.spans) for document in documents)
