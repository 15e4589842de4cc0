"""How fast rules are learned and applied: our learner beside NLTK's, and how its cost grows.

    python benchmarks/tbed.py [CORPUS]      MEDDOCAN's folder with train; default ../shared/corpora/meddocan
    python benchmarks/tbed.py --memory      a million tokens and 300 templates, and the memory that they take

Times are CPU seconds of this process. Both learners start with all tokens outside, use the templates fntbl37, and must
learn the same rules, or the command fails. The last line is `ratio R`: NLTK's time divided by ours.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

# This file has the name of the package that it measures; otherwise its own folder would come first.
sys.path[0] = str(Path(__file__).parents[1])

from benchmarks.running import run_main  # noqa: E402
from phistack.features.columns.settings import FeatureSettings  # noqa: E402
from phistack.features.columns.table import FeatureSpace, FeatureTable  # noqa: E402
from phistack.features.documents import Document  # noqa: E402
from phistack.features.formats import read_corpus  # noqa: E402
from phistack.tbed.grid import Notes  # noqa: E402
from phistack.tbed.learner import learn  # noqa: E402
from phistack.tbed.rules import Rule  # noqa: E402
from phistack.tbed.search import LearnerSettings  # noqa: E402
from phistack.tbed.tagger import Tagger  # noqa: E402
from phistack.tbed.templates import (  # noqa: E402
    Atom,
    RuleTemplate,
    named_templates,
    restricted,
)

_CORPUS = Path(__file__).parents[1].parent / "shared" / "corpora" / "meddocan"
_TAG_COLUMN = {"Word": "word", "Pos": "tag"}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Speed of the rule learner beside NLTK's, and its growth.")
    parser.add_argument("corpus", nargs="?", type=Path, default=_CORPUS)
    parser.add_argument("--rules", type=int, default=200)
    parser.add_argument("--memory", action="store_true", help="only a million tokens with 300 templates")
    arguments = parser.parse_args()
    documents = read_train(arguments.corpus)
    if arguments.memory:
        memory(documents)
        return
    notes = outside(FeatureSpace(FeatureSettings(language="es")).fit(documents))
    growth(notes)
    tagging(notes)
    ratio(notes, arguments.rules)


def read_train(corpus: Path) -> Sequence[Document]:
    """The training notes of MEDDOCAN."""
    folder = corpus / "train"
    if not folder.is_dir():
        sys.exit(f"there is no folder {folder}; README.md says where to get the corpus")
    return read_corpus(folder, accept_unknown_labels=True).documents


def default_templates(tables: Sequence[FeatureTable]) -> tuple[RuleTemplate, ...]:
    """The templates of the submodel TBED that need only columns that the notes have: no vectors or Brown clusters."""
    return restricted(named_templates("default"), tables[0].space.columns)


def outside(tables: Sequence[FeatureTable]) -> Notes:
    """Notes whose initial tags are all `O`."""
    return Notes(tables, [["O"] * len(table) for table in tables], [table.tags() for table in tables])


def first(notes: Notes, n_notes: int) -> Notes:
    """The first notes."""
    return Notes(notes.tables[:n_notes], notes.initial[:n_notes], notes.gold[:n_notes])


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of some work, and its result."""
    start = process_time()
    result = work()
    return process_time() - start, result


def learn_timed(notes: Notes, templates: Sequence[RuleTemplate], max_rules: int) -> tuple[float, tuple[Rule, ...]]:
    """CPU seconds, and the rules that NLTK would learn too."""
    settings = LearnerSettings(tuple(templates), max_rules=max_rules, min_gain=2, edges=False)
    seconds, learned = timed(lambda: learn(notes, settings))
    return seconds, learned.rules


