"""One sentence says what is not installed, and the extra to install, before any work begins."""

from collections.abc import Callable
from pathlib import Path

import pytest

from phistack import litellm_guardrail, presidio_recognizer, redact_spark
from phistack.ensemble.batch.vault import Vault
from phistack.ensemble.batch.workers.clusters import connected
from phistack.ensemble.experiments.parts import write_results
from phistack.ensemble.training.unlabelled import learn_vectors
from phistack.features import errors
from phistack.features.documents import Corpus, Document
from phistack.features.errors import MissingResourceError
from phistack.features.formats import read_corpus, write_corpus
from phistack.features.formats.database_table import DatabaseTable
from phistack.features.formats.format import NoteFile
from phistack.features.formats.parquet_table import arrow
from phistack.features.labels import LabelSet
from phistack.submodels.blstm.tensorflow_reading import load_tensorflow

CORPUS = Corpus((Document("1", "x"),), LabelSet.named("i2b2-2014"))


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
        (lambda out: read_corpus(out.with_name("a.pdf")), r"format pdf needs pypdfium2; .* '\.\[documents\]"),
        (lambda out: read_corpus(out.with_name("a.rtf")), r"format rtf needs striprtf; .* '\.\[documents\]"),
        (lambda out: read_corpus(out.with_name("a.xmi")), r"format inception needs cassis; .* '\.\[inception\]'"),
        (lambda out: write_corpus(CORPUS, out, format="inception"), r"format inception needs cassis; "),
        (lambda out: write_corpus(CORPUS, out, format="parquet"), r"pip install '\.\[parquet\]'"),
        (lambda _: Vault(b"0123456789abcdef"), r"A vault needs cryptography; .* '\.\[vault\]"),
        (lambda _: connected(spark="local[2]"), r"run on Spark needs pyspark; .* '\.\[spark\]"),
        (lambda out: DatabaseTable(NoteFile(out / "note.toml")), r"database needs sqlalchemy; .* '\.\[database\]"),
        (lambda _: learn_vectors([]), r"learning word vectors needs gensim; .* '\.\[vectors\]"),
    ],
)
def test_what_is_missing_is_named_with_its_extra(
    use: Callable[[Path], object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.pdf", "a.rtf", "a.xmi"):
        (tmp_path / name).write_text('<XMI xmlns="http://www.omg.org/XMI"/>')
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(MissingResourceError, match=message):
        use(tmp_path / "out")
    assert not (tmp_path / "out").exists()
