"""A table of a database, by SQLAlchemy: a TOML file names it, and the table that a run writes.

    database = "postgresql+psycopg://me@host/cdm"       as SQLAlchemy has it, without the password
    table = "cdm.note"
    order = ["person_id", "note_id"]                    always the same order, notes of a patient together

    [output]
    database = "sqlite:///clean.sqlite"                 default: the same database
    table = "note_clean"                                must not be there

The output of a run is such a file too, for the new table. A run writes rows into a staging table and renames it when
all is checked; it changes no other. Replaced columns become text, all others keep their type. A database's error
message may quote a row, so none is shown. Needs SQLAlchemy: `pip install '.[database]'`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from phistack.features.errors import CorpusError, MissingResourceError, SettingsError, StorageError, need
from phistack.features.files import file_named, read_toml
from phistack.features.formats.format import Format, NoteFile, Record, Rewritten, Table, read_table, sha256

PASSWORD = "PHISTACK_DATABASE_PASSWORD"
"""The environment variable with the password, if the database has no other way to ask for one."""

_STAGED = "_phistack_partial"
_ROWS_AT_ONCE = 256


class _Place(msgspec.Struct, forbid_unknown_fields=True):
    table: str
    database: str = ""


class _Named(_Place, kw_only=True):
    order: tuple[str, ...]
    output: _Place | None = None


class _Opened:
    """A table that may be there.

    :param url: of the database; its errors are raised as `StorageError`.
    :param name: with its schema, if it has one.
    """

    def __init__(self, url: str, name: str) -> None:
        import sqlalchemy as sql

        self.sql, self.url, self.name = sql, url, name
        self.schema, self.short = name.rpartition(".")[0] or None, name.rpartition(".")[2]
        try:
            parsed = sql.make_url(url)
            if parsed.password:
                raise SettingsError(f"leave the password out of the file, and set {PASSWORD} or what the database has")
            password = os.environ.get(PASSWORD)
            parsed = parsed.set(password=password) if password else parsed
            self.engine = sql.create_engine(parsed, poolclass=sql.pool.NullPool, hide_parameters=True)
        except ModuleNotFoundError as error:
            raise MissingResourceError(f"the database needs {error.name}; install it with pip") from None
        except sql.exc.ArgumentError:
            raise SettingsError("SQLAlchemy does not know such a database; give for example sqlite:///cdm.db") from None

    @contextmanager
    def asked(self) -> Iterator[Any]:
        """A connection whose changes are kept at the end of the block; :raises StorageError: if that fails."""
        try:
            with self.engine.begin() as connection:
                yield connection
        except self.sql.exc.SQLAlchemyError as error:
            reason = type(getattr(error, "orig", None) or error).__name__
            raise StorageError(
                f"the database with the table {self.name} does not answer or refuses ({reason}); when it answers, the "
                "same command continues"
            ) from None

    def of(self, *columns: Any, staged: bool = False) -> Any:
        """The table, or the staging table that is written first."""
        name = self.short + _STAGED * staged
        return self.sql.Table(name, self.sql.MetaData(), *columns, schema=self.schema)

    def has(self, connection: Any, *, staged: bool = False) -> bool:
        return bool(self.sql.inspect(connection).has_table(self.short + _STAGED * staged, self.schema))


class DatabaseTable(Table):
    """A table of a database; :raises MissingResourceError, CorpusError: if it is not there."""

    def __init__(self, file: NoteFile, wanted: Collection[str] = ()) -> None:
        super().__init__(file, wanted)
        need("sqlalchemy", "database", "a database")
        with file_named("the description of a database", file.path, CorpusError):
            named = msgspec.convert(read_toml(file.path), _Named)
            self._order, place = named.order, named.output
            self._in = _Opened(named.database, named.table)
            self._out = _Opened(place.database or named.database, place.table) if place else None
            with self._in.asked() as connection:
                self._is_staged = self._in.has(connection, staged=True)
                if not (self._is_staged or self._in.has(connection)):
                    raise CorpusError(f"the database has no table {named.table}")
                there = self._in.of(staged=self._is_staged)
                columns = self._in.sql.inspect(connection).get_columns(there.name, there.schema)
            self._types = {column["name"]: column["type"] for column in columns}
            if not named.order or {*named.order} - {*self._types}:
                raise CorpusError(f"order must name columns of {named.table} by which its rows are always in one order")
        self._is_replaced: Callable[[str], bool] = lambda name: False

    def names(self, looked: Callable[[int], None] = lambda n: None) -> list[str]:
        return list(self._types)

    def rewrites(self, is_removed: Callable[[str], bool], is_replaced: Callable[[str], bool]) -> None:
        self.is_removed, self._is_replaced = is_removed, is_replaced

    def records(self, wanted: Collection[str] | None = None) -> Iterator[Record]:
        """Each row, in the order that the description names; :raises StorageError: if the database goes away."""
        sql, table = self._in.sql, self._in.of(staged=self._is_staged)
        names = list(self._types)
        query = sql.select(*map(sql.column, names)).select_from(table).order_by(*map(sql.column, self._order))
        with self._in.asked() as connection:
            total = connection.scalar(sql.select(sql.func.count()).select_from(table))
            with connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(query) as rows:
                for number, row in enumerate(rows, 1):
                    self.file.fraction = number / total
                    yield self._record(f"row {number}", dict(zip(names, map(_plain, row), strict=True)))

    def _record(self, place: str, values: dict[str, Any]) -> Record:
        digest = sha256(_packed(list(values.items())))
        texts = {name: _in_words(value) for name, value in values.items() if value is not None}
        if any(isinstance(values[name], bytes) for name in texts if self._is_replaced(name)):
            return Record(place, values, digest=digest, problem="a column that is to be replaced holds bytes")
        return Record(place, values, texts, values, digest)

    def encode(self, rows: Sequence[Rewritten], *, packed: bool) -> bytes:
        """Rows as MessagePack; :raises CorpusError: for a text with a null character, which databases refuse."""
        if any("\0" in text for _, new in rows for text in new.values()):
            raise CorpusError("a text has a null character")
        names = [name for name in self._types if not self.is_removed(name)]
        return _packed([{**{n: r.raw[n] for n in names}, **new} for r, new in rows]) if rows else b""

    def assemble(self, chunks: Iterable[bytes], target: Path) -> None:
        """Write all rows into a staging table, and the description of the output to the target."""
        out = self._output()
        sql = out.sql
        table = out.of(*(sql.Column(n, self._type(n)) for n in self._types if not self.is_removed(n)), staged=True)
        # Without types, as the database knows best how to read a date that is written as text.
        plain = sql.table(table.name, *(sql.column(column.name) for column in table.columns), schema=table.schema)
        with out.asked() as connection:
            table.drop(connection, checkfirst=True)
            table.create(connection)
        for chunk in filter(None, chunks):
            with out.asked() as connection:
                connection.execute(plain.insert(), msgspec.msgpack.decode(chunk))
        described = {"database": out.url, "table": out.name, "order": list(self._order)}
        target.write_text(tomli_w.dumps(described), encoding="utf-8")

    def _type(self, name: str) -> Any:
        """The type of a column in the output; text if it is replaced, or of a type that other databases lack."""
        sql = self._in.sql
        if self._is_replaced(name):
            return sql.Text()
        try:
            return self._types[name].as_generic()
        except NotImplementedError:
            return sql.Text()

    def refuse_taken(self) -> None:
        """Refuse to begin if the output table exists; :raises SettingsError, StorageError: naming it."""
        out = self._output()
        with out.asked() as connection:
            if out.has(connection):
                raise SettingsError(f"the table {out.name} is already there; drop it or name another under [output]")

    def publish(self, *, replace: bool) -> None:
        """Rename the written table, if not yet done; :raises SettingsError, StorageError: if it fails.

        :param replace: whether the table of that name is dropped, as an earlier result of the same run.
        """
        out = self._output()
        with out.asked() as connection:
            if not out.has(connection, staged=True):
                return
            if replace:
                out.of().drop(connection, checkfirst=True)
            elif out.has(connection):
                raise SettingsError(f"the table {out.name} is already there; drop it, and the same command continues")
            named = out.engine.dialect.identifier_preparer
            old, new = named.format_table(out.of(staged=True)), named.quote(out.short)
            connection.execute(out.sql.text(f"ALTER TABLE {old} RENAME TO {new}"))

    def _output(self) -> _Opened:
        if self._out is None:
            raise SettingsError(f"{self.file.name} does not say what to write; add [output] with the name of a table")
        return self._out


def _packed(values: Any) -> bytes:
    return msgspec.msgpack.encode(values, enc_hook=str)


def _plain(value: Any) -> Any:
    """A whole number as `int`, and bytes as `bytes`, whatever type the driver returns."""
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    return bytes(value) if isinstance(value, memoryview | bytearray) else value


def _in_words(value: Any) -> str:
    """A value as a text; a time of midnight as the date alone."""
    if isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    return value.isoformat() if isinstance(value, date) else str(value)


DATABASE = Format(
    "database", "a TOML file that names a table of a database", (".toml",),
    partial(read_table, DatabaseTable), single_file=True, is_utf8=True, table=DatabaseTable,
)  # fmt: skip
"""Not recognised in folders, where other files have this ending."""
