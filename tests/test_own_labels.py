"""Corpora with their own labels work as they are: read, trained on, annotated with, de-identified."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.deidentification import REMOVING, Deidentifier, Policy, kind_of, verify
from phistack.ensemble.synthesis import synthesize
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import LabelError
from phistack.features.formats import read_corpus, write_corpus
from phistack.features.labels import LabelSet
from phistack.features.shown import hashed, shown_label
from tests.fixture_types import Phistack

TEXT = "El paciente fue visto por Ana Lara el 3 de mayo en la calle Mayor de Toledo, con dolor desde hace tres días."
SPANS = (("Ana Lara", "PER"), ("3 de mayo", "DATE"), ("calle Mayor de Toledo", "LOC"))


def spans_of(text: Any, *marked: Any) -> Any:
    starts = [(text.index(piece), piece, label) for piece, label in marked]
    return tuple(Span(start, start + len(piece), label) for start, piece, label in starts)


@pytest.fixture
def corpus(tmp_path: Path) -> Any:
    """A file with a note for each given (text, label)."""

    def write(*notes: Any, text: Any = TEXT) -> Any:
        path = tmp_path / "notes.jsonl"
        lines = [
            {
                "id": str(i),
                "text": text,
                "spans": [{"start": s.start, "end": s.end, "label": s.label} for s in spans_of(text, *marked)],
            }
            for i, marked in enumerate(notes)
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    return write


def test_labels_of_its_own_are_taken_and_the_language_is_reported_by_the_text(corpus: Any) -> None:
    read = read_corpus(corpus(SPANS, SPANS))
    assert (read.label_set.name, read.label_set.labels, read.label_set.language) == (
        "custom",
        ("DATE", "LOC", "PER"),
        "es",
    )
    assert read.remarks == ("3 labels of its own (DATE, LOC, PER), taken as they are; language es by its text",)
    assert read_corpus(corpus(SPANS), language="nl").remarks == (
        "3 labels of its own (DATE, LOC, PER), taken as they are; language nl",
    )


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("Pacient byl přijat s bolestí na hrudi, která trvá tři dny", "en, as its text seems to be cs, which phistack"),
        ("AMES 12/3", "language en, as its text does not show it; another is given with --language"),
    ],
)
def test_a_language_that_is_unknown_or_not_told_is_said(corpus: Any, text: Any, remark: Any) -> None:
    read = read_corpus(corpus(((text[:4], "PER"),), text=text))
    assert remark in read.remarks[0]
    assert read.label_set.language == "en"


def test_a_shipped_set_that_fits_is_taken_without_a_remark(corpus: Any) -> None:
    read = read_corpus(corpus((("Ana Lara", "DOCTOR"), ("3 de mayo", "DATE"))))
    assert (read.label_set.name, read.remarks) == ("i2b2-2014", ())


def test_a_few_unknown_labels_are_refused_with_the_option_to_take_them(corpus: Any) -> None:
    path = corpus((("Ana Lara", "DOCTOR"), ("3 de mayo", "DATE"), ("Toledo", "LOC")))
    message = r"1 of 3 labels are not in the label set i2b2-2014, the first is LOC.* --accept-unknown-labels"
    with pytest.raises(LabelError, match=message):
        read_corpus(path)
    assert read_corpus(path, accept_unknown_labels=True).label_set.name == "i2b2-2014"
    with pytest.raises(LabelError, match="--accept-unknown-labels"):
        read_corpus(corpus(SPANS), label_set="meddocan")


def test_known_labels_that_are_most_labels_but_few_spans_do_not_decide(corpus: Any) -> None:
    marked = [(word, "LOC") for word in ("calle", "Mayor", "Toledo", "Ana", "Lara", "paciente")]
    assert read_corpus(corpus((("3 de mayo", "DATE"), ("dolor", "DOCTOR"), *marked))).label_set.name == "custom"


def test_labels_that_other_notes_lack_are_taken_too_where_all_are_their_own(corpus: Any) -> None:
    train = read_corpus(corpus(SPANS))
    test = read_corpus(corpus((("Toledo", "CITY"), ("Ana Lara", "PER"))), label_set=train.label_set)
    assert set(test.label_set.labels) == {"DATE", "LOC", "PER", "CITY"}


def test_a_label_that_could_be_text_is_not_shown(corpus: Any) -> None:
    read = read_corpus(corpus((("Ana Lara", "Müller:Birkenhof"), ("3 de mayo", "WHEN"))))
    assert f"2 labels of its own ({hashed('Müller:Birkenhof')}, {hashed('WHEN')}), taken" in read.remarks[0]


def test_labels_of_open_corpora_are_shown_and_a_hash_is_explained(
    corpus: Any, phistack: Phistack, tmp_path: Path
) -> None:
    """The labels of court-es, presidio-synth-v2 and asq-phi-dev that occur once or twice."""
    labels = ("ETHNIC_CATEGORY", "US_DRIVER_LICENSE", "CREDIT_CARD", "HEALTH_PLAN_BENEFICIARY_NUMBER", "US_SSN")
    assert [shown_label(label) for label in labels] == [*labels]
    folder = corpus((("Ana Lara", "Birkenhof"), ("3 de mayo", "WHEN")))
    err = phistack("convert", folder, tmp_path / "out.jsonl")[2]
    assert hashed("Birkenhof") in err and "# stands for a name that may be a patient's" in err


def test_an_engine_is_trained_annotates_and_deidentifies_with_labels_of_its_own(
    phistack: Phistack, tmp_path: Path
) -> None:
    names = {"NOMBRE_SUJETO_ASISTENCIA": "PERSONA", "NOMBRE_PERSONAL_SANITARIO": "PERSONA", "FECHAS": "FECHA"}
    notes = [
        note.with_spans(replace(span, label=names[span.label]) for span in note.spans if span.label in names)
        for note in synthesize(8, seed=1, language="es").documents
    ]
    write_corpus(
        Corpus(tuple(notes), LabelSet("own", {"PERSONA": "X", "FECHA": "X"})), tmp_path / "notes", format="brat"
    )
    quick = ("--submodels", "regex,crf", "--folds", 2, "--jobs", 1)
    status, _, err = phistack("train", tmp_path / "notes", "--model", tmp_path / "model", *quick)
    assert status == 0
    assert "phistack: 2 labels of its own (FECHA, PERSONA), taken" in err
    engine = load_bundle(tmp_path / "model")
    assert (engine.label_set.name, engine.space.settings.language) == ("custom", "es")
    assert phistack("annotate", tmp_path / "notes", tmp_path / "out", "--model", tmp_path / "model")[0] == 0
    assert phistack("evaluate", tmp_path / "notes", tmp_path / "out")[0] == 0
    policy = ("--policy", "safe-harbor")
    assert (
        phistack("deidentify", tmp_path / "notes", tmp_path / "clean", "--model", tmp_path / "model", *policy)[0] == 0
    )
    clean = "".join(path.read_text() for path in (tmp_path / "clean").glob("*.txt"))
    assert "[PERSONA]" in clean and "[FECHA]" in clean


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        *(("PER", "PERSON"), ("Person", "PERSON"), ("LOC", "ADDRESS"), ("GPE", "ADDRESS"), ("CODE", "ID")),
        *(("Date-Time", "DATE"), ("DATE", "DATE"), ("ORG", "ORGANIZATION"), ("EMAIL_ADDRESS", "EMAIL")),
        *(("QUANTITY", "OTHER"), ("NATIONALITY", "OTHER"), ("MISC", "OTHER"), ("LEGAL_PROFESSIONAL", "OTHER")),
    ],
)
def test_the_kind_of_a_label_is_reported_by_its_name_where_that_is_plain(label: Any, kind: Any) -> None:
    assert kind_of(label, "custom") == kind
    assert kind_of(label, "meddocan") == kind


@pytest.mark.parametrize("name", [name for name in Policy.names() if name not in LabelSet.names()])
def test_no_policy_keeps_what_it_does_not_know(name: Any) -> None:
    labels = ("PER", "LOC", "CODE", "QUANTITY", "NATIONALITY", "X")
    text = "Ana in Bad X, 12-AB, five, Danish, secret"
    marked = zip(("Ana", "Bad X", "12-AB", "five", "Danish", "secret"), labels, strict=True)
    own = LabelSet("custom", dict.fromkeys(labels, "OTHER"))
    spans = spans_of(text, *marked)
    note = Document("n", text, spans)
    deidentifier = Deidentifier(Policy.named(name), own, "en", b"0123456789abcdef", shuffled={})
    result = deidentifier.apply(note, spans)
    verify(note, result, spans)
    assert {replacement.strategy for replacement in result.replacements} <= {*REMOVING}


def test_remarks_stay_with_a_corpus() -> None:
    corpus = Corpus((Document("1", "x"),), LabelSet("custom", {}), remarks=("read so",))
    assert corpus.remarks == ("read so",)


@pytest.mark.parametrize(
    ("text", "known", "language"),
    [
        ("{} called today, she was seen for pain and fever and went home with her family.", "custom", "en"),
        (
            "{} ringer och berättar om feber och hosta, men vill inte komma hit i dag.",
            "stockholm-epr-phi",
            "sv",
        ),
        ("{}", "stockholm-epr-phi", "sv"),
    ],
)
def test_labels_that_anybody_may_use_do_not_make_notes_swedish(
    tmp_path: Path, text: str, known: str, language: str
) -> None:
    span = {"start": 0, "end": 5, "label": "First_Name"}
    note = {"id": "1", "text": text.format("Karin"), "spans": [span]}
    (tmp_path / "notes.jsonl").write_text(json.dumps(note), encoding="utf-8")
    labels = read_corpus(tmp_path / "notes.jsonl").label_set
    assert (labels.name, labels.language) == (known, language)
    assert read_corpus(tmp_path / "notes.jsonl", label_set="stockholm-epr-phi").label_set.name == "stockholm-epr-phi"
