"""How frequent a word is in its language, as a column on request: `[features]`, `extra = ["frequency"]`.

    FREQUENCY.of("es").value("paciente")     "4": between 10,000 and 100,000 times in a thousand million words

By wordfreq (Speer 2022), which has the words of about forty languages in its own files and asks no server. The value is
a step of the Zipf scale (van Heuven et al. 2014): the decimal logarithm of how often a word comes in a thousand million
words, cut to a whole number. A word that it does not have, as most family names, has "0"; what begins with no letter
has none.
"""

from __future__ import annotations

from collections.abc import Callable

from phistack.features.columns.installed import LanguageColumn
from phistack.features.columns.word_columns import NONE
from phistack.features.errors import PackageError


def _frequencies(language: str) -> Callable[[str], str]:
    from wordfreq import zipf_frequency

    try:
        zipf_frequency("a", language)
    except LookupError:
        raise PackageError(
            f"wordfreq has no words of the language {language}; leave the column frequency out"
        ) from None
    except ModuleNotFoundError as error:
        raise PackageError(
            f"wordfreq needs {error.name} to read words of the language {language}; install it, or leave the column "
            f"frequency out"
        ) from None

    def step(word: str) -> str:
        return str(int(zipf_frequency(word, language))) if word[0].isalpha() else NONE

    return step


FREQUENCY = LanguageColumn("words", _frequencies, module="wordfreq", extra="frequencies")
