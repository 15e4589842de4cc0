"""The learned TBED rules of a bundle, for a reviewer: list them, score them on new notes, edit them.

print_rules(bundle, console, score_on=corpus)     each rule in words, with its counts in training and there
write_rules(bundle, Path("rules.txt"))            the rules as text, to edit
replace_rules(bundle, Path("rules.txt"), new)     a new bundle with them, hashed and self-tested anew
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from phistack.ensemble.bundles.bundle import load_bundle, save_bundle
from phistack.ensemble.bundles.files import SETTINGS, read_bundle
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.engine import Engine
from phistack.ensemble.evaluation.tables import Table
from phistack.features.documents import Document
from phistack.features.errors import BundleError, SettingsError
from phistack.features.files import read_regular
from phistack.features.formats import USUAL_READER, Reader
from phistack.features.plain_view import plain_view
from phistack.features.shown import shown_id, whole
from phistack.features.writing import refuse_taken, write_new
from phistack.submodels.regex.pattern_files import Pattern
from phistack.submodels.regex.scanner import Scanner
from phistack.submodels.tbed.submodel import TbedSubmodel
from phistack.tbed.rules import format_rules
from phistack.tbed.tagger import RuleScore, score_rules


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """A match in a note as it was written; `start` and `end` are code points, half-open, and `pattern` is a name."""

    document: Document = field(repr=False)
    start: int
    end: int
    pattern: str


def pattern_matches(patterns: Sequence[Pattern], documents: Sequence[Document], language: str) -> list[PatternMatch]:
    """All matches, in the order of the notes.

    :param language: ISO 639-1 code, for the validators.
    :raises UnsafePatternError: if a pattern takes too long for all notes together.
    """
    views = [plain_view(document) for document in documents]
    found = sorted(Scanner(patterns).find([view.document.text for view in views], language), key=lambda m: (m[0], m[2]))
    return [
        PatternMatch(documents[note], *views[note].place(start, end), patterns[number].name)
        for note, number, start, end in found
    ]


def matches_table(matches: Sequence[PatternMatch], *, show_text: bool = False) -> Table:
    """One row for each match; :param show_text: whether to show its text and the full name of the note."""
    texts = ("note", "pattern", *(["text"] if show_text else []))
    rows = [
        [
            whole(match.document.id) if show_text else shown_id(match.document.id), match.pattern,
            *([repr(match.document.text[match.start : match.end])] if show_text else []),
            str(match.start), str(match.end),
        ]
        for match in matches
    ]  # fmt: skip
    return Table((*texts, "start", "end"), [rows], f"{len(matches)} matches", n_texts=len(texts))


def counts_of(patterns: Sequence[Pattern], matches: Sequence[PatternMatch]) -> Iterator[str]:
    """How often each pattern matches, those without a match included."""
    for pattern in patterns:
        notes = [match.document.id for match in matches if match.pattern == pattern.name]
        yield f"{pattern.name}: {len(notes)} matches in {len(set(notes))} notes"


def print_rules(
    bundle: Path, console: Console, *, submodel: str = "", score_on: Path | None = None, reader: Reader = USUAL_READER
) -> None:
    """List the rules in words, with what each did in training.

    :param submodel: the name of the TBED submodel, where the bundle has several.
    :param score_on: annotated notes on which to count what each rule corrects and breaks, after the rules before it.
    :raises BundleError: if the bundle has no TBED submodel.
    """
    engine = load_bundle(bundle)
    tbed = _tbed_of(engine, bundle, submodel)
    rules = tbed.rules_.rules
    scores: Sequence[RuleScore] = ()
    if score_on is not None:
        notes = tbed.notes(engine.space.tables(reader.read(score_on, label_set=engine.label_set).documents))
        scores = score_rules(rules, notes, within=tbed.within)
    columns = ("", "rule", "example", "gain", "broken", *(("corrects", "breaks") if scores else ()))
    rows = [
        [
            str(number), rule.sentence() + (" (switched off)" if rule.off else ""),
            f"{rule.example[0]}:{rule.example[1]}" if rule.example else "",
            "" if rule.gain is None else str(rule.gain), str(rule.broken),
            *([str(scores[number - 1].corrected), str(scores[number - 1].broken)] if scores else []),
        ]
        for number, rule in enumerate(rules, 1)
    ]  # fmt: skip
    console.print(Table(columns, [rows], f"{len(rules)} rules, applied in this order", n_texts=3))
    if scores:
        harmful = [str(score.number) for score in scores if score.gain < 0]
        console.print(f"{len(harmful)} rules break more than they correct there: {', '.join(harmful) or 'none'}")


def write_rules(bundle: Path, target: Path, *, submodel: str = "") -> None:
    """Write the rules as text; :raises SettingsError: if the file is already there."""
    refuse_taken(target)
    text = format_rules(_tbed_of(load_bundle(bundle), bundle, submodel).rules_)
    write_new(target, text)


def replace_rules(bundle: Path, rules: Path, out: Path, *, submodel: str = "") -> None:
    """Make a new bundle with edited rules; the stacker stays as it was trained.

    :raises SettingsError: with line and column, for a mistake in the rules.
    """
    engine = load_bundle(bundle)
    try:
        text = read_regular(rules).decode("utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError):
        raise SettingsError(f"the rule file {rules} cannot be read as UTF-8 text") from None
    edited = _tbed_of(engine, bundle, submodel).edited(text, name=str(rules), space=engine.space)
    engine.submodels = tuple(edited if model.name == edited.name else model for model in engine.submodels)
    manifest, files = read_bundle(bundle)
    save_bundle(
        engine,
        out,
        self_test=self_test(engine),
        models={name: files.part(f"submodels/{name}") for name in engine.names if name != edited.name},
        trained_on={**manifest["trained_on"], "rules edited after training": True},
        figures=manifest["figures"],
        settings=files.read(SETTINGS).decode("utf-8") if SETTINGS in files else "",
    )


def _tbed_of(engine: Engine, bundle: Path, name: str) -> TbedSubmodel:
    """The TBED submodel of a name, or the only one."""
    found = {model.name: model for model in engine.submodels if isinstance(model, TbedSubmodel)}
    if not found:
        raise BundleError(f"the bundle {bundle} was trained without TBED, so it has no rules to list")
    if name not in found and (name or len(found) > 1):
        problem = f"has no TBED submodel named {name}" if name else "has several TBED submodels"
        raise SettingsError(f"the bundle {bundle} {problem}; name one of them with --submodel: {', '.join(found)}")
    return found.get(name) or next(iter(found.values()))
