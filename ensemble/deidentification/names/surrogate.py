"""Surrogates of persons' names.

    surrogate_name("SMITH, John M.", context)    "PORTER, David K."
    surrogate_name("Smith's", context)           "Porter's"

Each word is replaced in its case and by its role: a last name, an initial, or a first name of the sex that the notes
state, or else of the same gender. Commas, titles and genitive endings stay; particles (van der, de la) go.

A frequent name of a patient has the same surrogate in every note, whatever else a note holds, because the tables decide
whether it is a first or a last name. The first letter of a name decides that of its surrogate, so initials and
monograms fit; names that sound alike (Jonson, Johnson) have the same surrogate. A short form of only one name (Bob for
Robert) becomes a short form of that name's surrogate. If the surrogate is itself a name of the note, its initial is
used instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from phistack.ensemble.deidentification.context import Context
from phistack.ensemble.deidentification.names.parsing import NamePart, ParsedName, parse_name
from phistack.ensemble.deidentification.names.stated_sex import sex_of_titles
from phistack.ensemble.deidentification.names.tables import LOCALES, full_name, name_tables, short_forms
from phistack.ensemble.deidentification.word_lists import words
from phistack.features.letters import fold, in_case_of

_TRIES = 24
_SHORTEST_PART = 3
_SOUNDS = (
    *(("ph", "f"), ("th", "t"), ("ck", "k"), ("dt", "t"), ("sch", "s"), ("sh", "s"), ("y", "i"), ("j", "i")),
    *(("z", "s"), ("w", "v"), ("x", "ks"), ("c", "k"), ("q", "k"), ("ei", "ai"), ("ae", "e"), ("oe", "o"), ("ue", "u")),
)


def surrogate_name(mention: str, context: Context) -> str | None:
    """The name of another person, in the form of the original.

    :returns: None for what cannot be read as a name, or if no name fits.
    """
    form = parse_name(mention, context.language)
    if form is None or not form.roles:
        return None
    titled = sex_of_titles({piece.folded for piece in form.pieces if piece.role == "title"}, context.language)
    pieces = [_piece(piece, form, titled, context) for piece in form.pieces]
    made = [piece for piece in pieces if piece is not None]
    return "".join(made) if len(made) == len(pieces) else None


def _piece(piece: NamePart, form: ParsedName, titled: str | None, context: Context) -> str | None:
    match piece.role:
        case "first" | "last":
            word = _surrogate_word(piece.folded, _role(piece, form, context), titled, context)
            # No plain -s after a name that ends in s, x or z.
            hiss = piece.ending in ("s", "S") and word and fold(word)[-1] in "sxz"
            return word and in_case_of(word, piece.text) + ("" if hiss else piece.ending)
        case "initial" | "initials":
            letters = "".join(new_letter(letter, context) for letter in fold(piece.text))
            return (letters.upper() if piece.text.isupper() else letters) + piece.ending
        case "particle":
            return ""
        case _:
            return piece.text


def _role(piece: NamePart, form: ParsedName, context: Context) -> str:
    """`first` or `last`; for a name alone, what longer names of the patient's notes show, or first for a short form."""
    if len(form.words) > 1:
        return piece.role
    return context.memory.role(piece.folded) or ("first" if full_name(piece.folded, context.language) else piece.role)


def _surrogate_word(word: str, role: str, titled: str | None, context: Context) -> str | None:
    """Another name for one folded word of a name; only its initial if the note has that name.

    :param role: `first` or `last`, for a word that is in no table.
    :param titled: the gender that a title shows, also for such a word.
    :returns: a name that contains neither the word nor another word of its mentions; None if there is none.
    """
    most = context.options.common_names
    full = None if most else full_name(word, context.language)
    if full is not None:
        return _short_form(_surrogate_word(full, role, titled, context), word, context)
    name = context.memory.index.canonical(word)
    gender = _gender(name, role, titled, context)
    # Names with a fitting letter, then all; or the most frequent only.
    beginnings = ("",) if most else (new_letter(name[0], context), "")
    initial = None
    for options in (_pool(gender, context.language, letter, most) for letter in beginnings):
        for attempt in range(_TRIES if options else 0):
            new = context.pick(options, "name", gender, sounds_like(name), attempt)
            if len(name) < _SHORTEST_PART or name not in fold(new):
                if _is_free(fold(new), {word} | context.memory.index.companions(name), context):
                    return new
                initial = initial or f"{new[0]}."
                if not context.memory.complete:
                    return initial
    return initial


def _short_form(name: str | None, word: str, context: Context) -> str | None:
    """A short form of the new name; the new name itself if it has none."""
    own = {word} | context.memory.index.companions(word)
    options = [short for short in short_forms(fold(name or ""), context.language) if _is_free(short, own, context)]
    return context.pick([short.title() for short in options], "short form", word) if options else name


def name_words(text: str, context: Context) -> dict[str, str]:
    """Each known name word that a folded text contains -> its folded surrogate."""
    known = sorted(name for name in context.memory.names if name in text)
    new = ((word, _surrogate_word(word, context.memory.role(word) or "last", None, context)) for word in known)
    return {word: fold(name).removesuffix(".") for word, name in new if name is not None}


def new_letter(letter: str, context: Context) -> str:
    """The lower-case letter that, for this patient, replaces the first letter of names."""
    others = [other for other in name_tables(context.language).letters if other != letter]
    return context.choices.pick(others, "letter", letter)


def sounds_like(word: str) -> str:
    """Roughly how a folded word sounds: no double letters, no silent h, one letter for all that sound alike.

    Vowels stay: Maria and Mario are two names.
    """
    sound = word
    for written, spoken in _SOUNDS:
        sound = sound.replace(written, spoken)
    return re.sub(r"(.)\1+", r"\1", sound[:1] + sound[1:].replace("h", ""))


def _is_free(name: str, parts: Iterable[str], context: Context) -> bool:
    memory = context.memory
    held = any(len(part) >= _SHORTEST_PART and part in name for part in parts)
    return not held and name not in memory.names and name not in memory.identifiers


@cache
def _pool(gender: str, language: str, letter: str, most: int) -> Sequence[str]:
    """The first names of a gender, or the last names, that begin with a letter: the most frequent, or all."""
    tables = name_tables(language)
    pools = {
        "female": tuple(name for name in tables.female if tables.gender(fold(name)) == "female"),
        "male": tuple(name for name in tables.male if tables.gender(fold(name)) == "male"),
        "neutral": tuple(words(language)["names"]["neutral"]) + tables.neutral,
        "last": tables.last,
    }
    return tuple(name for name in pools[gender] if fold(name).startswith(letter))[: most or None]


def _gender(name: str, role: str, titled: str | None, context: Context) -> str:
    """The list that the surrogate is taken from: `female`, `male`, `neutral` or `last`."""
    tables = name_tables(context.language)
    own = tables.gender(name)
    if (own or role == "first") and (stated := context.memory.sex(name)):
        return stated
    if not own and (role == "last" or tables.is_last(name)):
        return "last"
    genders = [found for language in LOCALES if (found := name_tables(language).gender(name))]
    if len({*genders}) > 1:
        return context.memory.sex_by_pronouns or own or genders[0]
    known = own or (genders[0] if genders else titled) or context.memory.sex_by_pronouns
    known = known or {"a": "female", "o": "male"}.get(name[-1])
    return known or context.choices.pick(("female", "male"), "gender", sounds_like(name))
