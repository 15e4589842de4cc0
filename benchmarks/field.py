"""Every tool that pip installs, beside our engines, on notes that none of them was made from, in one run.

    python -m benchmarks.field --peers ~/.cache/phistack-peers                queries, hospital notes, MEDDOCAN dev
    python -m benchmarks.field --peers peers --docs                           and table and picture in docs

The notes: asq-phi-dev (English queries), the invented notes of `benchmarks.hospital_notes` (English, German, Spanish,
Dutch) and MEDDOCAN's dev part. Annotations that the policy safe-harbor changes must go; a stretch that touches only an
annotation that may stay, such as a year, is neither right nor wrong. *Claimed* counts only identifiers of the
categories that a tool claims to find. Each tool reads only languages that it knows, at its documented settings. Speed
is notes per second of processor time, with one thread, without loading; MB is what pip installs, with dependencies.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from importlib import metadata
from pathlib import Path

from rich.console import Console

from benchmarks.hospital_notes.notes import corpus_of, invented
from benchmarks.markdown import replaced
from benchmarks.measuring import CORPORA, ROOT
from benchmarks.peers import PEERS, Peer, install
from benchmarks.reached import ALL, Tally, changed_stretches
from benchmarks.running import run_main
from benchmarks.throughput import run_peer
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.deidentification import Deidentifier, Policy
from phistack.ensemble.evaluation.resampling import Measure
from phistack.ensemble.evaluation.tables import Table, percent, share
from phistack.ensemble.experiments.pictures import BLUE, GREY, INK, PALE, picture
from phistack.ensemble.experiments.speed import this_machine
from phistack.features.documents import Corpus
from phistack.features.formats import read_corpus
from phistack.features.ranges import Range, ranges_of, touching

_POLICY = Policy.named("safe-harbor")
_ENGINES = {"en": "english", "de": "german", "es": "spanish", "nl": "dutch"}
_QUERIES, _MEDDOCAN = "queries", "MEDDOCAN dev"
_OF_QUERIES = {"NAME": "NAME", "DATE": "DATE", "GEOGRAPHIC_LOCATION": "LOCATION"}
_OF_QUERIES |= dict.fromkeys(("EMAIL_ADDRESS", "FAX_NUMBER", "PHONE_NUMBER", "IP_ADDRESS"), "CONTACT")
"""Label of the queries -> category; all other labels are numbers."""
_BEGIN, _END = "<!-- field: written by python -m benchmarks.field --docs -->", "<!-- /field -->"
_COLUMNS = ("notes", "tool", "touched", "claimed", "covered", "right", "clean changed", "lost ‰", "notes/s", "MB")


@dataclass(frozen=True)
class Notes:
    """A corpus in one language; `name` is the one in tables."""

    name: str
    language: str
    gold: Corpus

    def category(self, label: str) -> str:
        """The category of a label of the corpus."""
        if self.name == _QUERIES:
            return _OF_QUERIES.get(label, "ID")
        return self.gold.label_set.category(label)

    def row(self, tool: str, stretches: Sequence[Sequence[Range]], claims: frozenset[str] | None) -> list[str]:
        """The row of a tool; `None` claims everything."""
        deidentifier = Deidentifier(_POLICY, self.gold.label_set, self.language)
        tally, clean = Tally(), []
        for note, found in zip(self.gold.documents, stretches, strict=True):
            must_go = deidentifier.must_go(note)
            wanted, marked = touching(ranges_of(must_go)), touching(ranges_of(note.spans))
            judged = [one for one in found if wanted(*one) or not marked(*one)]
            own = {s: [("claimed", "")] for s in must_go if claims is None or self.category(s.label) in claims}
            tally.add(note, must_go, judged, own=own)
            clean += [] if note.spans else [bool(judged)]
        figures = tally.figures()
        everything, claimed = figures[ALL], figures.get(("claimed", ""))
        lost = f"{1000 * everything.lost.value:.1f}" if everything.lost else ""
        changed = percent(sum(clean) / len(clean)) if clean else ""
        cells = (everything.touched, claimed and claimed.touched, everything.covered, everything.right)
        return [self.name, tool, *map(_shown, cells), changed, lost]


def _shown(measure: Measure | None) -> str:
    return "" if measure is None else share(measure).plain


def corpora(folder: Path, number: int, seed: int) -> Iterator[Notes]:
    """All corpora to measure on; missing ones are left out."""
    for name, language, path in (
        ("queries", "en", folder / "asq-phi-dev"),
        ("MEDDOCAN dev", "es", folder / "meddocan/dev"),
    ):
        if path.is_dir():
            yield Notes(name, language, read_corpus(path, accept_unknown_labels=True))
    for language in _ENGINES:
        yield Notes(f"hospital notes, {language}", language, corpus_of(invented(language, number, seed=seed), language))


def _ours(notes: Notes, engines: Path | None, meddocan: Path) -> list[str]:
    name = "trained on train" if notes.name == _MEDDOCAN else _ENGINES[notes.language]
    bundle = engines / f"{name}.zip" if engines else bundle_path(name)
    engine = load_bundle(meddocan if notes.name == _MEDDOCAN else bundle)
    plain = [document.with_spans(()) for document in notes.gold.documents]
    begin = time.process_time()
    stretches = changed_stretches(engine, plain, _POLICY)
    speed = len(plain) / (time.process_time() - begin)
    return [*notes.row(f"phistack {name}", stretches, None), f"{speed:.0f}", f"{_our_size():.0f}"]


def _theirs(notes: Notes, peer: Peer, python: Path, texts: Path) -> list[str]:
    texts.write_text(json.dumps([document.text for document in notes.gold.documents]), encoding="utf-8")
    measured = run_peer(peer, python, texts, notes.language)
    stretches = [[(start, end) for start, end, _ in of_note if start < end] for of_note in measured["spans"]]
    speed, size = measured["notes"] / measured["seconds"], _size(python.parent.parent / "lib")
    return [*notes.row(f"{peer.name} {peer.version}", stretches, peer.claims), f"{speed:.0f}", f"{size:.0f}"]


def draw(sections: Sequence[Sequence[Sequence[str]]], svg: Path) -> None:
    """Draw what each tool touches, and how much of what it changes is right, in a panel for each corpus.

    :param sections: the rows of each corpus, as in the table.
    """
    sections = [rows for rows in sections if rows]
    with tempfile.TemporaryDirectory(prefix="phistack-") as folder:
        title = "Identifiers touched, and share right of what was changed (percent)"
        with picture(Path(folder), "field", title, size=(9, 2.8 * -(-len(sections) // 3))) as figure:
            panels = figure.subplots(-(-len(sections) // 3), 3, squeeze=False, sharex=True, sharey=True).ravel()
            for axes in panels[len(sections) :]:
                axes.set_axis_off()
            for axes, rows in zip(panels, sections, strict=False):
                axes.set(title=rows[0][0], xlim=(0, 103), ylim=(50, 103))
                axes.grid(color=PALE, linewidth=0.6)
                places = sorted((float(row[2].split()[0]), float(row[5].split()[0]), row[1]) for row in rows)
                for number, (x, y, tool) in enumerate(places):
                    ours = tool.startswith("phistack")
                    style = {"fontsize": 7, "color": BLUE if ours else INK, "ha": "right" if x > 50 else "left"}
                    axes.plot(x, y, "o", color=BLUE if ours else GREY)
                    # Names of neighbouring points alternate above and below.
                    offset = (-5 if x > 50 else 4, 4 if ours or number % 2 == 0 else -10)
                    name = tool if ours else tool.rsplit(" ", 1)[0]
                    axes.annotate(name, (x, y), textcoords="offset points", xytext=offset, **style)
            figure.supxlabel("touched", fontsize=9)
            figure.supylabel("right", fontsize=9)
        shutil.copy(Path(folder) / "field.svg", svg)


def _size(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def _our_size() -> float:
    """The size of phistack and all its dependencies, without extras, in MB."""
    names, todo, size = set[str](), ["phistack"], 0
    while todo:
        name = todo.pop().lower().replace("_", "-")
        if name in names:
            continue
        names.add(name)
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        files = [Path(str(file.locate())) for file in found.files or ()]
        size += sum(file.stat().st_size for file in files if file.is_file())
        needed = (one for one in found.requires or () if "extra ==" not in one)
        todo += [match[0] for one in needed if (match := re.match(r"[\w.-]+", one))]
    source = sum(_size(ROOT / part) for part in ("features", "tbed", "submodels", "ensemble"))
    return size / 1e6 + source


def main() -> None:
    """Parse the arguments, measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, help="folder of the tools' environments; without it they are left out")
    parser.add_argument("--engines", type=Path, help="folder of our engines, if not those that ship")
    parser.add_argument(
        "--meddocan", type=Path, default=ROOT / "meddocan_output" / "engine",
        help="our engine for MEDDOCAN dev, of which that which ships has learned; as `make meddocan` trains it",
    )  # fmt: skip
    parser.add_argument("--corpora", type=Path, default=CORPORA)
    parser.add_argument("--notes", type=int, default=400, help="invented hospital notes for each language")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--docs", action="store_true", help="write docs/engines.md and docs/field.svg")
    arguments = parser.parse_args()
    sections = []
    with tempfile.TemporaryDirectory(prefix="phistack-") as folder:
        for notes in corpora(arguments.corpora, arguments.notes, arguments.seed):
            rows = []
            if notes.name == _MEDDOCAN and not arguments.meddocan.exists():
                print(
                    f"field: ours was not measured on {notes.name}: there is no {arguments.meddocan}", file=sys.stderr
                )
            else:
                rows.append(_ours(notes, arguments.engines, arguments.meddocan))
            for peer in PEERS if arguments.peers else ():
                if notes.language not in peer.languages or peer.name == "presidio, no tokens":
                    continue
                try:
                    python = install(peer, arguments.peers.expanduser().resolve())
                    rows.append(_theirs(notes, peer, python, Path(folder) / "texts.json"))
                except (OSError, subprocess.SubprocessError) as error:
                    print(
                        f"field: {peer.name} was not measured on {notes.name}: {type(error).__name__}", file=sys.stderr
                    )
            sections.append(rows)
    note = f"{date.today()}; {this_machine()['processor']}; hospital notes of seed {arguments.seed}"
    table = Table(_COLUMNS, sections, "Tools beside each other", f"{note}; 95 % bootstrap intervals by note", 2)
    Console(width=180).print(table)
    if arguments.docs:
        page = ROOT / "docs" / "engines.md"
        lines = "\n".join([*table.markdown(), "", f"{note}.", ""])
        where = "field: docs/engines.md"
        draw(sections, page.with_name("field.svg"))
        page.write_text(replaced(page.read_text(encoding="utf-8"), _BEGIN, _END, lines, where=where), encoding="utf-8")


if __name__ == "__main__":
    run_main(main)
