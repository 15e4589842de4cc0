"""A surrogate for a mention of any kind, or nothing.

    surrogate("PERSON", "Smith, Ann", context)    "Porter, Eve"
    surrogate("OTHER", "the twins", context)      nothing: it will be tagged

No surrogate equals its original: what does is made again with other choices, a few times. One that equals another
identifier of the note is given up and not made again, as the other notes of the patient would have another then; where
all notes of the patient are known, it is made again.
Nothing is ever left as it was because no surrogate could be found.
"""

from __future__ import annotations

from collections.abc import Callable

from phistack.ensemble.deidentification.codes.contacts import (
    surrogate_email,
    surrogate_phone,
    surrogate_url,
    surrogate_username,
)
from phistack.ensemble.deidentification.codes.identifiers import surrogate_identifier
from phistack.ensemble.deidentification.context import Context
from phistack.ensemble.deidentification.dates.ages import surrogate_age
from phistack.ensemble.deidentification.dates.shift import offset, shift_dates
from phistack.ensemble.deidentification.names.surrogate import surrogate_name
from phistack.ensemble.deidentification.places.addresses import surrogate_address, surrogate_place, surrogate_street
from phistack.ensemble.deidentification.places.cities import (
    surrogate_city,
    surrogate_country,
    surrogate_postcode,
    surrogate_state,
)
from phistack.ensemble.deidentification.places.nearby import surrogate_nearby
from phistack.ensemble.deidentification.places.organisations import (
    surrogate_care_unit,
    surrogate_department,
    surrogate_hospital,
    surrogate_organisation,
    surrogate_room,
)
from phistack.ensemble.deidentification.professions import profession_group
from phistack.features.letters import normalised

_TRIES = 8
_MAY_MEET = ("DATE", "AGE")


def surrogate(kind: str, mention: str, context: Context) -> str | None:
    """Another mention of the same kind.

    :param kind: one of `ensemble.deidentification.kinds.KINDS`.
    :returns: nothing where none can be made: the mention cannot be read, the kind has no surrogates, or the choice is
        an identifier of the note.
    """
    maker = _MAKERS.get(kind)
    core = mention.strip()
    if maker is None or not core:
        return None
    for _ in range(_TRIES):
        new = maker(core, context)
        if new is None:
            return None
        said = normalised(new)
        if said and said != normalised(core):
            known = context.memory
            if said not in known.identifiers or (known.complete and kind in _MAY_MEET):
                return mention.replace(core, new)
            if not known.complete:
                return None
        context = context.next()
    return None


def _near(maker: Callable[[str, Context], str | None]) -> Callable[[str, Context], str | None]:
    """The maker of places, after that of places of the same county where the options ask for them."""
    return lambda mention, context: (
        (surrogate_nearby(mention, context) if context.options.same_county else None) or maker(mention, context)
    )


def _unit(maker: Callable[[str, Context], str | None]) -> Callable[[str, Context], str | None]:
    """The maker of hospitals and departments, after that of generic care units where the options ask for them."""
    return lambda mention, context: (
        (surrogate_care_unit(mention, context) if context.options.generic_care_units else None)
        or maker(mention, context)
    )


def _shifted(mention: str, context: Context) -> str | None:
    days = offset(context.choices, context.options)
    return shift_dates(mention, days, context.language, context.day_first, context.memory.latest_year)


_MAKERS: dict[str, Callable[[str, Context], str | None]] = {
    "PERSON": surrogate_name,
    "INITIALS": surrogate_name,
    "USERNAME": surrogate_username,
    "PROFESSION": lambda mention, context: profession_group(mention, context.language),
    "DATE": _shifted,
    "AGE": surrogate_age,
    "PHONE": surrogate_phone,
    "EMAIL": surrogate_email,
    "URL": surrogate_url,
    "ID": surrogate_identifier,
    "STREET": _near(surrogate_street),
    "CITY": _near(surrogate_city),
    "STATE": surrogate_state,
    "ZIP": surrogate_postcode,
    "COUNTRY": surrogate_country,
    "PLACE": _near(surrogate_place),
    "ADDRESS": _near(surrogate_address),
    "HOSPITAL": _unit(surrogate_hospital),
    "ORGANIZATION": surrogate_organisation,
    "DEPARTMENT": _unit(surrogate_department),
    "ROOM": surrogate_room,
}
