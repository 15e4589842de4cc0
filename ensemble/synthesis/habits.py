"""How the templates of a language write PHI in a context: the kind, role and form of a label's next mention.

    habits = habits_of("en")
    habits.drawn("DOCTOR", around("Seen by Dr. [DOCTOR], RN", 12, 20), rng)    Placeholder("DOCTOR", "", "last")
    habits.drawn("PHONE", around("ext. [PHONE]", 5, 12), rng)                  Placeholder("EXTENSION")

A context is up to two words before and one after in the line, PHI as its label in brackets, and the case of the line.
The longest context that occurs in templates usually decides; the rarer it is there, the likelier a shorter one decides,
down to all mentions of the label, as in the interpolation of Witten and Bell (1991).
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from phistack.ensemble.synthesis.grammar import Placeholder, TemplatePiece, expand
from phistack.ensemble.synthesis.marked_text import Style
from phistack.ensemble.synthesis.notes import NoteWriter
from phistack.ensemble.synthesis.patients import PEOPLE, invent_patient
from phistack.ensemble.synthesis.scene import PARTS, Scene
from phistack.ensemble.synthesis.templates import table

_TAG = re.compile(r"\[\w[\w-]*\]")
_TOKEN = re.compile(rf"{_TAG.pattern}|[^\W\d]+|\d+|[^\w\s]")
_DOUBT = 1.0
"""How many mentions in one context weigh as much as all in a shorter one."""

Context = tuple[str, str, str, str]
"""Case (`upper`, `lower`, `mixed`), two words before, one after (`\\n` at an end of the line); empty for any."""
_NOTHING: Context = ("", "", "", "")


@dataclass(frozen=True, slots=True)
class Habits:
    """Label and context -> all placeholders that templates have there."""

    slots: Mapping[tuple[str, Context], Sequence[Placeholder]]

    def drawn(self, label: str, contexts: Sequence[Context], rng: random.Random) -> Placeholder | None:
        """A random placeholder that the label has in a context.

        :param contexts: the longest first, as from `around`.
        :returns: None if no template has the label.
        """
        for context in contexts:
            known = self.slots.get((label, context), ())
            if known and (context == _NOTHING or rng.random() * (len(known) + _DOUBT) < len(known)):
                return rng.choice(known)
        return None

    def formed(self, slot: Placeholder, label: str, contexts: Sequence[Context], rng: random.Random) -> Placeholder:
        """A placeholder; if it leaves its form open, in a form that its label has in a context."""
        drawn = None if slot.form else self.drawn(label, contexts, rng)
        fits = drawn is not None and (drawn.kind == slot.kind or {drawn.kind, slot.kind} <= PEOPLE.keys())
        return replace(slot, form=drawn.form) if drawn and fits else slot


def around(text: str, start: int, end: int) -> Sequence[Context]:
    """The contexts of a part of a text, the longest first; other PHI appears there as its label in brackets."""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    left, right = text[first:start], text[end : last if last >= 0 else None]
    words = _TAG.sub("", left + right)
    case = "upper" if words.isupper() else "lower" if words.islower() else "mixed"
    further, before = ["\n", "\n", *_read(left)][-2:]
    after = [*_read(right), "\n"][0]
    contexts = (further, before, after), ("", before, after), (further, before, ""), ("", before, ""), ("", "", "")
    return [(of_case, *words_around) for words_around in contexts for of_case in (case, "")]


def _read(text: str) -> list[str]:
    """The words and signs of a text, numbers as one."""
    return [
        token if token.startswith("[") else "0" if token.isdecimal() else token.casefold()
        for token in _TOKEN.findall(text)
    ]


@cache
def habits_of(language: str) -> Habits:
    """The habits of a language's templates, each template once."""
    slots: defaultdict[tuple[str, Context], list[Placeholder]] = defaultdict(list)
    tagged: dict[Placeholder, list[tuple[str, Placeholder | None]]] = {}
    for pieces, scene in _expanded(language):
        text, mentions = "", []
        for piece in pieces:
            if isinstance(piece, Placeholder) and piece not in tagged:
                tagged[piece] = _tagged(piece, scene)
            for written, slot in [(piece, None)] if isinstance(piece, str) else tagged[piece]:
                mentions += [(len(text), len(text + written), slot)] if slot else []
                text += written
        for start, end, slot in mentions:
            for context in around(text, start, end):
                slots[text[start + 1 : end - 1], context].append(slot)
    return Habits(dict(slots))


def _expanded(language: str) -> Iterator[tuple[list[TemplatePiece], Scene]]:
    """Each template with everything but its PHI chosen, and a scene for it."""
    seen: set[str] = set()
    for number, (note_type, recipe) in enumerate(table(f"{language}/note_types").items()):
        patient, rng = invent_patient(number, seed=0, language=language), random.Random(note_type)
        writer = NoteWriter.begun(patient, note_type, patient.first_visit, rng, Style(), recipe.get("once", ()))
        templates = [*recipe["titles"]]
        for part in recipe["parts"]:
            templates += [*part.get("lead", ()), *part["headings"], *(one.text for one in writer.pool(part["pool"]))]
        for template in dict.fromkeys(templates):
            if "[[" in template and template not in seen:
                seen.add(template)
                yield expand(template, writer.words, rng), writer.scene


def _tagged(slot: Placeholder, scene: Scene) -> list[tuple[str, Placeholder | None]]:
    """The pieces of a mention, each with its label in brackets; parts of a name are slots, those of an address not.

    A date without a form gets that of its label, which would otherwise change from one mention to the next.
    """
    labels: Mapping[str, str] = scene.patient.world["labels"]
    parts = {labels[part]: one.form for part, one in PARTS.items() if part in labels}
    written = scene.pieces(slot)
    is_open = slot == Placeholder("DATE", slot.role) and "date" in labels
    whole = not is_open and len({label for _, label in written} - {""}) == 1

    def slot_of(label: str) -> Placeholder | None:
        return slot if whole else replace(slot, form=parts[label]) if label in parts else None

    return [(f"[{label}]", slot_of(label)) if label else (text, None) for text, label in written]
