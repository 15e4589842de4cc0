"""Make the word lists that ship, from the tables of the package spacy-lookups-data.

    python -m benchmarks.safe_words FOLDER       spacy_lookups_data/data of an installed package; three minutes

The list of safe words for `--recall everything` has the most frequent words of a language that are usually lower-case
(English, Spanish) or in its dictionary (the others). Words that are also names in Faker or `common_words.toml` are left
out; such words of the clinical lexicon have their own list. The list for the column `usual_case` has words in their
usual case; dictionary words are lower-case, German nouns too. Dutch, Norwegian and Swedish have only these.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from wordfreq import iter_wordlist

from benchmarks.measuring import ROOT
from benchmarks.running import run_main
from phistack.ensemble.engine.doubt import lexicon
from phistack.ensemble.synthesis.templates import lists_of
from phistack.features.columns.gazetteers import LOCALES, Gazetteers
from phistack.features.columns.installed import clinical_words
from phistack.features.letters import fold, without_accents
from phistack.features.registry import packaged_table

_OUT = ROOT / "ensemble" / "engine" / "safe"
_USUAL_OUT = ROOT / "features" / "columns" / "usual_case"
_LANGUAGES = ("de", "en", "es", "nl", "no", "sv")
_MOST, _MOST_USUAL = 40_000, 100_000
_CLOSED = 250
"""The most frequent words, so many, are kept although they are names: `an`, `do` and `long` are Chinese names."""
_SHORT = 1_500
"""Words of up to three letters are kept only among the first so many; others may be anybody's initials."""
_TIMES_SMALL = 0.7
"""The natural logarithm of how many times as often a word must be in its usual case as in another."""
_RANKED = {"nl": "nl", "no": "nb", "sv": "sv"}
"""Languages without probabilities in the tables -> their names in wordfreq, which ranks their words."""
_REPEATS = "phistack.ensemble.stacking.repeats"
_NAMES = ("first_name", "last_name", "city", "region")
_DICTIONARIES = {"de": "de_lemma_lookup", "nl": "nl_lemma_lookup", "sv": "sv_lemma_lookup", "no": "nb_lemma_exc"}


def main() -> None:
    """Parse the arguments and write the lists."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="spacy_lookups_data/data")
    folder = parser.parse_args().folder
    names = {
        entry[0]
        for lists in map(Gazetteers.of_language, LOCALES)
        for column in _NAMES
        for entry in lists.entries[column]
        if len(entry) == 1
    }
    for language in _LANGUAGES:
        often = set(without_accents(packaged_table(_REPEATS, "common_words.toml").get(language, "")).split())
        ranked = enumerate(_words(folder, language))
        jobs = set(_jobs(language))
        usual = (word for rank, word in ranked if rank < _SHORT or len(word) > 3)
        words = list(islice((word for word in usual if without_accents(word) not in jobs), _MOST))
        words = [word for number, word in enumerate(words) if number < _CLOSED or not _is_name(word, names | often)]
        (_OUT / f"{language}.txt").write_text("\n".join(sorted(words)) + "\n", encoding="utf-8")
        print(f"{language}: {len(words):,} words")
    (_OUT / "clinical_names.txt").write_text("\n".join(sorted({*_clinical_names(names)})) + "\n", encoding="utf-8")
    for language in _LANGUAGES:
        usually = sorted(islice(_usually(folder, language), _MOST_USUAL))
        (_USUAL_OUT / f"{language}.txt").write_text("\n".join(usually) + "\n", encoding="utf-8")


def _clinical_names(names: Collection[str]) -> Iterator[str]:
    """Words of the clinical lexicons that are also names, or are named after somebody."""
    for language in _LANGUAGES:
        eponyms = clinical_words(language)["eponyms"]
        yield from (word for word in lexicon(language) if word in eponyms or _is_name(word, names))


def _jobs(language: str) -> Iterator[str]:
    """Occupations of one word: those of Faker and of our own invented notes."""
    yield from (entry[0] for entry in Gazetteers.of_language(language).entries["occupation"] if len(entry) == 1)
    yield from map(fold, lists_of(f"{language}/world", "things", "whole").get("PROFESSION", ()))


def _is_name(word: str, names: Collection[str]) -> bool:
    bare = without_accents(word)
    return bare in names or bare.removesuffix("s") in names


def _words(folder: Path, language: str) -> Iterable[str]:
    """The words of a language in lower case, the most frequent first."""
    known = set(_dictionary(folder, language))
    if language in _RANKED:
        yield from (word for word in iter_wordlist(_RANKED[language]) if word in known)
        return
    probability = _table(folder, f"{language}_lexeme_prob")
    never = min(probability.values())
    for rank, word in enumerate(_ranked(probability)):
        times = probability.get(word, never) - probability.get(word.title(), never)
        if word in known if known else times > (_TIMES_SMALL if rank > _CLOSED else -_TIMES_SMALL):
            yield word


def _ranked(probability: Mapping[str, float]) -> list[str]:
    """All words in lower case, the most frequent first."""
    most: dict[str, float] = {}
    for word, value in probability.items():
        small = word.lower()
        if small.isalpha():
            most[small] = max(most.get(small, value), value)
    return sorted(most, key=most.__getitem__, reverse=True)


def _usually(folder: Path, language: str) -> Iterator[str]:
    """Words in their usual case, the most frequent first; words without one usual case are left out."""
    lists = Gazetteers.of_language(language).entries
    names = {entry[0] for column in _NAMES for entry in lists[column] if len(entry) == 1}
    if language in _RANKED:
        yield from (word for word in _words(folder, language) if without_accents(word) not in names)
        return
    known, probability = set(_dictionary(folder, language)), _table(folder, f"{language}_lexeme_prob")
    never = min(probability.values())
    for word in _ranked(probability):
        if word in known:
            yield from () if without_accents(word) in names else (word,)
            continue
        second, first = sorted((probability.get(one, never), one) for one in (word, word.title(), word.upper()))[-2:]
        if first[0] - second[0] > _TIMES_SMALL:
            yield first[1]


def _dictionary(folder: Path, language: str) -> Iterable[str]:
    """The dictionary words of a language; none if it has no dictionary here, since case then shows what is a word."""
    table = _table(folder, _DICTIONARIES[language]) if language in _DICTIONARIES else {}
    parts = table.values() if language == "no" else [table, table.values()]
    words = (str(word) for word in chain.from_iterable(parts))
    return (word.lower() for word in words if language == "de" or word.islower())


def _table(folder: Path, name: str) -> Any:
    return json.loads(gzip.decompress((folder / f"{name}.json.gz").read_bytes()))


if __name__ == "__main__":
    run_main(main)
