"""Other tools that pip installs, each run in an environment of its own, so that nothing of ours is imported here.

    PEERS                                  what is measured, and how it is installed
    install(peer, Path("peers"))           the Python of its environment, made where it is missing
    python benchmarks/peers.py NAME NOTES  load the tool, run it once over a JSON list of texts, print a line of JSON

None of them learns from notes. Each is used as its own documentation does, in Spanish where it knows Spanish.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

_SECONDS_TO_INSTALL = 900.0
Finder = Callable[[str], int]
"""Runs a tool over a text; the number of spans that it found."""


@dataclass(frozen=True, slots=True)
class Peer:
    """One way to run one tool.

    :param name: as tables show it.
    :param package: the distribution on PyPI.
    :param version: the one that is measured.
    :param method: what it does, in a few words.
    :param load: makes the tool ready.
    """

    name: str
    package: str
    version: str
    method: str
    load: Callable[[], Finder]


def install(peer: Peer, folder: Path) -> Path:
    """Make the environment of a peer, if there is none yet.

    :param folder: holds the environments of all peers.
    :returns: its Python.
    :raises OSError: if it cannot be made.
    :raises subprocess.SubprocessError: if pip cannot install the package, or the tool cannot be loaded.
    """
    home = folder / f"{peer.package}-{peer.version}"
    python = home / "bin" / "python"
    if (home / "ready").exists():
        return python
    print(f"throughput: installing {peer.package} {peer.version} into {home}", file=sys.stderr)
    pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(home)],
        [*pip, f"{peer.package}=={peer.version}"],
        [str(python), __file__, peer.name, os.devnull],
    ):
        subprocess.run(command, check=True, timeout=_SECONDS_TO_INSTALL, stdout=subprocess.DEVNULL)
    (home / "ready").touch()
    return python


def _deduce() -> Finder:
    from deduce import Deduce

    tool = Deduce()
    return lambda text: len(tool.deidentify(text).annotations)


def _presidio(tokens: bool) -> Finder:
    """Presidio's recognisers for Spanish that need no model.

    :param tokens: whether a blank spaCy pipeline cuts the text into tokens, as Presidio needs to look at context words.
    """
    import spacy
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer.nlp_engine import NoOpNlpEngine, SpacyNlpEngine

    models = [{"lang_code": "es", "model_name": "blank"}]
    engine = SpacyNlpEngine(models=models) if tokens else NoOpNlpEngine(models)
    engine.nlp = {"es": spacy.blank("es")}
    registry = RecognizerRegistry(supported_languages=["es"])
    registry.load_predefined_recognizers(languages=["es"], nlp_engine=engine)
    tool = AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["es"])
    return lambda text: len(tool.analyze(text, language="es"))


def _scrubadub() -> Finder:
    from scrubadub import Scrubber

    tool = Scrubber()
    return lambda text: sum(1 for _ in tool.iter_filth(text))


def _stella() -> Finder:
    import stella_anonymize

    tool = stella_anonymize.create_pipeline(language="es")
    return lambda text: len(tool.redact_text(text).resolved_entities)


PEERS = (
    Peer("scrubadub", "scrubadub", "2.0.1", "7 patterns, English", _scrubadub),
    Peer("stella", "stella-anonymize-core", "3.0.7", "rules in Rust, Spanish", _stella),
    Peer("deduce", "deduce", "3.0.6", "rules and lookup lists, Dutch", _deduce),
    Peer("presidio", "presidio-analyzer", "2.2.366", "patterns and context, Spanish", lambda: _presidio(True)),
    Peer("presidio, no tokens", "presidio-analyzer", "2.2.366", "patterns alone, Spanish", lambda: _presidio(False)),
)


def _run(peer: Peer, notes: Path) -> dict[str, Any]:
    """One measurement, as `ensemble.experiments.speed` makes it for an engine."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    logging.disable(logging.ERROR)
    begin = time.process_time()
    find = peer.load()
    loaded = time.process_time()
    texts = json.loads(notes.read_text(encoding="utf-8") or "[]")
    started = time.process_time()
    found = sum(find(text) for text in texts)
    return {
        "version": metadata.version(peer.package),
        "notes": len(texts),
        "found": found,
        "seconds": time.process_time() - started,
        "load seconds": loaded - begin,
        "peak MB": _peak_memory_mb(),
    }


def _peak_memory_mb() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:"))


if __name__ == "__main__":
    chosen = next(peer for peer in PEERS if peer.name == sys.argv[1])
    print(json.dumps(_run(chosen, Path(sys.argv[2]))))
