import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.tasks.annotating import Source, annotate_corpus
from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.errors import CorpusError
from phistack.features.formats import read_corpus, write_corpus
from tests.annotated import corpus_of
from tests.fixture_types import Phistack

SECRET = "Zzyzxsecret"
QUICK = ("--submodels", "regex,crf", "--folds", 2, "--jobs", 1)


def _corpus(n: int = 8, name: str = "Gorse") -> Any:
    notes = (f"Seen by Dr. [{name}{'abcdefghij'[i]}|DOCTOR] on [0{i + 1}/12/2019|DATE] at ward {i}." for i in range(n))
    return corpus_of(*notes, first=200)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A folder with notes and an engine."""
    folder = tmp_path_factory.mktemp("cli")
    write_corpus(_corpus(), folder / "notes", format="i2b2")
    train_bundle(_corpus(), folder / "engine", EngineSettings(folds=2).only(("regex", "crf")))
    return folder


def _one_sentence(error: Any) -> Any:
    lines = [line for line in error.splitlines() if line.startswith("phistack: ")]
    assert len(lines) == 1
    assert "Traceback" not in error
    return lines[0]


def test_annotate_does_not_load_what_only_other_commands_need(home: Any, tmp_path: Path) -> None:
    arguments = ["phistack", "annotate", *map(str, (home / "notes", tmp_path / "out", "--model", "english"))]
    code = f"import sys; sys.argv = {arguments!r}\nfrom phistack.ensemble.command_line.app import main\n"
    code += "try: main()\nfinally: print(*(name for name in sys.modules if name.startswith('phistack.')))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = shown.splitlines()[-1].split()
    rooms = ("evaluation", "experiments", "papers", "synthesis", "training", "batch", "command_line.batch")
    others = ("submodels.blstm.training", "tbed.learner", "ensemble.stacking.known.roster")
    for unwanted in (*(f"ensemble.{room}" for room in rooms), *others):
        assert not [name for name in loaded if name.startswith(f"phistack.{unwanted}")]
    assert len(loaded) <= 170


def test_annotate_keeps_every_note_and_its_text(phistack: Phistack, home: Any, tmp_path: Path) -> None:
    model = ("--model", home / "engine")
    status, shown, _ = phistack("annotate", home / "notes", tmp_path / "out", *model, "--to", "jsonl")
    assert (status, shown.split()[0]) == (0, "8")
    before, after = read_corpus(home / "notes"), read_corpus(tmp_path / "out")
    assert [(d.id, d.text) for d in before.documents] == [(d.id, d.text) for d in after.documents]


def test_plain_text_is_annotated_as_brat(phistack: Phistack, home: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("Seen by Dr. Gorsea on 05/12/2019.", encoding="utf-8")
    assert phistack("annotate", tmp_path / "in", tmp_path / "out", "--model", home / "engine")[0] == 0
    assert "DOCTOR 12 18" in (tmp_path / "out" / "a.ann").read_text()


def test_explain_shows_offsets_and_text_only_if_asked(phistack: Phistack, home: Any, tmp_path: Path) -> None:
    status, shown, _ = phistack("explain", home / "notes", "--model", home / "engine")
    assert status == 0
    assert "DOCTOR" in shown
    assert "Gorse" not in shown
    page = tmp_path / "why.html"
    status, shown, _ = phistack("explain", home / "notes", "--model", home / "engine", "--text", "--html", page)
    assert status == 0
    assert "Gorsea" in shown
    assert "Gorsea" in page.read_text(encoding="utf-8")


def test_convert_maps_labels(phistack: Phistack, home: Any, tmp_path: Path) -> None:
    arguments = ("--to", "jsonl", "--map-labels", "nut")
    assert phistack("convert", home / "notes", tmp_path / "notes.jsonl", *arguments)[0] == 0
    assert {span.label for d in read_corpus(tmp_path / "notes.jsonl").documents for span in d.spans} == {"Name", "Date"}


def _spoiled(folder: Any, name: Any) -> Any:
    """A corpus with a fault, by its name."""
    folder.mkdir()
    path = folder / "300-01.xml"
    good = f"<deIdi2b2><TEXT><![CDATA[Dr. {SECRET}]]></TEXT><TAGS>{{}}</TAGS></deIdi2b2>"
    tag = '<NAME id="P0" start="{}" end="{}" text="{}" TYPE="{}" comment=""/>'
    faults = {
        "malformed": good.format("")[:-3],
        "external entity": f'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>{good.format("")}',
        "billion laughs": f'<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;">]>{good.format("")}',
        "offsets beyond": good.format(tag.format(4, 99, SECRET, "DOCTOR")),
        "unknown label": good.format("".join(tag.format(4, 15, SECRET, t) for t in ("DOCTOR", "PATIENT", "WIZARD"))),
        "encoding": good.format("").encode("utf-16"),
    }
    text = faults[name]
    path.write_bytes(text if isinstance(text, bytes) else text.encode())  # type: ignore[attr-defined]
    return folder


@pytest.mark.parametrize(
    "name", ["malformed", "external entity", "billion laughs", "offsets beyond", "unknown label", "encoding"]
)
@pytest.mark.parametrize("command", ["train", "annotate", "convert", "evaluate"])
def test_a_bad_file_gets_one_sentence_without_text_and_nothing_is_written(
    phistack: Phistack, home: Any, tmp_path: Path, command: Any, name: Any
) -> None:
    if command == "annotate" and name in ("unknown label", "offsets beyond"):
        pytest.skip("annotate does not read the spans of its input")
    bad, out = _spoiled(tmp_path / "bad", name), tmp_path / "out"
    arguments = {
        "train": (bad, "--model", out),
        "annotate": (bad, out, "--model", home / "engine"),
        "convert": (bad, out, "--to", "brat"),
        "evaluate": (bad, bad, "--json", out),
    }
    status, shown, error = phistack(command, *arguments[command])
    assert status == 1
    assert SECRET not in shown + error
    assert _one_sentence(error)
    assert [entry.name for entry in tmp_path.iterdir()] == ["bad"]


def test_an_empty_corpus_and_a_missing_one(phistack: Phistack, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for source in (tmp_path / "empty", tmp_path / "none"):
        status, _, error = phistack("train", source, "--model", tmp_path / "engine")
        assert status == 1
        assert str(source) in _one_sentence(error)


def test_gold_and_system_with_other_text_cannot_be_compared(phistack: Phistack, home: Any, tmp_path: Path) -> None:
    write_corpus(_corpus(name=SECRET), tmp_path / "other", format="i2b2")
    status, shown, error = phistack("evaluate", home / "notes", tmp_path / "other")
    assert status == 1
    assert "200-01" in _one_sentence(error)
    assert SECRET not in shown + error


def test_nothing_is_overwritten(phistack: Phistack, home: Any, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("keep")
    status, _, error = phistack("annotate", home / "notes", tmp_path / "out", "--model", home / "engine")
    assert status == 1
    assert _one_sentence(error)
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == ["mine"]


def test_an_unforeseen_error_tells_its_place_and_not_its_message(
    phistack: Phistack, home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any, **options: Any) -> None:
        raise KeyError(SECRET)

    monkeypatch.setattr("phistack.ensemble.tasks.annotating.explain_corpus", fail)
    status, shown, error = phistack("explain", home / "notes", "--model", home / "engine")
    assert status == 70
    assert "KeyError in test_tasks.py" in _one_sentence(error)
    assert SECRET not in shown + error


def test_notes_are_written_as_they_are_annotated_and_appear_whole_or_not_at_all(
    home: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [json.dumps({"id": f"n{i}", "text": f"Seen by Dr. Gorse{i} on 05/12/2019."}) for i in range(600)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    engine, seen = load_bundle(home / "engine"), []
    read = type(engine).read

    def watched(self: Any, documents: Any, *, traced: bool = False) -> Any:
        for number, reading in enumerate(read(self, documents, traced=traced)):
            parts = [path.stat().st_size for path in tmp_path.glob(".*.part")]
            seen.append((sum(parts), (tmp_path / "out.jsonl").exists()))
            if number == limit:
                raise CorpusError("stopped")
            yield reading

    monkeypatch.setattr(type(engine), "read", watched)
    limit = 500
    with pytest.raises(CorpusError, match="stopped"):
        annotate_corpus(Source(tmp_path / "in.jsonl"), tmp_path / "out.jsonl", engine)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
    limit = 1000
    written = annotate_corpus(Source(tmp_path / "in.jsonl"), tmp_path / "out.jsonl", engine)
    assert (written.notes, written.held_back, len(read_corpus(tmp_path / "out.jsonl"))) == (600, {}, 600)
    assert seen[-1][0] > 0 and not any(there for _, there in seen), "most was written before the last note was read"


def test_annotate_gives_label_studio_predictions_with_scores_that_every_command_reads(
    phistack: Phistack, home: Any, tmp_path: Path
) -> None:
    tasks = tmp_path / "tasks.json"
    assert phistack("annotate", home / "notes", tasks, "--model", home / "engine")[0] == 0
    found = json.loads(tasks.read_text("utf-8"))
    scores = [region["score"] for task in found for region in task["predictions"][0]["result"]]
    assert scores and all(0 < score <= 1 for score in scores) and not any("annotations" in task for task in found)
    assert phistack("convert", tasks, tmp_path / "out.jsonl", "--to", "doccano")[0] == 0
    assert phistack("convert", tmp_path / "out.jsonl", tmp_path / "cas", "--to", "inception")[0] == 0
    spans = [read_corpus(path).documents for path in (tasks, tmp_path / "out.jsonl", tmp_path / "cas")]
    assert spans[0] == spans[1] == spans[2]
    status, shown, _ = phistack("evaluate", tmp_path / "cas", tasks)
    assert status == 0 and "100.0" in shown


def test_ids_that_repeat_stop_annotate_before_it_begins(phistack: Phistack, home: Any, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": "1", "text": "Dr. Gorsea"}\n' * 2)
    status, _, error = phistack("annotate", tmp_path / "in.jsonl", tmp_path / "out", "--model", home / "engine")
    assert (status, "1 document ids occur more than once, the first is 1" in error) == (1, True)
    assert "annotating" not in error and not (tmp_path / "out").exists()
