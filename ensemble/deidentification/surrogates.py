"""A surrogate for a mention of any kind, or nothing.

    surrogate("PERSON", "Smith, Ann", context)    "Porter, Eve"
    surrogate("OTHER", "the twins", context)      None: it will be tagged
    profession_group("schoolteacher", "en")       "education worker", of `[professions]` in `words/LANGUAGE.toml`
    kinship("hija Loli", "es")                    None: not all are words for members of a family, of `[relatives]`

No surrogate equals its original: one that does is made again with other choices, a few times. One that equals another
identifier of the note is made again only if all notes of the patient are known; otherwise it is given up, because other
notes could keep the first choice. A mention without a surrogate is never left as it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from phistack.ensemble.deidentification.codes import contacts
from phistack.ensemble.deidentification.codes.identifiers import surrogate_identifier
from phistack.ensemble.deidentification.context import Context
from phistack.ensemble.deidentification.dates.ages import surrogate_age
from phistack.ensemble.deidentification.dates.shift import surrogate_date
from phistack.ensemble.deidentification.names.surrogate import surrogate_name
from phistack.ensemble.deidentification.places import addresses, cities
from phistack.ensemble.deidentification.word_lists import words
from phistack.features.letters import fold, in_case_of, normalised

_TRIES = 8
_MAY_MEET = ("DATE", "AGE")
_NEARBY = ("STREET", "CITY", "PLACE", "ADDRESS")

_MAKERS: dict[str, Callable[[str, Context], str | None]] = {
    "PERSON": surrogate_name,
    "INITIALS": surrogate_name,
    "USERNAME": contacts.surrogate_username,
    "PROFESSION": lambda mention, context: profession_group(mention, context.language),
    "DATE": surrogate_date,
    "AGE": surrogate_age,
    "PHONE": contacts.surrogate_phone,
    "EMAIL": contacts.surrogate_email,
    "URL": contacts.surrogate_url,
    "ID": surrogate_identifier,
    "STREET": addresses.surrogate_street,
    "CITY": cities.surrogate_city,
    "STATE": cities.surrogate_state,
    "ZIP": cities.surrogate_postcode,
    "COUNTRY": cities.surrogate_country,
    "PLACE": addresses.surrogate_place,
    "ADDRESS": addresses.surrogate_address,
    "HOSPITAL": partial(addresses.surrogate_institution, kind="hospital"),
    "ORGANIZATION": partial(addresses.surrogate_institution, kind="organisation"),
    "DEPARTMENT": addresses.surrogate_department,
    "ROOM": addresses.surrogate_room,
}


def surrogate(kind: str, mention: str, context: Context) -> str | None:
    """Another mention of the same kind.

    :param kind: one of `ensemble.deidentification.kinds.KINDS`.
    :returns: None if none can be made: the mention cannot be read, the kind has no surrogates, or the choice is
        an identifier of the note.
    """
    core = mention.strip()
    for _ in range(_TRIES if core else 0):
        new = _made(kind, core, context)
        if new is None:
            return None
        folded = normalised(new)
        if folded and folded != normalised(core):
            known = context.memory
            if folded not in known.identifiers or (known.complete and kind in _MAY_MEET):
                return mention.replace(core, new)
            if not known.complete:
                return None
        context = context.next()
    return None


def _made(kind: str, mention: str, context: Context) -> str | None:
    """The surrogate that the options prefer, or else one by the maker of the kind."""
    near = cities.surrogate_nearby(mention, context) if context.options.same_county and kind in _NEARBY else None
    if context.options.generic_care_units and kind in ("HOSPITAL", "DEPARTMENT"):
        near = addresses.surrogate_care_unit(mention, context)
    return near or (_MAKERS[kind](mention, context) if kind in _MAKERS else None)


def profession_group(mention: str, language: str) -> str | None:
    """The name of the group, in the case of the mention; None if its words belong to no group or to several."""
    table = words(language)
    spoken = re.findall(r"[^\W\d_]+", fold(mention))
    groups = [
        group
        for group, known in table["professions"].items()
        if any(_same_work(word, profession) for word in spoken for profession in known)
    ]
    return in_case_of(table["profession_groups"][groups[0]], mention) if len(groups) == 1 else None


def _same_work(word: str, profession: str) -> bool:
    """Also plurals and compounds: nurses, schoolteacher, Grundschullehrerin."""
    return word in (profession, profession + "s", profession + "es") or (
        len(profession) >= 5 and word.endswith(profession)
    )


def kinship(mention: str, language: str) -> str | None:
    """The mention, if all its words are for members of a family; None if it may hold a name.

    Safe Harbor removes the names of relatives, not the fact that there was a mother. Words that are also names (Spanish
    `segundo`) count in small letters only. A language without a table has no such words.
    """
    table = words(language).get("relatives", {})
    always, in_small_letters = table.get("words", ()), table.get("in_small_letters", ())
    spoken = re.findall(r"\w+", mention)
    known = all(fold(word) in always or (word.islower() and fold(word) in in_small_letters) for word in spoken)
    return mention if spoken and known else None
