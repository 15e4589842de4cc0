"""Surrogates of persons' names.

    surrogate_name("SMITH, John M.", context)    "PORTER, David K."
    surrogate_name("Smith's", context)           "Porter's"

Word by word: a last name for a last name, a first name of the same gender for a first name, an initial for an initial,
each in the case of the original; commas, titles and genitive endings stay and particles (van der, de la) go. Within a
patient the first letter of a name decides the first letter of its surrogate, so that initials and monograms fit without
anything being remembered; and names that sound alike (Jonson, Johnson) have the same surrogate in every note.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ensemble.deidentification.context import Context
from ensemble.deidentification.letters import fold, in_case_of
from ensemble.deidentification.name_forms import NameForm, Piece, parse_name
from ensemble.deidentification.name_tables import LOCALES, name_tables
from ensemble.deidentification.words import known_words, words

__all__ = ["name_words", "new_letter", "sounds_like", "surrogate_name", "surrogate_word"]

_TRIES = 24
_SOUNDS = (
    *(("ph", "f"), ("th", "t"), ("ck", "k"), ("dt", "t"), ("sch", "s"), ("sh", "s"), ("y", "i"), ("j", "i")),
    *(("z", "s"), ("w", "v"), ("x", "ks"), ("c", "k"), ("q", "k"), ("ei", "ai"), ("ae", "e"), ("oe", "o"), ("ue", "u")),
)


def surrogate_name(mention: str, context: Context) -> str | None:
    """The name of another person, in the form of the original.

    :returns: nothing for what cannot be read as a name, and where no name is left that the note does not hold.
    """
    form = parse_name(mention, context.language)
    if form is None or not form.roles:
        return None
    titled = _gender_of_titles(form, context.language)
    pieces: list[str] = []
    dropped = False
    for number, piece in enumerate(form.pieces):
        new = "" if dropped else _piece(piece, form, number, titled, context)
        if new is None:
            return None
        dropped = piece.role == "particle"
        pieces.append(new)
    return "".join(pieces)


def _piece(piece: Piece, form: NameForm, number: int, titled: str | None, context: Context) -> str | None:
    match piece.role:
        case "first" | "last":
            role = _known_role(piece, form, context)
            word = surrogate_word(piece.folded, role, titled, context)
            return None if word is None else in_case_of(word, piece.text) + _ending(piece.ending, word)
        case "initial":
            role = "last" if _is_last_initial(form, number) else "first"
            return _letters(piece.text, role, context) + piece.ending
        case "initials":
            return _letters(piece.text, "last", context) + piece.ending
        case "particle":
            return ""
        case _:
            return piece.text


def _known_role(piece: Piece, form: NameForm, context: Context) -> str:
    """A name on its own has the role that it has in longer names."""
    alone = len(form.words) == 1
    return (context.memory.role(piece.folded) if alone else None) or piece.role


def _is_last_initial(form: NameForm, number: int) -> bool:
    """In initials only, the last stands for the last name."""
    rest = [piece.role for piece in form.pieces[number + 1 :] if piece.role != "gap"]
    before = [piece.role for piece in form.pieces[:number] if piece.role != "gap"]
    return not rest and "initial" in before and not form.words


def surrogate_word(word: str, role: str, titled: str | None, context: Context) -> str | None:
    """Another name for one folded word of a name.

    :param role: `first` or `last`; other roles count as `last`.
    :param titled: the gender that a title shows, for first names that no table has.
    :returns: a name that holds no other name of three letters or more with which the word stands in a mention, and
        that is itself no name or identifier of the note; nothing if there is none.
    """
    name = context.memory.canonical(word)
    sound = sounds_like(name)
    gender = _gender(name, titled, context) if role == "first" else "last"
    letter = new_letter(name[0], role, context)
    parts = [part for part in {word, name} | context.memory.companions(name) if len(part) > 2]
    for options in (_pool(gender, context.language, letter), _pool(gender, context.language)):
        for attempt in range(_TRIES if options else 0):
            new = context.pick(options, "name", gender, sound, attempt)
            if _is_free(fold(new), parts, context):
                return new
    return None


def name_words(text: str, context: Context) -> dict[str, str]:
    """Every known word of a name that is somewhere in a folded text -> its folded surrogate."""
    found: dict[str, str] = {}
    for word in sorted(name for name in context.memory.names if name in text):
        role = context.memory.role(word) or ("first" if _table_gender(word, context.language) else "last")
        new = surrogate_word(word, role, None, context)
        if new is not None:
            found[word] = fold(new)
    return found


def new_letter(letter: str, role: str, context: Context) -> str:
    """The lower-case letter that, for this patient, replaces the first letter of first or of last names."""
    tables = name_tables(context.language)
    letters = tables.first_letters if role == "first" else tables.last_letters
    others = [other for other in letters if other != letter]
    return context.choices.pick(others, "letter", role if role == "first" else "last", letter)


def sounds_like(word: str) -> str:
    """A folded word by its sound, roughly.

    Double letters, a silent h and letters often taken for each other fall together. Vowels stay, so that Maria and
    Mario are two names.
    """
    first, rest = word[:1], word[1:]
    sound = first + rest
    for written, spoken in _SOUNDS:
        sound = sound.replace(written, spoken)
    sound = sound[:1] + sound[1:].replace("h", "")
    return re.sub(r"(.)\1+", r"\1", sound)


def _letters(text: str, role_of_last: str, context: Context) -> str:
    """Letter by letter; all but the last as of first names."""
    folded = fold(text)
    roles = ["first"] * (len(folded) - 1) + [role_of_last]
    letters = "".join(new_letter(letter, role, context) for letter, role in zip(folded, roles, strict=True))
    return letters.upper() if text.isupper() else letters


def _is_free(name: str, parts: Sequence[str], context: Context) -> bool:
    memory = context.memory
    return not any(part in name for part in parts) and name not in memory.names and name not in memory.identifiers


@cache
def _pool(gender: str, language: str, letter: str = "") -> Sequence[str]:
    """The names of a gender, or the last names, that begin with a letter."""
    tables = name_tables(language)
    pools = {
        "female": tuple(name for name in tables.female if tables.gender(fold(name)) == "female"),
        "male": tuple(name for name in tables.male if tables.gender(fold(name)) == "male"),
        "neutral": tuple(words(language)["names"]["neutral"]) + tables.neutral,
        "last": tables.last,
    }
    return tuple(name for name in pools[gender] if fold(name).startswith(letter))


def _gender(name: str, titled: str | None, context: Context) -> str:
    known = _table_gender(name, context.language) or titled
    if known:
        return known
    endings = {"a": "female", "o": "male"}
    return endings.get(name[-1]) or context.choices.pick(("female", "male"), "gender", sounds_like(name))


def _table_gender(name: str, language: str) -> str | None:
    """The gender in the tables of the language, or else in those of the others."""
    return next((g for other in (language, *LOCALES) if (g := name_tables(other).gender(name))), None)


def _gender_of_titles(form: NameForm, language: str) -> str | None:
    titles = {piece.folded for piece in form.pieces if piece.role == "title"}
    female = titles & known_words(language, "names", "female_titles")
    male = titles & known_words(language, "names", "male_titles")
    return None if bool(female) == bool(male) else "female" if female else "male"


def _ending(ending: str, word: str) -> str:
    """A plain -s is not written after a name that ends in a hiss."""
    return "" if ending in ("s", "S") and fold(word)[-1] in "sxz" else ending
