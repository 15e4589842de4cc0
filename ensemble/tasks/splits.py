"""The command `split`: divide a corpus into training, validation and test parts.

    shares = shares_of("train=0.6,validation=0.2,test=0.2")
    parts = split(corpus, shares, seed=0)                   {"train": Corpus, "validation": Corpus, "test": Corpus}
    write_parts(parts, Path("parts"), format="brat")        parts/train/, parts/validation/, parts/test/

Units, usually patients, are never divided. The largest go first, each to the part that has the least of its share so
far; the seed decides among equals. With `stratify` this is done label by label, the rarest first, and then for notes
without PHI (iterative stratification, Sechidis et al. 2011).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isclose
from pathlib import Path

from phistack.ensemble.tools.comma_lists import comma_list
from phistack.features.documents import Corpus
from phistack.features.errors import SettingsError, no_such
from phistack.features.writing import new_folder

UNITS = PATIENT, DOCUMENT = "patient", "document"
"""Units that are never divided."""

USUAL = "train=0.6,validation=0.2,test=0.2"
"""The default parts and shares."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_NOTES = ""
"""The key of the number of notes, beside the labels."""

_Sizes = Sequence[Counter[str]]
"""For each unit, its number of notes and its number of spans of each label."""


def shares_of(text: str) -> dict[str, float]:
    """Part -> its share of 1, from the value of `--parts`.

    :raises SettingsError: unless it has two names or more, with positive shares that add up to 1 or 100.
    """
    parts = dict(_part(entry) for entry in comma_list(text))
    if len({name.casefold() for name in parts}) < max(len(comma_list(text)), 2):
        raise SettingsError(f"--parts takes two parts or more with different names, as in {USUAL}")
    total = sum(parts.values())
    whole = next((whole for whole in (1, 100) if isclose(total, whole, rel_tol=0.005)), None)
    if whole is None:
        raise SettingsError(f"the shares of --parts must add up to 1, or to 100 as percentages, not to {total:g}")
    return {name: share / total for name, share in parts.items()}


def _part(entry: str) -> tuple[str, float]:
    name, _, share = (part.strip() for part in entry.partition("="))
    if not _NAME.fullmatch(name) or not re.fullmatch(r"\d*\.?\d+", share) or not float(share):
        raise SettingsError(
            f"--parts takes names of letters and digits, each with a share greater than 0, as in {USUAL}"
        )
    return name, float(share)


def split(
    corpus: Corpus,
    shares: Mapping[str, float],
    *,
    by: str = PATIENT,
    group_by: str = "",
    stratify: bool = False,
    seed: int = 0,
) -> dict[str, Corpus]:
    """Parts of a corpus by name; each note is in one of them, in the order of the corpus.

    :param shares: part -> share of the notes, of 1.
    :param by: the unit that is never divided: `patient` or `document`.
    :param group_by: with `patient`, a pattern of names that belong together too; see `grouped_by`.
    :param stratify: whether each part gets its share of the spans of each label.
    :raises SettingsError: for another `by`, a pattern without a match, or fewer patients or notes than parts.
    """
    if by not in UNITS:
        raise SettingsError(no_such("unit to split by", by, UNITS))
    if group_by and by == DOCUMENT:
        raise SettingsError("--group-by keeps notes together, and --by document separates them; give one of the two")
    from phistack.ensemble.stacking.folds import grouped_by

    grouped = grouped_by(corpus, group_by).documents
    units = [document.id if by == DOCUMENT else document.unsplit for document in grouped]
    members = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
    if len(members) < len(shares):
        what = "notes" if by == DOCUMENT else "groups" if group_by else "patients"
        raise SettingsError(f"{len(shares)} parts need at least as many {what}, and the corpus has {len(members)}")
    sizes: list[Counter[str]] = [Counter() for _ in members]
    for unit, document in zip(units, corpus.documents, strict=True):
        sizes[members[unit]].update([_NOTES, *(span.label for span in document.spans if stratify)])
    places = _placed(sizes, list(shares.values()), seed=seed)
    return {
        name: replace(corpus, documents=tuple(
            d for unit, d in zip(units, corpus.documents, strict=True) if places[members[unit]] == number
        ))
        for number, name in enumerate(shares)
    }  # fmt: skip


def _placed(sizes: _Sizes, shares: Sequence[float], *, seed: int) -> list[int]:
    """The number of each unit's part; no part is empty."""
    import numpy as np

    totals = sum(sizes, Counter[str]())
    left = dict.fromkeys(np.random.default_rng(seed).permutation(len(sizes)).tolist())
    filled: list[Counter[str]] = [Counter() for _ in shares]
    places = [0] * len(sizes)
    for what in sorted(totals, key=lambda what: (what == _NOTES, totals[what], what)):
        for unit in sorted((unit for unit in left if sizes[unit][what]), key=lambda unit: -sizes[unit][what]):
            empty = [part for part, has in enumerate(filled) if not has]
            among = empty if len(empty) >= len(left) else range(len(shares))
            part = min(among, key=lambda part: (*_fill(filled[part], shares[part], what), -shares[part]))
            filled[part] += sizes[unit]
            places[unit] = part
            del left[unit]
    return places


def _fill(has: Counter[str], share: float, what: str) -> tuple[float, float]:
    """How far a part is filled with a label, then with notes; rounded to make equals equal."""
    return round(has[what] / share, 6), round(has[_NOTES] / share, 6)


def write_parts(parts: Mapping[str, Corpus], out: Path, *, format: str, packed: bool = False) -> dict[str, Path]:
    """Write a folder with all parts, complete or not at all.

    :param format: the name of the format; a format with one file for all notes makes a part one file.
    :param packed: whether to compress such files with gzip, if the format allows it.
    :returns: part -> its path.
    :raises CorpusError: if the format cannot express the notes.
    :raises SettingsError: if the path is taken.
    :raises StorageError: if writing fails.
    """
    from phistack.features.formats import write_corpus
    from phistack.features.formats.recognise import format_named

    known = format_named(format)
    ending = known.suffixes[0] if known.single_file else ""
    if packed and f"{ending}.gz" in known.suffixes:
        ending += ".gz"
    with new_folder(out) as folder:
        for name, part in parts.items():
            write_corpus(part, folder / f"{name}{ending}", format=format)
    return {name: out / f"{name}{ending}" for name in parts}
