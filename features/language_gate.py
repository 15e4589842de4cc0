"""Which notes an engine can read: text, in its scripts, in its languages.

    gate = LanguageGate.fit(training_texts, "en")
    gate.objection("Potilas kertoi kivusta rinnassa.")     "it has text in Finnish (fi), and the engine ..."
    gate.objection("Pt c/o CP x 3d.")                      "": nothing is wrong, or too little to judge
    gate.passages("Seen today. Пациент жалуется.")         passages of the note that the engine cannot read

Text that an engine cannot read would be released with every name in it. The limits are learned from the training
notes: one note in 1,000 may be further from the engine's language than the limit. Another language is read if one note
in 50 is in it, as an engine that saw less of it finds little PHI in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from phistack.features.errors import BundleError
from phistack.features.languages import LATIN, foreign_letters, language_name, language_near, scripts_of
from phistack.features.passages import Passage, foreign_passages
from phistack.features.plain_view import plain_text
from phistack.features.saved_files import SavedFiles
from phistack.features.writing import write_json

LIFTED_BY = "--other-languages read"
"""The option that turns the gate off."""

_NOT_TEXT = re.compile("[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\ufffd]")
_MOST_NOT_TEXT = 0.05
# Nearly all notes have a distance of 0 from their language, single sentences of names and addresses at most 5.3, one
# with a quotation in Polish 5.5; most sentences of other languages have more than 7, and notes more than 20.
_LEAST_DISTANCE = 6.0
_MOST_DISTANCE = 12.0
_LEAST_FOREIGN = 0.25
_MOSTLY = 0.5
_ONE_IN = 1000
_ENOUGH = 50
_OWN_SCRIPT = 0.05
_FILE = "language_gate.json"
_ALIKE = {"no": ("no", "nn", "da")}
"""Norwegian has two written forms, and a sentence may look Danish."""


@dataclass(frozen=True, slots=True)
class LanguageGate:
    """What an engine can read.

    :param languages: ISO 639-1 codes; the first is the engine's own.
    :param scripts: as in `features.languages`.
    :param distance: the greatest distance of a passage from these languages; see `features.languages`.
    :param html: whether texts are known to be HTML; see `features.markup`.
    """

    languages: tuple[str, ...]
    scripts: tuple[str, ...] = (LATIN,)
    distance: float = _LEAST_DISTANCE
    html: bool = False

    @classmethod
    def of_language(cls, language: str) -> LanguageGate:
        """The gate of an engine without training notes."""
        return cls(_with_alike(language))

    @classmethod
    def fit(
        cls, texts: Iterable[str], language: str, *, html: bool = False, is_known: Callable[[str], bool] | None = None
    ) -> LanguageGate:
        """Learn languages, scripts and distance from the texts of training notes.

        :param language: the engine's, as an ISO 639-1 code.
        :param is_known: whether a word is in the notes of enough other patients.
        """
        plain = [plain_text(text, html=html) for text in texts]
        gate = cls(_with_alike(language), (LATIN, *sorted(_common_scripts(plain))), html=html)
        others = Counter(language for text in plain for language in gate._languages_of_most(text))
        common = sorted(other for other, n in others.items() if n > max(1, len(plain) / _ENOUGH))
        gate = replace(gate, languages=_with_alike(*gate.languages, *common))
        # A passage further than any limit is in another language and says nothing about the engine's own.
        distances = [[p.distance for p in gate.passages(text, is_known)] for text in plain]
        far = [max((distance for distance in note if distance <= _MOST_DISTANCE), default=0.0) for note in distances]
        return replace(gate, distance=min(_MOST_DISTANCE, max(_LEAST_DISTANCE, _limit(far))))

    def _languages_of_most(self, text: str) -> set[str]:
        """The other languages that most of a note is in; all words count, as the known ones come from these notes."""
        passages = [passage for passage in self.passages(text) if passage.distance]
        return {passage.language for passage in passages} if mostly_in(text, passages) else set()

    def not_text(self, text: str) -> str:
        """Why a note is not text; empty if it is."""
        if len(_NOT_TEXT.findall(text)) > _MOST_NOT_TEXT * len(text):
            return f"it is not text, but binary data or in another encoding; {LIFTED_BY} lifts this"
        return ""

    def passages(self, text: str, is_known: Callable[[str], bool] | None = None) -> list[Passage]:
        """The passages of a note in its plain view that the engine cannot read; see `foreign_passages`."""
        return foreign_passages(text, self.languages, self.scripts, self.distance, is_known)

    def reason(self, passages: Sequence[Passage]) -> str:
        """Why a note is held back for its passages."""
        found = " and ".join(dict.fromkeys(f"{language_name(p.language)} ({p.language})" for p in passages))
        read = " and ".join(map(language_name, self.languages))
        return f"it has text in {found}, and the engine reads {read}; {LIFTED_BY} lifts this"

    def objection(self, text: str) -> str:
        """Why the engine cannot read most of a note, without quoting it; empty if it can."""
        plain = plain_text(text, html=self.html)
        passages = self.passages(plain)
        return self.not_text(text) or (self.reason(passages) if mostly_in(plain, passages) else "")

    def save(self, folder: Path) -> None:
        """Write `language_gate.json`."""
        write_json(folder / _FILE, {name: value for name, value in asdict(self).items() if name != "html" or value})

    @classmethod
    def load(cls, files: SavedFiles) -> LanguageGate:
        """Read what `save` wrote; :raises BundleError: if it is not that."""
        gate = files.json(_FILE, cls)
        if not gate.languages or not gate.scripts or gate.distance < 0:
            raise BundleError(f"the file language_gate/{_FILE} has values out of their ranges; train the engine again")
        return replace(gate, languages=_with_alike(*gate.languages))


def mostly_in(text: str, passages: Iterable[Passage]) -> bool:
    """Whether more than half of the letters of a text are in some passages of it."""
    n_inside = sum(c.isalpha() for passage in passages for c in text[passage.start : passage.end])
    return n_inside > _MOSTLY * sum(map(str.isalpha, text))


def _with_alike(*languages: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(alike for language in languages for alike in _ALIKE.get(language, (language,))))


def languages_of(texts: Iterable[str], likely: Collection[str]) -> Counter[str]:
    """How many texts are in each language, or in each script other than Latin.

    :param likely: ISO 639-1 codes; a text within a gate's usual distance of one of these is in that language. A mapping
        says which engine reads each, as languages of one engine need not be distinguished.
    :returns: counts, without the texts that show no language.
    """
    counts: Counter[str] = Counter()
    for text in map(plain_text, texts):
        script, share = foreign_letters(text, (LATIN,))
        counts[script if share > _LEAST_FOREIGN else language_near(text, likely, _LEAST_DISTANCE)] += 1
    del counts[""]
    return counts


def _common_scripts(texts: Sequence[str]) -> set[str]:
    """Scripts other than Latin that more than one note uses."""
    counts: Counter[str] = Counter()
    for text in texts:
        for script in scripts_of(text) - {LATIN} if not text.isascii() else ():
            others = scripts_of(text) - {script}
            counts[script] += foreign_letters(text, others)[1] > _OWN_SCRIPT
    return {script for script, n in counts.items() if n > max(1, len(texts) / _ONE_IN)}


def _limit(values: Sequence[float]) -> float:
    """The limit that one in 1,000 values may exceed; of fewer values one, of fewer than 100 none."""
    allowed = max(len(values) // _ONE_IN, 1 if len(values) >= _ONE_IN / 10 else 0)
    return sorted(values)[-1 - allowed] if values else 0.0
