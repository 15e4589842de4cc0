"""The demonstration, with only its quickest submodel."""

import json
import re
import shutil
from pathlib import Path

import pytest

from phistack import load_bundle, read_corpus
from phistack.ensemble.bundles import shipped
from phistack.ensemble.tasks import demo
from phistack.features.errors import SettingsError

GOLDEN = Path(__file__).parent / "golden" / "bundle_protocol_2.zip"


def test_the_demonstration_leaves_what_its_docstring_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "_SUBMODELS", {"regex": {}})
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "engines")
    (tmp_path / "engines").mkdir()
    shutil.copy(GOLDEN, tmp_path / "engines" / "english.zip")
    out = tmp_path / "shown"
    demo.run_demo(out, n_documents=20, seed=1, jobs=1)
    shown = capsys.readouterr().out
    listed = {line.split()[0].rstrip("/") for line in (demo.__doc__ or "").splitlines() if line.startswith("    ")}
    assert {path.name for path in out.iterdir()} == listed
    scores = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    assert set(scores) == {"regex", "stack"}
    assert load_bundle(out / "engine").names == ("regex",)
    gold, found = read_corpus(out / "unseen"), read_corpus(out / "annotated")
    assert [d.text for d in gold.documents] == [d.text for d in found.documents]
    redacted = [(out / "redacted" / f"{d.id}.txt").read_text(encoding="utf-8") for d in found.documents]
    for document, text in zip(found.documents, redacted, strict=True):
        assert not any(document.text[s.start : s.end] in text for s in document.spans if s.end - s.start > 8)
    page = (out / "demo.html").read_text(encoding="utf-8")
    assert "phistack demo" in page and "http://" not in page.replace("http://www.w3.org", "")
    # What ships is shown before anything is trained.
    assert shown.index("3 notes that it never saw, by the engine english") < shown.index("Parkinson")
    assert shown.index("Parkinson") < shown.index("synthetic notes to train on") < shown.index("Done in")
    assert "Parkinson" in (out / "shipped.html").read_text(encoding="utf-8")
    with pytest.raises(SettingsError, match="already"):
        demo.run_demo(out, n_documents=20)


def test_without_an_engine_that_ships_the_demonstration_begins_with_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "_SUBMODELS", {"regex": {}})
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "engines")
    demo.run_demo(tmp_path / "shown", n_documents=20, jobs=1)
    assert re.match(r"1\d synthetic notes to train on", capsys.readouterr().out)
    assert not (tmp_path / "shown" / "shipped.html").exists()
