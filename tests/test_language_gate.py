"""Notes that an engine cannot read are held back with the reason; others are not."""

import json
import shutil
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phistack.ensemble.bundles.bundle import load_bundle, save_bundle
from phistack.ensemble.bundles.self_test import self_test
from phistack.ensemble.bundles.shipped import shipped_engine
from phistack.ensemble.engine import Engine
from phistack.ensemble.stacking.repeats.word_counts import Seen, WordCounts, seen_words
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.documents import Document, Span
from phistack.features.language_gate import LanguageGate
from phistack.features.languages import language_of
from phistack.features.letters import without_accents
from tests.annotated import small_corpus
from tests.fixture_types import Phistack
from tests.tampering import rehash

ENGLISH = LanguageGate.of_language("en")
ENGINES = {"english": "en", "german": "de", "spanish": "es", "dutch": "nl", "swedish": "sv"}
PASSAGES = tomllib.loads((Path(__file__).parents[1] / "benchmarks" / "faults" / "passages.toml").read_text("utf-8"))
NOTE = "Seen by Dr. Gorse on 05/12/2019.\nPlan: rest and fluids. Call Dr. Gorse."
LONG = "The patient was admitted with chest pain and was discharged home in good condition after three days of rest. "
WRONG = {
    "fi": "Potilas Matti Virtanen, s. 12.3.1950, asuu Helsingissä. Lääkäri Anna Korhonen määräsi lääkkeen.",
    "es": "Dolor torácico desde hace tres días, sin fiebre ni tos. Acude con su hija.",
    "de": "Der Patient klagt über Brustschmerzen seit drei Tagen, Fieber besteht nicht.",
    "sv": "PATIENTEN SÖKER FÖR BRÖSTSMÄRTA SEDAN TRE DAGAR, INGEN FEBER",
    "pt": LONG + "O paciente foi internado com dor no peito e teve alta em bom estado depois de três dias. " * 5,
    "zh": "患者张伟，男，65岁，因胸痛入院。BP 120/80 mmHg。",
    "ru": "Пациент Иван Петров, 65 лет, поступил с болью в груди.",
    "el": "Seen on 05/12/2019. Ο ασθενής Νίκος Παπαδόπουλος εισήχθη με πόνο στο στήθος.",
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
    "\ufeffPa\u00adtient was\u200b seen for chest pain, ｆｅｖｅｒ and cough, and went home.",
)


@cache
def invented(language: str) -> str:
    """An invented note of some length."""
    return max((document.text for document in synthesize(20, seed=8, language=language).documents), key=len)


@cache
def shipped(name: str) -> Engine:
    return load_bundle(shipped_engine(name))


@given(language=st.sampled_from(sorted(PASSAGES)), engine=st.sampled_from(sorted(ENGINES)), at=st.integers(0, 60))
def test_a_passage_that_no_engine_reads_is_found_whole_wherever_it_is(language: str, engine: str, at: int) -> None:
    own = ENGINES[engine]
    if language in shipped(engine).language_gate.languages:
        return
    lines, passage = invented(own).splitlines(), PASSAGES[language]
    lines.insert(at % (len(lines) + 1), passage)
    [reading] = shipped(engine).read([Document("n1", "\n".join(lines))])
    start = reading.document.text.index(passage)
    unread = {at for span in reading.unread for at in range(span.start, span.end)}
    left = [i for i in range(start, start + len(passage)) if passage[i - start].isalpha() and i not in unread]
    assert not left
    assert not reading.objection


@pytest.mark.parametrize("form", [str.title, str.upper, without_accents], ids=["title case", "capitals", "no accents"])
@pytest.mark.parametrize("language", ["fr", "pl", "fi", "tr", "hu", "it"])
def test_a_passage_in_title_case_in_capitals_or_without_accents_is_found(
    form: Callable[[str], str], language: str
) -> None:
    passage = form(PASSAGES[language])
    [reading] = shipped("english").read([Document("n1", f"{LONG * 3}\n{passage}\nShe is well.")])
    assert "".join(reading.document.text[s.start : s.end] for s in reading.unread).strip() == passage


def test_a_few_foreign_letters_are_a_passage() -> None:
    [reading] = shipped("english").read([Document("n1", f"{LONG}Patient 张伟 was seen. γ-GT 21, TNF-α normal.")])
    assert reading.unread == (Span(len(LONG) + 8, len(LONG) + 10, "TEXT IN CHINESE LETTERS"),)


@pytest.mark.parametrize("language", ["en", "de", "es", "nl", "no", "sv"])
def test_notes_in_the_language_of_an_engine_have_no_passages_but_names_of_other_languages(language: str) -> None:
    engine = shipped(next(name for name, own in ENGINES.items() if own == ("sv" if language == "no" else language)))
    notes = synthesize(40, seed=3, language=language).documents
    found = [(s, note.spans) for note, r in zip(notes, engine.read(notes), strict=True) for s in r.unread]
    assert len(found) < 2 and all(any(s.start < p.end and p.start < s.end for p in spans) for s, spans in found)


