"""The candidates of many notes as arrays, with their rivals and repeats.

    pool = CandidateArrays(tables, pools, ("regex", "crf"))
    pool.score["crf"]                               (n_candidates,), the candidates of all notes end to end
    pool.best_rival(pool.score["crf"], "overlap")   the best score of those of the same type that overlap

A rival of a candidate shares a character with it; a repeat has the same text elsewhere in the note. The notes are
joined by line breaks, so candidates of different notes never overlap. Rivals are stored as pairs, because they are few;
repeats, which may be many, are only grouped.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from phistack.ensemble.stacking.candidates import Pools, Tables
from phistack.features.arrays import Floats, Integers, Integers32

RIVALS: Mapping[str, tuple[bool, bool]] = {
    "other type": (True, False),
    "overlap": (False, True),
    "overlap, other type": (False, False),
}
"""Kind of rival -> whether it has the same span and whether it has the same type."""


class CandidateArrays:
    """The candidates of some notes, those of each sorted by span; arrays of shape `(n_candidates,)`, except for tokens.

    :ivar text: of all notes.
    :ivar token_starts: where the tokens of all notes begin in it; `token_ends` where they end.
    :ivar note: the index of the candidate's note.
    :ivar start: where the candidate begins in `text`; `end` where it ends.
    :ivar labels: label -> its number.
    :ivar label: the number of the candidate's label.
    :ivar chosen: source -> 1 where the submodel chose the candidate, otherwise 0.
    :ivar score: source -> the submodel's score; 0 where it did not propose the candidate.
    :ivar times: how many submodels chose it.
    :ivar mean_score: the mean of the scores of all submodels.
    """

    def __init__(self, tables: Tables, pools: Pools, sources: Sequence[str]) -> None:
        texts = [table.document.text for table in tables]
        begins = np.cumsum([0, *(len(text) + 1 for text in texts)])[:-1]
        candidates = [candidate for pool in pools for candidate in pool]
        self.text = "\n".join(texts)
        self.token_starts = _end_to_end([table.offsets[0] for table in tables], begins)
        self.token_ends = _end_to_end([table.offsets[1] for table in tables], begins)
        self.note = np.repeat(np.arange(len(tables)), _numbers(len(pool) for pool in pools))
        self.start = begins[self.note] + _numbers(candidate.span.start for candidate in candidates)
        self.end = begins[self.note] + _numbers(candidate.span.end for candidate in candidates)
        self.labels: dict[str, int] = {}
        self.label = _numbers(self.labels.setdefault(c.span.label, len(self.labels)) for c in candidates)
        votes = [{vote.source: (float(vote.chosen), vote.score) for vote in one.votes} for one in candidates]
        # (n_candidates, n_sources, 2): whether each submodel chose the candidate, and its score.
        rows = [[of_one.get(source, (0.0, 0.0)) for source in sources] for of_one in votes]
        values = np.array(rows, float).reshape(len(candidates), len(sources), 2)
        self.chosen = {source: values[:, i, 0] for i, source in enumerate(sources)}
        self.score = {source: values[:, i, 1] for i, source in enumerate(sources)}
        self.times: Floats = values[:, :, 0].sum(axis=1)
        self.mean_score: Floats = values[:, :, 1].sum(axis=1) / len(sources)

    def __len__(self) -> int:
        return len(self.note)

    @cached_property
    def any_chosen(self) -> Floats:
        """1 where a submodel chose the candidate, otherwise 0."""
        return (self.times > 0).astype(np.float64)

    @cached_property
    def overlapping(self) -> tuple[Integers, Integers]:
        """All ordered pairs of different candidates that share a character."""
        # Those that overlap a candidate and begin no earlier come right after it in the order of starts.
        number_after = self.start.searchsorted(self.end) - np.arange(len(self)) - 1
        first = np.repeat(np.arange(len(self)), number_after)
        ordinal = np.arange(len(first)) - np.repeat(np.cumsum(number_after) - number_after, number_after)
        second = first + 1 + ordinal
        return np.concatenate([first, second]), np.concatenate([second, first])

    @cached_property
    def rivals(self) -> dict[str, tuple[Integers, Integers]]:
        """The pairs of `overlapping` by the kinds of `RIVALS`."""
        a, b = self.overlapping
        same_span = (self.start[a] == self.start[b]) & (self.end[a] == self.end[b])
        same_label = self.label[a] == self.label[b]
        agreeing = {kind: (same_span == span) & (same_label == label) for kind, (span, label) in RIVALS.items()}
        return {kind: (a[pairs], b[pairs]) for kind, pairs in agreeing.items()}

    def best_rival(self, values: Floats, kind: str) -> Floats:
        """The largest value among the rivals of a kind; 0 without any."""
        return self._best_over(self.rivals[kind], values)

    def best_of_rivals(self, values: Floats) -> Floats:
        """The largest value among the rivals of any kind; 0 without any."""
        return self._best_over(self.overlapping, values)

    def _best_over(self, pairs: tuple[Integers, Integers], values: Floats) -> Floats:
        candidates, others = pairs
        best = np.zeros(len(self))
        np.maximum.at(best, candidates, values[others])
        return best

    @cached_property
    def span_groups(self) -> Integers:
        """Equal for candidates of the same span."""
        return _groups(zip(self.start.tolist(), self.end.tolist(), strict=True))

    @cached_property
    def label_groups(self) -> Integers:
        """Equal for candidates of one note and type."""
        return self.note * len(self.labels) + self.label

    @cached_property
    def mention_groups(self) -> Integers:
        """Equal for candidates of one note with the same text, ignoring case."""
        places = zip(self.note.tolist(), self.start.tolist(), self.end.tolist(), strict=True)
        return _groups((note, self.text[start:end].lower()) for note, start, end in places)

    @cached_property
    def mention_and_label_groups(self) -> Integers:
        """Equal for candidates of one note whose text and type are the same."""
        return _groups(zip(self.mention_groups.tolist(), self.label.tolist(), strict=True))

    def best_repeat(self, values: Floats) -> Floats:
        """The largest value among the repeats of the same type; 0 without any."""
        return _best_of_others(self.mention_and_label_groups, values)

    def best_repeat_of_other_type(self, values: Floats) -> Floats:
        """The largest value among the repeats of other types; 0 without any."""
        groups = self.mention_and_label_groups
        best, mentions = np.zeros(len(self)), np.zeros(len(self), dtype=np.int64)
        np.maximum.at(best, groups, values)
        mentions[groups] = self.mention_groups
        n_groups = int(groups.max(initial=-1)) + 1
        return _best_of_others(mentions[:n_groups], best[:n_groups])[groups]

    def sum_over(self, groups: Integers, values: Floats) -> Floats:
        """The sum of the values of each candidate's group."""
        sums = np.zeros(int(groups.max(initial=-1)) + 1)
        np.add.at(sums, groups, values)
        return sums[groups]

    def has_label(self, label: str) -> Floats:
        """1 for candidates of a type, otherwise 0."""
        found: Floats = (self.label == self.labels.get(label, -1)).astype(np.float64)
        return found

    @cached_property
    def tokens(self) -> tuple[Integers, Integers]:
        """The first token that a candidate touches, and the token after the last."""
        first = self.token_ends.searchsorted(self.start, side="right")
        return first, np.maximum(self.token_starts.searchsorted(self.end), first)

    @property
    def n_tokens(self) -> Integers:
        """How many tokens the candidate touches."""
        first, last = self.tokens
        return last - first

    def tokens_among(self, words: Collection[str]) -> Integers:
        """How many of the tokens that a candidate touches are among some words, ignoring case."""
        first, last = self.tokens
        depth = np.zeros(len(self.token_starts) + 1, dtype=np.int64)
        np.add.at(depth, first, 1)
        np.add.at(depth, last, -1)
        covered = np.flatnonzero(np.cumsum(depth))
        places = zip(self.token_starts[covered].tolist(), self.token_ends[covered].tolist(), strict=True)
        found = np.zeros(len(depth), dtype=np.int64)
        found[covered + 1] = [self.text[start:end].lower() in words for start, end in places]
        number_before = np.cumsum(found)
        return number_before[last] - number_before[first]


def _best_of_others(groups: Integers, values: Floats) -> Floats:
    """For each item the largest value, at least 0, among the others of its group; 0 without any."""
    order = np.lexsort((values, groups))
    ordered = groups[order]
    is_best = np.append(ordered[1:] != ordered[:-1], True)[: len(order)]
    has_second = is_best & np.append(False, ordered[1:] == ordered[:-1])[: len(order)]
    best = np.zeros(len(order))
    best[ordered[is_best]] = values[order[is_best]]
    found = best[groups]
    found[order[is_best]] = 0.0
    found[order[has_second]] = values[order[np.flatnonzero(has_second) - 1]]
    return found


def _groups(keys: Iterable[Hashable]) -> Integers:
    numbers: dict[Hashable, int] = {}
    return _numbers(numbers.setdefault(key, len(numbers)) for key in keys)


def _numbers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, dtype=np.int64)


def _end_to_end(offsets: Sequence[Integers32], begins: Integers) -> Integers:
    """Offsets in each note as offsets in all of them end to end."""
    parts = [begin + some for begin, some in zip(begins, offsets, strict=True)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])
