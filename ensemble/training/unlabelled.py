"""What is learned from unannotated notes: word vectors and clusters, and character language models.

    learned = learn_vectors(texts, size=100, least_count=5)      skip-gram (Mikolov 2013), by gensim
    write_vectors(Path("words"), learned, n_clusters=500)        words/vectors.txt and words/clusters.txt
    models = learn_language_models(documents, LanguageModelPlan(units=128), seed=0)
    models.write(Path("models"))

`[features]` of a training names these files as `vectors` and `clusters`, and the folder as `language_models`.

Words are learned in normal form: lower case, digits as 0. With `brown` the clusters are those of Brown (1992), from
bigrams; otherwise k-means clusters the vectors, and an agglomerative tree over their centres gives each cluster a
string of 0 and 1, so clusters with a long common prefix are similar. All files hold words of the notes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from phistack.ensemble.tools.progress import progress, stage
from phistack.features.arrays import Floats32
from phistack.features.character_models import CharacterModels
from phistack.features.columns.layout import Layout
from phistack.features.columns.representations import k_means
from phistack.features.columns.word_columns import normal_form
from phistack.features.documents import Document
from phistack.features.errors import TrainingError, need
from phistack.features.plain_view import plain_view
from phistack.features.writing import new_folder
from phistack.submodels.blstm.character_training import LanguageModelPlan, perplexity, train_models

_NOTES_AT_ONCE = 256
_HELD_OUT = 20
"""One note in this many is held out, for the perplexity of the language models."""
_BROWN_SMOOTHING = 1e-3
"""Added to the count of each bigram, so every count has a logarithm."""


@dataclass(frozen=True, eq=False)
class LearnedVectors:
    """Normal forms of words, the most frequent first, how often each occurs, and their vectors, `(n_words, size)`."""

    words: Sequence[str] = field(repr=False)
    counts: Sequence[int] = field(repr=False)
    rows: Floats32 = field(repr=False)


@dataclass(frozen=True)
class _Sentences:
    """The sentences of notes as normal forms of their words, read anew for each pass."""

    documents: Sequence[Document] = field(repr=False)

    def __iter__(self) -> Iterator[list[str]]:
        for layout, _ in _layouts(self.documents):
            for (words, _), starts in zip(layout.cuts, layout.starts, strict=True):
                forms = list(map(normal_form, words))
                yield from (forms[a:b] for a, b in pairwise(starts.tolist()))


def _layouts(documents: Sequence[Document]) -> Iterator[tuple[Layout, list[str]]]:
    """The tokens and sentences of some notes at a time, and their texts, in plain view."""
    for first in range(0, len(documents), _NOTES_AT_ONCE):
        texts = [plain_view(document).document.text for document in documents[first : first + _NOTES_AT_ONCE]]
        yield Layout.of(texts), texts


def learn_vectors(
    documents: Sequence[Document],
    *,
    size: int = 100,
    window: int = 5,
    epochs: int = 5,
    least_count: int = 5,
    seed: int = 0,
) -> LearnedVectors:
    """Learn word vectors by skip-gram, in one thread, so the same notes give the same vectors.

    :param window: words on either side that a word predicts.
    :param least_count: rarer words have no vector.
    :raises MissingResourceError: if gensim is not installed.
    :raises TrainingError: if no word is frequent enough.
    """
    need("gensim", "vectors", "learning word vectors")
    from gensim.models import Word2Vec

    logging.getLogger("gensim").setLevel(logging.ERROR)
    model = Word2Vec(vector_size=size, window=window, min_count=least_count, sg=1, seed=seed, workers=1)
    sentences = _Sentences(documents)
    with stage("learning word vectors"):
        model.build_vocab(sentences)
        if not len(model.wv):
            raise TrainingError(f"no word occurs {least_count} times in these {len(documents)} notes; give more notes")
        model.train(sentences, total_examples=model.corpus_count, epochs=epochs)
    words = list(model.wv.index_to_key)
    return LearnedVectors(words, [model.wv.get_vecattr(word, "count") for word in words], model.wv.vectors)


def write_vectors(
    folder: Path, learned: LearnedVectors, *, n_clusters: int = 500, brown: Sequence[Document] = ()
) -> None:
    """Write `vectors.txt` in the format of word2vec and `clusters.txt` in that of Brown's program, both or neither.

    :param brown: notes for Brown clusters from bigrams; without them the clusters are made from the vectors.
    :raises SettingsError: if the folder exists.
    :raises StorageError: if it cannot be written.
    """
    vectors = (
        f"{word} {' '.join(f'{x:.6g}' for x in row)}\n" for word, row in zip(learned.words, learned.rows, strict=True)
    )
    paths = brown_paths(brown, learned.words, n_clusters) if brown else cluster_paths(learned.rows, n_clusters)
    clusters = (f"{bits}\t{word}\t{n}\n" for bits, word, n in zip(paths, learned.words, learned.counts, strict=True))
    with new_folder(folder) as part:
        with (part / "vectors.txt").open("w", encoding="utf-8") as file:
            file.write(f"{len(learned.words)} {learned.rows.shape[1]}\n")
            file.writelines(vectors)
        with (part / "clusters.txt").open("w", encoding="utf-8") as file:
            file.writelines(clusters)


def cluster_paths(rows: Floats32, n_clusters: int) -> list[str]:
    """The path from the root of the tree to the cluster of each vector, `0` for left and `1` for right.

    :param rows: of shape `(n_words, size)`.
    """
    from sklearn.cluster import AgglomerativeClustering

    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    numbers = np.unique(k_means(unit, n_clusters), return_inverse=True)[1]
    n_found = int(numbers.max()) + 1
    if n_found == 1:
        return ["0"] * len(rows)
    # (n_found, size): the mean of each cluster. (n_found - 1, 2): the two nodes that each merge joins, the root last.
    centres = np.array([unit[numbers == number].mean(axis=0) for number in range(n_found)])
    tree = AgglomerativeClustering(n_clusters=1, linkage="average", compute_full_tree=True).fit(centres)
    paths = {2 * n_found - 2: ""}
    for node in range(2 * n_found - 2, n_found - 1, -1):
        left, right = tree.children_[node - n_found].tolist()
        paths[left], paths[right] = paths[node] + "0", paths[node] + "1"
    return [paths[number] for number in numbers.tolist()]


def brown_paths(documents: Sequence[Document], words: Sequence[str], n_clusters: int) -> list[str]:
    """The path from the root to the Brown cluster of each word, by the package brown-clustering.

    The time is proportional to the number of words and to the square of the number of clusters.

    :raises MissingResourceError: if the package is not installed.
    """
    need("brown_clustering", "brown", "Brown clustering")
    from brown_clustering import BigramCorpus, BrownClustering

    known = set(words)
    sentences = [[word for word in sentence if word in known] for sentence in _Sentences(documents)]
    clustering = BrownClustering(BigramCorpus(sentences, alpha=_BROWN_SMOOTHING), n_clusters)
    ranked = clustering.corpus.ranks()
    # As in the package's `train`, with our progress reports.
    with progress("clustering words", total=len(ranked)) as advance:
        for word, _ in ranked:
            clustering.helper.append_cluster([word])
            if clustering.helper.m > n_clusters:
                clustering.merge_best()
            advance("")
    # Merges so far are within clusters; the next ones are the tree above them, whose bits come first.
    within = {word: len(code) for word, code in clustering.codes().items()}
    for _ in range(clustering.helper.m - 1):
        clustering.merge_best()
    codes = clustering.codes()
    return [codes[word][: len(codes[word]) - within.get(word, 0)] if word in codes else "0" for word in words]


def learn_language_models(documents: Sequence[Document], plan: LanguageModelPlan, *, seed: int = 0) -> CharacterModels:
    """Learn a forward and a backward model; they record what they were trained on and their perplexity.

    :raises TrainingError: if the notes have no text.
    """
    held_out = documents[_HELD_OUT - 1 :: _HELD_OUT]
    sentences = list(sentences_of([d for i, d in enumerate(documents, 1) if i % _HELD_OUT]))
    if not sentences:
        raise TrainingError("the notes hold no text to learn from")
    with stage("learning language models", total=1.0) as at:

        def reported(share: float, words: str) -> None:
            at.done, at.words = share, words

        models = train_models(sentences, plan, seed=seed, reported=reported)
        at.done = 1.0
    trained: dict[str, float] = {"notes": len(documents), "characters": sum(map(len, sentences))}
    if others := list(sentences_of(held_out)):
        trained["perplexity"] = round(perplexity(models, others), 4)
    return replace(models, trained=trained)


def sentences_of(documents: Sequence[Document]) -> Iterator[str]:
    """The sentences of notes in their plain view, each from its first token to its last."""
    for layout, texts in _layouts(documents):
        for number, text in enumerate(texts):
            starts, ends = layout.offsets(number)
            for a, b in pairwise(layout.starts[number].tolist()):
                yield text[int(starts[a]) : int(ends[b - 1])]
