"""The tables from which notes are made, and which of their words training notes may use.

    table("nl/world")                       `templates/nl/world.toml`
    pool_of("plan", "radiology", "en")      the section `radiology` of `templates/en/plan.txt`
    pool_of("visit/chief", "visit", "en")   the section `chief` of `templates/en/visit.txt`
    pool_of("structured/line", "any", "sv") of `templates/structured.txt`, which all languages share
    lists_of("de/world", "inside", "train") the lists of a table, each without what is held out
    clinical_words("de", "train")           what templates name in braces
    lexicon_of("en", "train")               of these, `lexicon_drugs` and the other categories of the column `clinical`

A language is a folder of text and TOML. A text file has sections: a line `= discharge letter` names the note types (or
parts) that draw on the lines below it. What comes before the first section is a comment.

An engine is measured on words that no training note has: the lexicon `train` lacks a fifth of all words, `test` has
only these, `whole` has all. Short lists are never split: too few words would be left. Words that templates use anyway
are never held out. A third of the clinical lexicon is in no training note, so an engine learns what a category means,
not its words.
"""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import cycle, islice
from types import MappingProxyType
from typing import Any

from phistack.ensemble.synthesis.grammar import Placeholder, placeholders
from phistack.features.columns.installed import clinical_words as category_words
from phistack.features.errors import PackageError
from phistack.features.letters import fold

LEXICONS = ("whole", "train", "test")
_ONE_IN, _SMALLEST = 5, 20
_LEXICON_ONE_IN = 3
_FILES = resources.files("phistack.ensemble.synthesis") / "templates"

Lists = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class NoteTemplate:
    """One sentence or block of a part.

    :param text: in the notation of `ensemble.synthesis.grammar`.
    :param slots: the PHI that it names.
    :param weight: how often it is drawn, relative to its neighbours; greater than 0.
    """

    text: str
    slots: tuple[Placeholder, ...]
    weight: float

    @property
    def key(self) -> str:
        """The text before the first colon, in lower case; empty if there is no colon."""
        before, colon, _ = self.text.partition(": ")
        return before.casefold() if colon else ""


