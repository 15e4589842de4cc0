"""How fast trained models tag notes: the CRF beside python-crfsuite, the BLSTM-CNN-CRF beside Keras.

    python -m benchmarks.decoding                         a small model, trained now on synthetic notes
    python -m benchmarks.decoding --model engine          the notes of ../shared/corpora/meddocan/dev
    python -m benchmarks.decoding --model engine --corpus notes --notes 50

python-crfsuite gets the attributes of each token as strings, built token by token, and tags line by line with
`Tagger.tag`; as a second peer it gets strings of what our arrays say, which is less work than it can do without us.
Ours is measured alone and with what it gives beyond tags: the spans that are probable enough. Keras predicts document
by document: a model with Keras' own LSTM layers, and one with the kernel for whole sequences that our training uses,
with `predict` and with the quicker `predict_on_batch`. Times are CPU seconds of this process, medians of repetitions in
which all take turns; run it with OMP_NUM_THREADS=1. If any line gets other tags, or a marginal differs by more than
1e-6, the command fails. Asked for is at least 10 times the rate of python-crfsuite, and 5 times that of `predict`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.decoding_peers import (
    AnyFloats,
    Predict,
    attributes,
    attributes_of_arrays,
    crfsuite_tagger,
    keras_emissions,
    keras_model,
    unconstrained,
)
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.stacking.folds import held_out_patients
from phistack.ensemble.synthesis import synthesize
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable, line_bounds
from phistack.features.documents import Document
from phistack.features.errors import PhistackError
from phistack.features.formats import read_corpus
from phistack.submodels.blstm.submodel import BlstmSubmodel
from phistack.submodels.chain.candidates import batches
from phistack.submodels.chain.crf import Chain
from phistack.submodels.chain.lattice import Lattice
from phistack.submodels.crf.submodel import CrfSubmodel

_DEV = Path(__file__).resolve().parents[1].parent / "shared" / "corpora" / "meddocan" / "dev"
_SYNTHETIC_NOTES = 160
_LARGEST_DIFFERENCE = 1e-6
_CRF_RATIO, _BLSTM_RATIO = 10, 5

Tags = list[list[str]]
"""The tags of each line."""


@dataclass(frozen=True)
class Trained:
    """What is measured: models, and notes that they did not learn from."""

    space: FeatureSpace
    crf: CrfSubmodel
    blstm: BlstmSubmodel
    documents: Sequence[Document]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Speed of tagging beside python-crfsuite and Keras.")
    parser.add_argument("--model", type=Path, help="an engine with the submodels crf and blstm; else one is trained")
    parser.add_argument("--corpus", type=Path, default=_DEV, help="the notes to tag with it")
    parser.add_argument("--notes", type=int, help="only so many of them")
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    trained = read(arguments.model, arguments.corpus) if arguments.model else train_on_synthetic_notes()
    documents = trained.documents[: arguments.notes]
    tables = trained.space.tables(documents)
    print(f"{len(tables)} notes, {sum(map(len, tables))} tokens")
    features = taking_turns({"features": lambda: trained.space.tables(documents)}, arguments.repetitions)["features"]
    compare_crf(trained.crf, tables, features, arguments.repetitions)
    compare_blstm(trained.blstm, tables, features, arguments.repetitions)


def read(model: Path, corpus: Path) -> Trained:
    """A trained engine, and the notes of a corpus without their annotation."""
    engine = load_bundle(model)
    submodels = {submodel.name: submodel for submodel in engine.submodels}
    crf, blstm = submodels.get("crf"), submodels.get("blstm")
    if not isinstance(crf, CrfSubmodel) or not isinstance(blstm, BlstmSubmodel):
        sys.exit(f"the engine {model} lacks the CRF or the BLSTM-CNN-CRF")
    documents = [document.with_spans(()) for document in read_corpus(corpus).documents]
    return Trained(engine.space, crf, blstm, documents)


def train_on_synthetic_notes() -> Trained:
    """Small models, trained within a minute, and notes of other patients."""
    training, unseen = held_out_patients(synthesize(_SYNTHETIC_NOTES), parts=4, seed=1)
    space = FeatureSpace(FeatureSettings())
    tables = space.fit(training.documents)
    crf = CrfSubmodel(max_iterations=20).fit(tables)
    blstm = BlstmSubmodel(epochs=2, least_steps=60).fit(tables, seed=1)
    return Trained(space, crf, blstm, [document.with_spans(()) for document in unseen.documents])


def compare_crf(crf: CrfSubmodel, tables: Sequence[FeatureTable], features: float, repetitions: int) -> None:
    """Our CRF beside python-crfsuite's tagger."""
    with TemporaryDirectory() as folder:
        tagger = crfsuite_tagger(crf, Path(folder) / "model")
        ways: dict[str, Callable[[], Any]] = {
            "ours": lambda: tags_of_all(crf, tables),
            "ours, with candidates and their probabilities": lambda: crf.propose(tables),
            "python-crfsuite": lambda: [tagger.tag(line) for table in tables for line in attributes(crf, table)],
            "python-crfsuite, strings of our arrays": lambda: [
                tagger.tag(line) for table in tables for line in attributes_of_arrays(crf, table)
            ],
        }
        seconds = taking_turns(ways, repetitions)
        print_rates("CRF", seconds, len(tables), features, _CRF_RATIO)
        same_as_crfsuite(crf, tagger, tables)


