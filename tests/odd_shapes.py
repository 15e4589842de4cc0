"""Annotated notes of every shape that a corpus may have, by name; all are invented.

    SHAPES["one token"]()        eight notes, one a patient

Notes that cannot teach anything by themselves (empty ones, notes without PHI) come with some that can.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from phistack.features.documents import Document, Span
from tests.annotated import annotated, corpus_of
from tests.invented_names import FEW_NAMES as NAMES

DATES = tuple(f"0{i + 1}/12/2019" for i in range(len(NAMES)))
PLAIN = "Seen by Dr. [{name}|DOCTOR] on [{date}|DATE].\nPlan: rest and fluids.\n"


def _each(template: str) -> list[Document]:
    """A note for each name, with a date."""
    return _notes(template.format(name=n, date=d, few=n[:3], rest=n[3:]) for n, d in zip(NAMES, DATES, strict=True))


def _notes(texts: Iterable[str]) -> list[Document]:
    return list(corpus_of(*texts).documents)


def _with(*texts: str) -> list[Document]:
    """Plain notes, and others without PHI."""
    return _each(PLAIN) + [Document(f"{300 + i}-01", text) for i, text in enumerate(texts)]


def _nested() -> list[Document]:
    """Spans within spans, spans that cross, and the same span twice with two labels."""
    more = (Span(8, 11, "TITLE"), Span(5, 12, "DATE"), Span(8, 11, "DATE"))
    return [n.with_spans([*n.spans, *more]) for n in _each("Seen by [Dr. {name}|DOCTOR] on [{date}|DATE].")]


def _doubled() -> list[Document]:
    """Every note three times, under other ids, one of them of another patient."""
    plain = _each(PLAIN)
    again = [Document(f"{500 + i}-01", d.text, d.spans) for i, d in enumerate(plain)]
    third = [Document(f"{100 + i}-02", d.text, d.spans) for i, d in enumerate(plain)]
    return plain + again + third


def _long_line() -> list[Document]:
    words = "rest and fluids and no pain today , " * 4
    long = "".join(f"{words}Dr. [{NAMES[i % 8]}|DOCTOR] on [{DATES[i % 8]}|DATE] " for i in range(60))
    return [annotated(long, "100-01"), *_each(f"Dr. [{{name}}|DOCTOR] wrote {words}[{{date}}|DATE]")[1:]]


SHAPES: dict[str, Callable[[], list[Document]]] = {
    "one token": lambda: _each("[{name}|DOCTOR]"),
    "one token a line": lambda: _each("Seen\n[{name}|DOCTOR]\non\n[{date:.2}|DATE]"),
    "one line": lambda: _each("Dr. [{name}|DOCTOR] on [{date}|DATE]"),
    "one label": lambda: _each("Seen by Dr. [{name}|DOCTOR] today.\n"),
    "a line of 2,000 tokens": _long_line,
    "a few characters": lambda: _notes(f"[{name[0]}|DOCTOR]{'.' * (i % 3)}" for i, name in enumerate(NAMES)),
    "all of a note is PHI": lambda: _each("[{name} {date}|ID]"),
    "PHI at begin and end": lambda: _each("[{name}|DOCTOR] saw the patient again on [{date}|DATE]"),
    "PHI over several lines": lambda: _each("To:\n[{name}\nHill 3\n\nOxton|STREET]\n{date}"),
    "blanks within PHI": lambda: _each("Dr.[ {name} |DOCTOR]on[\t\n|DATE]"),
    "PHI within words": lambda: _each("No[{few}|DOCTOR]{rest} was born[{date}|DATE]Z"),
    "PHI beyond the basic plane": lambda: _each("\U0001f9d1Dr.[{name}\U00020000|DOCTOR] {date}"),
    "overlapping PHI": _nested,
    "duplicate notes": _doubled,
    "empty notes": lambda: _with("", ""),
    "notes of blanks": lambda: _with(" ", "\n", "\r\n\r\n", "\t", "\ufeff", "\u200b", "\u00a0 \u3000"),
    "notes of marks": lambda: _with(".", "-" * 200, "(" * 50, "\U0001f9d1\u200d\U0001f9d1", "e\u0301" * 9, "\x00\x07"),
    "most notes without PHI": lambda: _each(PLAIN)[:3] + _with("Rest.\n" * 3, "Fluids.", "No pain today.\n")[8:],
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


_KEPT, _BACK = str.maketrans("[]", "\ue000\ue001"), str.maketrans("\ue000\ue001", "[]")
"""Words may have the brackets that mark PHI in the layouts."""


def laid_out(layout: str, words: Iterable[str]) -> list[Document]:
    """Eight notes in one layout.

    :param words: what the notes have besides names and dates, note by note.
    """
    notes = []
    for i, (name, date, other) in enumerate(zip(NAMES, DATES, words, strict=True)):
        kept = other.translate(_KEPT)
        text = LAYOUTS[layout].format(
            name=f"[{name}|DOCTOR]", NAME=f"[{name.upper()}|DOCTOR]", date=f"[{date}|DATE]",
            words=kept, WORDS=kept.upper(), lines=kept.replace(" ", "\n"),
        )  # fmt: skip
        note = annotated(text, f"{100 + i}-01")
        notes.append(replace(note, text=note.text.translate(_BACK)))
    return notes
