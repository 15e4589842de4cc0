from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.training.fit_tasks import FoldCache
from phistack.ensemble.training.settings import EngineSettings
from phistack.ensemble.training.trainer import propose
from phistack.features.documents import Span
from phistack.submodels.base import Candidate, NoteProposals

CANDIDATE = Candidate(Span(3, 8, "DOCTOR"), "tbed", 0.9, False, 'rule 1: O -> B-DOCTOR if word[0] = "secret"')
PROPOSED = [NoteProposals([CANDIDATE]), NoteProposals([]), NoteProposals([CANDIDATE], np.array([0.1, 1 / 3, 1e-17]))]


def test_candidates_come_back_and_no_word_of_a_rule_is_kept(tmp_path: Path) -> None:
    cache = FoldCache(tmp_path / "folds")
    cache.put("key", PROPOSED)
    again = cache.get("key")
    assert again is not None and [note.candidates for note in again] == [note.candidates for note in PROPOSED]
    assert [None if note.residual is None else note.residual.tolist() for note in again] == [
        None,
        None,
        [0.1, 1 / 3, 1e-17],
    ]
    assert [path.name for path in cache.folder.iterdir()] == ["key.json"]
    assert "secret" not in (cache.folder / "key.json").read_text()


def test_a_process_in_another_folder_keeps_them_in_the_same_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fitting process may have started before the folder was changed."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    cache = FoldCache(Path("folds"))
    monkeypatch.chdir(tmp_path / "elsewhere")
    cache.put("key", PROPOSED)
    assert (tmp_path / "folds" / "key.json").exists()


def test_what_is_in_a_file_that_settings_name_counts_and_not_its_name(tmp_path: Path) -> None:
    path = tmp_path / "crosses.txt"
    settings = replace(EngineSettings(folds=2), submodels={"crf": {"templates": str(path), "max_iterations": 2}})
    cached = []
    for content in ("word[0]", "word[0]\nshape[0]", "word[0]"):
        path.write_text(content)
        proposed = propose(synthesize(4, seed=1), settings, cache=tmp_path / "folds")
        cached.append([spent.cached for spent in proposed.seconds.values()])
    assert cached == [[False, False], [False, False], [True, True]]


def test_a_damaged_file_and_an_absent_one_count_as_nothing(tmp_path: Path) -> None:
    cache = FoldCache(tmp_path)
    (tmp_path / "key.json").write_text("[[[")
    assert cache.get("key") is None
    assert cache.get("other") is None


def test_the_repr_of_a_candidate_shows_no_word_of_a_rule() -> None:
    assert "secret" not in repr(PROPOSED)
