"""The plain view of a note, which the engine reads: no invisible characters, one form of each other character.

    view = plain_view(Document("n1", "Dr. <ZWJ>An<ZWJ>selm"))      where <ZWJ> is a zero-width joiner, U+200D
    view.document.text                                             "Dr. Anselm"
    view.in_note(Span(4, 10, "DOCTOR"))                            Span(4, 12, "DOCTOR"), in the note itself
    plain_view(Document("n2", "Dr. <b>An</b>selm Birch-\\nwood"))   "Dr. Anselm Birchwood"
    plain_view(Document("n3", "Dr. Anselm")).document              the same object

These steps run in this order. Most notes need none of them; one search finds that out.

1. characters that the text writes as their bytes: `=C3=A9`, `%20` (`features.markup`)
2. tags and character references of HTML, and escapes of JSON (`features.markup`)
3. invisible characters are left out: the default-ignorable ones of Unicode (soft hyphens, zero-width and
   bidirectional marks, variation selectors, a byte order mark), control characters that are not white space, and marks
   that are drawn over or around another character. Full-width and mathematical letters, digits of any script, and
   hyphens and blanks that do not break are read as the plain ones, separators of lines and paragraphs as line ends
4. letters and their combining accents are composed, where Unicode has a character for both
5. white space that is not typed is left out inside words (`features.rewriting`)
6. words and numbers that are broken over a line end are whole (`features.rewriting`)

This is much less than NFKC: `º`, `½` and ligatures are unchanged. Steps 1 and 2 need evidence in the text unless the
caller declares them: `x=20`, `50%20`, `<5` and `a & b` are not markup.

What steps 3 to 6 leave out belongs to the letter or digit before it, or else to the one after it; markup belongs to a
span only if it is inside. So a span of the view never becomes empty in the note, and spans overlap in the note only if
they do in the view.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import NamedTuple

from phistack.features.documents import Document, Span
from phistack.features.letters import ByCharacter
from phistack.features.markup import PERCENT, QUOTED_PRINTABLE, escapes, references, tags
from phistack.features.rewriting import ACCENTS, ODD_BLANKS, Edit, Rewritten, broken_words, odd_blanks, rewrite

IGNORABLE = (
    # Control characters, of category Cc, that are not white space.
    "\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
    # Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties.txt.
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    # Marks around annotations between lines, of category Cf.
    "\ufff9-\ufffb"
    # Marks over, through and around other characters, of categories Mn and Me, that no language needs.
    "\u0334-\u0338\u0488\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ua670-\ua672\ufe20-\ufe2f"
)
"""Invisible characters, as the inside of a character class of a regular expression."""

_BLANKS = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_LINE_ENDS = "\u2028\u2029"
_HYPHENS = "\u2010\u2011"
_ONE_FOR_ONE = f"[{_BLANKS}{_LINE_ENDS}{_HYPHENS}\uff01-\uff5e\U0001d400-\U0001d7ff]|[^\\D0-9]"
# A soft hyphen at a line end is printed; the word goes on in the next line.
_SOFT_BREAK = "(?<=[^\\W\\d_])\u00ad[ \\t]{0,40}\\r?\\n[ \\t]{0,40}(?=[^\\W\\d_])"

_OTHERWISE = re.compile(f"{_SOFT_BREAK}|(?:(?!{_SOFT_BREAK})[{IGNORABLE}])+|{_ONE_FOR_ONE}")
_IGNORED = re.compile(f"[{IGNORABLE}]")
_ACCENTED = re.compile(f"[^{ACCENTS}][{ACCENTS}]+")
_HYPHEN_AT_END = re.compile(r"-[ \t]*[\r\n]")
_ODD = re.compile(f"[=%<&\\\\\u00ac{ODD_BLANKS}{IGNORABLE}{ACCENTS}]|{_ONE_FOR_ONE}")
_PLAIN_ASCII = bytes(code for code in range(128) if not _ODD.match(chr(code)))
"""The characters of ASCII that no step changes, which are nearly all of a note."""


class _Step(NamedTuple):
    """One step.

    :param signs: the step is needed only for a text with one of these.
    :param shared: whether what is left out belongs to its neighbour; see `rewrite`.
    """

    signs: re.Pattern[str]
    edits: Callable[[str], Iterable[Edit]]
    shared: bool


@dataclass(frozen=True, slots=True)
class PlainView:
    """The view of a note, and where its characters are in the note.

    :param document: text and spans of the view.
    :param read: the text of the view and its places in the note; `None` if view and note are the same.
    """

    document: Document
    read: Rewritten | None = field(default=None, repr=False)

    @property
    def is_note(self) -> bool:
        """Whether view and note are the same."""
        return self.read is None

    def in_note(self, span: Span) -> Span:
        """A span of the view as a span of the note, with all that belongs to its characters."""
        return span if self.read is None else Span(*self.place(span.start, span.end), span.label)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Start and end in the note of a non-empty stretch of the view."""
        return (start, end) if self.read is None else self.read.place(start, end)


