"""The learned TBED rules of a bundle, for a reviewer: read them, score them on new notes, edit them, put them back.

print_rules(bundle, console, score_on=corpus)     what each rule says, did in training, and does there
write_rules(bundle, Path("rules.txt"))            the rules as text, to be edited
replace_rules(bundle, Path("rules.txt"), new)     a new bundle with them, hashed and self-tested anew
"""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from phistack.ensemble.bundles.bundle import load_bundle, save_bundle
from phistack.ensemble.bundles.files import SETTINGS, read_bundle
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.engine import Engine
from phistack.features.errors import BundleError, SettingsError
from phistack.features.formats import USUAL_READER, Reader
from phistack.features.regular_files import read_regular
from phistack.features.writing import refuse_taken, write_new
from phistack.submodels.tbed.submodel import TbedSubmodel
from phistack.tbed.rules import format_rules
from phistack.tbed.tagger import RuleScore, score_rules


def print_rules(
    bundle: Path, console: Console, *, submodel: str = "", score_on: Path | None = None, reader: Reader = USUAL_READER
) -> None:
    """List the rules in words, with what each did in training.

    :param submodel: the name of the TBED submodel, where the bundle has several.
    :param score_on: annotated notes; what each rule corrects and breaks there, after the rules before it, is shown too.
    :param reader: how these notes are read.
    :raises BundleError: if the bundle has no TBED submodel.
    """
    engine = load_bundle(bundle)
    tbed = _tbed_of(engine, bundle, submodel)
    rules = tbed.rules_.rules
    scores = _scores(engine, tbed, score_on, reader) if score_on else []
    table = Table(title=f"{len(rules)} rules, applied in this order", title_justify="left")
    columns = ["", "rule", "gain", "broken", "example"]
    for name in [*columns, "corrects", "breaks"] if scores else columns:
        table.add_column(name, justify="left" if name in ("rule", "example") else "right", overflow="fold")
    for number, rule in enumerate(rules, 1):
        sentence = Text(rule.sentence() + (" (switched off)" if rule.off else ""))
        example = Text(f"{rule.example[0]}:{rule.example[1]}" if rule.example else "")
        gain = "" if rule.gain is None else str(rule.gain)
        new = [str(scores[number - 1].corrected), str(scores[number - 1].broken)] if scores else []
        table.add_row(str(number), sentence, gain, str(rule.broken), example, *new)
    console.print(table)
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
    submodels = [edited if model.name == edited.name else model for model in engine.submodels]
    engine = Engine(
        engine.label_set,
        engine.space,
        submodels,
        engine.stacker,
        engine.subset_stackers,
        engine.language_gate,
        engine.cascade,
    )
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


def _scores(engine: Engine, tbed: TbedSubmodel, path: Path, reader: Reader) -> list[RuleScore]:
    corpus = reader.read(path, label_set=engine.label_set)
    notes = tbed.notes(engine.space.tables(corpus.documents))
    return score_rules(tbed.rules_.rules, notes, within=tbed.within)
