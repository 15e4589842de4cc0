"""Surrogates of a name that change from mention to mention, along a Markov chain.

    chain = Chain(choices, "110-01", changes=50)
    chain.next("ann hill")     the choices for the next mention of Ann Hill: of one of her four surrogates in this note

With one surrogate for each person, a single mention that was missed gives two names to one person, and one of them is
real. Where names change anyway, it does not show (Osborne et al., Electronics 2025). Theirs never come back; as a real
name does, a chain here moves between a few surrogates.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from phistack.ensemble.deidentification.keyed_choices import KeyedChoices

STATES = 4
"""How many surrogates a name has in a note at most."""


class Chain:
    """Where each name of a note is in its chain.

    :param choices: of the patient.
    :param note: its id.
    :param changes: in how many of 100 cases the next mention has another surrogate.
    """

    def __init__(self, choices: KeyedChoices, note: str, changes: int) -> None:
        self._choices, self._note, self._changes = choices, note, changes
        self._mentions: Counter[str] = Counter()
        self._states: defaultdict[str, int] = defaultdict(int)

    def next(self, identity: str) -> KeyedChoices:
        """The choices for the next mention of somebody."""
        at = ("name chain", self._note, identity, self._mentions[identity])
        if self._mentions[identity] and self._choices.number(100, *at) < self._changes:
            self._states[identity] += 1 + self._choices.number(STATES - 1, *at, "to")
        self._mentions[identity] += 1
        return self._choices.branch(self._note, self._states[identity] % STATES)
