"""Records of fields, some of which are notes, and a declared rule for each: FHIR, HL7 v2 and C-CDA.

    Field(("Patient.name.family", "HumanName.family", "HumanName.*", "String"), "Hill", put, drop)
    FieldTable.rules                          {"HumanName.*": "NAME", "String": "redact", "other": "remove", ...}

A record is a tree that its format takes apart and writes again. A field has several names, the most specific first, and
the first that has a rule decides its treatment, as for columns (`ensemble.batch.columns`). A field without a rule for
any name is `other`. `fhir.toml`, `hl7.toml` and `ccda.toml` hold the rules; in a run they are the columns, and the
value of the third field of a record by the rule `HumanName.*` is in the column `HumanName.*[3]`.

`[roster]` says which fields are known identifiers of the patient, by the columns that a roster has.
"""

from __future__ import annotations

import gzip
import os
import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

from phistack.features.documents import Document, patient_of
from phistack.features.errors import CorpusError, MissingResourceError, no_such, place_of
from phistack.features.formats.format import Format, NoteFile, Notes, Record, Rewritten, Table, sha256
from phistack.features.formats.found import FILE_NAMES, Found, joined, taken_apart

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
OTHER, KEEP, REMOVE = "other", "keep", "remove"
_YEARS = frozenset(("a", "y", "yr", "yrs", "year", "years"))


@dataclass(frozen=True, slots=True)
class Field:
    """A value of a record.

    :param names: that a rule may have, the most specific first.
    :param text: the value; None for a branch of the tree, and for what is neither text nor number.
    :param put: writes another value into the tree.
    :param drop: takes the value out of the tree.
    """

    names: tuple[str, ...]
    text: str | None = field(repr=False)
    put: Callable[[str], None] = field(repr=False)
    drop: Callable[[], object] = field(repr=False)