def test_both_written_forms_of_norwegian_are_read() -> None:
    nynorsk = (
        "Eg vart innlagd på sjukehuset i går kveld fordi eg ikkje fekk puste, og dei gav meg medisin med ein gong. "
        "Ho har ikkje hatt feber dei siste vekene, men kjenner seg framleis trøytt og veik når ho går ut. Han vart "
        "operert i kneet for to veker sidan og kjem no heim til kommunen, der heimesjukepleia skal fylgje han opp. "
        "Dei meiner at ho bør bu der så lenge ho klarer seg sjølv, og at borna hennar kan hjelpe til med å gjera reint."
    )
    gate = shipped("swedish").language_gate
    assert gate is not None and not gate.passages(f"Pasienten ble innlagt med brystsmerter. {nynorsk}")


def test_a_passage_that_another_engine_reads_is_read_by_it() -> None:
    spanish = "El paciente Anselmo Abedul acude por dolor. Su médica, la Dra. Rosa Lirio, le dio el alta ayer."
    engine = shipped("english").with_options(others={"es": shipped("spanish")})
    [reading] = engine.read([Document("n1", f"{LONG}\n{spanish}\nSeen by Dr. Gorse.")])
    found = {reading.document.text[s.start : s.end]: s.label for s in reading.annotated.spans}
    assert {"Anselmo Abedul", "Rosa Lirio", "Gorse"} <= found.keys() and {*found.values()} <= {*engine.label_set.labels}
    assert not reading.unread


def test_what_no_engine_reads_is_replaced_or_held_back_or_read(tmp_path: Path, phistack: Phistack) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "1.txt").write_text(f"{LONG * 3}\n{PASSAGES['pl']}\nSeen by Dr. Gorse.\n", encoding="utf-8")
    (folder / "2.txt").write_text(LONG, encoding="utf-8")
    status, out, _ = phistack("deidentify", folder, tmp_path / "out", "--model", "english")
    text = (tmp_path / "out" / "1.txt").read_text(encoding="utf-8")
    assert status == 0 and "[TEXT IN POLISH]\nSeen by Dr. [DOCTOR]" in text
    assert "1 passage in a language that no engine reads was replaced whole: Polish" in out
    status, _, err = phistack(
        "deidentify", folder, tmp_path / "held", "--model", "english", "--other-languages", "hold"
    )
    assert status == 3 and "it has text in Polish (pl), and the engine reads English" in err
    phistack(
        "deidentify", folder, tmp_path / "read", "--model", "english", "--other-languages", "read", "--policy", "tag"
    )
    # An English engine takes some Polish words for names; the others stay.
    text = (tmp_path / "read" / "1.txt").read_text(encoding="utf-8")
    assert "brać leki" in text and "[TEXT IN" not in text


@pytest.mark.parametrize("what", WRONG)
def test_a_note_that_an_engine_cannot_read_is_held_back_with_the_reason(what: str) -> None:
    reason = ENGLISH.objection(WRONG[what])
    assert (f"({what})" if len(what) == 2 else "binary data or in another encoding") in reason
    assert reason.endswith("--other-languages read lifts this")


@pytest.mark.parametrize("text", RIGHT)
def test_short_notes_lists_figures_and_abbreviations_are_read(text: str) -> None:
    assert ENGLISH.objection(text) == ""


@given(st.text(st.sampled_from("0123456789.,:;/-+%() \n\tABC"), max_size=200))
def test_figures_and_single_capitals_are_no_language(text: str) -> None:
    assert ENGLISH.objection(text) == ""


def test_a_long_line_is_asked_about_in_bounded_time() -> None:
    text = LONG * 20_000
    assert ENGLISH.objection(text) == ""
    assert "fi" in ENGLISH.objection(text[: 100 * len(LONG)] + (WRONG["fi"] + "\n") * 2000)


def test_the_limits_are_those_of_the_training_notes() -> None:
    notes = [f"{LONG}{i}" for i in range(40)]
    assert LanguageGate.fit(notes, "en") == ENGLISH
    greek = LanguageGate.fit([*notes, *(f"Seen in Πλατεία Συντάγματος {i}. {LONG}" for i in range(3))], "en")
    assert greek.scripts == ("LATIN", "GREEK")
    assert not greek.passages("The address is 928 Λεωφόρος Αλεξάνδρας, Αθήνα")
    assert ENGLISH.passages("The address is 928 Λεωφόρος Αλεξάνδρας, Αθήνα")
    assert "(ru)" in greek.objection(WRONG["ru"])
    both = LanguageGate.fit([*notes, *(WRONG["es"] * 3 for _ in range(5))], "en")
    assert both.languages == ("en", "es")
    assert both.objection(WRONG["es"]) == ""
    assert both.objection(WRONG["fi"]).startswith(
        "it has text in Finnish (fi), and the engine reads English and Spanish"
    )


