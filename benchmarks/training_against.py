"""`phistack train` of an older checkout beside ours: processor time by part, and F1 out of fold.

    comparison = compare(Path("../older"), Path("notes"), ["--jobs", "2"])
    for line in comparison.lines():
        print(line)                             the last line is `ratio R`: the older processor time over ours

Both are run as a user runs them, one after the other, with the same environment and arguments. The seconds of the whole
are those of the command and all of its processes; those of a part are what the training itself says. F1 is what the
bundle's manifest says.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_OURS = Path(__file__).resolve().parents[1]
_HOMES = ("phistack.ensemble.training.trainer", "phistack.ensemble.training")
"""Where the class `Training` is, or was."""


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """One training.

    :param cpu: processor seconds of the whole command.
    :param parts: processor seconds of `features`, each submodel with all of its folds, `stacker` and `load`.
    :param f1: strict, out of fold, of each submodel and the stack.
    """

    cpu: float
    parts: Mapping[str, float]
    f1: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TrainingComparison:
    """The same training with older code and with ours."""

    older: TrainingRun
    ours: TrainingRun

    @property
    def ratio(self) -> float:
        """Processor time of the older code over that of ours."""
        return self.older.cpu / self.ours.cpu

    def lines(self) -> Iterator[str]:
        """Both side by side; the last line is `ratio R`."""
        yield f"{'processor seconds':<20}{'older':>10}{'ours':>10}{'ratio':>8}"
        for name in sorted({**self.older.parts, **self.ours.parts}, key=lambda name: -self.older.parts.get(name, 0.0)):
            yield _row(name, self.older.parts.get(name, 0.0), self.ours.parts.get(name, 0.0))
        rest = [side.cpu - sum(side.parts.values()) for side in (self.older, self.ours)]
        yield _row("all else", *rest)
        yield _row("whole", self.older.cpu, self.ours.cpu)
        yield f"{'F1 out of fold':<20}{'older':>10}{'ours':>10}{'gain':>8}"
        for name in self.ours.f1:
            before, after = 100 * self.older.f1.get(name, float("nan")), 100 * self.ours.f1[name]
            yield f"{name:<20}{before:>10.2f}{after:>10.2f}{after - before:>+8.2f}"
        yield f"ratio {self.ratio:.2f}"


def _row(name: str, older: float, ours: float) -> str:
    return f"{name:<20}{older:>10.1f}{ours:>10.1f}{older / ours if ours > 0 else float('nan'):>8.2f}"


def compare(older: Path, corpus: Path, arguments: Sequence[str]) -> TrainingComparison:
    """Train with both.

    :param older: a checkout of phistack.
    :param corpus: annotated notes.
    :param arguments: of `phistack train`, but for the corpus and the bundle.
    """
    return TrainingComparison(run(older.resolve(), corpus, arguments), run(_OURS, corpus, arguments))


def run(checkout: Path, corpus: Path, arguments: Sequence[str]) -> TrainingRun:
    """Train with the code of a checkout; ends this process where that fails."""
    if not (checkout / "setup.cfg").is_file():
        sys.exit(f"training: {checkout} is no checkout of phistack, as it has no setup.cfg")
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    with tempfile.TemporaryDirectory() as temporary:
        parts, bundle = Path(temporary) / "parts.json", Path(temporary) / "engine"
        train = ["train", str(corpus.resolve()), "--model", str(bundle), *arguments]
        before = _processor_seconds_of_children()
        # `__file__` by its path, not by its name: the older checkout need not have it.
        command = [sys.executable, __file__, str(checkout), str(parts), *train]
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL)
        cpu = _processor_seconds_of_children() - before
        if done.returncode:
            sys.exit(f"training: `phistack train` of {checkout} failed")
        figures = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))["figures"]["strict"]
        f1 = {name: row["f1"] for name, row in figures.items()}
        return TrainingRun(cpu, json.loads(parts.read_text(encoding="utf-8")), f1)


def _processor_seconds_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _command_of(checkout: Path) -> tuple[str, str]:
    """The module and the function of the command `phistack`, as a checkout declares them."""
    declared = ConfigParser()
    declared.read(checkout / "setup.cfg", encoding="utf-8")
    scripts = declared["options.entry_points"]["console_scripts"].splitlines()
    target = next(line.partition("=")[2].strip() for line in scripts if line.partition("=")[0].strip() == "phistack")
    module, _, function = target.partition(":")
    return module, function


def _note_parts(path: Path) -> None:
    """Let each training that ends write down the processor seconds of its parts."""
    for home in _HOMES:
        try:
            training = importlib.import_module(home).Training
        except (ModuleNotFoundError, AttributeError):
            continue
        break
    else:
        sys.exit(f"training: the checkout has its training in none of {', '.join(_HOMES)}")
    begin = training.__init__

    def noting(self: Any, *args: Any, **named: Any) -> None:
        begin(self, *args, **named)
        cpu: dict[str, float] = {}
        for (name, _), spent in self.seconds.items():
            cpu[name] = cpu.get(name, 0.0) + spent.cpu
        path.write_text(json.dumps(cpu), encoding="utf-8")

    training.__init__ = noting


def _main() -> None:
    """In a process of its own: the command `phistack` of a checkout, which also writes the parts down."""
    checkout, parts, *arguments = sys.argv[1:]
    sys.path[0] = checkout
    module, function = _command_of(Path(checkout))
    _note_parts(Path(parts))
    sys.argv = ["phistack", *arguments]
    getattr(importlib.import_module(module), function)()


if __name__ == "__main__":
    _main()