class FieldTable(Table):
    """The records of a file, or of the files of a folder, which come out under the same names.

    :param given: rule -> treatment, in place of those of the format.
    :raises CorpusError: if there is no such rule.
    :cvar declared: the tables of the format's TOML file.
    :ivar rules: name -> treatment.
    """

    declared: ClassVar[Mapping[str, Any]]

    def __init__(self, found: Found, given: Mapping[str, str] | None = None) -> None:
        super().__init__(NoteFile(found.path, found.how))
        self.found, self.encoding = found, "UTF-8" if found.format.is_utf8 else found.how.encoding
        by_place = {FILE_NAMES: KEEP} if found.is_folder else {}
        self.rules = _by_name(self.declared["rules"]) | by_place
        for name in (given or {}).keys() - self.rules:
            raise CorpusError(no_such("rule", name, self.rules))
        self.rules |= given or {}

    @abstractmethod
    def split(self, file: NoteFile) -> Iterator[tuple[str, bytes | None]]:
        """The place and the bytes of each record of a file; None for what is too long."""

    @abstractmethod
    def parsed(self, text: str) -> Any:
        """The tree of a record; :raises ValueError: if it is none, saying why without any of its text."""

    def check(self, tree: Any, text: str) -> None:
        """Refuse a record that its standard does not allow; :raises ValueError: as `parsed` does."""

    def is_about(self, tree: Any) -> bool:
        """Whether a record may hold known identifiers of its patient."""
        return True

    @abstractmethod
    def fields(self, tree: Any) -> Iterator[Field]:
        """All values of a record and the branches that a rule may name, in an order that `put` does not change."""

    @abstractmethod
    def spelled(self, tree: Any) -> str:
        """The record as it is written; :raises ValueError: if it is no longer one."""

    @abstractmethod
    def named(self, tree: Any) -> tuple[str, str]:
        """The id of a record and its patient, either empty if it does not say."""

    def names(self, looked: Callable[[int], None] = lambda n: None) -> list[str]:
        return list(self.rules)

    def rule(self, names: Iterable[str]) -> str:
        """The first of the names that has a rule, or `other`."""
        return next((name for name in names if name in self.rules), OTHER)

    def checked(self, names: tuple[str, ...], value: str, form: re.Pattern[str]) -> tuple[str, ...]:
        """The names of a value; only `other` if their rule keeps it and it does not have the form of kept values."""
        return (OTHER,) if self.rules[self.rule(names)] == KEEP and not form.fullmatch(value) else names

    def treated(self, tree: Any) -> dict[str, Field]:
        """The fields that a rule leaves in the tree, by their numbered rules; the others are taken out."""
        found: dict[str, Field] = {}
        for each in [*self.fields(tree)]:
            rule = self.rule(each.names)
            if self.rules[rule] == REMOVE:
                each.drop()
            elif each.text is not None:
                found[f"{rule}[{len(found) + 1}]"] = each
        return found

    def records(self, wanted: Collection[str] | None = None) -> Iterator[Record]:
        """Each record, the files sorted by name within each folder."""
        for name, place, content in self._contents():
            if isinstance(content, str):
                yield Record(place, digest=sha256(os.fsencode(place)), problem=content)
            else:
                yield self._record(name, place, content)
        self.file.fraction = 1.0

    def _contents(self) -> Iterator[tuple[str, str, bytes | str]]:
        """The file, the place and the bytes of each record, or why it cannot be read."""
        files = [*self.found.note_files()]
        for number, (name, file) in enumerate(files):
            try:
                self.found.refuse_link(file)
                for place, content in self.split(file):
                    self.file.fraction = (number + file.fraction) / len(files)
                    within = f"{name} {place}".strip() if self.found.is_folder else place or name
                    yield name, within, "longer than the limit" if content is None else content
            except CorpusError as error:
                yield name, name, str(error)

    def _record(self, name: str, place: str, content: bytes) -> Record:
        digest = sha256(os.fsencode(name) + b"\0" + content)
        try:
            text = content.decode(self.encoding)
            if not text.strip():
                return Record(place, raw=(name, text), digest=digest)
            tree = self.parsed(text)
            self.check(tree, text)
            id, patient = self.named(tree)
            texts = {rule: each.text or "" for rule, each in self.treated(tree).items()}
        except UnicodeDecodeError as error:
            return Record(place, digest=digest, problem=f"not {self.encoding} at byte {error.start} of the record")
        except ValueError as error:
            return Record(place, digest=digest, problem=str(error))
        except MissingResourceError:
            raise
        except Exception as error:  # A record that no one foresaw must not stop the others.
            return Record(place, digest=digest, problem=f"{type(error).__name__} in {place_of(error)}")
        kept = {FILE_NAMES: os.path.splitext(name)[0]} if self.found.is_folder else {}
        return Record(place, {"id": id or place, "group": patient}, {**texts, **kept}, (name, text), digest)

    def encode(self, rows: Sequence[Rewritten], *, packed: bool) -> bytes:
        """The records of each file with new values; :raises CorpusError: if one cannot be written."""
        written = ((record.raw[0], self._written(record.raw[1], new)) for record, new in rows)
        return joined(
            (name, b"".join(text for _, text in of_file)) for name, of_file in groupby(written, itemgetter(0))
        )

    def _written(self, text: str, new: Mapping[str, str]) -> bytes:
        if not text.strip():
            return text.encode(self.encoding)
        try:
            tree = self.parsed(text)
            treated = self.treated(tree)
            for rule, value in new.items():
                treated[rule].put(value)
            written = self.spelled(tree)
            again = self.treated(self.parsed(written)).items()
            if [*new.values()] != [each.text for rule, each in again if self.rules[rule.rpartition("[")[0]] != KEEP]:
                raise ValueError("the new values cannot be read again as they are")
            return written.encode(self.encoding)
        except UnicodeEncodeError:
            raise
        except ValueError as error:
            raise CorpusError(str(error)) from None

    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        """Write the file, or the files, each gzipped if its name ends in `.gz`."""
        target.mkdir() if self.found.is_folder else target.touch(exist_ok=False)
        for name, content in (piece for chunk in chunks for piece in taken_apart(chunk)):
            path = target / name if self.found.is_folder else target
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.write(gzip.compress(content, compresslevel=6, mtime=0) if path.suffix == ".gz" else content)

    def identifiers(self) -> Iterator[dict[str, list[str]]]:
        """A row of a roster for each record with known identifiers of a patient, without repeats in a row."""
        columns, last = _by_name(self.declared["roster"]), dict[str, list[str]]()
        for _, _, content in self._contents():
            # The run will hold back what cannot be read, with the reason.
            with suppress(ValueError, TypeError, LookupError, AttributeError):
                text = content.decode(self.encoding) if isinstance(content, bytes) else ""
                tree, row = self.parsed(text), dict[str, list[str]]()
                if not self.is_about(tree):
                    continue
                self.check(tree, text)
                for each in self.fields(tree):
                    column = next((columns[name] for name in each.names if name in columns), "")
                    if column and each.text and each.text.strip():
                        row.setdefault("email" if "@" in each.text else column, []).append(each.text)
                patient = self.named(tree)[1] if row else ""
                if patient and row != last:
                    last = row
                    yield {"patient": [patient], **row}

    def notes(self) -> Notes:
        for record in self.records():
            if record.problem:
                yield CorpusError(f"{self.file.name}, {record.place}: {record.problem}; correct or remove it")
            elif record.values:
                texts = (
                    text for rule, text in record.texts.items() if rule.partition("[")[0] in self.declared["notes"]
                )
                if text := "\n\n".join(filter(None, texts)):
                    id, patient = record.values["id"], record.values["group"]
                    yield Document(id, text, (), patient or patient_of(id))


def is_years(unit: object) -> bool:
    """Whether a number with this unit is an age."""
    return str(unit).lower() in _YEARS


def of_day(value: str) -> tuple[str, Callable[[str], str]]:
    """`1950-04-03` for `195004031230`, and how another such day is written in its place, with the time of day."""
    match = re.fullmatch(r"(\d{4})(\d\d)(\d\d)(\S*)", value)
    if not match:
        return value, str
    return "-".join(
        match.group(1, 2, 3)
    ), lambda new: f"{new.replace('-', '')}{match[4]}" if _DAY.fullmatch(new) else new


def _by_name(table: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {name: of_all for of_all, names in table.items() for name in names}


def record_format(
    name: str, description: str, suffixes: tuple[str, ...], table: type[FieldTable], *, is_utf8: bool = True
) -> Format:
    """A format that every command reads, but only `deidentify` writes, by changing what it has read."""

    def read(file: NoteFile) -> Notes:
        return table(Found(form, file.path, file.path, file.how)).notes()

    form = Format(name, description, suffixes, read, single_file=True, is_utf8=is_utf8, table=table)
    return form
