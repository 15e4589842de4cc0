"""The figures of a run: `summary.json`, and what `deidentify` returns.

    summary = deidentify(settings)
    summary.notes, summary.quarantined, summary.by_label["DOCTOR"]
    summary.to_dict()["PHI by label"]         as in the file

Counts are from the greatest to the smallest.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from phistack.ensemble.deidentification.policy import KEYED

SUMMARY, PAGE = "summary.json", "summary.html"
FEWEST_TO_ATTACK = 20
"""From fewer notes an attacker learns too little."""

KEYS = {
    "begun_on": "begun on",
    "tried_again": "quarantined, tried again by the same command",
    "with_phi": "notes with PHI",
    "by_engine": "notes by engine",
    "by_label": "PHI by label",
    "by_strategy": "PHI by strategy",
    "unread": "passages that no engine read, and words in doubt, replaced",
    "unresolved": "tagged as nothing else was possible",
    "by_reason": "quarantined by reason",
    "second_pass": "found by the second pass",
    "still_there": "identifiers still in the output",
    "known": "PHI known from the roster",
    "not_in_roster": "notes of patients not in the roster",
    "by_chance": "short identifiers, also by chance",
    "in_kept_columns": "identifiers in columns kept as they are",
    "equal_surrogates": "surrogates equal to another identifier",
    "drift": "unlike the notes of the certificate, p after Holm",
    "passed_over": "passed over",
    "words_to_review": "words to review",
    "log_end": "audit log ends with",
    "start": "this start",
}
"""Field -> its name in the file and on the page, where the two differ."""

CountsByName = Mapping[str, int]


class Start(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"notes": "notes of this start", "damaged_chunks": "chunks done again"},
):
    """What differs between the starts of a run.

    :param notes: how many notes this start handled.
    :param damaged_chunks: how many chunks of an earlier start were damaged and done again.
    """

    finished: str = ""
    notes: int = 0
    seconds: float = 0.0
    damaged_chunks: int = 0


class Summary(msgspec.Struct, frozen=True, kw_only=True, rename=KEYS, forbid_unknown_fields=True):
    """A finished run; `KEYS` says what most fields count.

    :param begun_on: the date, in UTC.
    :param engines: what is known of each engine, in words.
    :param quarantined: notes that were held back, for a reason in `by_reason`; tried_again: for a transient one.
    :param by_engine: notes that came out, if the run has several engines.
    :param by_label: PHI that was found; by_strategy: how it was treated; known: how much of it the roster has.
    :param unread: passages that were replaced whole, and words in doubt, by label.
    :param unresolved: PHI that was tagged because its strategy could not treat it.
    :param in_kept_columns: by column; the other counts of identifiers are by label.
    :param settings: the fingerprint of the run.
    """

    begun_on: str = ""
    engines: Mapping[str, str] = msgspec.field(default_factory=dict)
    notes: int
    quarantined: int
    tried_again: int = 0
    with_phi: int
    by_engine: CountsByName = msgspec.field(default_factory=dict)
    by_label: CountsByName
    by_strategy: CountsByName
    unread: CountsByName = msgspec.field(default_factory=dict)
    unresolved: int
    by_reason: CountsByName
    second_pass: CountsByName
    known: CountsByName = msgspec.field(default_factory=dict)
    not_in_roster: int = 0
    still_there: CountsByName
    by_chance: CountsByName = msgspec.field(default_factory=dict)
    in_kept_columns: CountsByName = msgspec.field(default_factory=dict)
    equal_surrogates: CountsByName = msgspec.field(default_factory=dict)
    drift: Mapping[str, float] = msgspec.field(default_factory=dict)
    input: str | None
    passed_over: CountsByName = msgspec.field(default_factory=dict)
    words_to_review: int
    settings: Mapping[str, Any]
    log_end: str = ""
    start: Start = Start()

    @property
    def n_left(self) -> int:
        """The number of places in the output where the checks found an identifier."""
        return sum(sum(counts.values()) for counts in (self.second_pass, self.still_there, self.in_kept_columns))

    @property
    def is_checked(self) -> bool:
        """Whether any note came out and the engine read the output."""
        return bool(self.settings.get("second pass")) and self.notes > self.quarantined

    @property
    def is_attackable(self) -> bool:
        """Whether there are surrogates among which `phistack attack` can search for what was missed."""
        return not self.by_strategy.keys().isdisjoint(KEYED) and self.notes - self.quarantined >= FEWEST_TO_ATTACK

    def to_dict(self) -> dict[str, Any]:
        """The summary as in the file."""
        reported: dict[str, Any] = msgspec.to_builtins(self)
        return reported


def read_summary(folder: Path) -> Summary | None:
    """The summary in a folder of reports; None if there is none that a run wrote."""
    try:
        return msgspec.json.decode((folder / SUMMARY).read_bytes(), type=Summary)
    except (OSError, ValueError, RecursionError):
        return None


def notices(summary: Summary) -> dict[str, int]:
    """What a user must know about a run that did all it could, with counts."""
    advice = "notes were held back because a process died or time ran out; the same command tries them again"
    return {**summary.passed_over, advice: summary.tried_again, KEYS["not_in_roster"]: summary.not_in_roster}