def tags_of_all(crf: CrfSubmodel, tables: Sequence[FeatureTable]) -> list[Tags]:
    """The tags of notes, as python-crfsuite gives them."""
    found = []
    for part in batches(tables):
        of_notes = np.cumsum([0, *map(len, tables[part])]).tolist()
        bounds = [line_bounds(table) for table in tables[part]]
        edges = np.concatenate([[0], *(begin + own[1:] for begin, own in zip(of_notes, bounds, strict=False))])
        path = [
            crf.chain_.tags[i]
            for i in Lattice.over(crf.chain_, crf.emissions(tables[part]), edges).best_path().tolist()
        ]
        for begin, own in zip(of_notes, bounds, strict=False):
            found.append([path[begin + first : begin + last] for first, last in pairwise(own.tolist())])
    return found


def same_as_crfsuite(crf: CrfSubmodel, tagger: Any, tables: Sequence[FeatureTable]) -> None:
    """Compare the tags of all lines and all marginals; python-crfsuite knows nothing of the constraints of BIOES."""
    chain = unconstrained(crf)
    lines = differing = constrained = 0
    largest = 0.0
    for table in tables:
        bounds, emissions = line_bounds(table), crf.emissions([table])
        marginals = Lattice.over(chain, emissions, bounds).marginals()
        ours, ruled = (tags_of(c, emissions, bounds) for c in (chain, crf.chain_))
        for (first, last), line, found, valid in zip(
            pairwise(bounds.tolist()), attributes(crf, table), ours, ruled, strict=True
        ):
            theirs = tagger.tag(line)
            expected = [[tagger.marginal(tag, i) for tag in chain.tags] for i in range(last - first)]
            largest = max(largest, float(np.abs(marginals[first:last] - expected).max()))
            lines, differing, constrained = lines + 1, differing + (found != theirs), constrained + (valid != found)
    print(f"{lines} lines compared, {differing} with other tags, largest difference of marginals {largest:.1e}")
    print(f"the constraints of {crf.scheme} change the tags of {constrained} lines")
    if differing or largest > _LARGEST_DIFFERENCE:
        sys.exit("python-crfsuite says otherwise")


def compare_blstm(blstm: BlstmSubmodel, tables: Sequence[FeatureTable], features: float, repetitions: int) -> None:
    """Our inference beside Keras with the same weights."""
    chain, model, ordinary = blstm.chain(), keras_model(blstm), keras_model(blstm, with_layers=True)
    from tensorflow.data import Dataset

    def tag(predict: Predict) -> list[Tags]:
        return [tags_of(chain, keras_emissions(blstm, predict, table), line_bounds(table)) for table in tables]

    def predicted_by(model: Any) -> Predict:
        return lambda batch: np.asarray(model.predict(Dataset.from_tensors(dict(batch)), verbose=0))

    ways: dict[str, Callable[[], Any]] = {
        "ours": lambda: blstm.propose(tables),
        "Keras layers, predict": lambda: tag(predicted_by(ordinary)),
        "our network, predict": lambda: tag(predicted_by(model)),
        "our network, predict_on_batch": lambda: tag(model.predict_on_batch),
    }
    print_rates("BLSTM-CNN-CRF", taking_turns(ways, repetitions), len(tables), features, _BLSTM_RATIO)
    for one in (model, ordinary):
        same_as_keras(blstm, chain, one.predict_on_batch, tables)


def same_as_keras(blstm: BlstmSubmodel, chain: Chain, predict: Predict, tables: Sequence[FeatureTable]) -> None:
    """Compare the tags of all notes."""
    differing, largest = 0, 0.0
    for table, ours in zip(tables, blstm.emissions(tables), strict=True):
        theirs, bounds = keras_emissions(blstm, predict, table), line_bounds(table)
        largest = max(largest, float(np.abs(ours - theirs).max(initial=0.0)))
        differing += tags_of(chain, ours, bounds) != tags_of(chain, theirs, bounds)
    print(f"{len(tables)} notes compared, {differing} with other tags, largest difference of scores {largest:.1e}")
    if differing:
        sys.exit("Keras says otherwise")


def tags_of(chain: Chain, emissions: AnyFloats, bounds: NDArray[np.integer[Any]]) -> Tags:
    """The best tags of each line of a note."""
    tags = [chain.tags[i] for i in Lattice.over(chain, emissions, bounds).best_path().tolist()]
    return [tags[first:last] for first, last in pairwise(bounds.tolist())]


def taking_turns(ways: Mapping[str, Callable[[], Any]], repetitions: int) -> dict[str, float]:
    """The median of the CPU seconds of each way; the first round only warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repetitions + 1):
        for name, work in ways.items():
            begin = process_time()
            work()
            seconds[name].append(process_time() - begin)
    return {name: median(of_way[1:]) for name, of_way in seconds.items()}


def print_rates(title: str, seconds: Mapping[str, float], n_notes: int, features: float, asked: float) -> None:
    """Print notes a second, the features left out and counted, and how many times the rate of each peer ours is."""
    for also, what in ((0.0, "features given"), (features, "from raw text")):
        rates = {name: n_notes / (value + also) for name, value in seconds.items()}
        ours = rates.pop("ours")
        print(f"{title}, {what}: ours {ours:.1f} notes a second")
        for name, rate in rates.items():
            ratio = "" if name.startswith("ours") else f", ratio {ours / rate:.1f} (asked: {asked})"
            print(f"    {name} {rate:.1f}{ratio}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except PhistackError as error:
        sys.exit(f"decoding: {error}")