@cache
def table(name: str) -> dict[str, Any]:
    """The TOML table `templates/NAME.toml`."""
    return tomllib.loads((_FILES / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def all_text(language: str) -> str:
    """The text of all templates of a language."""
    return "\n".join(file.read_text("utf-8") for file in (_FILES / language).iterdir() if file.name.endswith(".txt"))


@cache
def pool_of(pool: str, note_type: str, language: str) -> tuple[NoteTemplate, ...]:
    """The templates of a part of a note type, each once, in the order of the file.

    :param pool: `FILE`, for its section of the note type, or `FILE/SECTION`; the file is that of the language, or one
        that all languages share.
    """
    name, _, section = pool.partition("/")
    file = _FILES / language / f"{name}.txt"
    shared = _FILES / f"{name}.txt"
    found: dict[str, NoteTemplate] = {}
    drawing: list[str] = []
    for line in (file if file.is_file() else shared).read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            drawing = line.split()[1:]
        elif line and (section or note_type) in drawing:
            found[line] = _template(line, name, language)
    return tuple(found.values())


def _template(line: str, file: str, language: str) -> NoteTemplate:
    world, slots = table(f"{language}/world"), placeholders(line)
    factors = world.get("factors", {})
    if file not in factors.get("parts", ()):
        return NoteTemplate(line, slots, 1.0)
    labels = {world["labels"].get(slot.kind, "") for slot in slots} or {"none"}
    return NoteTemplate(line, slots, math.prod(factors.get(label, 1.0) for label in labels))


def is_held_out(word: str, one_in: int = _ONE_IN) -> bool:
    """Whether a word or phrase is one of the share that training notes do without; case and accents do not count."""
    return hashlib.sha256(fold(word).encode()).digest()[0] % one_in == 0


def part_of(entries: Sequence[str], lexicon: str, said: str = "") -> tuple[str, ...]:
    """The entries of a list that a lexicon has.

    :param lexicon: one of `LEXICONS`.
    :param said: text that notes contain anyway, folded; an entry found in it is not held out.
    :returns: in the order of the list; the whole list if the lexicon would have none of it.
    """
    if lexicon == "whole" or len(entries) < _SMALLEST:
        return tuple(entries)
    unseen = {entry for entry in entries if is_held_out(entry) and not _is_in(fold(entry), said)}
    return tuple(entry for entry in entries if (entry in unseen) == (lexicon == "test")) or tuple(entries)


@cache
def lists_of(name: str, section: str, lexicon: str) -> Lists:
    """The lists of a table, or of a section of it, as a lexicon has them.

    :param name: as for `ensemble.synthesis.templates.table`; a list is an array, or text separated by commas.
    :param section: its key, or empty for the whole table.
    """
    lists = table(name).get(section, {}) if section else table(name)
    language = name.partition("/")[0] if "/" in name else ""
    said = _said(language) if language and lexicon != "whole" else ""
    return MappingProxyType({key: part_of(_parted(entries), lexicon, said) for key, entries in _only_lists(lists)})


@cache
def clinical_words(language: str, lexicon: str) -> Lists:
    """What templates may name in braces: the words of a language, those of its section `always`, which are never split,
    those of structured text, and those of the clinical lexicon.

    A list named in the section `lexicon` gets as many more entries, which draw from the lexicon.
    """
    common, own = (lists_of("structured", section, "whole") for section in ("common", language))
    structured = {key: (*common.get(key, ()), *own.get(key, ())) for key in {**common, **own}}
    always = lists_of(f"{language}/words", "always", "whole")
    words = {**structured, **always, **lists_of(f"{language}/words", "", lexicon), **lexicon_of(language, lexicon)}
    for key, entries in lists_of(f"{language}/words", "lexicon", "whole").items():
        words[key] = (*words[key], *islice(cycle(entries), len(words[key])))
    return MappingProxyType(words)


@cache
def lexicon_of(language: str, lexicon: str) -> Lists:
    """The words of each category of the column `clinical` that notes may have; none if the language has no lexicon."""
    try:
        categories = category_words(language)
    except PackageError:
        return {}
    shares = (_LEXICON_ONE_IN,) if lexicon == "whole" else (_LEXICON_ONE_IN, _ONE_IN)
    return {
        f"lexicon_{name}": tuple(
            word for word in words if any(is_held_out(word, share) for share in shares) == (lexicon == "test")
        )
        for name, words in categories.items()
    }


@cache
def _said(language: str) -> str:
    """What the notes of a language contain in any lexicon: their templates, and all entries that are not held out."""
    words, world = table(f"{language}/words"), table(f"{language}/world")
    sections = [words, *(world.get(key, {}) for key in ("inside", "names", "things"))]
    sections += table("en/origins").values() if language == "en" else ()
    entries = [entry for section in sections for _, entries in _only_lists(section) for entry in _parted(entries)]
    always = [entry for _, entries in _only_lists(words.get("always", {})) for entry in _parted(entries)]
    return fold("\n".join((all_text(language), *always, *(one for one in entries if not is_held_out(one)))))


def _only_lists(section: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    return ((key, entries) for key, entries in section.items() if isinstance(entries, str | list))


def _parted(entries: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entries.split(", "))) if isinstance(entries, str) else tuple(entries)


@cache
def _words_of(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


def _is_in(phrase: str, text: str) -> bool:
    """Whether the phrase is in the text as whole words."""
    words = re.findall(r"\w+", phrase)
    if not _words_of(text).issuperset(words):
        return False
    literal = re.escape(phrase)
    # The literal comes first, as an expression that begins with a look-behind is tried at each character.
    return words == [phrase] or re.search(rf"{literal}(?<!\w{literal})(?!\w)", text) is not None
