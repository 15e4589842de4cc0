"""Attack a build as a user's worst day would, and print one table of what it cost.

    python -m benchmarks.faults                                       everything, in some minutes
    python -m benchmarks.faults --kills 20 --inputs 10000             less of it
    python -m benchmarks.faults --engine ENGINE                       with your own engine

kills      batch runs and their workers are killed at random moments
inputs     mutated corpora, tables and bundles are read
texts      texts that nobody writes, in two lengths; a note of 20 MB
disguises  identifiers with signs and markup between and inside their words, read by the English engine
commands   commands that once let PHI out, hung, crashed or misled
spellings  identifiers that a roster or list knows, with signs and markup in them and in other spellings

Ends with status 1 if anything was lost, held back, differing, foreign, quoted or too slow.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.faults.by_engines import KNOWN_TO_BE_LEFT, disguised, mixtures
from benchmarks.faults.commands import CASES, wrong_commands
from benchmarks.faults.inputs import read_mutated
from benchmarks.faults.kills import Losses, huge_note, kill_runs, kill_workers
from benchmarks.faults.spellings import LISTED, MARKUPS, SIGNS, cases_of, in_clear, spelt_cases, unlisted
from benchmarks.growth import TEXTS, growth_of_texts
from benchmarks.running import run_main
from phistack.ensemble.bundles.files import read_manifest

_MOST_GROWTH = 1.1
_SIGNS = {f"{len(SIGNS)} separators": SIGNS, f"{len(MARKUPS)} markups": MARKUPS}

Result = tuple[str, str, bool]
"""A line of the table: the attack, its result, and whether that is a failure."""


def main() -> None:
    """Parse the arguments, attack, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="half of them of runs, half of workers")
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--texts", type=int, default=200_000, help="characters of the longer texts; 0 for none")
    parser.add_argument("--mixtures", type=int, default=8, help="notes of each engine with passages in other languages")
    parser.add_argument("--no-commands", dest="commands", action="store_false", help="leave out the commands")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--engine", type=Path, help="a bundle of English notes; otherwise a small one is trained")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="phistack-faults-") as folder:
        engine = arguments.engine or _small_engine(Path(folder))
        read_manifest(engine)  # Anything but a bundle is refused before it is unpacked.
        if engine.suffix == ".zip":
            shutil.unpack_archive(engine, Path(folder) / "unpacked")
            engine = Path(folder) / "unpacked"
        print("| attack | what came of it |  |\n|---|---|---|")
        is_wrong = False
        for attack, found, wrong in _attacks(arguments, engine.resolve(), Path(folder)):
            print(f"| {attack} | {found} | {'WRONG' if wrong else 'as it must be'} |", flush=True)
            is_wrong |= wrong
    sys.exit(is_wrong)


def _small_engine(folder: Path) -> Path:
    """An engine of three submodels, trained on invented notes."""
    from phistack.ensemble.bundles.bundle import save_bundle
    from phistack.ensemble.bundles.self_test import self_test
    from phistack.ensemble.synthesis import synthesize
    from phistack.ensemble.training.settings import EngineSettings
    from phistack.ensemble.training.trainer import train

    settings = EngineSettings(submodels={"regex": {}, "tbed": {}, "crf": {"max_iterations": 20}}, folds=2)
    engine = train(synthesize(30, seed=1), settings).engine
    save_bundle(engine, folder / "engine", self_test=self_test(engine), trained_on={}, figures={})
    return folder / "engine"


def _attacks(arguments: argparse.Namespace, engine: Path, folder: Path) -> Iterator[Result]:
    if arguments.kills:
        yield _killed("runs", kill_runs, engine, folder, arguments.kills - arguments.kills // 2)
        yield _killed("workers", kill_workers, engine, folder, arguments.kills // 2)
    if arguments.inputs:
        yield from _inputs(engine, arguments.inputs, arguments.jobs)
    if arguments.texts:
        yield from _texts(engine, arguments.texts)
        yield _huge(engine, folder)
    for form, n, left in mixtures(arguments.mixtures) if arguments.mixtures else ():
        yield f"passages in other languages, {form}", f"{left} of {n} came out in clear", bool(left)
    if arguments.commands:
        wrong = list(wrong_commands())
        facts = f"{len(wrong)} came out otherwise" + "".join(f"; {case}" for case in wrong)
        yield f"{len(CASES)} commands that failed before", facts, bool(wrong)
    for name, signs in _SIGNS.items():
        for place, n, cases in disguised(signs):
            facts = f"{len(cases)} of {n} in clear" + "".join(f"; {case}" for case in cases[:5])
            yield f"{name}, {place} of identifiers, by engine", facts, not KNOWN_TO_BE_LEFT.issuperset(cases)
    yield from _by_roster_or_list()


def _by_roster_or_list() -> Iterator[Result]:
    for name, signs in _SIGNS.items():
        cases = list(cases_of(signs))
        yield _left(f"{name} in {len(cases)} identifiers, by roster", in_clear(cases))
    cases = list(spelt_cases())
    yield _left(f"{len(cases)} other spellings of names, by roster", in_clear(cases))
    yield _left(f"{len(LISTED)} phrases of a list", unlisted())


def _left(attack: str, left: list[str]) -> Result:
    return attack, f"{len(left)} in clear", bool(left)


def _killed(of: str, attack: Callable[..., Losses], engine: Path, folder: Path, kills: int) -> Result:
    work = folder / of
    work.mkdir()
    losses = attack(engine, work, kills=kills)
    wrong = bool(losses.lost or losses.held_back or losses.differing)
    stopped = f" ({losses.stopped} resumed after an error)" if losses.stopped else ""
    found = (
        f"{losses.runs} runs came to their end{stopped}; {losses.lost} notes lost, {losses.held_back} held back, "
        f"{losses.differing} outputs differ"
    )
    return f"{losses.kills} kills of {of}", found, wrong


def _inputs(engine: Path, n_inputs: int, jobs: int) -> Iterator[Result]:
    tally, found = read_mutated(engine, n_inputs, jobs=jobs)
    wrong = [what for what in ("foreign", "canary", "hang") if tally[what]]
    facts = ", ".join(f"{tally[what]:,} {what}" for what in ("read", "refused", "foreign", "canary", "hang"))
    yield f"{n_inputs:,} mutated inputs", facts, bool(wrong)
    for line in found[:20]:
        yield "", line, True


def _texts(engine: Path, longest: int) -> Iterator[Result]:
    from phistack.ensemble.bundles.bundle import load_bundle

    for grown in growth_of_texts(load_bundle(engine), TEXTS, longest // 10, longest):
        found = f"{grown.short:.2f} s and {grown.long:.2f} s: {grown.times * grown.ratio:.1f} times"
        yield f"{grown.name}, {longest // 1000} kB for {longest // 10_000}", found, grown.ratio > _MOST_GROWTH


def _huge(engine: Path, folder: Path) -> Result:
    work = folder / "huge"
    work.mkdir()
    held_back, written, seconds = huge_note(engine, work)
    facts = f"{held_back} held back, {written} written, {seconds:.0f} s"
    return "a note of 20 MB beside five others", facts, (held_back, written) != (1, 5)


if __name__ == "__main__":
    run_main(main)
