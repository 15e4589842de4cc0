"""The names that options take, as `--help` lists them and the shell completes them.

    POLICIES                                     "i2b2-2014", "limited-data-set", "mask", ...
    option(one_of(POLICIES), names=POLICIES)     an option with its help and completion

Tables and engines are found by the names of their files, and kinds of submodels by what is installed. The others are
written here again, as importing what they name takes longer than printing help should; a test compares them with the
code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from glob import escape, glob
from pathlib import Path

from phistack.ensemble.bundles.shipped import shipped_names
from phistack.features.registry import FileRegistry
from phistack.submodels.registry import usual_names

_CODE = Path(__file__).parents[2]


def _tables(folder: str, *but: str) -> tuple[str, ...]:
    """The names of the TOML files in a folder of the code."""
    return tuple(sorted({path.stem for path in (_CODE / folder).glob("*.toml")} - {*but}))


POLICIES = FileRegistry("policies", "policy", ".toml", "phistack.ensemble.deidentification:policies").names
PRESETS = FileRegistry("presets", "preset", ".toml").names
SPACES = FileRegistry("search-spaces", "search space", ".toml").names
LABEL_SETS = _tables("features/label_sets", "mappings")
ENGINES = shipped_names()
STRATEGIES = (
    *("tag", "number", "name", "numbered", "mask", "remove", "surrogate", "substitute", "characters", "shuffle"),
    *("generalise", "keep"),
)
FORMATS = ("i2b2", "ngrid", "meddocan", "brat", "conll", "jsonl", "csv", "parquet", "text")
RECALLS = ("high", "balanced", "precise")
OTHER_LANGUAGES = ("replace", "hold", "read")
SUBMODELS = usual_names()
DRAWN = ("patients", "sentences")
UNITS = ("patient", "document")


def one_of(names: Iterable[str]) -> str:
    """The names as a list in words: `a, b or c`."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def completing(names: Iterable[str], after: str = "") -> Callable[[str], list[str]]:
    """What completes a value that is one of some names.

    :param after: what a name may follow within the value: the comma of a list, the `=` of `LABEL=STRATEGY`.
    """
    known = tuple(names)

    def complete(incomplete: str) -> list[str]:
        before, sign, begun = incomplete.rpartition(after) if after else ("", "", incomplete)
        return [f"{before}{sign}{name}" for name in known if name.startswith(begun)]

    return complete


def completing_paths(names: Iterable[str]) -> Callable[[str], list[str]]:
    """What completes a value that is one of some names, or a path."""
    complete = completing(names)
    return lambda incomplete: [*complete(incomplete), *sorted(glob(f"{escape(incomplete)}*"))]
