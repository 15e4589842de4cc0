"""Measure an older checkout of phistack: its own code annotates notes in a separate process.

    annotated(Path("../phistack-0.1"), Path("engine"), ("regex", "tbed"), documents)    speed, load, memory, spans
    python benchmarks/checkouts.py CHECKOUT MODEL NAMES NOTES                            the same as a line of JSON

This process imports nothing from the checkout, and the checkout's process imports nothing from here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phistack.features.documents import Document

_BUNDLES = ("ensemble/bundles/bundle.py", "ensemble/bundle.py")
"""Modules where `load_bundle` is or used to be."""

_FACE, _PARTS = "ensemble/face", ("features", "tbed", "submodels", "ensemble")
_SECONDS = 1800.0


def annotated(
    checkout: Path, model: Path, names: Sequence[str], documents: Sequence[Document], environment: Mapping[str, str]
) -> dict[str, Any]:
    """Annotate notes once with the code of a checkout, on one core.

    :param model: a bundle that the checkout can read, with a stacker for `names`.
    :param environment: environment variables of the process.
    :returns: `notes`, `seconds` of processor time, `load seconds`, `peak MB`, and `spans`: start, end and label of what
        was found in each note.
    :raises subprocess.SubprocessError: if the checkout fails.
    """
    with tempfile.TemporaryDirectory(prefix="phistack-") as folder:
        notes = Path(folder) / "notes.json"
        notes.write_text(json.dumps([(note.id, note.text, note.group) for note in documents]), encoding="utf-8")
        home = _importable(checkout.absolute(), Path(folder))
        command = [sys.executable, __file__, *map(str, (home, model.absolute(), ",".join(names), notes))]
        output = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, timeout=_SECONDS, cwd=folder,
            env={**os.environ, **environment, "PYTHONPATH": str(home)},
        ).stdout  # fmt: skip
    measured: dict[str, Any] = json.loads(output.splitlines()[-1])
    return measured


def _importable(checkout: Path, folder: Path) -> Path:
    """The folder to import from: the checkout, or one that links to its folders as parts of `phistack`."""
    if not (checkout / _FACE).exists():
        return checkout
    (folder / "phistack").mkdir()
    for part in (*(checkout / _FACE).iterdir(), *(checkout / name for name in _PARTS)):
        (folder / "phistack" / part.name).symlink_to(part)
    return folder


def _annotate(checkout: Path, model: Path, names: Sequence[str], notes: Path) -> dict[str, Any]:
    """One measurement, as `ensemble.experiments.speed` makes it."""
    sys.path[0] = str(checkout)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    begin = time.process_time()
    package = "phistack." if (checkout / "phistack").exists() else ""
    root = checkout / package.removesuffix(".")
    home = next(path for path in _BUNDLES if (root / path).exists())
    bundles = import_module(package + home.removesuffix(".py").replace("/", "."))
    if not Path(str(bundles.__file__)).is_relative_to(checkout):
        sys.exit(f"throughput: {bundles.__file__} was imported in place of what is in {checkout}")
    engine = bundles.load_bundle(model, only=names)
    loaded = time.process_time()
    document = import_module(f"{package}features.documents").Document
    documents = [document(id, text, (), group) for id, text, group in json.loads(notes.read_text(encoding="utf-8"))]
    started = time.process_time()
    spans = [note.spans for note in engine.annotate(documents)]
    seconds = time.process_time() - started
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return {
        "notes": len(documents),
        "seconds": seconds,
        "load seconds": loaded - begin,
        "peak MB": next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:")),
        "spans": [[(span.start, span.end, span.label) for span in of_note] for of_note in spans],
    }


if __name__ == "__main__":
    home, bundle, submodels, texts = sys.argv[1:]
    print(json.dumps(_annotate(Path(home).resolve(), Path(bundle), submodels.split(","), Path(texts))))
