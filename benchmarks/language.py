"""How many notes the language gate holds back: of its language, and of others.

    python -m benchmarks.language ../shared/corpora

For each corpus a gate learns from half of the notes and is tested on the other half, and vice versa; a gate that knows
only the language is tested on all. Wrong notes are those of corpora in other languages, and invented ones in Russian,
Chinese and Finnish; short notes have fewer than 30 letters in lower-case words, such as single sentences of names and
addresses.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.running import run_main
from phistack.features.language_gate import LanguageGate
from phistack.features.languages import LATIN, foreign_letters, stretches

CORPORA = {
    "meddocan/train": "es",
    "meddocan/dev": "es",
    "presidio-synth-v2": "en",
    "asq-phi-dev": "en",
    "carrier-aci-bench-en": "en",
    "carrier-primock57-en": "en",
    "court-en": "en",
    "court-es": "es",
    "court-fr": "fr",
}
"""Folder with `.txt` files in it or below it -> the language of its notes."""

INVENTED = {
    "Russian": (
        "Пациент Иван Петров, 65 лет, поступил с болью в груди.",
        "Жалобы на кашель. Врач Анна Смирнова назначила лечение, выписан домой.",
    ),
    "Chinese": ("患者张伟，男，65岁，因胸痛入院。", "李医生于三月五日查看病人，血压120/80 mmHg，建议继续服药。"),
    "Finnish": (
        "Potilas Matti Virtanen, s. 12.3.1950, asuu Helsingissä. Lääkäri Anna Korhonen määräsi lääkkeen.",
        "Tulee vastaanotolle rintakivun vuoksi. Ei kuumetta. Kotiutetaan huomenna, soittoaika ensi viikolla.",
    ),
}
"""Short notes."""

_SHORT = 30


def main(corpora: Path) -> None:
    """Print the shares of right and wrong notes that are held back, corpus by corpus."""
    notes = {name: _texts(corpora / name) for name in CORPORA}
    table = Table(
        "notes", "language", "n", "right, held back", "by the default gate", "wrong, held back", "wrong and short",
        "ms a note",
    )  # fmt: skip
    for name, language in CORPORA.items():
        others = {other: texts for other, texts in notes.items() if CORPORA[other] != language}
        wrong = [text for texts in (*others.values(), *INVENTED.values()) for text in texts]
        default = LanguageGate.of_language(language)
        halves = notes[name][::2], notes[name][1::2]
        learned = [(LanguageGate.fit(half, language), other) for half, other in (halves, halves[::-1])]
        begin = time.process_time()
        n_default = _held_back(default.objection, notes[name])
        spent = time.process_time() - begin
        n_learned = sum(_held_back(gate.objection, half) for gate, half in learned)
        long, short = ([text for text in wrong if _tells(text) is reported] for reported in (True, False))
        gate = learned[0][0]
        table.add_row(
            name, language, str(len(notes[name])), _share(n_learned, len(notes[name])),
            _share(n_default, len(notes[name])), _share(_held_back(gate.objection, long), len(long)),
            _share(_held_back(gate.objection, short), len(short)), f"{1000 * spent / len(notes[name]):.2f}",
        )  # fmt: skip
    for name, texts in INVENTED.items():
        caught = min(_held_back(LanguageGate.of_language(language).objection, texts) for language in ("en", "es"))
        table.add_row(name, "", str(len(texts)), "", "", _share(caught, len(texts)), "", "")
    Console(width=130).print(table)


def _texts(folder: Path) -> list[str]:
    texts = [path.read_bytes().decode("utf-8") for path in sorted(folder.rglob("*.txt"))]
    return texts or sys.exit(f"there are no .txt files in {folder}")


def _tells(text: str) -> bool:
    return sum(map(len, stretches(text))) >= _SHORT or bool(foreign_letters(text, (LATIN,))[0])


def _held_back(objection: Callable[[str], str], texts: Sequence[str]) -> int:
    return sum(bool(objection(text)) for text in texts)


def _share(n: int, of: int) -> str:
    return f"{n} of {of}"


if __name__ == "__main__":
    run_main(lambda: main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/corpora")))
