"""Build an engine that ships, from its seed, and measure it on other notes.

    python -m benchmarks.engines english --out engine.zip
    python -m benchmarks.engines english --out ensemble/bundles/engines/english.zip
    python -m benchmarks.engines english --measure engine.zip        an existing engine
    python -m benchmarks.engines english --measure engine.zip --choosers     its stack beside its members and their mean

`benchmarks/engines.toml` says what each engine learns from. The same corpora and seed give the same file, byte for
byte, on machines with the same packages and processor. The model card reports what is measured: identifiers that the
policy safe-harbor touches or covers, whatever their labels, and what else it changes.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.handwritten import handwritten
from benchmarks.measuring import CORPORA
from benchmarks.other_domain import engine_on
from benchmarks.reached import redaction_on
from benchmarks.running import run_main
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.deidentification import Policy
from phistack.ensemble.engine import Engine
from phistack.ensemble.engine.options import RECALLS
from phistack.ensemble.evaluation.tables import percent
from phistack.ensemble.stacking.thresholds import BALANCED
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.synthesis.carriers import carry
from phistack.ensemble.tasks.training import train_with_report
from phistack.ensemble.training.settings import EngineSettings, merged
from phistack.features.documents import Corpus, Document
from phistack.features.errors import SettingsError, no_such
from phistack.features.formats import read_corpus

_FILE = Path(__file__).with_suffix(".toml")
_SMALL: Mapping[str, Any] = {
    "features": {"extra": ["usual_case", "clinical"]},
    "folds": 3,
    "stacker": {"beta": 2.0},
    "submodels": {
        "regex": {},
        "tbed": {},
        "crf": {
            "scheme": "BIO",
            "c1": 0.4,
            "min_count": 3,
            "max_iterations": 60,
            "look_alikes": 1.0,
            "others": 0.3,
            "noise": 0.2,
        },
        "blstm": {
            "networks": 2,
            "bits": 8,
            "invented_notes": 0,
            "min_count": 4,
            "word_size": 24,
            "lstm_size": 160,
            "epochs": 8,
            "dropout": 0.15,
            "word_dropout": 0.2,
            "value_dropout": 0.2,
        },
    },
}
"""How engines that ship differ from the defaults: columns for clinical words and for the usual case of a word; 8-bit
networks with more units and fewer, smaller word vectors, as invented notes repeat their words; a CRF of half the tags
and fewer weights, from more of the text without PHI, which is right more often where notes are invented; attributes,
words and values left out in training, as users' notes are unlike these; and a threshold for users to whom a missed
identifier is worse than a word too many."""
_HELD_OUT = 5
"""One in so many carriers and patients is held out for measuring."""
_SEED, _OTHER_SEED = 17, 1017
_MEASURED_NOTES = 120


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What an engine learns from, as in `engines.toml`."""

    name: str
    language: str
    sources: str
    invented: Mapping[str, int]
    corpora: Sequence[str] = ()
    carriers: Sequence[str] = ()
    copies: int = 1
    measured: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    lexicon: str = "whole"
    home: Path

    @cached_property
    def notes(self) -> Corpus:
        """All notes that it learns from; :raises SettingsError: if a corpus is missing."""
        parts = [_read(self.home / name) for name in self.corpora]
        for language, number in self.invented.items():
            notes = _invented(language, number, _SEED, self.lexicon)
            parts.append(notes if language == self.language else _apart(notes, language))
        if self.carriers:
            parts.append(carry(self._carriers(held_out=False), seed=_SEED, copies=self.copies))
        return replace(parts[0], documents=tuple(document for part in parts for document in part.documents))

    @property
    def engine_settings(self) -> EngineSettings:
        """How it is trained."""
        table = merged({"features": {"language": self.language}}, merged(_SMALL, self.settings))
        return EngineSettings.from_dict(table)

    def measure(self, engine: Engine) -> Iterator[dict[str, Any]]:
        """What the policy safe-harbor does to notes that the engine did not learn from."""
        policy = Policy.named("safe-harbor")
        for name, gold in self.others():
            for figure, share in redaction_on(engine, gold, policy).items():
                yield {"corpus": name, "figure": figure, "value": percent(share)}

    def others(self) -> Iterator[tuple[str, Corpus]]:
        """Corpora to measure on: annotated, invented with other patients, and handwritten ones."""
        for name, remark in self.measured.items():
            yield f"{name} ({remark})" if remark else name, _read(self.home / name)
        if self.carriers:
            yield "notes kept back, with invented identifiers", carry(self._carriers(held_out=True), seed=_OTHER_SEED)
        about, lexicon = ("other patients", "whole") if self.lexicon == "whole" else ("other names and words", "test")
        for language in self.invented:
            unseen = _invented(language, _MEASURED_NOTES, _OTHER_SEED, lexicon)
            yield f"invented notes ({language}), {about}", unseen
            for part, notes in handwritten(language, unseen.label_set).items():
                yield f"notes written by hand ({language}), {part}", notes

    def _carriers(self, *, held_out: bool) -> list[Document]:
        notes = [document for name in self.carriers for document in _read(self.home / name).documents]
        return [note for number, note in enumerate(notes) if (number % _HELD_OUT == 0) == held_out]


