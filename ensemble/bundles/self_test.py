"""The self-test of a bundle: invented sentences, and the engine's answers when it was made.

state = self_test(engine)                    JSON-ready, for the bundle
check_self_test(engine, state, path)         raises if the engine gives other answers now
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NotRequired, TypedDict

import numpy as np

from phistack.ensemble.engine import Engine
from phistack.ensemble.stacking.subsets import Subset, subset_name
from phistack.ensemble.tools.clock import deadline
from phistack.features.documents import Document
from phistack.features.errors import BundleError, OverdueError, UnsafePatternError
from phistack.features.registry import packaged_table
from phistack.features.saved_files import SavedFiles
from phistack.submodels.base import Candidate

_TOLERANCE = 1e-3
_MOST_TEXT = 5_000
_SECONDS = 2.0
"""Of processor time; engines take some hundredths of a second after their libraries are loaded."""

Answer = tuple[int, int, str, float, bool]
"""Start, end, label, probability, and whether it was accepted."""


class SelfTest(TypedDict):
    """The content of `self_test.json`: the answers of the engine to each text, and those of each of its subsets."""

    texts: list[str]
    answers: list[list[Answer]]
    subsets: NotRequired[dict[str, list[list[Answer]]]]


def self_test(engine: Engine) -> SelfTest:
    """Sentences, and the answers of the engine and its subsets to them."""
    sentences = packaged_table("phistack.ensemble.bundles", "self_test.toml")
    texts = sentences.get(engine.language, sentences["en"])
    answers = _answers(engine, texts, engine.stackers)
    whole = answers.pop(subset_name(engine.names))
    return {"texts": texts, "answers": whole, "subsets": answers}


def check_self_test(engine: Engine, test: SelfTest, path: Path | SavedFiles) -> None:
    """Compare the engine's answers with the saved ones; :raises BundleError: if they differ."""
    expected = test.get("subsets", {}).get(subset_name(engine.names), test["answers"])
    if sum(map(len, test["texts"])) > _MOST_TEXT or len(expected) != len(test["texts"]) or not test["texts"]:
        raise BundleError(f"the bundle {path} has no usable self-test; train it again")
    found = _answers_in_time(engine, test["texts"], path)
    if not all(map(_alike, expected, found)):
        raise BundleError(
            f"the bundle {path} fails its self-test: it does not annotate its test sentences as it did when it was "
            f"made; the installed packages may differ too much from those in its manifest"
        )


def _answers_in_time(engine: Engine, texts: list[str], path: Path | SavedFiles) -> list[list[Answer]]:
    """The answers; unknown patterns and weights may take too long or lead to NaN."""
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            # Loads the libraries before the time begins.
            _answers(engine, ["1 a"], [engine.names])
            with deadline(_SECONDS, OverdueError, busy=True):
                return _answers(engine, texts, [engine.names])[subset_name(engine.names)]
    except UnsafePatternError as error:
        raise BundleError(f"the bundle {path} fails its self-test: {error}; do not use it") from None
    except OverdueError:
        raise BundleError(
            f"the bundle {path} takes more than {_SECONDS:g} seconds for its self-test, which is far too long; do not "
            f"use it"
        ) from None


def _answers(engine: Engine, texts: Sequence[str], subsets: Iterable[Subset]) -> dict[str, list[list[Answer]]]:
    """The answers of subsets of the submodels, by name, to the texts; each submodel proposes only once."""
    tables = engine.space.tables([Document(f"self-test-{i}", text) for i, text in enumerate(texts)])
    answers: dict[str, list[list[Answer]]] = {}
    proposals: dict[str, list[list[Candidate]]] = {}
    for subset in subsets:
        if subset == engine.names and engine.cascade is not None:
            decided = engine.decide_on(tables)
        else:
            proposals = proposals or engine.propose(tables)
            decided = engine.decide_from(tables, {name: proposals[name] for name in subset})
        answers[subset_name(subset)] = [
            [
                (d.span.start, d.span.end, d.span.label, round(d.probability, 6), d.accepted)
                for d in decisions
                if d.accepted or d.probability > 0.01
            ]
            for decisions in decided
        ]
    return answers


def _alike(expected: list[Answer], found: list[Answer]) -> bool:
    """Whether the same spans are accepted, with about the same probabilities."""
    chances = {answer[:3]: answer[3] for answer in found}
    accepted = [answer for answer in expected if answer[4]]
    if [answer[:3] for answer in accepted] != [answer[:3] for answer in found if answer[4]]:
        return False
    return all(abs(chances.get(answer[:3], 0.0) - answer[3]) <= _TOLERANCE for answer in accepted)
