"""The lists of names, places and terms of English notes of all registers, as a lexicon has them.

    names("train")["anglo.family"]     family names of Anglo origin, without those that are held out
    names("test")["city"]              the cities that are held out
    terms("whole")["eponym"]           what looks like PHI and is none, beside the vocabulary of hospital notes

Lists lie in `templates/en/`, parted by commas. All names are held out or kept as one: a name that is both a family name
and a city has one fate.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType

from phistack.ensemble.synthesis.lexicon import held_out_of, is_held_out, part_of
from phistack.ensemble.synthesis.templates import table

FOLDER = "en"
"""Of the tables and templates of all registers."""

Lists = Mapping[str, tuple[str, ...]]

ORIGINS = tuple(table(f"{FOLDER}/origins"))
"""Where names come from."""

_NAME_LISTS = ("female", "male", "family")
_PLACE_LISTS = ("city", "city_abroad", "founder", "saint", "street", "hospital_known")
_ALSO_CALLED: Mapping[str, tuple[str, ...]] = {
    "eponym": ("eponym_disease",),
    "medicine": ("drug_generic", "drug_brand"),
    "drug": ("drug_generic", "drug_brand"),
    "service": ("department",),
    "lab": ("laboratory",),
    "disease": ("condition", "condition", "eponym_disease"),
    "vitals": ("vital",),
    "sign": ("eponym_sign",),
    "operation": ("eponym_procedure",),
    "anatomy": ("eponym_anatomy",),
    "abbr": ("abbreviation",),
    "hard": (
        "eponym_sign",
        "score",
        "fraction",
        "spine",
        "abbreviation",
        "gene",
        "organism",
        "latin",
        "device",
        "trial",
    ),
}
"""What templates name -> the lists from which it is drawn; those of hospital notes draw on the same words."""


@cache
def names(lexicon: str) -> Lists:
    """Lists of names, `ORIGIN.female`, `ORIGIN.male`, `ORIGIN.family`, and lists and patterns of places.

    In the lexicon `test` a list of which nothing is held out is whole.
    """
    tables = table(f"{FOLDER}/places")
    places = {key: _parted(entries) for key, entries in tables.items() if isinstance(entries, str)}
    patterns = "; ".join(
        (*tables["state"].values(), *(one for key in places if key not in _PLACE_LISTS for one in places[key]))
    )
    split = {**_people(), **{key: places[key] for key in _PLACE_LISTS}}
    everything = [entry for entries in split.values() for entry in entries]
    kept = "; ".join(entry for entry in everything if not is_held_out(entry))
    unseen = frozenset(held_out_of(everything, f"{patterns}; {kept}"))
    return MappingProxyType({**places, **{key: _of(entries, unseen, lexicon) for key, entries in split.items()}})


@cache
def terms(lexicon: str) -> Lists:
    """What templates may name in braces, apart from what depends on the patient."""
    lists = {key: _parted(entries) for key, entries in table(f"{FOLDER}/terms").items()}
    kept = "; ".join(entry for entries in lists.values() for entry in entries if not is_held_out(entry))
    said = f"{_templates()}; {kept}"
    chosen = {key: tuple(part_of(entries, lexicon, said)) for key, entries in lists.items()}
    also = {key: tuple(entry for one in of for entry in chosen[one]) for key, of in _ALSO_CALLED.items()}
    phrases = {key: _parted(entries) for key, entries in table(f"{FOLDER}/phrases").items()}
    return MappingProxyType({**phrases, **chosen, **also})


def _people() -> dict[str, tuple[str, ...]]:
    wordlike = table("names")
    return {
        **{
            f"{origin}.{part}": _parted(rows[part])
            for origin, rows in table(f"{FOLDER}/origins").items()
            for part in _NAME_LISTS
        },
        **{f"word.{part}": tuple(wordlike[part]) for part in ("female", "male")},
        "word.family": (*wordlike["last"], *wordlike["compound"]),
    }


def _parted(entries: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entries.split(", ")))


def _of(entries: tuple[str, ...], unseen: frozenset[str], lexicon: str) -> tuple[str, ...]:
    if lexicon == "whole":
        return entries
    return tuple(entry for entry in entries if (entry in unseen) == (lexicon == "test")) or entries


def _templates() -> str:
    """All text of templates, and of the words beside them that are not split."""
    root = resources.files("phistack.ensemble.synthesis") / "templates"
    files = [file for folder in (root, root / FOLDER) for file in folder.iterdir() if file.name.endswith(".txt")]
    tables = (root / "vocabulary.toml", *(root / FOLDER / f"{name}.toml" for name in ("registers", "phrases")))
    return "\n".join(file.read_text(encoding="utf-8") for file in (*files, *tables))
