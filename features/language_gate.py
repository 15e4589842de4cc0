"""Which notes an engine can read: not binary, in its scripts, in its languages.

    gate = LanguageGate.fit(training_texts, "en")
    gate.objection("Potilas kertoi kivusta rinnassa.")     "its language seems to be fi, the engine was trained on ..."
    gate.objection("Pt c/o CP x 3d.")                      "", as it is right, or too short to judge

A note that an engine cannot read would pass unhurt, with every name in it, so it is held back. The limits are learned
from the training notes, so that at most one in 1,000 notes like those is held back.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NotRequired, TypedDict

from phistack.features.errors import BundleError
from phistack.features.languages import LATIN, foreign_letters, furthest, language_near, scripts_of
from phistack.features.plain_view import plain_text
from phistack.features.saved_files import SavedFiles
from phistack.features.writing import write_json

LIFTED_BY = "--any-language"
"""The option that lets every note through."""

_NOT_TEXT = re.compile("[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\ufffd]")
_MOST_NOT_TEXT = 0.05
# Nearly all notes are at a distance of 0 from their language, single sentences of names and addresses at 5.3 at most,
# and one with a quotation in Polish at 5.5; from other languages most sentences are beyond 7, and notes beyond 20.
_LEAST_DISTANCE = 6.0
_MOST_DISTANCE = 12.0
_LEAST_FOREIGN = 0.25
_MOST_FOREIGN = 0.9
_ONE_IN = 1000
_MARGIN = 1.5
_OWN_SCRIPT = 0.05
_FILE = "language_gate.json"
_ALIKE = {"no": ("no", "nn", "da")}


class _GateState(TypedDict):
    """What `language_gate.json` holds."""

    languages: list[str]
    scripts: list[str]
    foreign: float
    distance: float
    html: NotRequired[bool]


@dataclass(frozen=True, slots=True)
class LanguageGate:
    """What is let through.

    :param languages: in which notes may be, as ISO 639-1 codes; the first is the engine's own.
    :param scripts: as in `features.languages`.
    :param foreign: the greatest share of letters in other scripts, in [0, 1].
    :param distance: the greatest distance of any stretch from all of the languages; see `features.languages`.
    :param html: whether texts are read without the markup of HTML.
    """

    languages: tuple[str, ...]
    scripts: tuple[str, ...] = (LATIN,)
    foreign: float = _LEAST_FOREIGN
    distance: float = _LEAST_DISTANCE
    html: bool = False

    @classmethod
    def of_language(cls, language: str) -> LanguageGate:
        """The gate of an engine of which nothing but the language is known."""
        return cls(_ALIKE.get(language, (language,)))

    @classmethod
    def fit(cls, texts: Iterable[str], language: str, *, html: bool = False) -> LanguageGate:
        """Learn from right notes what is let through.

        :param texts: of the training notes.
        :param language: of the engine, as an ISO 639-1 code.
        """
        plain = [plain_text(text, html=html) for text in texts]
        scripts = (LATIN, *sorted(_common_scripts(plain)))
        languages = _with_common_languages(plain, _ALIKE.get(language, (language,)))
        foreign = _limit([foreign_letters(text, scripts).share for text in plain])
        distance = _limit([furthest(text, languages)[1] for text in plain])
        return cls(
            languages,
            scripts,
            min(_MOST_FOREIGN, max(_LEAST_FOREIGN, foreign)),
            min(_MOST_DISTANCE, max(_LEAST_DISTANCE, distance)),
            html,
        )

    def objection(self, text: str) -> str:
        """Why the engine cannot read a note, without a word of it; nothing if it can, or the note does not show it."""
        if len(_NOT_TEXT.findall(text)) > _MOST_NOT_TEXT * len(text):
            return f"it is not text, but binary data or in another encoding; {LIFTED_BY} lifts this"
        text = plain_text(text, html=self.html)
        script, share = foreign_letters(text, self.scripts)
        if share > self.foreign:
            return (
                f"{share:.0%} of its letters are {_script(script)}, the engine was trained on "
                f"{' and '.join(map(_script, self.scripts))}; {LIFTED_BY} lifts this"
            )
        language, distance = furthest(text, self.languages)
        if distance > self.distance:
            return (
                f"its language seems to be {language}, the engine was trained on {' and '.join(self.languages)}; "
                f"{LIFTED_BY} lifts this"
            )
        return ""

    def save(self, folder: Path) -> None:
        """Write `language_gate.json`."""
        write_json(folder / _FILE, {name: value for name, value in asdict(self).items() if name != "html" or value})

    @classmethod
    def load(cls, files: SavedFiles) -> LanguageGate:
        """Read what `save` wrote; :raises BundleError: if it is not that."""
        state = files.json(_FILE, _GateState)
        if not state["languages"] or not state["scripts"] or not 0 <= state["foreign"] <= 1 or state["distance"] < 0:
            raise BundleError(f"the file language_gate/{_FILE} has values out of their ranges; train the engine again")
        limits = (state["foreign"], state["distance"], state.get("html", False))
        return cls(tuple(state["languages"]), tuple(state["scripts"]), *limits)


def languages_of(texts: Iterable[str], likely: Collection[str]) -> Counter[str]:
    """How many texts are in which language, or in the letters of which script but Latin, as `features.languages` names.

    :param likely: ISO 639-1 codes; what is no further from one of these than a gate lets through is in that. A mapping
        says which engine reads each, as languages of one engine need not be distinguished.
    :returns: nothing of a text that does not show a language.
    """
    return Counter(filter(None, (_language(plain_text(text), likely) for text in texts)))


def _language(text: str, likely: Collection[str]) -> str:
    script, share = foreign_letters(text, (LATIN,))
    return script if share > _LEAST_FOREIGN else language_near(text, likely, _LEAST_DISTANCE)


def _with_common_languages(texts: Sequence[str], languages: tuple[str, ...]) -> tuple[str, ...]:
    """The languages, and any other in which more than one note is, or a part of it."""
    found = (furthest(text, languages) for text in texts)
    others = Counter(other for other, distance in found if distance > _LEAST_DISTANCE)
    return languages + tuple(sorted(other for other, n in others.items() if n > max(1, len(texts) / _ONE_IN)))


def _common_scripts(texts: Sequence[str]) -> set[str]:
    """Scripts other than Latin in which words of more than one note are written."""
    counts: Counter[str] = Counter()
    for text in texts:
        for script in scripts_of(text) - {LATIN} if not text.isascii() else ():
            others = scripts_of(text) - {script}
            counts[script] += foreign_letters(text, others).share > _OWN_SCRIPT
    return {script for script, n in counts.items() if n > max(1, len(texts) / _ONE_IN)}


def _script(name: str) -> str:
    return {"CJK": "Chinese"}.get(name, name.capitalize())


def _limit(values: Sequence[float]) -> float:
    """Above what at most one in 1,000 is; of few values, all but one, and a margin."""
    allowed = max(len(values) // _ONE_IN, 1 if len(values) >= _ONE_IN / 10 else 0)
    return _MARGIN * sorted(values)[-1 - allowed] if values else 0.0
