"""Notes that an engine cannot read are held back with the reason, and others are not."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.bundles.bundle import load_bundle, save_bundle
from phistack.ensemble.bundles.files import file_hash
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.tasks.engines import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features import languages
from phistack.features.errors import BundleError
from phistack.features.language_gate import LanguageGate, languages_of
from phistack.features.languages import language_of
from tests.fixture_types import Phistack
from tests.test_bundle import small_corpus

ENGLISH = LanguageGate.of_language("en")
NOTE = "Seen by Dr. Gorse on 05/12/2019.\nPlan: rest and fluids. Call Dr. Gorse."
LONG = "The patient was admitted with chest pain and was discharged home in good condition after three days of rest. "
WRONG = {
    "fi": "Potilas Matti Virtanen, s. 12.3.1950, asuu Helsingissä. Lääkäri Anna Korhonen määräsi lääkkeen.",
    "es": "Dolor torácico desde hace tres días, sin fiebre ni tos. Acude con su hija.",
    "de": "Der Patient klagt über Brustschmerzen seit drei Tagen, Fieber besteht nicht.",
    "sv": "PATIENTEN SÖKER FÖR BRÖSTSMÄRTA SEDAN TRE DAGAR, INGEN FEBER",
    "pt": 5 * LONG + "O paciente foi internado com dor no peito e teve alta em bom estado depois de três dias. " * 5,
    "Chinese": "患者张伟，男，65岁，因胸痛入院。BP 120/80 mmHg。",
    "Cyrillic": "Пациент Иван Петров, 65 лет, поступил с болью в груди.",
    "Greek": "Seen on 05/12/2019. Ο ασθενής Νίκος Παπαδόπουλος εισήχθη με πόνο στο στήθος.",
    "binary": "PK\x03\x04\x14\0\0\0\x08\0\xb5\x8f",
    "another encoding": "P\ufffd\ufffdtsch, K\ufffdhn",
}
RIGHT = (
    *("", "5", "\n \n", "Ames", "Juan García Pérez", "na 140 k 4.1 cl 101 bun 12 cr 0.9 glu 103 wbc 7.1 hgb 13.9"),
    "pt c/o sob x 3d. hx htn dm2 cad s/p cabg. bp 120/80 hr 80. meds asa metop lisinopril. plan: cxr, ekg, cbc, bmp.",
    "63 yo M w/ PMH of CAD s/p PCI, HTN, HLD p/w CP. A/P: r/o ACS, trop neg x2, tele, ASA 81, f/u cards outpt",
    "PATIENT ADMITTED FOR CHEST PAIN. NO FEVER. DISCHARGED HOME IN GOOD CONDITION ON ASPIRIN AND METOPROLOL",
    "TNF-α 3 µg, β-blocker, γ-GT 21 U/l, 5º día",
    "José Ángel Muñoz Ibáñez\nCalle de la Constitución 12, 28013 Madrid\nFelicitas Oppenheimer, Bad Mergentheim",
    "Patient 张伟 was seen today by Dr. Ames for chest pain and went home without complaints.",
    "\ufeffPa\u00adtient was\u200b seen for chest pain, ｆｅｖｅｒ and cough, and went home.",
)


def test_what_the_choice_of_an_engine_has_ranked_the_gate_does_not_rank_again(monkeypatch: pytest.MonkeyPatch) -> None:
    detector, ranked = languages._detector(), []
    counting = SimpleNamespace(rank=lambda stretch: ranked.append(stretch) or detector.rank(stretch))
    monkeypatch.setattr(languages, "_detector", lambda: counting)
    languages._scores.cache_clear()
    notes = [8 * LONG, WRONG["es"], WRONG["pt"]]
    assert languages_of(notes, ("en", "es")).keys() == {"en", "es"}
    before = len(ranked)
    objections = [ENGLISH.objection(note) for note in notes]
    assert not objections[0] and all(objections[1:])
    assert len(ranked) == before > len(notes)


@pytest.mark.parametrize("what", WRONG)
def test_a_note_that_an_engine_cannot_read_is_held_back_with_the_reason(what: str) -> None:
    reason = ENGLISH.objection(WRONG[what])
    assert (what if what not in ("binary", "another encoding") else "binary data or in another encoding") in reason
    assert reason.endswith("--any-language lifts this")


@pytest.mark.parametrize("text", RIGHT)
def test_short_notes_lists_figures_and_abbreviations_are_read(text: str) -> None:
    assert ENGLISH.objection(text) == ""


@given(st.text(st.sampled_from("0123456789.,:;/-+%() \n\tABC"), max_size=200))
def test_figures_and_single_capitals_are_no_language(text: str) -> None:
    assert ENGLISH.objection(text) == ""


def test_a_long_line_is_asked_about_in_bounded_time() -> None:
    text = LONG * 20_000
    assert ENGLISH.objection(text) == ""
    assert "fi" in ENGLISH.objection(text + WRONG["fi"] * 2000)


def test_the_limits_are_those_of_the_training_notes() -> None:
    notes = [f"{LONG}{i}" for i in range(40)]
    assert LanguageGate.fit(notes, "en") == ENGLISH
    greek = LanguageGate.fit([*notes, *(f"Seen in Πλατεία Συντάγματος {i}. {LONG}" for i in range(3))], "en")
    assert greek.scripts == ("LATIN", "GREEK")
    assert greek.objection("The address is 928 Λεωφόρος Αλεξάνδρας, Αθήνα") == ""
    assert "Cyrillic" in greek.objection(WRONG["Cyrillic"])
    both = LanguageGate.fit([*notes, *(WRONG["es"] * 3 for _ in range(5))], "en")
    assert both.languages == ("en", "es")
    assert both.objection(WRONG["es"]) == ""
    assert both.objection(WRONG["fi"]).startswith("its language seems to be fi, the engine was trained on en and es")


def test_one_strange_note_among_hundred_does_not_open_the_gate() -> None:
    gate = LanguageGate.fit([*(f"{LONG}{i}" for i in range(120)), WRONG["fi"]], "en")
    assert gate == ENGLISH
    few = LanguageGate.fit([*(f"{LONG}{i}" for i in range(9)), WRONG["fi"]], "en")
    assert few.languages == ("en",)
    assert "fi" in few.objection(WRONG["fi"])


def test_the_language_of_a_corpus_is_reported_by_its_text() -> None:
    assert language_of([WRONG["es"], "12", "El paciente fue dado de alta a los tres días", LONG]) == "es"
    assert language_of(["12/3", "", "AMES"]) == ""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "engine"
    train_bundle(small_corpus(), path, EngineSettings(folds=2).only(("regex", "crf")))
    return path


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in (("1", NOTE), ("2", WRONG["fi"]), ("3", WRONG["Chinese"]), ("4", NOTE + LONG)):
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def test_the_gate_is_kept_in_the_bundle(model: Path, tmp_path: Path) -> None:
    engine = load_bundle(model)
    assert engine.language_gate == ENGLISH
    engine.language_gate = LanguageGate(("en", "es"), ("LATIN", "GREEK"), 0.5, 7.25)
    save_bundle(engine, tmp_path / "other", self_test=self_test(engine), trained_on={}, figures={})
    other = load_bundle(tmp_path / "other", only=("regex",))
    assert other.language_gate == engine.language_gate == other.only(("regex",)).language_gate


@pytest.mark.parametrize("change", ['{"languages": []', '"en"', '{"scripts": [1]', '{"foreign": 2', '{"distance": -1'])
def test_a_damaged_gate_is_refused(model: Path, tmp_path: Path, change: str) -> None:
    def spoil(text: Any) -> Any:
        state = json.loads(text)
        return json.dumps(state | json.loads(change + "}") if change.startswith("{") else json.loads(change))

    changed(model, tmp_path / "spoilt", spoil)
    with pytest.raises(BundleError, match="language_gate"):
        load_bundle(tmp_path / "spoilt")


def test_an_older_bundle_reads_the_notes_of_its_language(model: Path, tmp_path: Path) -> None:
    changed(model, tmp_path / "old", lambda text: None)
    assert load_bundle(tmp_path / "old").language_gate == ENGLISH


def changed(model: Path, target: Path, change: Callable[..., Any]) -> None:
    """A copy of the bundle with another language gate, or none, and the hash for it."""
    shutil.copytree(model, target)
    manifest = json.loads((target / "manifest.json").read_text())
    path = target / "language_gate" / "language_gate.json"
    new = change(path.read_text())
    del manifest["files"]["language_gate/language_gate.json"]
    if new is None:
        shutil.rmtree(path.parent)
    else:
        path.write_text(new)
        manifest["files"]["language_gate/language_gate.json"] = file_hash(new.encode())
    (target / "manifest.json").write_text(json.dumps(manifest))


def test_annotate_lists_what_it_holds_back(phistack: Phistack, model: Path, notes: Path, tmp_path: Path) -> None:
    status, out, err = phistack("annotate", notes, tmp_path / "out", "--model", model)
    assert status == 3
    assert out.startswith("2 notes with")
    assert sorted(path.stem for path in (tmp_path / "out").glob("*.ann")) == ["1", "4"]
    assert "document 2: its language seems to be fi, the engine was trained on en; --any-language lifts this" in err
    assert "of its letters are Chinese, the engine was trained on Latin; --any-language lifts this" in err
    assert "2 of 4 notes were held back" in err
    status, out, _ = phistack("annotate", notes, tmp_path / "all", "--model", model, "--any-language")
    assert (status, out[:7]) == (0, "4 notes")


def test_an_id_that_may_be_a_name_is_shown_as_a_hash(
    phistack: Phistack, model: Path, notes: Path, tmp_path: Path
) -> None:
    (notes / "2.txt").rename(notes / "Birchwood_Ann.txt")
    status, _, err = phistack("annotate", notes, tmp_path / "out", "--model", model)
    assert (status, "Birchwood" in err) == (3, False)
    assert "held back: document #" in err and "PHISTACK_SHOW_IDS=1" in err


def test_annotate_writes_nothing_if_it_can_read_nothing(
    phistack: Phistack, model: Path, notes: Path, tmp_path: Path
) -> None:
    for name in "14":
        (notes / f"{name}.txt").unlink()
    status, _, err = phistack("annotate", notes, tmp_path / "out", "--model", model)
    assert status == 1
    assert "cannot read any of the 2 notes; document 2: its language seems to be fi" in err
    assert not (tmp_path / "out").exists()


def test_explain_holds_back_too(phistack: Phistack, model: Path, notes: Path) -> None:
    status, out, err = phistack("explain", notes, "--model", model)
    assert (status, "2 of 4 notes were held back" in err) == (3, True)
    assert "1: " in out and "2: " not in out
    assert phistack("explain", notes / "2.txt", "--model", model, "--any-language")[0] == 0


def test_deidentify_holds_back_and_never_asks_about_its_output(
    phistack: Phistack, model: Path, notes: Path, tmp_path: Path
) -> None:
    command = ("deidentify", notes, tmp_path / "out", "--model", model)
    assert phistack(*command)[0] == 3
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["1.txt", "4.txt"]
    listed = (tmp_path / "out.run" / "quarantine.jsonl").read_text(encoding="utf-8").splitlines()
    finnish, chinese = (json.loads(line)["reason"] for line in listed)
    assert finnish == "its language seems to be fi, the engine was trained on en; --any-language lifts this"
    assert "of its letters are Chinese, the engine was trained on Latin" in chinese
    assert phistack("deidentify", notes, tmp_path / "all", "--model", model, "--any-language")[0] == 0
    assert len(list((tmp_path / "all").iterdir())) == 4
