"""The command that lets a person review notes in a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from phistack.ensemble.command_line import options
from phistack.ensemble.command_line.groups import UseOptions
from phistack.ensemble.command_line.options import argument, one_of, option
from phistack.ensemble.command_line.output import fail_for, print_tables, say, say_written, tell_reliability
from phistack.ensemble.tools.progress import many
from phistack.features.errors import SettingsError, need, no_such

if TYPE_CHECKING:
    from phistack.ensemble.review.retraining import Retrainer
    from phistack.ensemble.review.session import Session


def review(
    source: Annotated[Path, argument("NOTES", "Notes in any known format, or the reports OUT.run of a run.")],
    *,
    model: options.ModelChoiceOption = None,
    store: Annotated[Path | None, option("The folder of the decisions.", show_default="NOTES.review")] = None,
    annotated: Annotated[bool, option("Begin with the spans in NOTES, not those of an engine.", "--annotated")] = False,
    order: Annotated[
        str, option(f"Which notes come first: {one_of(options.ORDERS)}.", names=options.ORDERS)
    ] = "diverse",
    blind: Annotated[bool, option("Hide the suggestions of a random tenth of the notes.", "--blind")] = False,
    notes: Annotated[int, option("Review at most this many notes, drawn at random.", min=1)] = 1000,
    seed: options.SeedOption = 0,
    port: Annotated[int, option("Port of the page; 0 takes any that is free.", min=0, max=65535)] = 0,
    merge: Annotated[
        list[Path] | None,
        option("Folder of another review; give two, to decide where they disagree.", metavar="FOLDER"),
    ] = None,
    export: Annotated[Path | None, option("Write the notes that are done, and end.", metavar="OUT")] = None,
    to: options.AnnotatedFormatOption = "",
    part: Annotated[
        str,
        option(
            f"What to export: {one_of(options.REVIEW_PARTS)} (set aside to measure on).", names=options.REVIEW_PARTS
        ),
    ] = "all",
    use: UseOptions,
) -> None:
    """Review notes in a page on this machine: correct what an engine suggests, and train it again."""
    from phistack.ensemble.review.decisions import Decisions
    from phistack.ensemble.review.reviewing import exported
    from phistack.ensemble.review.runs import is_run

    for name, value, known in (("order", order, options.ORDERS), ("part", part, options.REVIEW_PARTS)):
        if value not in known:
            raise SettingsError(no_such(name, value, known))
    if str(source) == "-":
        raise SettingsError("review needs notes that can be read again; give a file or folder, not -")
    folder = store or source.resolve().with_name(f"{source.resolve().name}.{'gold' if merge else 'review'}")
    if is_run(source):
        return _review_run(source, folder, export, port)
    if export is not None:
        with Decisions(folder) as decisions:
            written = exported(use.source(source), decisions, export, format=to, part=part)
        say_written(written.notes, written.spans, export)
        fail_for(written.held_back, written.notes)
        return
    need("starlette", "review", "the review page")
    need("uvicorn", "review", "the review page")
    if merge:
        _merge(source, merge, folder, port, use)
    else:
        _review(source, folder, model, annotated, order, blind, notes, seed, port, use)


def _review(
    source: Path, folder: Path, model: list[Path] | None, annotated: bool, order: str, blind: bool, notes: int,
    seed: int, port: int, use: UseOptions,
) -> None:  # fmt: skip
    from phistack.ensemble.review.decisions import Decisions, Scheme
    from phistack.ensemble.review.retraining import Retrainer, outlooks
    from phistack.ensemble.review.reviewing import drawn, outlooks_of
    from phistack.ensemble.review.session import Session

    found = use.source(source)
    if annotated:
        corpus = use.reading.reader.read(source)
        with Decisions(folder, Scheme.of(corpus.label_set, seed=seed)) as decisions:
            documents = drawn(found.notes, decisions, notes)
            session = Session(documents, decisions, outlooks_of(corpus, documents), order, blind)
            _serve(session, port)
        return
    path, engine = use.load(found, model or _trained_in(folder))
    tell_reliability(path)
    with Decisions(folder, Scheme.of(engine.label_set, seed=seed)) as decisions:
        if other := {*engine.label_set.labels} - {*decisions.scheme.categories}:
            raise SettingsError(
                f"the engine has {len(other)} labels that the review in {folder} does not have; give the engine with "
                "which it began, or another --store"
            )
        documents = drawn(found.notes, decisions, notes)
        session = Session(documents, decisions, outlooks(engine, documents), order, blind, path.stem)
        _serve(session, port, Retrainer(session, path, lambda bundle: use.load(found, [bundle])[1]))


def _trained_in(folder: Path) -> list[Path] | None:
    """The engine that was trained last in a review."""
    bundles = sorted(folder.glob("engine-*/manifest.json"), key=lambda path: path.stat().st_mtime)
    return [bundles[-1].parent] if bundles else None


def _merge(source: Path, merge: list[Path], folder: Path, port: int, use: UseOptions) -> None:
    from phistack.ensemble.review.decisions import Decisions, Scheme
    from phistack.ensemble.review.order import Outlook
    from phistack.ensemble.review.reviewing import merged
    from phistack.ensemble.review.session import Session

    if len(merge) != 2:
        raise SettingsError("give --merge twice, with the folders of the two reviews")
    with Decisions(merge[0]) as first, Decisions(merge[1]) as second:
        scheme = Scheme.of(first.scheme.labels.extended(second.scheme.categories))
        with Decisions(folder, scheme) as decisions:
            documents, agreement = merged(use.source(source).notes, first, second, decisions)
            print_tables(agreement.tables()[:1])
            _serve(Session(documents, decisions, [Outlook()] * len(documents), ""), port)


def _review_run(run: Path, folder: Path, export: Path | None, port: int) -> None:
    from phistack.ensemble.review.decisions import Decisions
    from phistack.ensemble.review.runs import lists_of, run_notes, write_lists
    from phistack.ensemble.review.session import Session

    found = run_notes(run)
    if export is None:
        with Decisions(folder, found.scheme) as decisions:
            _serve(Session(found.documents, decisions, found.outlooks, ""), port)
        return
    with Decisions(folder) as decisions:
        lists = lists_of(found.documents, decisions)
    write_lists(lists, export)
    does = {"strike.txt": "removed everywhere", "always.txt": "found with its label", "never.txt": "left as it is"}
    for name, lines in lists.items():
        if count := sum(not line.startswith("[") for line in lines):
            say(f"--{name.removesuffix('.txt')} {export / name}: {many(count, 'phrase')}, {does[name]}")


def _tell_address(address: str) -> None:
    print(f"open {address}\nCtrl-C ends the review; all is saved", flush=True)


def _serve(session: Session, port: int, retrainer: Retrainer | None = None) -> None:
    """Serve the page until Ctrl-C."""
    from phistack.ensemble.review.server import listening, serve

    changed = session.status()["changed"]
    if changed:
        say(f"{changed} notes changed since they were judged and must be judged again; the page shows which")
    with listening(port) as opened:
        try:
            serve(session, opened, retrainer, _tell_address)
        except KeyboardInterrupt:
            pass
        finally:
            if retrainer is not None:
                retrainer.stop()
    done, folder = session.status()["done"], session.decisions.folder
    say(f"{done} of {len(session.documents)} notes are done; the decisions are in {folder}")
    say("next: the same command continues, and with --export OUT it writes the notes that are done")
