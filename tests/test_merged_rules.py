"""Rules merged after the SVM: their labels are not learned, and what they find is added to what is accepted."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phistack import redact
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.shipped import shipped_engine, shipped_names
from phistack.ensemble.experiments.parts import stack_answers
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.merged_rules import MERGED_RULES, MergedRules
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tasks.training import train_with_report
from phistack.ensemble.training.settings import EngineSettings, merged
from phistack.ensemble.training.trainer import propose
from phistack.features.columns.settings import FeatureSettings
from phistack.features.columns.table import FeatureSpace
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError
from phistack.submodels.base import Candidate
from tests.fixture_types import Phistack

CORPUS = synthesize(10, seed=4)
LEFT_OUT = ("PHONE", "EMAIL", "FAX")
UNSEEN = (*synthesize(12, seed=9).documents, Document("mail", "Mail: ann@ward.org, phone (617) 555-0199.\n"))
SETTINGS = EngineSettings.from_dict(
    {
        "folds": 2,
        "submodels": {"crf": {"max_iterations": 20}},
        "stacker": {"rule_labels": list(LEFT_OUT), "structured_text": False},
    }
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Any:
    bundle = tmp_path_factory.mktemp("rules") / "engine"
    training, report = train_with_report(CORPUS, bundle, SETTINGS)
    return bundle, training, report


def merged_into(text: str, accepted: list[Span], labels: tuple[str, ...] = LEFT_OUT) -> list[Decision]:
    tables = FeatureSpace(FeatureSettings()).fit([Document("1", text)])
    decisions = [Decision(span, 0.9, True, (Candidate(span, "crf"),)) for span in accepted]
    [found] = MergedRules.of(labels, "", "en").merged(tables, [decisions])
    return found


def test_what_rules_find_is_added_with_their_name_where_nothing_is_accepted() -> None:
    text = "Mail ann@ward.org or jo@mail.org, Dr. Hill"
    kept = Span(text.index("jo@"), text.index(", Dr."), "DOCTOR")
    found = merged_into(text, [kept])
    assert [text[d.span.start : d.span.end] for d in found] == ["ann@ward.org", "jo@mail.org"]
    assert [d.span.label for d in found] == ["EMAIL", "DOCTOR"] and all(d.accepted for d in found)
    [vote] = found[0].votes
    assert (vote.source, vote.evidence) == (MERGED_RULES, "email")


@pytest.mark.parametrize(("label", "widened"), [("EMAIL", True), ("DOCTOR", False)])
def test_a_match_replaces_a_part_of_it_that_has_its_label(label: str, widened: bool) -> None:
    part = Span(5, 8, label)
    found = merged_into("Mail ann@ward.org", [part])
    assert [d.span for d in found if d.accepted] == [Span(5, 17, "EMAIL") if widened else part]
    assert (part in {d.span for d in found if not d.accepted}) == widened


def test_of_matches_that_overlap_the_longest_counts() -> None:
    found = merged_into("Fax: (617) 555-0199", [])
    assert len(found) == 1 and not any(a.span.overlaps(b.span) for a in found for b in found if a is not b)


def test_no_submodel_and_no_stacker_sees_their_labels(trained: Any) -> None:
    _, training, _ = trained
    assert any(span.label in LEFT_OUT for document in CORPUS.documents for span in document.spans)
    proposed = {c.span.label for note in training.out_of_fold["crf"] for c in note}
    assert proposed and not proposed & {*LEFT_OUT}
    assert not {*training.engine.stacker.features_.labels} & {*LEFT_OUT}
    assert {*LEFT_OUT} <= {*training.engine.label_set.labels}


def test_scores_out_of_fold_count_them(trained: Any) -> None:
    _, training, report = trained
    types = {score.name: score for score in report.scores["stack"].types}
    assert types["PHONE"].recall.value > 0
    decisions = [d for note in training.engine.stacker.decided_ for d in note if d.votes[0].source == MERGED_RULES]
    assert {d.span.label for d in decisions} <= {*LEFT_OUT}


def test_the_bundle_and_a_stack_of_some_submodels_have_them(trained: Any, phistack: Phistack, tmp_path: Path) -> None:
    bundle, training, _ = trained
    engine = load_bundle(bundle)
    assert list(engine.annotate(UNSEEN)) == list(training.engine.annotate(UNSEEN))
    votes = {vote.source for note in engine.decide(UNSEEN) for d in note if d.accepted for vote in d.votes}
    assert votes == {"crf", MERGED_RULES, "repeated mention"} or votes == {"crf", MERGED_RULES}
    note = tmp_path / "note.txt"
    note.write_text(UNSEEN[-1].text, encoding="utf-8")
    status, out, _ = phistack("explain", note, "--model", bundle)
    assert status == 0 and MERGED_RULES in out and "EMAIL" in out


def test_an_experiment_has_them_too() -> None:
    proposed = propose(CORPUS, SETTINGS, unseen=UNSEEN)
    answers = stack_answers(proposed, ("crf",), Stacker(SETTINGS.stacker), seed=0)
    assert {span.label for note in answers for span in note} & {*LEFT_OUT}


OWN = """[[patterns]]
name = "own"
regex = '\\bQX\\d{4}\\b'
label = "BIOID"
"""


def test_patterns_of_ones_own_find_what_no_shipped_one_does(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(OWN, encoding="utf-8")
    rules = MergedRules.of(("BIOID",), str(tmp_path / "own.toml"), "en")
    assert [pattern.name for pattern in rules.patterns] == ["own"]


@pytest.mark.parametrize(
    ("stacker", "reported"),
    [
        ({"rule_labels": ["PHONES"]}, "no label named PHONES (did you mean PHONE?)"),
        ({"rule_labels": ["BIOID"]}, "no pattern of the language en finds BIOID"),
        ({"rules_file": "own.toml"}, "rules_file has no effect without rule_labels"),
    ],
)
def test_bad_settings_are_one_sentence(stacker: dict[str, Any], reported: str, tmp_path: Path) -> None:
    table = merged(SETTINGS.to_dict() | {"stacker": {}}, {"stacker": stacker})
    with pytest.raises(SettingsError) as error:
        propose(CORPUS, EngineSettings.from_dict(table))
    assert reported in str(error.value)


def test_a_preset_may_be_like_another() -> None:
    plain, ngrid = EngineSettings.preset("liu2017"), EngineSettings.preset("liu2017-ngrid")
    assert not plain.stacker.rule_labels and "PHONE" in ngrid.stacker.rule_labels
    assert merged(plain.to_dict(), {"stacker": {"rule_labels": list(ngrid.stacker.rule_labels)}}) == ngrid.to_dict()


STRUCTURED = (
    "MSH|^~\\&|ADT1|MCM|LABADT|MCM|20210303112345||ADT^A01|MSG00001|P|2.4",
    "PID|1||8845123^^^MRN||BIRCHWOOD^ANSELM^Q||19500403|M|||12 LILY RD^^NEWTOWN^MA^02139||(617)555-0123",
    '{"given":"Anselm","family":"Birchwood","birthDate":"1950-04-03","mrn":"8845123"}',
    "<name><given>Anselm</given><family>Birchwood</family></name>",
    "pt_name=anselm.birchwood;ssn=078051120;dob=1950-04-03",
)


@pytest.mark.parametrize("name", shipped_names())
def test_identifiers_in_structured_text_are_found_by_every_engine_that_ships(name: str) -> None:
    engine = load_bundle(shipped_engine(name)).with_options(other_languages="read")
    for found in engine.annotate([Document(str(n), line) for n, line in enumerate(STRUCTURED)]):
        left = redact(found).casefold()
        assert not [word for word in ("birchwood", "anselm", "8845123", "1950", "078051120", "5550123") if word in left]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pt back in rm 12, asleep", "12"), ("Room 318-2", "318-2"), ("Moved to bed 7B.", "7B"), ("Zi. 14", "14"),
        ("Kamer 212 gereinigd", "212"), ("She works as a forklift operator at night", "forklift operator"),
        ("Occupation: retired teacher\nSmokes", "retired teacher"), ("Beruf: Dachdecker", "Dachdecker"),
        ("<kamer>B2.14</kamer>", "B2.14"), ('"room": "C 12", "x": 1', "C 12"), ("<bed>occupied</bed>", ""),
        ("Bett 30 Grad", ""), ("Head of bed 30 degrees", ""), ("in bed 24 hours", ""), ("RM 2017", ""),
        ("Occupation: unemployed", ""), ("It works as an anticoagulant.", ""),
    ],
)  # fmt: skip
def test_a_number_after_room_and_a_trade_after_its_key_are_phi(text: str, found: str) -> None:
    rules = MergedRules.structured(("ROOM", "PROFESSION"), "en")
    spans = [(start, end) for pattern in rules.patterns for start, end in pattern.find(text, "en")]
    assert [text[start:end] for start, end in spans] == ([found] if found else [])


def test_structured_text_can_be_left_out() -> None:
    engine = load_bundle(shipped_engine("english"))
    lines = [Document(str(n), line) for n, line in enumerate(STRUCTURED)]
    engine.stacker.settings, usual = replace(engine.stacker.settings, structured_text=False), engine.stacker.settings
    without = [redact(found) for found in engine.annotate(lines)]
    engine.stacker.settings = usual
    assert without != [redact(found) for found in engine.annotate(lines)]