def plain_view(document: Document, *, html: bool = False, encoded: bool = False) -> PlainView:
    """The view of a note with its spans, except spans that have no character left.

    :param html: whether the note is known to be HTML, so tags need no evidence.
    :param encoded: whether quoted-printable and percent-encoding need no evidence, so `x=20` is read as `x `.
    """
    read = _read(document.text, html, encoded)
    if read is None:
        return PlainView(document)
    spans = tuple(span for span in map(read.span, document.spans) if span is not None)
    return PlainView(replace(document, text=read.text, spans=spans), read)


def plain_text(text: str, *, html: bool = False, encoded: bool = False) -> str:
    """A text as the engine reads it."""
    read = _read(text, html, encoded)
    return text if read is None else read.text


def _read(text: str, html: bool, encoded: bool) -> Rewritten | None:
    """The text after all steps; `None` if no step changed it."""
    read: Rewritten | None = None
    odd = _odd_signs(text)
    for step in _steps(html, encoded) if odd else ():
        changed = rewrite(text, step.edits(text), shared=step.shared) if step.signs.search(odd) else None
        if changed is not None:
            read = changed if read is None else read.then(changed)
            text = read.text
            odd = _odd_signs(text)
    return read


def _odd_signs(text: str) -> str:
    """The distinct characters of a text that a step may change; `-` only if one is at a line end."""
    others = text.encode("utf-8", "surrogatepass").translate(None, _PLAIN_ASCII)
    odd = "".join(_ODD.findall("".join(set(others.decode("utf-8", "surrogatepass"))))) if others else ""
    return f"{odd}-" if _HYPHEN_AT_END.search(text) else odd


def _otherwise(text: str) -> Iterator[Edit]:
    """Leave out invisible characters, and write others in one form."""
    for match in _OTHERWISE.finditer(text):
        yield Edit(*match.span(), match[0].translate(_IN_ONE_WAY) if len(match[0]) == 1 else "")


def _in_one_way(character: str) -> str:
    if _IGNORED.match(character):
        return ""
    if character in _LINE_ENDS:
        return "\n"
    if character in _HYPHENS:
        return "-"
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    return unicodedata.normalize("NFKC", character) if character > "\u3000" else " "


def _composed(text: str) -> Iterator[Edit]:
    """Compose letters and accents; accents without a composed character are unchanged."""
    for match in _ACCENTED.finditer(text):
        composed = unicodedata.normalize("NFC", match[0])
        end = match.end() - len(composed) + 1
        if end > match.start() + 1:
            yield Edit(match.start(), end, composed[0])
            yield from (Edit(i, i + 1, accent) for i, accent in enumerate(composed[1:], end))


_IN_ONE_WAY = ByCharacter(_in_one_way)


@cache
def _steps(html: bool, encoded: bool) -> tuple[_Step, ...]:
    return (
        _Step(re.compile("="), partial(QUOTED_PRINTABLE.edits, certain=encoded), shared=False),
        _Step(re.compile("%"), partial(PERCENT.edits, certain=encoded), shared=False),
        _Step(re.compile("<"), partial(tags, certain=html), shared=False),
        _Step(re.compile("&"), references, shared=False),
        _Step(re.compile(r"\\"), escapes, shared=False),
        _Step(re.compile(f"[{IGNORABLE}]|{_ONE_FOR_ONE}"), _otherwise, shared=True),
        _Step(re.compile(f"[{ACCENTS}]"), _composed, shared=True),
        _Step(re.compile(f"[{ODD_BLANKS}]"), odd_blanks, shared=True),
        _Step(re.compile("[-¬]"), broken_words, shared=True),
    )
