"""`phistack sample`: notes to read, and the bound that reading them gives."""

import re
from pathlib import Path

from phistack.ensemble.batch.sampling import draw
from tests.fixture_types import Phistack


def test_notes_that_came_out_are_drawn(phistack: Phistack, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for number in range(12):
        text = "Seen by Dr. Birchwood for chest pain; she was sent home." if number else "Пациентка поступила с болью."
        (tmp_path / "notes" / f"{number}.txt").write_text(text, encoding="utf-8")
    status, _, error = phistack("deidentify", tmp_path / "notes", tmp_path / "out", "--model", "english")
    assert status == 3 and "1 of 12 notes are in quarantine" in error
    status, shown, error = phistack("sample", tmp_path / "out", "--notes", "5")
    assert status == 0, error
    assert "5 of the 11 notes that came out" in shown and "If none has one, at most 45.07 %" in shown
    drawn = [line for line in shown.splitlines() if re.fullmatch(r"\d+(\.txt)?", line)]
    assert len(set(drawn)) == 5 and not {"0", "0.txt"} & set(drawn)
    assert phistack("sample", tmp_path / "out", "--notes", "5")[1] == shown
    assert draw(tmp_path / "out", 5, seed=1) != draw(tmp_path / "out", 5, seed=0)
    assert len(draw(tmp_path / "out", 50).sample) == 11
    assert phistack("sample", tmp_path / "out", "--notes", "5", "--list", tmp_path / "read.tsv")[0] == 0
    assert (tmp_path / "read.tsv").read_text(encoding="utf-8").count("\n") == 5
    status, _, error = phistack("sample", tmp_path / "notes")
    assert status == 1 and "is not the output of a finished run" in error