def recipe(name: str, corpora: Path, lexicon: str = "whole") -> Recipe:
    """The recipe of an engine.

    :param corpora: the folder of all corpora.
    :param lexicon: of its invented notes; with `train` the engine is measured on names and words that it never saw.
    :raises SettingsError: for an unknown engine.
    """
    recipes = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    if name not in recipes:
        raise SettingsError(no_such("engine", name, recipes))
    return Recipe(name=name, home=corpora, lexicon=lexicon, **recipes[name])


def _invented(language: str, n_notes: int, seed: int, lexicon: str) -> Corpus:
    return synthesize(n_notes, seed=seed, language=language, registers="all", lexicon=lexicon)


def _apart(notes: Corpus, name: str) -> Corpus:
    """The notes under new names, so that no two parts share a name."""
    named = (replace(note, id=f"{name}-{note.id}", group=f"{name}-{note.group}") for note in notes.documents)
    return replace(notes, documents=tuple(named))


def _read(folder: Path) -> Corpus:
    if not folder.is_dir():
        raise SettingsError(f"there is no corpus {folder}; name the folder of all corpora with --corpora")
    return read_corpus(folder, accept_unknown_labels=True)


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--corpora", type=Path, default=CORPORA)
    parser.add_argument("--out", type=Path, help="the bundle to make")
    parser.add_argument("--cache", type=Path, help="folder that keeps the predictions of finished folds")
    parser.add_argument("--measure", type=Path, help="measure this bundle, or a shipped one, by its name")
    parser.add_argument("--recall", default=BALANCED, choices=RECALLS, help="which threshold is measured")
    parser.add_argument("--choosers", action="store_true", help="compare how the members' candidates are chosen from")
    parser.add_argument("--lexicon", default="whole", help="of the invented notes: whole, or train for a trial")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    wanted = recipe(arguments.name, arguments.corpora, arguments.lexicon)
    if arguments.measure is None:
        if arguments.out is None:
            parser.error("give --out or --measure")
        train_with_report(
            wanted.notes, arguments.out, wanted.engine_settings, jobs=arguments.jobs, cache=arguments.cache,
            sources=wanted.sources, measure=lambda engine: list(wanted.measure(engine)),
        )  # fmt: skip
        print(f"{arguments.out}: {arguments.out.stat().st_size / 1e6:.2f} MB")
    bundle = bundle_path(str(arguments.measure or arguments.out))
    if arguments.choosers:
        engine = load_bundle(bundle).with_options(cascade=False)
        for name, gold in wanted.others():
            Console(width=120).print(engine_on(name, gold, engine).table())
        return
    for row in wanted.measure(load_bundle(bundle).with_options(recall=arguments.recall)):
        print(f"{row['corpus']}: {row['figure']} {row['value']}")


if __name__ == "__main__":
    run_main(main)
