"""How many planted misses the attack on a run's output (`phistack attack`) finds.

    python -m benchmarks.attack                      300 invented notes, 0.1, 1 and 5 % of their identifiers missed

All gold spans of invented notes but a random share get surrogates, and the attack looks for the rest. `marked` are the
places that two of the attacker's three models mark: how many of them are misses (precision), and how many of the misses
are among them (recall). `first rows` is the share of the misses in the first N rows of the list, for N misses, and in
the first 10 N. `left unmarked` is what Carrell et al. (2019) counted: their attacker read the text and took each
identifier that his model left unmarked for a miss; this was right for 211 of 402 (52 %), which were 68 % of the misses.
Here we assume that the reader overlooks nothing. A batch run would also search for repeats of what it found, and so
find some of the misses.

The second table is of names only, and assumes a reader who knows which names belong to one person (Osborne et al.
2025). With one surrogate for each person, a note is exposed if a person has a surrogate and a missed name, as both
cannot be surrogates. If names change, it is exposed if a missed name is more frequent than any surrogate. `broken` is
what this costs a reader: the share of repeated names whose mentions no longer agree.

The last line says for how many patients the words beside shifted dates narrow down the shift.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from benchmarks.running import run_main
from phistack.ensemble.batch.attack import Released, look_alikes, marked_in, parroted, ranked, shifts_left
from phistack.ensemble.deidentification import Deidentifier, PatientMemory, Policy, kind_of
from phistack.ensemble.deidentification.dates.recovery import MOST_DAYS
from phistack.ensemble.deidentification.memory import NAMED
from phistack.ensemble.engine.doubt import SafeText
from phistack.ensemble.evaluation.resampling import wilson
from phistack.ensemble.evaluation.tables import Table, TableRow, share
from phistack.ensemble.synthesis import synthesize
from phistack.features.documents import Corpus, Document, Span
from phistack.features.letters import normalised
from phistack.features.ranges import ranges_of, touching

KEY = b"8f3a5c1e9b7d2f4068acbd13579e2460"
_NAMES_BY = ("surrogate", "surrogate-changing")
COLUMNS = (
    "missed", "planted", "marked: precision", "marked: recall", "first rows: recall", "ten times as many",
    "left unmarked: recall", "left unmarked: precision",
)  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """A note with surrogates, and the identifiers that were left in it.

    :param missed: their places in the output.
    """

    released: Released
    missed: tuple[Span, ...] = field(repr=False)


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.attack", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--notes", type=int, default=300)
    parser.add_argument("--seed", type=int, default=70_001)
    parser.add_argument("--missed", type=float, nargs="+", default=[0.1, 1.0, 5.0], help="percent")
    parser.add_argument("--policy", default="surrogate")
    parser.add_argument("--names-only", action="store_true", help="the second table, which takes no training")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    gold = synthesize(arguments.notes, seed=arguments.seed)
    rows = [
        row(
            f"{missed:g} %", planted(gold, Policy.named(arguments.policy), missed / 100, arguments.seed), arguments.jobs
        )
        for missed in ([] if arguments.names_only else arguments.missed)
    ]
    title = f"{len(gold)} invented notes, policy {arguments.policy}"
    exposures = [exposure(gold, policy, missed, arguments.seed) for missed in arguments.missed for policy in _NAMES_BY]
    columns = ("missed", "policy", "notes with a miss", "notes exposed", "names broken")
    for table in (
        Table(COLUMNS, [rows], title, "with 95 % intervals"),
        Table(columns, [exposures], f"names in {len(gold)} invented notes", "with 95 % intervals", n_texts=2),
    )[bool(arguments.names_only) :]:
        Console(width=120).print(table)
    texts = [note.released for note in planted(gold, Policy.named(arguments.policy), 0.0, arguments.seed)]
    shifts = shifts_left(texts, gold.label_set.language)
    narrowed = sum(count for days, count in shifts.items() if days < 2 * MOST_DAYS)
    print(f"the shift of dates is narrowed down for {narrowed} of {shifts.total()} patients")


def planted(gold: Corpus, policy: Policy, missed: float, seed: int) -> list[Planted]:
    """The notes with surrogates, except for a random share of the identifiers that the policy changes."""
    deidentifier = Deidentifier(policy, gold.label_set, gold.label_set.language, KEY)
    rng = random.Random(f"{seed}/{missed}")
    return [
        _left(note, {s for s in deidentifier.must_go(note) if rng.random() < missed}, deidentifier)
        for note in gold.documents
    ]


def _left(note: Document, left: set[Span], deidentifier: Deidentifier) -> Planted:
    result = deidentifier.apply(note, [span for span in note.spans if span not in left])
    changes = result.replacements
    is_gone = touching(ranges_of(changes))

    def moved(span: Span) -> Span:
        before = [change for change in changes if change.span.end <= span.start]
        by = before[-1].end_in_output - before[-1].span.end if before else 0
        return span.moved(by)

    places = [(r.start_in_output, r.end_in_output, r.span.label, r.strategy) for r in changes]
    released = Released.of(Document(note.id, result.text, (), note.group), places)
    return Planted(released, tuple(moved(span) for span in sorted(left) if not is_gone(span.start, span.end)))


def row(name: str, notes: Sequence[Planted], jobs: int) -> TableRow:
    """What the attack finds."""
    texts = [note.released for note in notes]
    pools = parroted([text.document for text in texts], "en", "i2b2-2014", jobs=jobs)
    safe = SafeText.of(("en",))
    places = ranked([p for text, pool in zip(texts, pools, strict=True) for p in look_alikes(text, pool, safe)])
    missed = {(note.released.document.id, span) for note in notes for span in note.missed}
    hits = [{m for m in missed if m[0] == p.note and m[1].start < p.end and p.start < m[1].end} for p in places]
    marked = [hit for hit, place in zip(hits, places, strict=True) if place.is_marked]
    found = set().union(*marked)
    n = len(missed)
    unmarked = sum(
        not is_marked(span.start, span.end)
        for text, is_marked in zip(texts, map(marked_in, pools), strict=True)
        for span in text.document.spans
    )
    return (
        name,
        f"{n:,}",
        share(wilson(sum(map(bool, marked)), len(marked))),
        share(wilson(len(found), n)),
        *(share(wilson(len(set().union(*hits[:rows])), n)) for rows in (n, 10 * n)),
        share(wilson(n - len(found), n)),
        share(wilson(n - len(found), n - len(found) + unmarked)),
    )


def exposure(gold: Corpus, policy: str, missed: float, seed: int) -> TableRow:
    """How many notes give away a name with missed mentions, and what readers lose."""
    deidentifier = Deidentifier(Policy.named(policy), gold.label_set, gold.label_set.language, KEY)
    rng = random.Random(f"{seed}/{missed}")
    notes = [_named(note, deidentifier, missed / 100, rng) for note in gold.documents]
    several = [mentions for names in notes for mentions in names.agreeing.values() if len(mentions) > 1]
    exposed = sum(names.is_exposed(is_changing=bool(deidentifier.policy.options.name_changes)) for names in notes)
    broken = sum(len({*mentions}) > 1 for mentions in several)
    n_missed = sum(any(names.left.values()) for names in notes)
    figures = (wilson(n_missed, len(notes)), wilson(exposed, len(notes)), wilson(broken, len(several)))
    return (f"{missed:g} %", policy, *map(share, figures))


@dataclass(frozen=True)
class Names:
    """The names of a note.

    :param left: person -> the mentions that were missed.
    :param new: person -> the surrogates of the other mentions.
    :param agreeing: person and name -> the surrogates of all its mentions, if none is missed.
    """

    left: Mapping[str, Sequence[str]] = field(repr=False)
    new: Mapping[str, Sequence[str]] = field(repr=False)
    agreeing: Mapping[tuple[str, str], Sequence[str]] = field(repr=False)

    def is_exposed(self, *, is_changing: bool) -> bool:
        """Whether somebody who knows whether names change can tell a missed name."""
        if not is_changing:
            return any(self.new.get(person) for person, left in self.left.items() if left)
        repeats = Counter(surrogate for of_person in self.new.values() for surrogate in of_person)
        most = max(repeats.values(), default=0)
        return any(max(Counter(left).values()) > most for left in self.left.values() if left)


def _named(note: Document, deidentifier: Deidentifier, missed: float, rng: random.Random) -> Names:
    memory = PatientMemory()
    deidentifier.remember(memory, note, note.spans)
    result = deidentifier.apply(note, note.spans, memory)
    left, new, agreeing = (defaultdict[Any, list[str]](list) for _ in range(3))
    for change in result.replacements:
        kind = kind_of(change.span.label, deidentifier.label_set.name)
        if kind in NAMED and change.strategy == "surrogate":
            name = normalised(note.text[change.span.start : change.span.end])
            person = memory.identity(name, kind, deidentifier.language)
            surrogate = normalised(result.text[change.start_in_output : change.end_in_output])
            agreeing[person, name].append(surrogate)
            is_left = rng.random() < missed
            (left if is_left else new)[person].append(name if is_left else surrogate)
    return Names(left, new, agreeing)


if __name__ == "__main__":
    run_main(main)
