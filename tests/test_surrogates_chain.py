"""Surrogates of names that change between mentions along a Markov chain, as a setting of a policy."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from phistack.ensemble.deidentification import Deidentifier, Policy, PolicyOptions
from phistack.ensemble.deidentification.keyed_choices import STATES
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError
from phistack.features.labels import LabelSet

KEY = b"8f3a5c1e9b7d2f4068acbd13579e2460"


def surrogates(mentions: Sequence[str], changes: int, note: str = "7-01", key: bytes = KEY) -> list[str]:
    """What becomes of mentions of people, each on its own line of a note."""
    text, spans = "", []
    for mention in mentions:
        spans.append(Span(len(text), len(text) + len(mention), "DOCTOR"))
        text += mention + "\n"
    policy = Policy.named("surrogate")
    policy = replace(policy, options=replace(policy.options, name_changes=changes))
    document = Document(note, text, tuple(spans), "7")
    return Deidentifier(policy, LabelSet.named("i2b2-2014"), "en", key).apply(document, spans).text.splitlines()


def test_without_changes_a_name_has_one_surrogate() -> None:
    assert len({*surrogates(["Anselm Birchwood"] * 40, 0)}) == 1


def test_a_name_changes_at_each_mention_among_a_few_surrogates_and_comes_back() -> None:
    found = surrogates(["Anselm Birchwood"] * 60, 100)
    assert all(before != after for before, after in pairwise(found))
    assert len({*found}) == STATES and "Birchwood" not in "".join(found)


def test_half_the_mentions_change() -> None:
    found = surrogates(["Anselm Birchwood"] * 300, 50)
    changes = sum(before != after for before, after in pairwise(found))
    assert 117 < changes < 183, "of 299: within 3.8 standard deviations"


def test_the_parts_of_a_name_change_together_and_two_people_apart() -> None:
    found = surrogates(["Anselm Birchwood", "Birchwood"] * 60, 50)
    pairs = list(zip(found[::2], found[1::2], strict=True))
    together = sum(full.split()[1] == last for full, last in pairs)
    assert 15 < together < 45, "with the chance of no change, one half"
    both = surrogates(["Anselm Birchwood", "Ruby Kettering"] * 60, 50)
    moved = [[a != b for a, b in pairwise(one)] for one in (both[::2], both[1::2])]
    assert moved[0] != moved[1]


def test_the_key_and_the_note_decide_and_nothing_else() -> None:
    mentions = ["Anselm Birchwood"] * 30
    assert surrogates(mentions, 50) == surrogates(mentions, 50)
    assert surrogates(mentions[:10], 50) == surrogates(mentions, 50)[:10], "what follows has no influence"
    assert surrogates(mentions, 50) != surrogates(mentions, 50, note="7-02")
    assert surrogates(mentions, 50) != surrogates(mentions, 50, key=KEY[::-1])


def test_the_shipped_policy_has_it_and_a_share_beyond_100_is_refused() -> None:
    assert Policy.named("surrogate-changing").options.name_changes == 50
    with pytest.raises(SettingsError, match="name_changes must be a whole number from 0 to 100"):
        PolicyOptions(name_changes=101)
