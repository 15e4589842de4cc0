"""Annotated notes of every shape that a corpus may have, by name; all invented.

    SHAPES["one token"]()        eight notes, one a patient

Notes of a shape that cannot teach anything by itself (empty ones, notes without PHI) come with some that can.
"""

from collections.abc import Callable, Iterable, Iterator
from string import Formatter

from phistack.features.documents import Document, Span
from tests.invented_names import FEW_NAMES as NAMES

DATES = tuple(f"0{i + 1}/12/2019" for i in range(len(NAMES)))


def note(number: int, pieces: Iterable[str | tuple[str, str]], group: str = "") -> Document:
    """A note from pieces of text; a pair is a text and the label of its span."""
    text, spans = "", []
    for piece in pieces:
        if isinstance(piece, tuple):
            spans.append(Span(len(text), len(text) + len(piece[0]), piece[1]))
            text += piece[0]
        else:
            text += piece
    return Document(f"{100 + number}-01", text, tuple(spans), group)


def seen(number: int, name: str, *more: str | tuple[str, str], group: str = "") -> Document:
    """A note on a patient whom a doctor saw, with more pieces behind name and date."""
    date = f"0{number % 9 + 1}/12/2019"
    return note(number, ["Seen by Dr. ", (name, "DOCTOR"), " on ", (date, "DATE"), *more], group)


def _each(pieces: Callable[[int, str, str], Iterable[str | tuple[str, str]]]) -> list[Document]:
    """A note for each name, with a date; the number of the note is in it too."""
    return [note(i, pieces(i, name, date)) for i, (name, date) in enumerate(zip(NAMES, DATES, strict=True))]


def _plain(i: int, name: str, date: str) -> list[str | tuple[str, str]]:
    return ["Seen by Dr. ", (name, "DOCTOR"), " on ", (date, "DATE"), ".\nPlan: rest and fluids.\n"]


def _with(*texts: str) -> list[Document]:
    """Plain notes, and others without PHI."""
    return _each(_plain) + [Document(f"{300 + i}-01", text) for i, text in enumerate(texts)]


def _overlapping(i: int, name: str, date: str) -> list[str | tuple[str, str]]:
    return ["Seen by ", ("Dr. " + name, "DOCTOR"), " on ", (date, "DATE"), "."]


def _nested() -> list[Document]:
    """Spans within spans, spans that cross, and the same span twice with two labels."""
    plain = _each(_overlapping)
    first = (plain[0], plain[1], *plain)
    return [
        document.with_spans([*document.spans, Span(8, 11, "TITLE"), Span(5, 12, "DATE"), Span(8, 11, "DATE")])
        for document in first[2:]
    ]


def _doubled() -> list[Document]:
    """Every note three times, under other ids, one of them of another patient."""
    plain = _each(_plain)
    again = [Document(f"{500 + i}-01", d.text, d.spans) for i, d in enumerate(plain)]
    third = [Document(f"{100 + i}-02", d.text, d.spans) for i, d in enumerate(plain)]
    return plain + again + third


def _long_line(i: int, name: str, date: str) -> list[str | tuple[str, str]]:
    words = "rest and fluids and no pain today , " * 4
    if i:
        return ["Dr. ", (name, "DOCTOR"), " wrote ", words, (date, "DATE")]
    parts: list[str | tuple[str, str]] = []
    for number in range(150):
        parts += [words, "Dr. ", (NAMES[number % 8], "DOCTOR"), " on ", (DATES[number % 8], "DATE"), " "]
    return parts


SHAPES: dict[str, Callable[[], list[Document]]] = {
    "one token": lambda: _each(lambda i, name, date: [(name, "DOCTOR")]),
    "one token a line": lambda: _each(lambda i, name, date: ["Seen\n", (name, "DOCTOR"), "\non\n", (date[:2], "DATE")]),
    "one line": lambda: _each(lambda i, name, date: ["Dr. ", (name, "DOCTOR"), " on ", (date, "DATE")]),
    "one label": lambda: _each(lambda i, name, date: ["Seen by Dr. ", (name, "DOCTOR"), " today.\n"]),
    "a line of 5,000 tokens": lambda: _each(_long_line),
    "a few characters": lambda: _each(lambda i, name, date: [(name[0], "DOCTOR"), "." * (i % 3)]),
    "all of a note is PHI": lambda: _each(lambda i, name, date: [(f"{name} {date}", "ID")]),
    "PHI at begin and end": lambda: _each(lambda i, n, d: [(n, "DOCTOR"), " saw the patient again on ", (d, "DATE")]),
    "PHI over several lines": lambda: _each(lambda i, n, d: ["To:\n", (f"{n}\nHill 3\n\nOxton", "STREET"), f"\n{d}"]),
    "blanks within PHI": lambda: _each(lambda i, name, date: ["Dr.", (f" {name} ", "DOCTOR"), "on", ("\t\n", "DATE")]),
    "PHI within words": lambda: _each(lambda i, n, d: ["No", (n[:3], "DOCTOR"), f"{n[3:]} was born", (d, "DATE"), "Z"]),
    "PHI beyond the basic plane": lambda: _each(
        lambda i, n, d: ["\U0001f9d1Dr.", (f"{n}\U00020000", "DOCTOR"), f" {d}"]
    ),
    "overlapping PHI": _nested,
    "duplicate notes": _doubled,
    "empty notes": lambda: _with("", ""),
    "notes of blanks": lambda: _with(" ", "\n", "\r\n\r\n", "\t", "\ufeff", "\u200b", "\u00a0 \u3000"),
    "notes of marks": lambda: _with(".", "-" * 200, "(" * 50, "\U0001f9d1\u200d\U0001f9d1", "e\u0301" * 9, "\x00\x07"),
    "most notes without PHI": lambda: _each(_plain)[:3] + _with("Rest.\n" * 3, "Fluids.", "No pain today.\n")[8:],
}
"""Name of a shape -> makes its notes."""

LAYOUTS = {
    "headings": "ASSESSMENT\n\n{words}\n\nPHYSICIAN\n\n{name}\n\nDATE\n\n{date}",
    "list": "- {words}\n- Dr. {name}\n\n* {date}\n",
    "table": "Name\tDate\tNote\n{name}\t{date}\t{words}\n",
    "fields": "Doctor: {name}\nDate :{date}\nPlan:{words}",
    "one long line": " ".join(["{words}"] * 40) + " Dr. {name} " + " ".join(["{words}"] * 40) + " on {date}",
    "Windows line ends": "Dr. {name}\r\n{words}\r\n\r\n{date}\r\n",
    "upper case": "SEEN BY DR. {NAME} ON {date} {WORDS}",
    "very short": "{name} {date}",
    "a word a line": "{lines}\n{name}\n{date}",
}
"""Name of a layout -> its template."""


def laid_out(layout: str, words: Iterable[str]) -> list[Document]:
    """Eight notes in one layout.

    :param words: what the notes have beside names and dates, note by note.
    """
    return [note(i, _filled(LAYOUTS[layout], *row)) for i, row in enumerate(zip(NAMES, DATES, words, strict=True))]


def _filled(template: str, name: str, date: str, words: str) -> Iterator[str | tuple[str, str]]:
    values = {
        "name": (name, "DOCTOR"), "NAME": (name.upper(), "DOCTOR"), "date": (date, "DATE"),
        "words": words, "WORDS": words.upper(), "lines": words.replace(" ", "\n"),
    }  # fmt: skip
    for literal, field, _, _ in Formatter().parse(template):
        yield literal
        if field:
            yield values[field]  # type: ignore[misc]
