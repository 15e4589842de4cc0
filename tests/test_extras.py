"""What is not installed is said in one sentence, with the extra that brings it, before anything is begun."""

from collections.abc import Callable
from pathlib import Path

import pytest

from phistack import litellm_guardrail, presidio_recognizer, redact_spark
from phistack.ensemble.experiments.parts import write_results
from phistack.ensemble.training.unlabelled import learn_vectors
from phistack.features import errors
from phistack.features.errors import MissingResourceError
from phistack.features.formats.parquet_table import arrow
from phistack.submodels.blstm.tensorflow_reading import load_tensorflow


def begun() -> None:
    raise AssertionError("nothing may begin")


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda _: arrow(), r"Parquet needs pyarrow; install it with: pip install '\.\[parquet\]' in the folder"),
        (lambda _: load_tensorflow(1), r"trainer `tensorflow` needs tensorflow; .* '\.\[tensorflow\]"),
        (lambda out: write_results(out, begun), r"picture of an experiment needs matplotlib; .* '\.\[pictures\]"),
        (lambda _: redact_spark(None, model="english"), r"frame of Spark needs pyspark; .* '\.\[spark\]"),
        (
            lambda _: presidio_recognizer(model="english"),
            r"Presidio needs presidio_analyzer; .*presidio\]",
        ),
        (lambda _: litellm_guardrail(model="english"), r"guardrail of LiteLLM needs litellm; .* '\.\[gateway\]"),
        (lambda _: learn_vectors([]), r"learning word vectors needs gensim; .* '\.\[vectors\]"),
    ],
)
def test_what_is_missing_is_named_with_its_extra(
    use: Callable[[Path], object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(MissingResourceError, match=message):
        use(tmp_path / "out")
    assert not list(tmp_path.iterdir())
