"""Stems are those of NLTK, without all that `import nltk` loads."""

import subprocess
import sys
from pathlib import Path

import pytest

from phistack.features.columns.word_columns import LANGUAGES, stemmer

WORDS = Path(__file__).parents[1] / "ensemble" / "stacking" / "repeats" / "common_words.toml"
COMPARE = """
import sys, tomllib
from pathlib import Path
import phistack.features.columns.word_columns as stemming
{before}
alone = {{language: stemming.stemmer(language) for language in stemming.LANGUAGES}}
imported = [name for name in ("nltk", "scipy", "sklearn") if name in sys.modules]
from nltk.stem.snowball import SnowballStemmer
listed = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
words = {{word for text in listed.values() for word in text.split()}}
different = [
    word for language, name in stemming.LANGUAGES.items()
    for word in sorted(words) if alone[language](word) != SnowballStemmer(name).stem(word)
]
print(len(words) > 1000, different, imported)
"""
ANOTHER_LAYOUT = "stemming.find_spec = lambda name: None"


@pytest.mark.parametrize(("before", "imported"), [("", []), (ANOTHER_LAYOUT, ["nltk", "scipy", "sklearn"])])
def test_stems_are_those_of_nltk_as_it_is_usually_imported(before: str, imported: list[str]) -> None:
    program = COMPARE.format(before=before)
    answer = subprocess.run([sys.executable, "-c", program, str(WORDS)], capture_output=True, text=True)
    assert answer.stdout.split(maxsplit=2) == ["True", "[]", f"{imported}\n"], answer.stderr


def test_a_language_without_a_stemmer_leaves_words_alone() -> None:
    assert stemmer("xx")("running") == "running"
    assert stemmer("en")("running") == "run"
    assert "xx" not in LANGUAGES