def test_one_strange_note_among_hundred_does_not_open_the_gate() -> None:
    gate = LanguageGate.fit([*(f"{LONG}{i}" for i in range(120)), WRONG["fi"]], "en")
    assert gate == ENGLISH
    few = LanguageGate.fit([*(f"{LONG}{i}" for i in range(9)), WRONG["fi"]], "en")
    assert few.languages == ("en",)
    assert "fi" in few.objection(WRONG["fi"])


def test_a_language_of_few_notes_is_not_read_and_opens_the_gate_to_no_other() -> None:
    gate = LanguageGate.fit([*(f"{LONG}{i}" for i in range(150)), *[f"{LONG}{WRONG['es'] * 3}"] * 3], "en")
    assert gate == ENGLISH


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
    for name, text in (("1", NOTE), ("2", WRONG["fi"]), ("3", WRONG["zh"]), ("4", NOTE + LONG)):
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def test_the_gate_is_kept_in_the_bundle(model: Path, tmp_path: Path) -> None:
    engine = load_bundle(model)
    assert engine.language_gate == ENGLISH
    engine.language_gate = LanguageGate(("en", "es"), ("LATIN", "GREEK"), 7.25)
    save_bundle(engine, tmp_path / "other", self_test=self_test(engine), trained_on={}, figures={})
    other = load_bundle(tmp_path / "other", only=("regex",))
    assert other.language_gate == engine.language_gate == other.only(("regex",)).language_gate


def test_an_older_bundle_reads_the_notes_of_its_language(model: Path, tmp_path: Path) -> None:
    old = shutil.copytree(model, tmp_path / "old")
    shutil.rmtree(old / "language_gate")
    rehash(old)
    assert load_bundle(old).language_gate == ENGLISH


def test_annotate_lists_what_it_holds_back(phistack: Phistack, model: Path, notes: Path, tmp_path: Path) -> None:
    status, out, err = phistack("annotate", notes, tmp_path / "out", "--model", model)
    assert status == 3
    assert out.startswith("2 notes with")
    assert sorted(path.stem for path in (tmp_path / "out").glob("*.ann")) == ["1", "4"]
    assert "document 2: it has text in Finnish (fi), and the engine reads English; --other-languages read lifts" in err
    assert "document 3: it has text in Chinese (zh), and the engine reads English" in err
    assert "2 of 4 notes were held back" in err
    status, out, _ = phistack("annotate", notes, tmp_path / "all", "--model", model, "--other-languages", "read")
    assert (status, out[:7]) == (0, "4 notes")


def test_annotate_writes_nothing_if_it_can_read_nothing(
    phistack: Phistack, model: Path, notes: Path, tmp_path: Path
) -> None:
    for name in "14":
        (notes / f"{name}.txt").unlink()
    status, _, err = phistack("annotate", notes, tmp_path / "out", "--model", model)
    assert status == 1
    assert "cannot read any of the 2 notes; document 2: it has text in Finnish (fi)" in err
    assert not (tmp_path / "out").exists()


def test_explain_holds_back_too(phistack: Phistack, model: Path, notes: Path) -> None:
    status, out, err = phistack("explain", notes, "--model", model)
    assert (status, "2 of 4 notes were held back" in err) == (3, True)
    assert "1: " in out and "2: " not in out
    assert phistack("explain", notes / "2.txt", "--model", model, "--other-languages", "read")[0] == 0


def test_deidentify_holds_back_and_never_asks_about_its_output(
    phistack: Phistack, model: Path, notes: Path, tmp_path: Path
) -> None:
    command = ("deidentify", notes, tmp_path / "out", "--model", model)
    assert phistack(*command)[0] == 3
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["1.txt", "4.txt"]
    listed = (tmp_path / "out.run" / "quarantine.jsonl").read_text(encoding="utf-8").splitlines()
    finnish, chinese = (json.loads(line)["reason"] for line in listed)
    assert finnish == "it has text in Finnish (fi), and the engine reads English; --other-languages read lifts this"
    assert chinese.startswith("it has text in Chinese (zh), and the engine reads English")
    assert phistack("deidentify", notes, tmp_path / "all", "--model", model, "--other-languages", "read")[0] == 0
    assert len(list((tmp_path / "all").iterdir())) == 4


def test_a_word_is_known_from_three_patients_on_and_one_in_a_hundred() -> None:
    few = seen_words(WordCounts("sv", {"och": Seen(12, 12), "chest": Seen(3, 3), "pain": Seen(2, 2)}))
    many = seen_words(WordCounts("sv", {"och": Seen(900, 900), "chest": Seen(8, 8), "hosta": Seen(9, 9)}))
    assert few is not None and few("chest") and not few("pain")
    assert many is not None and many("hosta") and not many("chest")
