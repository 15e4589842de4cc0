"""The published program DEDUCE (Menger 2018; `deduce` on the package index) as a submodel.

    program = DeduceProgram(label_set="nut").fit(tables)
    program.propose(tables)[0]     [Candidate(Span(12, 25, "Name"), "deduce_program", 0.93, True, "persoon"), ...]

It is under the LGPL and is not part of phistack: the extra `deduce` brings it. As in Trienes 2020, titles
are cut from its names, and what its types are called in the corpus is learned. Its lists take a minute or two to build
when it is first used; the program keeps them in its own folder.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any, ClassVar, Self

from phistack.ensemble.papers.deduce.lists import DutchLists, Reading
from phistack.ensemble.papers.deduce.names import NameRules
from phistack.ensemble.papers.rule_submodel import Mark, RuleSubmodel, first_of_overlapping
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace, FeatureTable
from phistack.features.errors import MissingResourceError, need
from phistack.features.saved_files import SavedFiles
from phistack.submodels.regex.pattern_files import Pattern

_LOG = logging.getLogger("phistack")
_TYPES = {
    "persoon": "Name", "patient": "Name", "locatie": "Address", "ziekenhuis": "Hospital",
    "zorginstelling": "Care_Institute", "datum": "Date", "leeftijd": "Age", "bsn": "SSN", "id": "ID",
    "telefoonnummer": "Phone_fax", "emailadres": "Email", "url": "URL_IP",
}  # fmt: skip
"""What the program calls a type -> that of NUT."""


@dataclass(kw_only=True, eq=False, repr=False)
class DeduceProgram(RuleSubmodel):
    """What the program marks in Dutch notes.

    Learned by `fit`: `labels_`, `precision_` and `version_`; the program itself is not part of an engine.
    """

    kind: ClassVar[str] = "deduce_program.v1"
    cost: ClassVar[float] = 30.0
    kept: ClassVar[tuple[str, ...]] = ("version",)

    def check(self, features: FeatureSettings | None = None) -> None:
        """See `Submodel.check`; :raises MissingResourceError: if the program is not installed."""
        need("deduce", "deduce", "the published program DEDUCE")

    def rules(self, space: FeatureSpace) -> tuple[Pattern, ...]:
        """No patterns of ours."""
        self.version_ = _version()
        return ()

    def types(self) -> tuple[str, ...]:
        """The types of NUT that the program knows."""
        return tuple(sorted(set(_TYPES.values())))

    def marked(self, tables: Sequence[FeatureTable]) -> list[list[Mark]]:
        """What the program marks in each note."""
        texts = [table.document.text for table in tables]
        return [first_of_overlapping(sorted(_found(text)), len(text)) for text in texts]

    @classmethod
    def load(cls, files: SavedFiles, space: FeatureSpace) -> Self:
        """Read what `save` wrote.

        :raises BundleError: if it is not that.
        :raises MissingResourceError: if the program is not installed.
        """
        model = super().load(files, space)
        model.check()
        if _version() != model.version_:
            _LOG.warning(
                "deduce %s is installed, and the engine was trained with %s; what it marks may differ",
                _version(), model.version_,
            )  # fmt: skip
        return model


def _version() -> str:
    return metadata.version("deduce")


def _found(text: str) -> Iterator[Mark]:
    """What the program marks, names without their titles."""
    for annotation in _program().deidentify(text).annotations:
        of_type = _TYPES.get(annotation.tag)
        # Some offsets of the program are numbers of NumPy, which JSON cannot hold.
        start, end = int(annotation.start_char), int(annotation.end_char)
        if of_type == "Name":
            start += _titles(text[start:end])
        if of_type and start < end:
            yield Mark(start, end, of_type, annotation.tag, annotation.tag)


def _titles(name: str) -> int:
    """How many characters of titles a name begins with."""
    reading = Reading(name)
    first = NameRules(DutchLists.shipped()).after_titles(reading, 0)
    return reading.starts[first] if first < len(reading) else 0


@cache
def _program() -> Any:
    """The program, loaded once in a process, without the handler that it gives to all loggers."""
    need("deduce", "deduce", "the published program DEDUCE")
    root, quiet = logging.getLogger(), logging.NullHandler()
    root.addHandler(quiet)
    from deduce import Deduce

    root.removeHandler(quiet)
    try:
        return Deduce()
    except (EOFError, pickle.UnpicklingError):
        # Another process is writing the file in which the program keeps its lists.
        return Deduce(build_lookup_structs=True)
    except PermissionError as error:
        raise MissingResourceError(
            f"DEDUCE cannot keep its lists in {error.filename}; let somebody who may write there use it once: "
            "python -c 'import deduce; deduce.Deduce()'"
        ) from None
