"""`benchmarks.losses` finds what members know beyond the stack, and nothing if they know no more."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from benchmarks.losses import Question, bits, main, questions
from phistack.ensemble.stacking.candidates import pooled
from phistack.ensemble.synthesis import synthesize
from phistack.features.documents import Document, Span
from phistack.features.formats import write_corpus
from phistack.submodels.base import Candidate

A, LONGER, OTHER, ALONE = Span(0, 3, "NAME"), Span(0, 7, "NAME"), Span(0, 3, "CITY"), Span(9, 12, "NAME")


def test_questions_are_on_extents_labels_and_lone_candidates() -> None:
    pool = pooled([[Candidate(span, "crf", 0.5) for span in (A, LONGER, OTHER, ALONE)]])
    assert [candidate.span for candidate in pool] == [OTHER, A, LONGER, ALONE]
    document = Document("1", "Ann Lee, Ann", (A, ALONE), "patient")
    proposed = cast(Any, SimpleNamespace(tables=[SimpleNamespace(document=document)]))
    stacker: Any = SimpleNamespace(
        judged_out_of_fold=lambda tables, pools: [np.array([0.2, 0.8, 0.5, 0.9])],
        features_=SimpleNamespace(matrices=lambda tables, pools: [np.arange(4.0)[:, None]]),
    )
    asked = list(questions(proposed, [pool], stacker))
    assert [(q.kind, q.answer, q.features.tolist()) for q in asked] == [
        ("label", False, [0, 1]), ("extent", True, [1, 2]), ("lone", True, [3]),
    ]  # fmt: skip
    assert asked[0].stack == pytest.approx(2 * np.log(0.2 / 0.8))
    assert {question.patient for question in asked} == {"patient"}


@pytest.mark.parametrize("learner", ["regression", "boosting"])
def test_what_members_know_beyond_the_stack_is_saved(learner: str) -> None:
    def asked(strength: float) -> list[Question]:
        """A feature reveals half of the answers, by so much; the stack knows none of them."""
        random = np.random.default_rng(0)
        answers = random.random(600) < 0.5
        features = strength * np.where(answers, 1.0, -1.0)[:, None] + random.normal(size=(600, 1))
        rows = zip(random.normal(size=600), features, answers, strict=True)
        return [Question("lone", f"{i % 60}", stack, row, bool(yes)) for i, (stack, row, yes) in enumerate(rows)]

    assert bits(asked(0.0), "stack").sum() == pytest.approx(600, rel=0.03)
    assert bits(asked(0.0), learner).sum() > 595
    assert bits(asked(2.0), learner).sum() < 200


def test_the_command_prints_the_losses_and_what_is_not_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = synthesize(24, seed=1)
    write_corpus(corpus, tmp_path / "notes", format="i2b2")
    monkeypatch.setattr(sys, "argv", ["losses", str(tmp_path / "notes"), "--submodels", "regex,crf", "--folds", "2"])
    main()
    shown = capsys.readouterr().out
    assert f"in the gold {sum(len(set(d.spans)) for d in corpus.documents)}" in " ".join(shown.split())
    assert "proposed and beaten" in shown and "lone" in shown and "right: boosting" in shown
