"""The surface forms of each label's mentions, and how much less likely a new form makes a candidate.

surface_form("bxq32")                       "letters digits"
forms.weighed("81", "USERNAME", 0.5)        0.1: no user name of 24 was a number

With few notes the submodels learn rules that are right by chance. If the mentions of a label repeat the same surface
forms, a new form is improbable. Its probability is estimated from the number of forms seen with only one patient (Good
1953, after Turing) and divided by the rate of new forms among wrong candidates; the odds of a candidate are multiplied
by this ratio (Bayes).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypedDict

from phistack.ensemble.stacking.candidates import Tables
from phistack.features.documents import Span
from phistack.features.letters import ByCharacter

_KINDS = {"a": "letters", "0": "digits", " ": "blanks", ".": "others"}
"""Character -> the kind of characters that it represents."""

_WEIGHT = 4
"""With this many candidates, a label's own rate has the same weight as the rate of all labels."""


_KIND_OF = ByCharacter(lambda c: "a" if c.isalpha() else "0" if c.isdigit() else " " if c.isspace() else ".")


@lru_cache(maxsize=65536)
def surface_form(text: str) -> str:
    """Which kinds of characters a text has: letters, digits, blanks, others."""
    kinds = text.translate(_KIND_OF)
    return " ".join(name for kind, name in _KINDS.items() if kind in kinds)


class SurfaceFormsState(TypedDict):
    """The result of `SurfaceForms.to_dict`."""

    known: dict[str, list[str]]
    ratios: dict[str, float]


@dataclass(frozen=True)
class SurfaceForms:
    """The surface forms of labels.

    :param patients: label -> form -> the patients in whose notes it occurs; a loaded engine has no names of patients.
    :param ratios: label -> rate of new forms among mentions, divided by that among wrong candidates, at most 1.
    """

    patients: Mapping[str, Mapping[str, frozenset[str]]] = field(repr=False)
    ratios: Mapping[str, float] = field(repr=False)

    @classmethod
    def of(cls, tables: Tables, wrong: Sequence[Iterable[Span]], least: int = 1) -> SurfaceForms:
        """Learn from annotated notes.

        :param wrong: for each note the out-of-fold candidates that are not PHI.
        :param least: forms of fewer patients are new.
        """
        found: dict[str, dict[str, set[str]]] = {}
        for table in tables:
            for span in table.document.spans:
                form = surface_form(table.document.text[span.start : span.end])
                found.setdefault(span.label, {}).setdefault(form, set()).add(table.document.group)
        patients = {label: {f: frozenset(groups) for f, groups in of.items()} for label, of in found.items()}
        forms = cls(patients, {})
        news: dict[str, list[bool]] = {label: [] for label in patients}
        for table, spans in zip(tables, wrong, strict=True):
            for span in spans:
                text = table.document.text[span.start : span.end]
                news.setdefault(span.label, []).append(forms.is_new(text, span.label, table.document.group))
        everywhere = [new for of_label in news.values() for new in of_label]
        share = (sum(everywhere) + 1) / (len(everywhere) + 2)
        shares = {label: (sum(of) + _WEIGHT * share) / (len(of) + _WEIGHT) for label, of in news.items()}
        ratios = {}
        for label, of in patients.items():
            seen_once = sum(len(groups) == 1 for groups in of.values())
            probability_of_new = (seen_once + 1) / (sum(map(len, of.values())) + 1)
            ratios[label] = min(1.0, probability_of_new / shares[label])
        shared = {
            label: {f: groups for f, groups in of.items() if len(groups) >= least} for label, of in patients.items()
        }
        return cls(shared, ratios)

    def is_new(self, text: str, label: str, patient: str = "") -> bool:
        """Whether no mention of the label in other patients' notes has the form of the text."""
        return not self.patients.get(label, {}).get(surface_form(text), frozenset()) - {patient}

    def weighed(self, text: str, label: str, probability: float, patient: str = "") -> float:
        """The probability of a candidate, lower if its form is new.

        :param patient: of the note, if it is a training note.
        """
        if not self.is_new(text, label, patient):
            return probability
        odds = probability * self.ratios.get(label, 1.0)
        return odds / (odds + (1.0 - probability))

    def to_dict(self) -> SurfaceFormsState:
        """JSON-ready, without text and patients; read again by `from_dict`."""
        return {"known": {label: sorted(of) for label, of in self.patients.items()}, "ratios": dict(self.ratios)}

    @classmethod
    def from_dict(cls, state: SurfaceFormsState) -> SurfaceForms:
        """The inverse of `to_dict`; :raises ValueError: if a ratio is not from 0 to 1."""
        if not all(0 < ratio <= 1 for ratio in state["ratios"].values()):
            raise ValueError("a ratio that is not from 0 to 1")
        someone = frozenset({"*"})
        known = {label: dict.fromkeys(forms, someone) for label, forms in state["known"].items()}
        return cls(known, state["ratios"])