def growth(notes: Notes) -> None:
    """How the cost of learning grows with tokens, templates and rules; the faster of two runs each."""
    fntbl, many = named_templates("fntbl37"), default_templates(notes.tables)[:224]
    n_all = len(notes.tables)
    runs = {
        "tokens x 5": ((first(notes, n_all // 5), fntbl, 100), (first(notes, n_all), fntbl, 100)),
        "templates x 4": ((notes, many[::4], 50), (notes, many[: 4 * len(many[::4])], 50)),
        "rules x 4": ((notes, fntbl, 50), (notes, fntbl, 200)),
    }
    for name, (small, large) in runs.items():
        a, b = (min(learn_timed(*run)[0] for _ in range(2)) for run in (small, large))
        print(f"{name}: {a:.2f} s -> {b:.2f} s, cost x {b / a:.1f}", flush=True)


def tagging(notes: Notes) -> None:
    """How many tokens per second a thousand rules tag."""
    settings = LearnerSettings(default_templates(notes.tables), max_rules=1000, min_gain=1, within="line")
    rules = learn(first(notes, 300), settings).rules
    rules = (rules * (1000 // len(rules) + 1))[:1000]
    seconds, _ = timed(lambda: Tagger(rules, "line").tag(notes.tables, notes.initial))
    n_tokens = sum(map(len, notes.tables))
    print(f"tagging: {len(rules)} rules, {n_tokens} tokens, {n_tokens / seconds:,.0f} tokens a second")


def ratio(notes: Notes, max_rules: int) -> None:
    """NLTK's time divided by ours, for the same rules."""
    ours, rules = learn_timed(notes, named_templates("fntbl37"), max_rules)
    print(f"ours: {len(rules)} rules in {ours:.2f} s", flush=True)
    theirs, reference = timed(lambda: _nltk_rules(notes, max_rules))
    print(f"nltk: {len(reference)} rules in {theirs:.2f} s")
    if [(str(rule), rule.gain) for rule in rules] != reference:
        sys.exit("the rules differ")
    print("the rules and their gains are the same")
    print(f"ratio {theirs / ours:.1f}")


def _nltk_rules(notes: Notes, max_rules: int) -> list[tuple[str, int]]:
    """NLTK's rules in our notation, and their scores."""
    from nltk.tag import DefaultTagger, brill
    from nltk.tag.brill_trainer import BrillTaggerTrainer
    from nltk.tbl import Template as NltkTemplate

    NltkTemplate.ALLTEMPLATES.clear()
    sentences = [
        list(zip(table.words[a:b], tags[a:b], strict=True))
        for table, tags in zip(notes.tables, notes.gold, strict=True)
        for a, b in pairwise(table.sentences.tolist())
    ]
    trainer = BrillTaggerTrainer(DefaultTagger("O"), brill.fntbl37(), deterministic=True)
    tagger = trainer.train(sentences, max_rules=max_rules, min_score=2)
    return [(_written(r), score) for r, score in zip(tagger.rules(), tagger.train_stats("rulescores"), strict=True)]


def _written(rule: Any) -> str:
    conditions = tuple(
        (Atom(_TAG_COLUMN[feature.PROPERTY_NAME], feature.positions[0], feature.positions[-1]), value)
        for feature, value in rule._conditions
    )
    return str(Rule(rule.original_tag, rule.replacement_tag, conditions))


def memory(documents: Sequence[Document]) -> None:
    """Learn from a million tokens (the notes, four times) with 300 templates."""
    copies = [Document(f"{d.id}-{i}", d.text, d.spans) for i in range(4) for d in documents]
    tables = FeatureSpace(FeatureSettings(language="es")).fit(copies)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    templates = (*default_templates(tables), *named_templates("fntbl37") * 3)[:300]
    seconds, rules = learn_timed(outside(tables), templates, 200)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"{sum(map(len, tables))} tokens, {len(templates)} templates, {len(rules)} rules: {seconds:.0f} s, ", end="")
    print(f"peak {peak:.2f} GB, of which {before:.2f} GB for the notes and their features")


if __name__ == "__main__":
    run_main(main)
