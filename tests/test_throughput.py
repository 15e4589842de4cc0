import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import benchmarks.throughput as throughput
from benchmarks.checkouts import annotated
from benchmarks.peers import PEERS
from benchmarks.throughput import BEGIN, END, REFERENCE, ratios, run, table_of, updated
from phistack.ensemble.experiments.speed import Run
from phistack.features.documents import Document, Span

NOTES = [Document("1", "Dr. Gorse came."), Document("2", "Rest.")]


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[..., Any]]:
    """Invented tools in place of ours and of those that pip installs; tests may change the value."""

    def measured(speed: Any) -> Any:
        return {
            "version": "1",
            "aim": None,
            "notes": 2,
            "found": 3,
            "seconds": 2 / speed,
            "load seconds": 1,
            "peak MB": 9,
        }

    found = {REFERENCE: partial(measured, 50.0), "other": partial(measured, 100.0)}
    monkeypatch.setattr(
        throughput, "_engines", lambda model, documents, older=None: {"phistack crf": partial(measured, 75.0)}
    )
    monkeypatch.setattr(throughput, "_peers", lambda folder, notes, failed: dict(found))
    return found  # type: ignore[return-value]


def test_ratios_are_to_the_reference(tools: dict[str, Callable[..., Any]]) -> None:
    results = run(NOTES, Path("engine"), Path("peers"), 3)
    assert {row["name"]: row["ratio"] for row in results["rows"]} == pytest.approx(
        {"phistack crf": 1.5, REFERENCE: 1.0, "other": 2.0}
    )
    assert results["not measured"] == {}
    assert "| phistack crf 1 | 75 | 75-75 | 1.50 |" in "\n".join(table_of(results).markdown())


def test_a_tool_that_fails_is_reported_and_the_others_go_on(tools: Any) -> None:
    def fail() -> None:
        raise subprocess.CalledProcessError(1, "other")

    tools["other"] = fail
    results = run(NOTES, Path("engine"), Path("peers"), 2)
    assert [row["name"] for row in results["rows"]] == ["phistack crf", REFERENCE]
    assert list(results["not measured"]) == ["other"]


def test_a_tool_that_cannot_be_installed_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(peer: Any, folder: Any) -> None:
        raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(throughput, "_engines", lambda model, documents, older=None: {})
    monkeypatch.setattr(throughput, "install", fail)
    results = run(NOTES, Path("engine"), tmp_path, 1)
    assert results["rows"] == []
    assert set(results["not measured"]) == {peer.name for peer in PEERS}
    assert "cannot be installed" in results["not measured"]["deduce"]


def test_without_a_folder_of_peers_ratios_are_left_out(tools: dict[str, Callable[..., Any]]) -> None:
    results = run(NOTES, Path("engine"), None, 1)
    assert [(row["name"], row["ratio"]) for row in results["rows"]] == [("phistack crf", None)]


def test_a_measurement_of_a_tool_counts_what_it_found(tmp_path: Path) -> None:
    """The worker runs as a separate program, as in a tool's environment."""
    notes = tmp_path / "notes.json"
    notes.write_text(json.dumps([note.text for note in NOTES]), encoding="utf-8")
    code = (
        "import json, sys; from pathlib import Path; from benchmarks.peers import Peer, _run\n"
        "peer = Peer('words', 'numpy', '', '', lambda language: lambda text: [(0, 1, w) for w in text.split()])\n"
        "print(json.dumps(_run(peer, Path(sys.argv[1]), 'en')))"
    )
    root = Path(throughput.__file__).parents[1]
    shown = subprocess.run([sys.executable, "-c", code, notes], capture_output=True, text=True, check=True, cwd=root)
    measured = json.loads(shown.stdout)
    assert (measured["notes"], measured["found"]) == (2, 4)
    assert [len(of_note) for of_note in measured["spans"]] == [3, 1]
    assert measured["seconds"] > 0
    assert measured["peak MB"] > 1


def test_tools_have_names_versions_and_known_categories() -> None:
    assert len({peer.name for peer in PEERS}) == len(PEERS)
    categories = {"NAME", "AGE", "DATE", "LOCATION", "CONTACT", "ID"}
    assert all(peer.version and peer.languages and peer.claims and peer.claims <= categories for peer in PEERS)


