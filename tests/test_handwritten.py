"""Notes written by hand for measuring."""

from pathlib import Path

import pytest

from benchmarks.handwritten import handwritten, marked_notes
from phistack.features.documents import Span
from phistack.features.errors import CorpusError
from phistack.features.labels import LabelSet

_LABELS = LabelSet.named("i2b2-2014")


def _file(folder: Path, text: str) -> Path:
    file = folder / "de.txt"
    file.write_text(text, encoding="utf-8")
    return file


def test_marks_become_spans(tmp_path: Path) -> None:
    text = "Frau [[PATIENT|Ilse Brändl]], [[AGE|63]]\n=====\nohne\n"
    first, second = marked_notes(_file(tmp_path, text), _LABELS).documents
    assert first.text == "Frau Ilse Brändl, 63\n"
    assert first.spans == (Span(5, 16, "PATIENT"), Span(18, 20, "AGE"))
    assert (second.text, second.spans) == ("ohne\n", ())


@pytest.mark.parametrize("text", ["[[PATIENT|Ilse", "[[FRIEND|Ilse]]", "[[PATIENT Ilse]]"])
def test_a_wrong_mark_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(CorpusError, match="de-1"):
        marked_notes(_file(tmp_path, text), _LABELS)


def test_a_language_may_have_none() -> None:
    assert handwritten("xx", _LABELS) == {}


def test_labels_of_any_set_are_marks(tmp_path: Path) -> None:
    (note,) = marked_notes(_file(tmp_path, "tel. [[Phone_fax|06-1]]\n"), LabelSet.named("nut")).documents
    assert note.spans == (Span(5, 9, "Phone_fax"),)
    (note,) = marked_notes(_file(tmp_path, "am [[LOCATION-OTHER|See]]\n"), _LABELS).documents
    assert note.spans == (Span(3, 6, "LOCATION-OTHER"),)
