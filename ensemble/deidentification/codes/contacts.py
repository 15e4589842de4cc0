"""Surrogates of e-mail addresses, user names, web addresses and telephone numbers.

    surrogate_email("john.smith@hospital.org", context)    "david.porter@example.org", as John Smith is David Porter
    surrogate_username("jsmith2", context)                 "dporter7"
    surrogate_url("http://www.clinic.com/staff", context)  "http://www.example.com/bnqtr"
    surrogate_phone("(617) 555-0123", context)             "(340) 928-7416"

Mail and web addresses use the example domains of RFC 2606, IP addresses the blocks of RFC 5737 and RFC 3849: none of
them can belong to anyone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from phistack.ensemble.deidentification.codes.identifiers import same_pattern
from phistack.ensemble.deidentification.context import Context, spliced
from phistack.ensemble.deidentification.names.surrogate import name_words, new_letter
from phistack.ensemble.deidentification.names.tables import LOCALES
from phistack.ensemble.deidentification.word_lists import words
from phistack.features.letters import fold, in_case_of

_EMAIL = re.compile(r"(?P<before>(?:mailto:)?)(?P<local>[^\s@:;,<>()]+)@(?P<host>[^\s@;,<>()]+)", re.IGNORECASE)
_URL = re.compile(r"(?P<scheme>(?:[a-z]{2,10}://)?(?:www\.)?)(?P<host>[^\s/:?#]+)(?P<rest>\S*)", re.IGNORECASE)
_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_IPV6 = re.compile(r"[0-9a-f]*:[0-9a-f:]*:[0-9a-f:.]*", re.IGNORECASE)
_HARDWARE = re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}", re.IGNORECASE)
_RUNS = re.compile(r"[^\W\d_]+")
_DOMAINS = ("example.com", "example.org", "example.net")
_BLOCKS = ("192.0.2", "198.51.100", "203.0.113")
_PHONE = re.compile(r"p?[\d\s()+./\-–x#*,;:]*\d[\d\s()+./\-–x#*,;:]*", re.IGNORECASE)
_PHONE_WORDS = re.compile(
    r"\b(?:ext|extension|extn|tel|telefono|teléfono|telefon|tfno|tlf|phone|fax|cell|mobile|movil|móvil|mob|int|anexo|"
    r"pager|beeper|durchwahl|toestel|and|or|y|en|och|und)\b\.?",
    re.IGNORECASE,
)
_TRIES = 40
_LETTERS_OF_INITIALS = 3
_MOST_INITIALS = 2
_WITH_LONG_DISTANCE = 11


def surrogate_email(mention: str, context: Context) -> str | None:
    """Another address, or several, whose local parts follow the surrogates of the names in them."""
    if _EMAIL.sub("", mention).strip(" \t\r\n,;/<>()") or not _EMAIL.search(mention):
        return None

    def new(match: re.Match[str]) -> str | None:
        local = surrogate_username(match["local"], context)
        return local and f"{match['before']}{local}@{context.pick(_DOMAINS, 'domain', fold(match['host']))}"

    return spliced(mention, ((*match.span(), new(match)) for match in _EMAIL.finditer(mention)))


def surrogate_username(mention: str, context: Context) -> str | None:
    """Another user name: surrogates for names, other initials for up to three letters, the pattern for the rest."""
    if not any(c.isalnum() for c in mention) or any(c.isspace() for c in mention.strip()):
        return None
    known = name_words(fold(mention), context)
    coded = same_pattern(mention, context, "user name")
    if coded is None or len(coded) != len(mention):
        return coded
    runs = ((run, _letters(fold(run[0]), known, context)) for run in _RUNS.finditer(mention))
    return spliced(coded, ((*run.span(), in_case_of(new, run[0])) for run, new in runs if new))


def _letters(run: str, known: dict[str, str], context: Context) -> str | None:
    """The surrogate of a folded run of letters that consists of names and initials; None for other runs."""
    parts: Sequence[str] = _split(run, known, _MOST_INITIALS)
    if not parts and len(run) <= _LETTERS_OF_INITIALS and run.isascii() and context.attempt == 0:
        parts = run
    return "".join(known.get(part) or new_letter(part, context) for part in parts) or None


def _split(run: str, known: Collection[str], initials: int) -> list[str]:
    """The run split into known names, longest first, and at most `initials` initials; empty if anything is left."""
    names = sorted((name for name in known if len(name) > 1 and run.startswith(name)), key=len, reverse=True)
    for name in names:
        rest = run[len(name) :]
        parts = _split(rest, known, initials) if rest else []
        if not rest or parts:
            return [name, *parts]
    if initials == 0 or len(run) < 2:
        return [run] if initials and len(run) == 1 and run.isascii() else []
    parts = _split(run[1:], known, initials - 1)
    return [run[0], *parts] if any(part in known for part in parts) else []


def surrogate_url(mention: str, context: Context) -> str | None:
    """Another web, IP or MAC address."""
    text = mention.strip()
    if _HARDWARE.fullmatch(text):
        digits = [f"{context.number(16, 'mac', fold(text), place):x}" for place in range(len(text))]
        new = "".join(digit if old.isalnum() else old for old, digit in zip(text, digits, strict=True))
    elif _IPV4.fullmatch(text):
        new = f"{context.pick(_BLOCKS, 'ip', text)}.{1 + context.number(254, 'ip', text)}"
    elif _IPV6.fullmatch(text):
        new = f"2001:db8::{context.number(65535, 'ip6', text) + 1:x}"
    else:
        match = _URL.fullmatch(text)
        if match is None or not ("." in match["host"] or match["scheme"]):
            return None
        rest = same_pattern(match["rest"], context, "path") or match["rest"]
        new = match["scheme"] + context.pick(_DOMAINS, "domain", fold(match["host"])) + rest
    return mention.replace(text, new)


def surrogate_phone(mention: str, context: Context) -> str | None:
    """A number in the same format, valid if the original is; country codes and leading zeros stay.

    :returns: None if there are words that do not belong to a telephone number, or fewer than three digits.
    """
    bare = _PHONE_WORDS.sub(lambda match: " " * len(match[0]), mention)
    places = [place for place, c in enumerate(bare) if c.isdigit()]
    number = "".join(bare[place] for place in places)
    if not _PHONE.fullmatch(bare) or len(places) < 3:
        return None
    code, other = _area_code(mention[places[0] :], number, context) if context.options.area_codes else ("", "")
    kept = len(code) or _prefix(bare, number, context.language)
    wanted = _is_valid(bare, context.language)
    new: str | None = None
    for _ in range(_TRIES):
        coded = same_pattern(number, context, "phone")
        if coded is None:
            return None
        changes = ((place, place + 1, digit) for place, digit in list(zip(places, coded, strict=True))[kept:])
        new = spliced(mention, changes) or mention
        new = new[: places[0]] + other + new[places[0] + len(code) :]
        if not wanted or _is_valid(_PHONE_WORDS.sub(" ", new), context.language):
            break
        context = context.next()
    return new


def _area_code(mention: str, number: str, context: Context) -> tuple[str, str]:
    """The area code or mobile prefix at the head of a number, and another; empty without a list."""
    for codes in words(context.language).get("phones", {}).values():
        for code in sorted(codes, key=len, reverse=True):
            if mention.startswith(code) and number.startswith(code) and len(number) > len(code) + 2:
                others = [other for other in codes if other != code]
                alike = [other for other in others if len(other) == len(code)]
                return code, context.pick(alike or others, "area code", code)
    return "", ""


def _prefix(bare: str, number: str, language: str) -> int:
    """How many leading digits give the country and the kind of number: +34 6, 06, 0."""
    import phonenumbers

    if language == "en" and len(number) == _WITH_LONG_DISTANCE and number[0] == "1":
        return 1
    international = re.match(r"\s*\(?(?:\+|00)\s*", bare)
    start = 0
    if international:
        country = str(phonenumbers.country_code_for_region(_region(language)))
        start = 2 if "+" not in international[0] else 0
        start += len(country) if number[start:].startswith(country) else 2
    zeros = len(number[start:]) - len(number[start:].lstrip("0"))
    kind = 1 if len(number) - start - zeros > 8 and language != "en" else 0
    return min(start + zeros + kind, len(number) - 2)


def _is_valid(text: str, language: str) -> bool:
    import phonenumbers

    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(text, _region(language)))
    except phonenumbers.NumberParseException:
        return False


def _region(language: str) -> str:
    return LOCALES[language].partition("_")[2]