def test_the_table_of_the_manual_is_replaced_and_nothing_else(tools: dict[str, Callable[..., Any]]) -> None:
    results = run(NOTES, Path("engine"), Path("peers"), 1)
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    once = updated(page, results)
    assert once.startswith("before\n") and once.endswith("\nafter\n")
    assert "old" not in once
    assert "| other 1 | 100 |" in once
    assert updated(once, results) == once
    with pytest.raises(SystemExit, match="markers"):
        updated("no markers", results)
    manual = (Path(throughput.__file__).parents[1] / "docs" / "speed.md").read_text(encoding="utf-8")
    assert manual.count(BEGIN) == manual.count(END) == 1


def test_the_last_line_says_how_fast_the_full_stack_is() -> None:
    def row(name: str, speed: float) -> dict[str, Any]:
        return {"name": name, "speed": {"median": speed}}

    fast = [row("phistack regex+tbed", 90.0), row("old regex+tbed", 45.0)]
    full = [row("phistack regex+tbed+crf+blstm", 60.0), row("old regex+tbed+crf+blstm", 20.0)]
    assert [*ratios({"older": "old", "rows": [*fast, *full, row(REFERENCE, 40.0)]})] == [
        "regex+tbed 2.25 x presidio, 2.00 x old",
        "full stack 1.50 x presidio, 3.00 x old",
    ]
    assert [*ratios({"older": "old", "rows": fast})] == ["regex+tbed 2.00 x old"]
    assert [*ratios({"older": None, "rows": fast})] == []


def test_accuracy_stands_beside_speed(tools: dict[str, Callable[..., Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine finds one of two names, and a word that is no name."""
    notes = [Document("1", "Dr. Gorse came.", (Span(4, 9, "DOCTOR"),)), Document("2", "Ann", (Span(0, 3, "PATIENT"),))]
    found = ((Span(4, 9, "DOCTOR"), Span(10, 14, "DOCTOR")), ())
    fast = Run(("regex", "tbed"), 2, 0.1, 0.5, 90.0, found)
    monkeypatch.undo()
    monkeypatch.setattr(throughput, "read_manifest", lambda model: {"kinds": {"regex": "", "tbed": ""}})
    monkeypatch.setattr(throughput, "measure_speed", lambda model, subset, documents: fast)
    (row,) = run(notes, Path("engine"), None, 1)["rows"]
    assert (row["F1"], row["recall"], row["found"]) == (0.5, 0.5, 2)
    assert "| 50.00 | 50.00 |" in "\n".join(table_of(run(notes, Path("engine"), None, 1)).markdown())


def test_an_older_checkout_annotates_with_its_own_code(tmp_path: Path) -> None:
    """A checkout with a small package: its output comes back, and nothing of ours is imported instead."""
    package = tmp_path / "older" / "ensemble"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "bundle.py").write_text(
        "class Engine:\n"
        "    def annotate(self, documents):\n"
        "        return [note.with_spans([(4, 9, 'DOCTOR')]) for note in documents]\n"
        "def load_bundle(path, *, only):\n"
        "    assert path.name == 'engine' and only == ['regex', 'tbed']\n"
        "    return Engine()\n"
    )
    features = tmp_path / "older" / "features"
    features.mkdir()
    (features / "__init__.py").touch()
    (features / "documents.py").write_text(
        "from collections import namedtuple\n"
        "Span = namedtuple('Span', 'start end label')\n"
        "class Document(namedtuple('Document', 'id text spans group')):\n"
        "    def with_spans(self, spans):\n"
        "        return self._replace(spans=[Span(*span) for span in spans])\n"
    )
    measured = annotated(tmp_path / "older", tmp_path / "engine", ("regex", "tbed"), NOTES, {})
    assert (measured["notes"], measured["spans"]) == (2, [[[4, 9, "DOCTOR"]], [[4, 9, "DOCTOR"]]])
    (package / "bundle.py").unlink()
    with pytest.raises(subprocess.CalledProcessError):
        annotated(tmp_path / "older", tmp_path / "engine", ("regex", "tbed"), NOTES, {})
