"""The real MEDDOCAN corpus, where it is at hand: both of its forms say the same."""

from pathlib import Path

import pytest

from phistack.features.formats import read_corpus

MEDDOCAN = Path(__file__).parents[1].parent / "shared" / "corpora" / "meddocan"

pytestmark = pytest.mark.skipif(not MEDDOCAN.is_dir(), reason="the MEDDOCAN corpus is not in ../shared/corpora")


@pytest.mark.parametrize(("part", "n_documents", "n_spans"), [("train", 500, 11_333), ("dev", 250, 5_801)])
def test_xml_and_brat_read_to_the_same_documents(part: str, n_documents: int, n_spans: int) -> None:
    from_xml = read_corpus(MEDDOCAN / part)
    from_brat = read_corpus(MEDDOCAN / part, format="brat")
    assert from_xml.documents == from_brat.documents
    assert from_xml.label_set.name == from_brat.label_set.name == "meddocan"
    assert (len(from_xml), sum(len(d.spans) for d in from_xml.documents)) == (n_documents, n_spans)
    assert not from_xml.warnings and not from_brat.warnings


def test_byte_order_marks_stay_in_the_text() -> None:
    dev_and_train = (d for part in ("train", "dev") for d in read_corpus(MEDDOCAN / part).documents)
    assert sum(d.text.startswith("\ufeff") for d in dev_and_train) > 0
