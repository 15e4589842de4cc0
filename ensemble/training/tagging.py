"""Taggers of parts of speech or general entities, learned from tagged text for `pos` and `ner` under [features].

    sentences = read_tagged_text(Path("train.tsv"))          [(["Mijn", ...], ["PRON", ...]), ...]
    sentences = tagged_sentences(corpus.documents)           the labels of annotated notes as tags, and O
    share_right(learn_tagger(sentences[:-n], "nl"), sentences[-n:])      0.91
    learn_tagger(sentences, "nl").to_dict()                  what `phistack tagger` writes

The model is a CRF (Lafferty 2001) by CRFsuite, over the attributes of `features.columns.trained_tagger`. Words are cut
into tokens as notes are, each with the tag of its word.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from phistack.ensemble.evaluation.tables import percent
from phistack.features.columns.layout import Layout
from phistack.features.columns.trained_tagger import TrainedTagger, attributes_of
from phistack.features.documents import Document
from phistack.features.errors import CorpusError, TrainingError
from phistack.features.files import read_text
from phistack.features.plain_view import plain_view
from phistack.features.tags import OUTSIDE, encode
from phistack.features.tokens import Tokeniser
from phistack.submodels.crf.crfsuite import read_weights

TaggedSentence = tuple[list[str], list[str]]
"""Tokens and their tags."""

_PARAMETERS = {"c1": 0.1, "c2": 0.01, "max_iterations": 60}
_DIGITS = 3
"""Decimal places of a weight in the file."""


def read_tagged_text(path: Path) -> list[TaggedSentence]:
    """The sentences in lines of word, tab, tag; empty lines end sentences, further columns are ignored.

    :raises CorpusError: if the file cannot be read, or a line has another form; the line is not shown.
    """
    cut, found = Tokeniser().cut, list[TaggedSentence]()
    rows = [(number, line.rstrip("\r").split("\t")) for number, line in enumerate(read_text(path).split("\n"), 1)]
    for has_word, of_sentence in groupby(rows, key=lambda row: row[1] != [""]):
        words, tags = list[str](), list[str]()
        for number, row in of_sentence if has_word else ():
            if len(row) < 2 or not row[0].strip() or not row[1].strip():
                raise CorpusError(f"line {number} of {path} is no word, tab and tag; an empty line ends a sentence")
            tokens = cut(row[0])[0]
            words += tokens
            tags += [row[1].strip()] * len(tokens)
        found += [(words, tags)] if words else []
    return found


def tagged_sentences(documents: Sequence[Document]) -> list[TaggedSentence]:
    """The sentences of annotated notes; the tag of a token is the label of its span, or `O`."""
    notes = [plain_view(document).document for document in documents]
    layout, found = Layout.of([note.text for note in notes]), list[TaggedSentence]()
    for number, note in enumerate(notes):
        words = layout.cuts[number][0]
        tags = [tag.partition("-")[2] or OUTSIDE for tag in encode(note.spans, layout.offsets(number))]
        found += [(words[a:b], tags[a:b]) for a, b in pairwise(layout.starts[number].tolist()) if a < b]
    return found


def learn_tagger(sentences: Sequence[TaggedSentence], language: str) -> TrainedTagger:
    """Learn a tagger; the same sentences give the same.

    :param language: of the text, as an ISO 639-1 code; empty if unknown.
    :raises TrainingError: if the text has fewer than two tags.
    """
    from pycrfsuite import Trainer

    if len({tag for _, tags in sentences for tag in tags}) < 2:
        raise TrainingError("the text has fewer than two tags, so a tagger has nothing to learn")
    trainer = Trainer("lbfgs", _PARAMETERS, verbose=False)
    for words, tags in sentences:
        trainer.append(attributes_of(words), tags)
    with TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "tagger"))
        learned = read_weights((Path(folder) / "tagger").read_bytes())
    rows = ([round(weight, _DIGITS) for weight in row] for row in learned.state.tolist())
    weights = {
        name: {tag: weight for tag, weight in zip(learned.labels, row, strict=True) if weight}
        for name, row in zip(learned.attributes, rows, strict=True)
    }
    steps = tuple(tuple(round(weight, _DIGITS) for weight in row) for row in learned.transitions.tolist())
    return TrainedTagger(language, learned.labels, steps, {name: of for name, of in weights.items() if of})


def share_right(tagger: TrainedTagger, sentences: Sequence[TaggedSentence]) -> str:
    """What share of the tags is right, in words; if tags include `O`, also precision and recall of the others."""
    gold = [tag for _, tags in sentences for tag in tags]
    found = [tag for tags in tagger([words for words, _ in sentences]) for tag in tags]
    right = [tag for tag, other in zip(gold, found, strict=True) if tag == other]
    said = f"{percent(len(right) / len(gold))} % of {len(gold)} tags are right"
    if OUTSIDE not in tagger.tags:
        return said
    named, *of_all = (sum(tag != OUTSIDE for tag in tags) for tags in (right, found, gold))
    precision, recall = (percent(named / max(n, 1)) for n in of_all)
    return f"{said}; without {OUTSIDE}, precision is {precision} %, recall {recall} %"
