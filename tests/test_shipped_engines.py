"""Engines that ship: accepted wherever an engine is named, chosen by the notes' language, listed with their facts."""

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from phistack import BundleError, Document, Span, load_bundle, save_bundle, self_test, shipped_engine, synthesize, train
from phistack.ensemble.batch import Columns, FormatSettings, first_texts
from phistack.ensemble.bundles import choice, shipped
from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.command_line.options import completing_paths
from phistack.ensemble.training.settings import EngineSettings
from phistack.features import files
from phistack.features.errors import CorpusError, SettingsError
from phistack.features.formats import read_corpus, write_corpus
from phistack.features.formats.format import NoteFile
from phistack.features.language_gate import languages_of
from tests.fixture_types import Phistack

ENGLISH = "Seen by Dr. Ames on 05/12/2019 for chest pain. The patient was sent home with her daughter and will call."
SPANISH = "Dolor torácico desde hace tres días, sin fiebre ni tos. Acude con su hija, que refiere que no duerme bien."
FINNISH = "Potilas kertoi rintakivusta, joka on jatkunut kolme päivää. Hänellä ei ole kuumetta eikä yskää tänään."
NORWEGIAN = "Pasienten kommer til kontroll etter operasjon i venstre kne. Hun har det bra og vil tilbake på jobb."
RUSSIAN = "Пациент Иван Петров, 65 лет, поступил с болью в груди."
ELSEWHERE = {"corpus": "presidio-synth-v2", "figure": "recall, touched", "value": 98.7}
STRICT = {"stack": {"precision": 0.9, "recall": 0.8125, "f1": 0.85}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two engines, as small as possible, in their own folder."""
    folder = tmp_path_factory.mktemp("engines")
    for name, notes in (("english", synthesize(12, seed=1)), ("spanish", synthesize(12, seed=1, language="es"))):
        settings = EngineSettings.chosen(language=notes.label_set.language)
        quick = replace(settings, folds=2, submodels={"regex": {}, "crf": {"max_iterations": 15}})
        engine = train(notes, quick).engine
        figures = {"strict": STRICT, "measured elsewhere": [ELSEWHERE]} if name == "english" else {}
        facts = {"documents": 12, "patients": 12, "sources": f"invented notes, {name}"}
        save_bundle(engine, folder / f"{name}.zip", self_test=self_test(engine), trained_on=facts, figures=figures)
    return folder


@pytest.fixture
def ships(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let the two ship; returns the folder in which commands are run."""
    monkeypatch.setattr(shipped, "FOLDER", folder)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _notes(folder: Path, *texts: str) -> Path:
    folder.mkdir()
    for number, text in enumerate(texts, 1):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    return folder


def _sentence(reported: tuple[int, str, str]) -> str:
    """The one sentence of a command that did nothing."""
    status, shown, error = reported
    lines = [line for line in error.splitlines() if line.startswith("phistack: ")]
    assert (status, shown, len(lines)) == (1, "", 1), reported
    return lines[0]


def test_a_name_stands_for_a_bundle_and_a_path_that_exists_wins(ships: Path, folder: Path) -> None:
    assert bundle_path("english") == shipped_engine("english") == folder / "english.zip"
    assert bundle_path("mine") == Path("mine")
    assert load_bundle(shipped_engine("spanish")).space.settings.language == "es"
    (ships / "english").mkdir()
    assert bundle_path("english") == Path("english")
    with pytest.raises(
        BundleError, match=r"at englisch \(did you mean english\?\); the engines that ship are english, "
    ):
        shipped_engine("englisch")


@pytest.mark.parametrize(
    "command",
    ["annotate notes out --model", "explain notes --model", "deidentify notes out --model", "errors gold --model",
     "frontier gold --model", "rules", "engines"],
)  # fmt: skip
def test_every_command_that_takes_an_engine_takes_a_name(phistack: Phistack, ships: Path, command: str) -> None:
    _notes(ships / "notes", ENGLISH)
    write_corpus(synthesize(2, seed=2), ships / "gold", format="i2b2")
    sentence = _sentence(phistack(*command.split(), "englsh"))
    assert "no bundle at englsh (did you mean english?); the engines that ship are english, spanish; one of" in sentence
    assert not (ships / "out").exists()
    if command.startswith("frontier"):
        return
    status, _, error = phistack(*command.split(), "english")
    if command == "rules":
        assert "TBED" in error, "an engine without rules was found"
    else:
        assert status == 0, error


def test_training_makes_a_bundle_of_any_name(phistack: Phistack, ships: Path) -> None:
    write_corpus(synthesize(8, seed=2), ships / "gold", format="i2b2")
    assert phistack("train", "gold", "--model", "english", "--submodels", "regex", "--folds", 2)[0] == 0
    assert load_bundle(ships / "english").names == ("regex",)


@pytest.mark.parametrize(("text", "engine", "language"), [(ENGLISH, "english", "English (en)"),
                                                          (SPANISH, "spanish", "Spanish (es)")])  # fmt: skip
def test_without_a_name_the_language_decides_and_is_said(
    phistack: Phistack, ships: Path, text: str, engine: str, language: str
) -> None:
    _notes(ships / "notes", text, text + "\n", "BP 120/80")
    said = f"engine: {engine}, as 2 of the 3 notes looked at are in {language}; "
    for command in ("annotate notes out", "explain notes", "deidentify notes clean"):
        status, _, error = phistack(*command.split())
        assert status == 0, error
        assert error.count(said + "text in other languages is read by their engines; --model names one for all\n") == 1
        assert error.count("engine: ") == (1 if command == "explain notes" else 2)
    assert len(read_corpus(ships / "out")) == len(list((ships / "clean").iterdir())) == 3


def test_notes_of_another_language_are_held_back_where_one_engine_reads_all(phistack: Phistack, ships: Path) -> None:
    _notes(ships / "notes", ENGLISH, SPANISH, ENGLISH)
    for command in ("annotate notes out", "explain notes", "deidentify notes clean"):
        status, _, error = phistack(*command.split(), "--model", "english")
        assert (status, "looked at" in error) == (3, False)
    assert sorted(path.name for path in (ships / "clean").iterdir()) == ["1.txt", "3.txt"]
    assert "it has text in Spanish (es)" in (ships / "clean.run" / "quarantine.jsonl").read_text()


def test_each_note_is_read_by_the_engine_of_its_language(phistack: Phistack, ships: Path) -> None:
    _notes(ships / "notes", ENGLISH, SPANISH, ENGLISH, FINNISH, "BP 120/80")
    _notes(ships / "spanish notes", SPANISH)
    command = ("deidentify", "notes", "clean", "--policy", "safe-harbor")
    status, shown, error = phistack(*command)
    assert status == 3, error
    assert "read 3 notes by english, 1 note by spanish" in shown
    audit = [json.loads(line) for line in (ships / "clean.run" / "audit.jsonl").read_text().splitlines()]
    engines = {line["id"]: line.get("engine", line.get("problem", "")[:28]) for line in audit if "n" in line}
    finnish = "it has text in Finnish (fi),"
    assert engines == {"1": "english", "2": "spanish", "3": "english", "4": finnish, "5": "english"}
    assert json.loads((ships / "clean.run" / "summary.json").read_text())["notes by engine"] == {
        "english": 3, "spanish": 1,
    }  # fmt: skip
    assert phistack("deidentify", "spanish notes", "alone", "--policy", "safe-harbor", "--model", "spanish")[0] == 0
    assert (ships / "clean" / "2.txt").read_text() == (ships / "alone" / "1.txt").read_text()
    assert phistack("audit", "clean")[0] == 0
    assert phistack("deidentify", "notes", "more", *command[3:], "--jobs", 2)[0] == 3
    assert {path.name: path.read_bytes() for path in (ships / "more").iterdir()} == {
        path.name: path.read_bytes() for path in (ships / "clean").iterdir()
    }


def test_an_engine_that_lacks_what_is_asked_for_is_left_out_and_that_is_said(
    phistack: Phistack, ships: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _notes(ships / "notes", ENGLISH, SPANISH, ENGLISH)
    (ships / "always.txt").write_text("[DOCTOR]\nchest pain\n")
    status, _, error = phistack("deidentify", "notes", "clean", "--always", "always.txt")
    assert (status, "internal" in error) == (3, False)
    assert "notes in es will be held back, as their engines do not suit: " in caplog.text
    assert "line 2: there is no label named DOCTOR" in caplog.text
    assert sorted(path.name for path in (ships / "clean").iterdir()) == ["1.txt", "3.txt"]
    assert "[DOCTOR]" in (ships / "clean" / "1.txt").read_text()
    (ships / "roster.csv").write_text("patient,name\n1,Eva Ames\n2,Eva Ames\n")
    assert phistack("deidentify", "notes", "known", "--known", "roster.csv")[0] == 0
    assert len(list((ships / "known").iterdir())) == 3


def test_an_engine_is_chosen_for_every_language_that_its_gate_lets_through(
    ships: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = {"english": ("en", "no", "es"), "spanish": ("es",)}
    monkeypatch.setattr(choice, "bundle_languages", lambda path: read[path.stem])
    chosen = choice.engine_for([NORWEGIAN, NORWEGIAN])
    assert (chosen.path.stem, chosen.reason) == (
        "english",
        "english, as 2 of the 2 notes looked at are in Norwegian (no)",
    )
    assert {language: path.stem for language, path in chosen.by_language.items()} == {
        "en": "english", "es": "spanish", "no": "english",
    }  # fmt: skip
    with pytest.raises(SettingsError, match=r"there are english \(en and no\), spanish \(es\): name one"):
        choice.engine_for([FINNISH])


@pytest.mark.parametrize(
    ("texts", "reported"),
    [
        ((FINNISH, FINNISH, ENGLISH), "2 of the 3 notes looked at are in Finnish (fi) (1 in English (en)), and no eng"),
        ((RUSSIAN,), "the note is in Cyrillic letters, and no engine ships for that; there are eng"),
        (("BP 120/80", ""), "the language of the notes is not clear; name an engine with --model: english"),
        ((), "no "),
    ],
)
@pytest.mark.parametrize("command", ["annotate notes out", "explain notes", "deidentify notes out"])
def test_where_no_engine_can_be_chosen_one_sentence_says_why(
    phistack: Phistack, ships: Path, texts: tuple[str, ...], reported: str, command: str
) -> None:
    _notes(ships / "notes", *texts)
    sentence = _sentence(phistack(*command.split()))
    assert reported in sentence
    assert "Potilas" not in sentence and "Пациент" not in sentence
    if texts:
        assert "english (en), spanish (es)" in sentence and "phistack train CORPUS --model BUNDLE" in sentence
    assert [path.name for path in ships.iterdir()] == ["notes"]


def test_a_choice_from_no_engine_says_so(phistack: Phistack, ships: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "FOLDER", ships / "none")
    _notes(ships / "notes", ENGLISH)
    assert "no engine ships with this phistack; name one with --model, or train" in _sentence(
        phistack("annotate", "notes", "out")
    )
    assert "there is no bundle at english; one is made with: " in _sentence(
        phistack("annotate", "notes", "out", "--model", "english")
    )
    status, shown, _ = phistack("engines")
    assert (status, shown[:38]) == (0, "no engine ships with this phistack; tr")


@pytest.mark.parametrize("command", ["annotate - -", "explain -"])
def test_notes_through_a_pipe_are_read_once(
    phistack: Phistack, ships: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    files.standard_input.cache_clear()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SPANISH.encode())))
    status, shown, error = phistack(*command.split())
    files.standard_input.cache_clear()
    assert status == 0, error
    assert "engine: spanish, as the note is in Spanish (es); text in other languages" in error
    assert shown if command == "explain -" else SPANISH in shown or json.loads(shown)["text"] == SPANISH


def test_a_run_that_goes_on_has_the_same_engine(phistack: Phistack, ships: Path) -> None:
    _notes(ships / "notes", ENGLISH, ENGLISH)
    assert phistack("deidentify", "notes", "clean")[0] == 0
    assert phistack("deidentify", "notes", "clean")[0] == 0
    for other in ("english", "spanish"):
        assert "are already there" in _sentence(phistack("deidentify", "notes", "clean", "--model", other))
    (ships / "asked.toml").write_text('model = "english"')
    status, _, error = phistack("deidentify", "notes", "other", "--config", "asked.toml")
    assert (status, "looked at" in error) == (0, False)
    assert {path.read_text() for path in (ships / "other").iterdir()} == {
        path.read_text() for path in (ships / "clean").iterdir()
    }


def test_a_table_is_chosen_for_by_its_text_columns(phistack: Phistack, ships: Path) -> None:
    (ships / "notes.csv").write_text(f'id,text,comment\n1,{ENGLISH},"{SPANISH * 3}"\n2,,x\n', encoding="utf-8")
    sentence = _sentence(phistack("deidentify", "notes.csv", "out.csv"))
    assert "engine: e" not in sentence and "comment=redact" in sentence
    options = ("--column", "comment=remove", "--column", "id=keep")
    status, _, error = phistack("deidentify", "notes.csv", "out.csv", *options)
    assert (status, "english, as the note is in English (en); " in error) == (0, True)


def test_the_suggestion_for_a_table_works_where_engines_of_several_label_sets_read_it(
    phistack: Phistack, ships: Path
) -> None:
    rows = [f'{i},471{i},Ann Hillcrest,1950-03-12,"{text}"\n' for i, text in enumerate((ENGLISH, SPANISH))]
    (ships / "notes.csv").write_text("id,mrn,patient_name,dob,text\n" + "".join(rows), encoding="utf-8")
    command = ("deidentify", "notes.csv", "out.csv", "--patient-column", "mrn")
    suggested = _sentence(phistack(*command)).partition("for example: ")[2].partition(" (keep")[0]
    assert suggested == "--column id=ID --column mrn=ID --column patient_name=NAME --column dob=DATE"
    status, shown, error = phistack(*command, *suggested.split())
    assert (status, "read 1 note by english, 1 note by spanish" in shown) == (0, True), error
    assert "held back" not in error
    for line in (ships / "out.csv").read_text(encoding="utf-8").splitlines()[1:]:
        assert all(field.startswith("[") and field.endswith("]") for field in line.split(",")[:4])


def test_only_the_beginning_of_an_input_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    read_lines = NoteFile.lines
    monkeypatch.setattr(NoteFile, "lines", lambda file: (read.append(1) or line for line in read_lines(file)))
    lines = ["not JSON", '{"id": "x", "text": " "}']
    lines += [json.dumps({"id": f"n{i}", "text": f"Note {i}", "other": "left out"}) for i in range(3000)]
    (tmp_path / "notes.jsonl").write_text("\n".join(lines))
    found = first_texts(tmp_path / "notes.jsonl", FormatSettings(Columns()), most=50)
    assert found == [f"Note {i}" for i in range(50)]
    assert len(read) == 52
    read.clear()
    (tmp_path / "bad.jsonl").write_text("bad\n" * 3000)
    with pytest.raises(CorpusError, match=r"none of the first notes in .* can be read; the first is not a JSON object"):
        first_texts(tmp_path / "bad.jsonl", FormatSettings(Columns()), most=50)
    (tmp_path / "bad.jsonl").write_text('{"id": "1", "note": "Seen today."}\n' * 10)
    with pytest.raises(CorpusError, match="has no column text; it has id, note: name the right one with --text-column"):
        first_texts(tmp_path / "bad.jsonl", FormatSettings(Columns()), most=50)
    (tmp_path / "bad.jsonl").write_text('{"id": "1"}\n')
    with pytest.raises(CorpusError, match="has no column text; it has id: name the right one with --text-column"):
        first_texts(tmp_path / "bad.jsonl", FormatSettings(Columns()), most=50)
    (tmp_path / "latin.csv").write_bytes("id,text\n1,Señor\n".encode("cp1252"))
    with pytest.raises(CorpusError, match=r"another encoding than utf-8: .* or give --encoding cp1252"):
        first_texts(tmp_path / "latin.csv", FormatSettings(Columns()), most=50)


def test_a_text_that_is_nearly_in_one_of_the_likely_languages_is() -> None:
    assert languages_of([ENGLISH, SPANISH, FINNISH, RUSSIAN, "", "120/80"], ("en", "es")) == {
        "en": 1, "es": 1, "fi": 1, "CYRILLIC": 1,
    }  # fmt: skip
    assert languages_of(["paciente com dor no peito"], ("es",)) == {"es": 1}
    assert languages_of(["O paciente foi internado com dor no peito e teve alta em bom estado."], ("es",)) == {"pt": 1}


@pytest.mark.parametrize(
    "text", ["pt c/o sob x 3d. hx htn dm2 cad s/p cabg, meds asa metop lisinopril", "na k cl bun cre glu wbc hgb plt"]
)
def test_abbreviations_choose_no_engine(text: str) -> None:
    assert languages_of([text], ("en", "es", "nl", "de", "sv")) == {}


def test_languages_that_one_engine_reads_need_not_be_distinguished() -> None:
    norwegian = "Pasienten ble innlagt med smerter i brystet og har vært innlagt tidligere."
    assert languages_of([norwegian], ("en", "sv", "da", "no")) == {}
    assert languages_of([norwegian], {"en": "english", "sv": "swedish", "da": "swedish", "no": "swedish"}) == {"no": 1}


def test_the_engines_are_listed_with_what_is_known_of_them(phistack: Phistack, ships: Path) -> None:
    status, shown, _ = phistack("engines", "--json", "engines.json")
    assert status == 0
    rows = [line.split() for line in shown.splitlines()]
    size = f"{shipped_engine('english').stat().st_size / 1e6:.1f}"
    assert ["english", "en", "i2b2-2014", "12", "notes", size, "90.00", "81.25"] in rows
    assert max(map(len, shown.splitlines())) <= 80
    assert "presidio-synth-v2" not in shown
    status, shown, _ = phistack("engines", "--details")
    rows = [line.split() for line in shown.splitlines()]
    assert ["english", "presidio-synth-v2", "recall,", "touched", "98.7"] in rows
    assert "spanish: regex, crf, trained on invented notes, spanish" in shown
    english, spanish = json.loads((ships / "engines.json").read_text())
    assert (english["submodels"], english["recall"], spanish["recall"]) == (["regex", "crf"], 0.8125, None)
    assert english["measured_elsewhere"] == [ELSEWHERE] and english["trained_on"]["documents"] == 12


def test_the_card_of_one_is_printed(phistack: Phistack, ships: Path) -> None:
    status, shown, error = phistack("engines", "english")
    assert (status, error) == (0, "")
    assert shown.startswith("# Model card\n") and "| presidio-synth-v2 | recall, touched | 98.7 |" in shown
    assert "## Measured on other notes" not in phistack("engines", "spanish")[1]
    assert "leave the name out" in _sentence(phistack("engines", "english", "--json", "x.json"))
    _notes(ships / "notes", ENGLISH)
    assert "not a phistack bundle" in _sentence(phistack("engines", "notes"))


def test_a_shell_completes_names_and_paths(ships: Path) -> None:
    (ships / "engine").mkdir()
    complete = completing_paths(("english", "spanish"))
    assert complete("eng") == ["english", "engine"]
    assert complete("sp") == ["spanish"]


def test_help_names_the_engines(folder: Path) -> None:
    code = "import sys; from pathlib import Path; from phistack.ensemble.bundles import shipped\n"
    code += f"shipped.FOLDER = Path({str(folder)!r})\n"
    code += "from phistack.ensemble.command_line.app import main; main()"
    for command in ("annotate", "deidentify", "errors", "rules"):
        done = subprocess.run(
            [sys.executable, "-c", code, command, "--help"], capture_output=True, text=True, check=True
        )
        assert "english or spanish" in " ".join(done.stdout.split())


def test_notes_that_are_all_held_back_are_no_error() -> None:
    russian = Document("1", "Пациентка поступила в понедельник с жалобами на боль в груди, муж Сергей сопровождал её.")
    [reading] = load_bundle(shipped_engine("english")).read([russian])
    assert reading.objection and [*reading.unread] == [Span(0, len(russian.text), "TEXT IN RUSSIAN")]
