"""The golden bundle of the current protocol, with its decisions beside it.

    python -m tests.golden_bundle      writes golden/bundle_protocol_N.zip and .json; only for a new protocol or kind

It is trained on invented notes, with all four kinds of submodels, each as small as it can be.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from phistack import Document, Engine, EngineSettings, load_bundle, synthesize
from phistack.ensemble.bundles.files import PROTOCOL
from phistack.ensemble.tasks.training import train_bundle

GOLDEN = Path(__file__).parent / "golden" / f"bundle_protocol_{PROTOCOL}"
SETTINGS = EngineSettings(
    folds=2,
    submodels={
        "regex": {},
        "tbed": {"max_rules": 12},
        "crf": {
            "templates": [[["word", 0]], [["shape", 0]], [["key", 0]], [["short_shape", -1]]],
            "max_iterations": 20,
        },
        "blstm": {
            "columns": ["key", "shape"],
            "networks": 1,
            "invented_notes": 0,
            "window": 32,
            "word_size": 8,
            "character_size": 8,
            "kernels": [3],
            "channels": 4,
            "lstm_size": 8,
            "foreseen_words": 20,
            "epochs": 16,
            "least_steps": 300,
        },
    },
)


def decisions(engine: Engine, texts: Sequence[str]) -> list[list[dict[str, Any]]]:
    """What an engine decides on each text, and which submodels proposed it."""
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    return [
        [
            {
                "span": [d.span.start, d.span.end, d.span.label],
                "accepted": d.accepted,
                "probability": round(d.probability, 6),
                "proposed by": sorted({vote.source for vote in d.votes}),
            }
            for d in note
        ]
        for note in engine.decide(documents)
    ]


if __name__ == "__main__":
    train_bundle(synthesize(6, seed=5), GOLDEN.with_suffix(".zip"), SETTINGS)
    texts = [document.text for document in synthesize(1, seed=6).documents]
    found = decisions(load_bundle(GOLDEN.with_suffix(".zip")), texts)
    GOLDEN.with_suffix(".json").write_text(json.dumps({"texts": texts, "decisions": found}, ensure_ascii=False) + "\n")
