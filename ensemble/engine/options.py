"""What a user asks of an engine besides its notes; the same for `annotate`, `explain`, `deidentify` and Python.

engine = load_bundle(path).with_options(recall="high", cascade=False)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from phistack.ensemble.stacking.overruling import Overruling
from phistack.ensemble.stacking.thresholds import BALANCED, CHOICES, HIGH
from phistack.features.errors import SettingsError, no_such

if TYPE_CHECKING:
    from phistack.ensemble.engine.engine import Engine
    from phistack.ensemble.stacking.known.roster import Roster

REPLACE, HOLD, READ = "replace", "hold", "read"
OTHER_LANGUAGES = (REPLACE, HOLD, READ)
EVERYTHING = "everything"
RECALLS = (EVERYTHING, *CHOICES)
"""The operating points of the stack, and `everything`: what is not known to be safe is replaced too."""


class Beside(Protocol):
    """Engines that read beside another one."""

    @property
    def digest(self) -> str: ...

    def load(self) -> Sequence[Engine]: ...


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """The options of an engine.

    :param cascade: whether expensive submodels read only the lines in doubt, where the engine was trained to do so.
    :param recall: the operating point: `high`, `balanced` or `precise`; or `everything`, as in `engine.doubt`.
    :param other_languages: what happens to a passage in a language that no engine at hand reads. `replace`: it is
        replaced whole by, say, `[TEXT IN RUSSIAN]`, and a note that is mostly such text is held back; `hold`: every
        note with such a passage is held back; `read`: the engine reads everything.
    :param roster: what is known about the patients; it is searched for in their notes.
    :param overruling: the user's lists and patterns, which have the last word.
    :param beside: further engines; what one of them accepts is PHI too.
    :raises SettingsError: for another operating point or choice.
    """

    cascade: bool = True
    recall: str = BALANCED
    other_languages: str = REPLACE
    roster: Roster | None = field(default=None, repr=False)
    overruling: Overruling = field(default_factory=Overruling, repr=False)
    beside: Beside | None = None

    def __post_init__(self) -> None:
        for option, given, choices in (
            ("--recall", self.recall, RECALLS),
            ("--other-languages", self.other_languages, OTHER_LANGUAGES),
        ):
            if given not in choices:
                raise SettingsError(no_such(f"choice of {option}", given, choices))

    @property
    def of_stack(self) -> tuple[str, bool]:
        """The operating point of the stack and whether it has a cascade: `high` and none for `everything`."""
        return (HIGH, False) if self.recall == EVERYTHING else (self.recall, self.cascade)

    @property
    def recorded(self) -> Mapping[str, Any]:
        """The options that decide the output and are not files, JSON-ready."""
        beside = {"beside": self.beside.digest} if self.beside else {}
        return {"cascade": self.cascade, "recall": self.recall, "other languages": self.other_languages, **beside}
