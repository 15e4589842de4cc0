"""Names of people of many origins, and the forms in which notes write them.

    name = invent_name("de", "F", rng)       Name(first="Ayşe", surnames=("Yıldız",), origin="turkish")
    name.parts("formal", rng, {})            [("last", "Yıldız"), ("", ", "), ("first", "Ayşe")]
    invent_person("M", "test", rng, origin="korean").written("formal", rng)    with names that no training note has

The table `[origins]` of `templates/LANGUAGE/world.toml` says how frequent each origin is. An origin is `own` (the lists
`[names]` of the language), a locale of Faker, one of `templates/origins.toml`, which has names of languages in other
scripts as they are written in Europe, or `abroad`: one of the 29 of `templates/en/origins.toml`.

Forms are in `templates/forms.toml`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from string import Formatter
from typing import TYPE_CHECKING, Any

from phistack.ensemble.synthesis.grammar import expand
from phistack.ensemble.synthesis.templates import is_held_out, lexicon_of, lists_of, table
from phistack.features.letters import fold, without_accents

if TYPE_CHECKING:
    from faker import Faker

_SECOND = "ABCEFGHJKLMPRSTW"
_SUFFIXES = ("Jr.", "Jr", "Sr.", "III", "II", "IV")
_WORDLIKE, _EPONYM, _MIXED, _PLAIN, _CROSSED = 0.15, 0.05, 0.12, 0.35, 0.2


@dataclass(frozen=True, slots=True)
class Name:
    """A name.

    :param surnames: one, or as many as the language has.
    :param middle: an initial, or empty.
    :param nick: the name among friends; the first name if there is no shorter one.
    :param suffix: such as `Jr.`, or empty.
    :param turned: whether the full name is written with the surname first.
    """

    first: str = field(repr=False)
    surnames: tuple[str, ...] = field(repr=False)
    origin: str
    middle: str = field(default="", repr=False)
    nick: str = field(default="", repr=False)
    suffix: str = ""
    turned: bool = False

    @property
    def last(self) -> str:
        """All surnames."""
        return " ".join(self.surnames)

    def parts(self, form: str, rng: random.Random, forms: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
        """The name in one form, in parts `first`, `last` or `letters` with their text; separators have an empty part.

        :param form: empty for one of the usual ones; `upper`, `lower`, or another form with one of these and `_`
            before it.
        :param forms: those of the language, beside or instead of `templates/forms.toml`.
        """
        case, _, rest = form.partition("_")
        if case in ("upper", "lower"):
            return [(part, getattr(text, case)()) for part, text in self.parts(rest or "full", rng, forms)]
        known = {**table("forms"), **forms}
        turned = self.turned and form == "full"
        pattern = rng.choice(known["turned" if turned else form or "usual"])
        return list(self._filled(pattern, rng))

    def written(self, form: str, rng: random.Random, language: str = "en") -> str:
        """The text of `parts`, with the forms of a language."""
        return "".join(text for _, text in self.parts(form, rng, table(f"{language}/world").get("forms", {})))

    def _filled(self, pattern: str, rng: random.Random) -> Iterator[tuple[str, str]]:
        middle = f" {self.middle}." if self.middle and rng.random() < 0.6 else ""
        suffix = f"{rng.choice((', ', ' '))}{self.suffix}" if self.suffix and rng.random() < 0.6 else ""
        parts = {
            "first": ("first", self.first), "given": ("first", self.first + middle),
            "nick": ("first", self.nick or self.first),
            "f": ("first", self.first[0].upper()), "m": ("first", self.middle or rng.choice(_SECOND)),
            "genitive": ("first", self.first + ("" if self.first[-1] in "sxzß" else "s")),
            "last": ("last", self.last), "surname": ("last", self.surnames[0]), "family": ("last", self.last + suffix),
            "l": ("last", self.last[0].upper()), "letters": ("letters", _initials(self.last)),
        }  # fmt: skip
        if "{letters}" in pattern:  # all letters together are one mention
            yield "letters", pattern.format(**{name: text for name, (_, text) in parts.items()})
            return
        for before, name, case, _ in Formatter().parse(pattern):
            if before:
                yield "", before
            if name:
                part, text = parts[name]
                yield part, {"u": text.upper(), "p": plain(text)}.get(case or "", text)


def plain(text: str) -> str:
    """The letters and digits of a text in small letters without accents; `x` if it has none."""
    return "".join(sign for sign in fold(text) if sign.isascii() and sign.isalnum()) or "x"


def _initials(surname: str) -> str:
    """`vdB` of `van den Berg`, `B` of `Berg`."""
    particles, of_name = [], surname.split()
    while len(of_name) > 1 and of_name[0][0].islower():
        particles.append(of_name.pop(0)[0])
    return "".join(particles) + of_name[0][0].upper()


def invent_name(
    language: str, sex: str, rng: random.Random, lexicon: str = "whole", *, wordlike: float = _WORDLIKE
) -> Name:
    """A name of a woman (`F`) or man (`M`), of an origin as frequent as the language says.

    :param lexicon: one of `ensemble.synthesis.templates.LEXICONS`.
    :param wordlike: the share of first names, and of surnames, that are words, where the language lists such names.
    """
    world = table(f"{language}/world")
    origins = world["origins"]
    origin = rng.choices(list(origins), list(origins.values()))[0]
    name = _named(origin, sex, world, language, rng, lexicon)
    words = lists_of(f"{language}/world", "wordlike", lexicon)
    if words and rng.random() < wordlike:
        name = replace(name, first=rng.choice(words[sex]))
    if words and rng.random() < wordlike:
        name = replace(name, surnames=(rng.choice(words["last"]),))
    if (eponyms := lexicon_of(language, lexicon).get("lexicon_eponyms")) and rng.random() < _EPONYM:
        name = replace(name, surnames=(_drawn(lambda: rng.choice(eponyms).capitalize(), lexicon),))
    middle = rng.choice(_SECOND) if rng.random() < world.get("middle", 0) else ""
    suffix = rng.choice(_SUFFIXES) if sex == "M" and rng.random() < world.get("suffix", 0) else ""
    return replace(name, middle=middle, suffix=suffix)


def _named(origin: str, sex: str, world: Mapping[str, Any], language: str, rng: random.Random, lexicon: str) -> Name:
    if origin == "abroad":
        return invent_person(sex, lexicon, rng)
    n_surnames = world.get("surnames", 1) if origin == "own" or "_" in origin else 1
    if "_" in origin:
        faker = faker_of(origin, rng)
        given = faker.first_name_female if sex == "F" else faker.first_name_male
        surnames = tuple(_drawn(lambda: _surname(faker), lexicon) for _ in range(n_surnames))
        return Name(_drawn(given, lexicon), surnames, origin)
    lists = lists_of(*((f"{language}/world", "names") if origin == "own" else ("origins", origin)), lexicon)
    inside = lists_of(f"{language}/world", "inside", lexicon)
    first, *surnames_made = (
        "".join(map(str, expand(rng.choice(lists[key]), inside, rng))) for key in (sex, *("last",) * n_surnames)
    )
    return Name(first, tuple(surnames_made), origin)


def _drawn(draw: Callable[[], str], lexicon: str) -> str:
    """The first draw that the lexicon has, or the last of many, without the blanks that some have around them."""
    drawn = [draw().strip()]
    while lexicon != "whole" and is_held_out(drawn[-1]) != (lexicon == "test") and len(drawn) < 50:
        drawn.append(draw().strip())
    return drawn[-1]


def _surname(faker: Faker) -> str:
    # Dutch lists have some particles after the name: "Hoog, de".
    return " ".join(reversed(faker.last_name().split(", ")))


def faker_of(locale: str, rng: random.Random) -> Faker:
    """Faker of a locale, seeded by the next number of `rng`."""
    faker = _faker(locale)
    faker.seed_instance(rng.getrandbits(32))
    return faker


@cache
def _faker(locale: str) -> Faker:
    from faker import Faker

    return Faker(locale)


def invent_person(sex: str, lexicon: str, rng: random.Random, *, origin: str = "") -> Name:
    """A name of one of the 29 origins of `templates/en/origins.toml`.

    :param origin: of both names; if empty, drawn by the shares of the table, and some people get names of two origins.
    """
    origins: Mapping[str, Any] = table("en/origins")
    of_family = origin or rng.choices(list(origins), [rows["share"] for rows in origins.values()])[0]
    of_given = of_family if origin or rng.random() > _MIXED else rng.choice(list(origins))
    rows, key = origins[of_family], "female" if sex == "F" else "male"
    first = _crossed(lists_of("en/origins", of_given, lexicon)[key], lexicon, rng)
    last = _family(of_family, sex, rows, lexicon, rng)
    if rng.random() < _PLAIN:
        first, last = without_accents(first), without_accents(last)
    nick = rng.choice(table("en/nicknames").get(first, [first]))
    turned = rng.random() < rows.get("family_first", 0) and of_given == of_family
    return Name(first, (last,), of_family, nick=nick, turned=turned)


def _crossed(pool: Sequence[str], lexicon: str, rng: random.Random) -> str:
    """A name of a list or, in training, sometimes one crossed from two of its names, as no list is complete."""
    one = rng.choice(pool)
    if lexicon == "test" or rng.random() > _CROSSED:
        return one
    other = rng.choice(pool)
    crossed = one[: len(one) // 2 + 1] + other[len(other) // 2 + 1 :].lower()
    return crossed if crossed.isalpha() and len(crossed) > 3 and not is_held_out(crossed) else one


def _family(origin: str, sex: str, rows: Mapping[str, Any], lexicon: str, rng: random.Random) -> str:
    pool = lists_of("en/origins", origin, lexicon)["family"]
    one = _of_sex(_crossed(pool, lexicon, rng), sex, rows)
    return f"{one}{rng.choice(rows['joints'])}{rng.choice(pool)}" if rng.random() < rows.get("double", 0) else one


def _of_sex(family: str, sex: str, rows: Mapping[str, Any]) -> str:
    endings: Mapping[str, str] = rows.get("feminine", {}) if sex == "F" else {}
    for ending, of_woman in endings.items():
        if family.endswith(ending):
            return family.removesuffix(ending) + of_woman
    return family
