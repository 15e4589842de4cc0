import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import benchmarks.throughput as throughput
from benchmarks.peers import PEERS, Peer
from benchmarks.throughput import BEGIN, END, REFERENCE, markdown_of, run, table_of, updated
from features.documents import Document

NOTES = [Document("1", "Dr. Gorse came."), Document("2", "Rest.")]


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[..., Any]]:
    """Invented tools in place of ours and of those that pip installs; the value can be changed."""

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
    monkeypatch.setattr(throughput, "_engines", lambda model, documents: {"phistack": partial(measured, 75.0)})
    monkeypatch.setattr(throughput, "_peers", lambda folder, notes, failed: dict(found))
    return found  # type: ignore[return-value]


def test_ratios_are_to_the_reference(tools: dict[str, Callable[..., Any]]) -> None:
    results = run(NOTES, Path("engine"), Path("peers"), 3)
    assert {row["name"]: row["ratio"] for row in results["rows"]} == pytest.approx(
        {"phistack": 1.5, REFERENCE: 1.0, "other": 2.0}
    )
    assert results["not measured"] == {}
    console = Console(width=140, file=StringIO())
    console.print(table_of(results))
    assert "1.50" in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_tool_that_fails_is_reported_and_the_others_go_on(tools: Any) -> None:
    def fail() -> None:
        raise subprocess.CalledProcessError(1, "other")

    tools["other"] = fail
    results = run(NOTES, Path("engine"), Path("peers"), 2)
    assert [row["name"] for row in results["rows"]] == ["phistack", REFERENCE]
    assert list(results["not measured"]) == ["other"]


def test_a_tool_that_cannot_be_installed_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(peer: Any, folder: Any) -> None:
        raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(throughput, "_engines", lambda model, documents: {})
    monkeypatch.setattr(throughput, "install", fail)
    results = run(NOTES, Path("engine"), tmp_path, 1)
    assert results["rows"] == []
    assert set(results["not measured"]) == {peer.name for peer in PEERS}
    assert "cannot be installed" in results["not measured"]["deduce"]


def test_without_a_folder_of_peers_ratios_are_left_out(tools: dict[str, Callable[..., Any]]) -> None:
    results = run(NOTES, Path("engine"), None, 1)
    assert [(row["name"], row["ratio"]) for row in results["rows"]] == [("phistack", None)]


def test_a_measurement_of_a_tool_counts_what_it_found(tmp_path: Path) -> None:
    """The worker runs as a program of its own, as in the environment of a tool."""
    notes = tmp_path / "notes.json"
    notes.write_text(json.dumps([note.text for note in NOTES]), encoding="utf-8")
    code = (
        "import json, sys; from pathlib import Path; from benchmarks.peers import Peer, _run\n"
        "peer = Peer('words', 'numpy', '', '', lambda: lambda text: len(text.split()))\n"
        "print(json.dumps(_run(peer, Path(sys.argv[1]))))"
    )
    root = Path(throughput.__file__).parents[1]
    shown = subprocess.run([sys.executable, "-c", code, notes], capture_output=True, text=True, check=True, cwd=root)
    measured = json.loads(shown.stdout)
    assert (measured["notes"], measured["found"]) == (2, 4)
    assert measured["seconds"] > 0
    assert measured["peak MB"] > 1


def test_names_of_tools_are_unique_and_versions_pinned() -> None:
    assert len({peer.name for peer in PEERS}) == len(PEERS)
    assert all(isinstance(peer, Peer) and peer.version for peer in PEERS)


def test_the_table_of_the_manual_is_replaced_and_nothing_else(tools: dict[str, Callable[..., Any]]) -> None:
    results = run(NOTES, Path("engine"), Path("peers"), 1)
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    once = updated(page, markdown_of(results))
    assert once.startswith("before\n") and once.endswith("\nafter\n")
    assert "old" not in once
    assert "| other 1 | 100 |" in once
    assert updated(once, markdown_of(results)) == once
    with pytest.raises(SystemExit, match="markers"):
        updated("no markers", "")


def test_the_manual_has_the_markers() -> None:
    page = Path(throughput.__file__).parents[1] / "docs" / "speed.md"
    assert updated(page.read_text(encoding="utf-8"), "") != ""
