"""A roster's entries on a note's patient are found in any spelling, in runs and in single commands."""

import json
import random
import stat
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.known_identifiers import mentions_of, outcome, write_roster
from benchmarks.known_identifiers import mistyped as mistyped_in
from phistack.ensemble.batch import RunSettings, audit_run, deidentify
from phistack.ensemble.deidentification.dates.parsing import names
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.known import KNOWN
from phistack.ensemble.stacking.known.identifiers import KnownIdentifiers, RecordSearch
from phistack.ensemble.stacking.known.roster import Roster, label_of, role_of, roles
from phistack.ensemble.synthesis import synthesize
from phistack.ensemble.synthesis.patients import invent_patient
from phistack.features.documents import Document, Span
from phistack.features.errors import SettingsError, StorageError
from phistack.features.labels import LabelSet
from phistack.submodels.base import Candidate
from tests.batch_runs import run_over

I2B2 = LabelSet.named("i2b2-2014")
SEARCH = RecordSearch(I2B2, "en")
HEADER = "patient,name,dob,mrn,phone,address,relatives,doctor\n"
ROSTER = (
    HEADER + "110,Ann García-Miller,1950-04-03,12-345-67,+1 (555) 123-4567,"
    '"12 Oak Street, Springfield, IL 62704",John Will;Mary Hope,Lee Ames\n'
)


def roster(folder: Path, text: str = ROSTER, name: str = "roster.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def known(tmp_path: Path) -> KnownIdentifiers:
    return KnownIdentifiers(Roster.open(roster(tmp_path)), RecordSearch(I2B2, "en"))


def marked(known: KnownIdentifiers, text: str, decisions: Sequence[Decision] = ()) -> list[tuple[str, str]]:
    """The accepted spans of a note of the patient, as labels and texts; they lie in the note and do not overlap."""
    accepted = [d.span for d in known.added(Document("110-01", text, (), "110"), decisions) if d.accepted]
    assert all(a.end <= b.start for a, b in pairwise(accepted))
    assert all(span.end <= len(text) for span in accepted)
    return [(span.label, text[span.start : span.end]) for span in accepted]


def decided(text: str, what: str, label: str, *, accepted: bool = True) -> Decision:
    span = Span(text.index(what), text.index(what) + len(what), label)
    return Decision(span, 0.9 if accepted else 0.1, accepted, (Candidate(span, "crf"),) if accepted else ())


@pytest.mark.parametrize(
    ("label", "mention"),
    [
        ("PATIENT", "Ann García-Miller"),
        ("PATIENT", "GARCIA-MILLER, ANN"),
        ("PATIENT", "garcia miller"),
        ("PATIENT", "Garcia, A."),
        ("PATIENT", "A. M. Garcia"),
        ("PATIENT", "A Garcia"),
        ("PATIENT", "Ann Gracia"),
        ("PATIENT", "Mller"),
        ("PATIENT", "John Will"),
        ("DOCTOR", "L. Ames"),
        ("DATE", "April 3rd, 1950"),
        ("DATE", "3 Apr. 50"),
        ("DATE", "04/03/1950"),
        ("DATE", "3.4.50"),
        ("MEDICALRECORD", "12 34567"),
        ("PHONE", "555.123.4567"),
        ("PHONE", "001 555 1234567"),
        ("PHONE", "(555) 123 4567 ext. 12"),
        ("DATE", "Monday, 3 April 1950"),
        ("DATE", "03APR1950"),
        ("STREET", "12 oak sreet, springfield"),
        ("STREET", "Springfield"),
    ],
)
def test_a_mention_is_found_however_it_is_written(known: KnownIdentifiers, label: str, mention: str) -> None:
    assert marked(known, f"It says {mention} here, as 2 others did.") == [(label, mention)]


@pytest.mark.parametrize(
    "text",
    [
        "112-345-67", "12-345-678", "Annual", "Millers Crossing 1950", "4/3/1951", "3/1950", "Apr 4", "14/3/1950",
        "4/3", "April 3, 2019", "14 April 1950", "3/4", "1950 mg", "take 3 apr",
    ],
)  # fmt: skip
def test_what_only_looks_like_it_is_not(known: KnownIdentifiers, text: str) -> None:
    assert [what for _, what in marked(known, f"See {text} there.")] in ([], ["Millers"])


@pytest.mark.parametrize(
    ("name", "mentions"),
    [
        ("Trevor van der Berg", ("van der Berg", "BERG, TREVOR VAN DER", "T. van der Berg")),
        ("Danny Le", ("danny le", "Le")),
        ("Terri D'Angelo", ("d'angelo", "Terri dangelo")),
        ("Jonathan S. Gregory", ("gregory, jonathan s.", "J. Gregory", "J.S. Gregory")),
        ("Ann Hill, MD", ("Ann Hill", "Hill")),
    ],
)
def test_particles_initials_and_short_names(tmp_path: Path, name: str, mentions: Sequence[str]) -> None:
    known = KnownIdentifiers(Roster.open(roster(tmp_path, f'patient,name\n110,"{name}"\n')), RecordSearch(I2B2, "en"))
    for mention in mentions:
        assert marked(known, f"then {mention} came") == [("PATIENT", mention)]
    assert marked(known, "MD seen by a nurse; le, de, d and van of S or J.") == []


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("Seen with A.G. today.", ["A.G."]),
        ("Seen with A. G.-M. today.", ["A. G.-M."]),
        ("Initials: AG, age 71", ["AG"]),
        ("Pt AG's mother", ["AG"]),
        ("Mrs. A G", ["A G"]),
        ("Thank you.\n\nAGM\n", ["AGM"]),
        ("AGM is well; AG and A G may be anything", ["AGM"]),
        ("Dictated by LA, MD", ["LA"]),
        ("-- L.A., RN; in L.A. and IN LA", ["L.A."]),
        ("A.M. dose; 8 AM; PATIENT AM BETTER", []),
        ("A.G. Bell and X.A.G. and A.G.X. and AG's and a.g. and gm, GA", []),
        ("THE PATIENT AG, AND MRS AG", ["AG"]),
    ],
)
def test_initials_alone_are_found_where_they_are_clear(
    known: KnownIdentifiers, text: str, mentions: Sequence[str]
) -> None:
    assert [what for _, what in marked(known, text)] == mentions


def test_ambiguous_initials_are_shown_and_accepted_where_a_submodel_sees_a_person(known: KnownIdentifiers) -> None:
    text = "per AG, no change"
    (decision,) = known.added(Document("110-01", text, (), "110"), [])
    assert not decision.accepted and "it may be anything" in decision.votes[0].evidence
    assert marked(known, text, [decided(text, "AG", "DOCTOR")]) == [("PATIENT", "AG")]
    assert marked(known, text, [decided(text, "AG", "HOSPITAL")]) == [("HOSPITAL", "AG")]


@pytest.mark.parametrize(
    ("language", "text", "mention"),
    [
        ("en", "Her birthday is April 3rd.", "April 3rd"),
        ("en", "Seen 3 Apr for this.", "3 Apr"),
        ("en", "since April 1950", "April 1950"),
        ("en", "from 04/1950 on", "04/1950"),
        ("en", "from Apr. '50", "Apr. '50"),
        ("en", "born in 1950, smoker", "1950"),
        ("en", "DOB 4/3", "4/3"),
        ("en", "Year of birth: 1950", "1950"),
        ("es", "nacida en 1950 en casa", "1950"),
        ("es", "el 3 de abril", "3 de abril"),
        ("de", "Jg. 1950, verh.", "1950"),
        ("de", "geb. 3.4., verh.", "3.4."),
        ("de", "1950 geboren", "1950"),
        ("nl", "geboren in 1950", "1950"),
        ("sv", "född -50", "-50"),
        ("sv", "f. 1950", "1950"),
    ],
)
def test_a_part_of_a_birth_date_is_found(tmp_path: Path, language: str, text: str, mention: str) -> None:
    opened = Roster.open(roster(tmp_path, "patient,dob\n110,1950-04-03\n"))
    assert [what for _, what in marked(KnownIdentifiers(opened, RecordSearch(I2B2, language)), text)] == [mention]


def test_a_year_of_birth_is_one_column_of_a_roster(tmp_path: Path) -> None:
    known = KnownIdentifiers(
        Roster.open(roster(tmp_path, "patient,year of birth\n110,1950\n")), RecordSearch(I2B2, "en")
    )
    assert marked(known, "Born in 1950; BP 120/80 in 1950; 1950 ml") == [("DATE", "1950")]
    text = "1950: measles"
    assert marked(known, text, [decided(text, "1950", "DATE")]) == [("DATE", "1950")]


def test_a_word_of_the_language_needs_a_sign(known: KnownIdentifiers) -> None:
    assert marked(known, "We hope she will call. Will she? Hope: none.") == []
    assert marked(known, "The nurse asked Will about it.") == [("PATIENT", "Will")]
    text = "they say hope called"
    assert marked(known, text, [decided(text, "hope", "PATIENT")]) == [("PATIENT", "hope")]
    assert marked(known, text, [decided(text, "hope", "PATIENT", accepted=False)]) == []
    text = "Seen at Clinic Hope today"
    assert marked(known, text, [decided(text, "Clinic Hope", "HOSPITAL")]) == [("HOSPITAL", "Clinic Hope")]
    assert marked(known, "mary hope called") == [("PATIENT", "mary hope")]


def test_a_surname_of_patient_and_staff_is_the_patients(tmp_path: Path) -> None:
    opened = Roster.open(roster(tmp_path, "patient,name,doctor\n110,Ann Ames,Lee Ames\n"))
    known = KnownIdentifiers(opened, RecordSearch(I2B2, "en"))
    assert marked(known, "Ames and Lee Ames") == [("PATIENT", "Ames"), ("DOCTOR", "Lee Ames")]


def test_what_is_not_accepted_is_shown_with_the_reason(known: KnownIdentifiers) -> None:
    (decision,) = known.added(Document("110-01", "We hope so.", (), "110"), [])
    assert not decision.accepted and decision.probability == 0
    assert "nothing else supports" in decision.votes[0].evidence and "hope" not in decision.votes[0].evidence
    assert decision.votes[0].source == KNOWN


def test_nothing_that_was_accepted_is_uncovered(known: KnownIdentifiers) -> None:
    text = "At Garcia Hall 7, Dr. Ann Garcia Jones"
    hall, doctor = decided(text, "Garcia Hall 7", "STREET"), decided(text, "Ann Garcia Jones", "DOCTOR")
    assert marked(known, text, [hall, doctor]) == [
        ("PATIENT", "Garcia"), ("STREET", "Hall 7"), ("PATIENT", "Ann Garcia"), ("DOCTOR", "Jones"),
    ]  # fmt: skip
    same = decided(text, "Ann Garcia Jones", "PATIENT")
    assert marked(known, text, [same]) == [("PATIENT", "Garcia"), ("PATIENT", "Ann Garcia Jones")]


def test_notes_of_others_stay_as_they_were(known: KnownIdentifiers) -> None:
    text = "Ann Garcia called."
    decisions = [decided(text, "Ann", "PATIENT")]
    assert known.added(Document("111-01", text, (), "111"), decisions) == decisions


def test_offsets_are_of_the_note_as_it_was_written(known: KnownIdentifiers) -> None:
    text = "\ufeff😀 Gar\u200dci\u0301a called 55\u00ad5 123\u20114567"
    assert marked(known, text) == [("PATIENT", "Gar\u200dci\u0301a"), ("PHONE", "55\u00ad5 123\u20114567")]


NAMES = st.text("abcdefghijklmnopqrstuvwxyzéöß", min_size=5, max_size=12)


@given(st.lists(NAMES, min_size=1, max_size=3, unique=True), st.randoms(use_true_random=False))
def test_every_spelling_of_a_name_is_found(words: list[str], rng: random.Random) -> None:
    spelt = [rng.choice((str.lower, str.upper, str.title))(word) for word in rng.sample(words, len(words))]
    at = rng.randrange(len(spelt))
    if "ß" not in spelt[at].lower():
        spelt[at] = mistyped(spelt[at], rng)
    mention = rng.choice((" ", ", ", "-")).join(spelt)
    text = f"12: {mention} (3)"
    hits = SEARCH.index({"name": (" ".join(words),)}).find(text)
    assert (4, 4 + len(mention)) in [(place.start, place.end) for _, place in hits]


def mistyped(word: str, rng: random.Random) -> str:
    """A word with one typing error; an inserted letter, or one left out, changed or swapped with the next."""
    at, letter = rng.randrange(len(word) - 1), rng.choice("aeknrst")
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    changed = word[:at] + letter + word[at + 1 :]
    return rng.choice((word[:at] + letter + word[at:], word[:at] + word[at + 1 :], changed, swapped))


@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)), st.sampled_from(("en", "es", "nl", "sv", "de")))
def test_every_usual_way_to_write_a_date_is_found(day: date, language: str) -> None:
    index = RecordSearch(I2B2, language).index({"birth_date": (day.isoformat(),)})

    def whole(text: str) -> list[str]:
        exact = {text[place.start : place.end] for _, place in index.find(text) if place.how == "exact"}
        return sorted(exact, key=len)[-1:]

    y, m, d = day.year, day.month, day.day
    month, short = names(language).full_months[m - 1], names(language).short_months[m - 1]
    ways = (
        f"{y}-{m:02}-{d:02}", f"{m}/{d}/{y}", f"{d:02}.{m:02}.{y % 100:02}", f"{d}-{m}-{y}", f"{y}{m:02}{d:02}",
        f"{d} {month} {y}", f"{month.upper()} {d}, {y}", f"{d}. {month} {y}", f"{d} de {month} de {y}",
        f"{d}-{short}-{y}",
    )  # fmt: skip
    for way in ways:
        assert whole(f"born ({way}) there") == [way], way
    other = date.fromordinal(day.toordinal() + 40)
    assert not whole(f"on {other.isoformat()}")


@given(st.text("0123456789", min_size=5, max_size=12), st.randoms(use_true_random=False))
def test_a_number_is_found_in_any_grouping(code: str, rng: random.Random) -> None:
    written = "".join(c + rng.choice(("", "", " ", "-", ".", "/")) for c in code[:-1]) + code[-1]
    index = SEARCH.index({"record_number": (code,)})
    ((known, place),) = index.find(f"no. {written}, yes")
    assert (known.label, place.start, place.end) == ("MEDICALRECORD", 4, 4 + len(written))
    assert not list(index.find(f"no. {written}7, yes"))


def test_each_label_set_has_labels_for_what_rosters_hold() -> None:
    assert label_of("staff", LabelSet.named("meddocan")) == "NOMBRE_PERSONAL_SANITARIO"
    for name in ("i2b2-2014", "ngrid-2016", "meddocan", "nut"):
        label_set = LabelSet.named(name)
        for role in roles():
            try:
                assert label_of(role, label_set) in label_set
            except SettingsError as error:
                assert "no label for" in str(error)
    assert role_of("Date of Birth") == role_of("fecha-de-nacimiento") == "birth_date"


def test_spanish_notes_and_a_column_named_as_a_label(tmp_path: Path) -> None:
    text = "paciente;nombre;apellidos;fecha de nacimiento;médico;HOSPITAL\n"
    text += "7;Íñigo;Ruiz Peña;03/04/1950;Eva Sáez;Monte Alto\n"
    known = KnownIdentifiers(
        Roster.open(roster(tmp_path, text), ("HOSPITAL",)), RecordSearch(LabelSet.named("meddocan"), "es")
    )
    note = "PENA RUIZ, INIGO, nacido el 3 de abril de 1950. Dra. Saez, Monte  alto."
    found = [d.span for d in known.added(Document("7", note), []) if d.accepted]
    assert [(span.label, note[span.start : span.end]) for span in found] == [
        ("NOMBRE_SUJETO_ASISTENCIA", "PENA RUIZ, INIGO"), ("FECHAS", "3 de abril de 1950"),
        ("NOMBRE_PERSONAL_SANITARIO", "Saez"), ("HOSPITAL", "Monte  alto"),
    ]  # fmt: skip


def test_all_rows_of_a_patient_and_all_forms_of_a_file_are_one_record(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"patient": 110, "name": ["Ann Hill", "Ann Lee"], "born": None},
        {"patient": 110, "name": ["Ann Hill"], "born": "1950-04-03"},
    ]
    lines = roster(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "roster.jsonl")
    expected = {"name": ("Ann Hill", "Ann Lee"), "birth_date": ("1950-04-03",)}
    assert Roster.open(lines).record("110") == expected
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows[1]["born"] = date(1950, 4, 3)
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "roster.parquet")
    assert Roster.open(tmp_path / "roster.parquet").record("110") == expected


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("name,dob\nAnn Hill,1950\n", "no column of patients"),
        ("patient,name\n110,Ann\n,Bea\n", "line 3 names no patient"),
        ("patient,name,name\n110,Ann,Hill\n", "two columns name"),
        ("patient,group,name\n110,110,Hill\n", "in 2 columns"),
        ("patient,name\n110,Ann,Hill\n", "line 2 cannot be read: the record has 3 fields and the header 2"),
        ('patient,name\n110,"Ann\n', "a quote is misplaced or never closed"),
        ("patient,ward\n110,7\n", "none of its columns"),
        ("patient,name\n", "no rows"),
        ("", "no rows"),
        (b"patient,name\n110,Garc\xeda\n", "not utf-8"),
    ],
)
def test_a_roster_of_no_use_is_refused_in_one_sentence(tmp_path: Path, content: str | bytes, reason: str) -> None:
    path = tmp_path / "roster.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SettingsError, match=reason) as refused:
        Roster.open(path)
    assert str(path) in str(refused.value) and not any(name in str(refused.value) for name in ("Ann", "Hill", "Garc"))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"patient": "1", "name": "A', "line 1 cannot be read: not valid JSON"),
        ("[1]", "not a JSON object"),
        ('{"patient": "1", "name": "A", "name": "B"}', "an object with one name twice"),
        ('{"patient": "1", "name": {"first": "A"}}', "neither text nor number"),
        ('{"patient": ' + "[" * 100_000, "not valid JSON"),
    ],
)
def test_json_lines_that_are_none_are_refused(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        Roster.open(roster(tmp_path, line + "\n", "roster.jsonl"))
    with pytest.raises(SettingsError, match="cannot be used"):
        Roster.open(tmp_path / "none.csv")
    with pytest.raises(SettingsError, match="is a spreadsheet; save its sheet as CSV"):
        Roster.open(roster(tmp_path, "no", "roster.xlsx"))
    with pytest.raises(SettingsError, match="Parquet"):
        Roster.open(roster(tmp_path, "no", "roster.parquet"))


@pytest.fixture
def run(tmp_path: Path) -> RunSettings:
    """A run over three notes of two patients by a weak detector, with a roster of one patient."""
    texts = {
        "110-01": "Ann Garcia fell; MRN 1234567.",
        "110-02": "garica is well. We hope so.",
        "111-01": "Ann Garcia.",
    }
    lines = (json.dumps({"id": id, "text": text}) + "\n" for id, text in texts.items())
    (tmp_path / "notes.jsonl").write_text("".join(lines))
    return run_over(tmp_path / "notes.jsonl", known=roster(tmp_path))


def test_a_run_removes_what_the_roster_says_and_the_log_says_who_knew(run: RunSettings) -> None:
    summary = deidentify(run)
    texts = [json.loads(line)["text"] for line in run.target.read_text().splitlines()]
    assert texts == ["[PATIENT] fell; MRN [MEDICALRECORD].", "[PATIENT] is well. We hope so.", "Ann Garcia."]
    assert summary.known == {"PATIENT": 2, "MEDICALRECORD": 1} and summary.not_in_roster == 1
    log = (run.reports / "audit.jsonl").read_text()
    assert '"known": {"MEDICALRECORD": 1, "PATIENT": 1}' in log and "arcia" not in log and "1234567" not in log
    assert not audit_run(run.target).problems


def test_a_run_continues_with_the_same_roster_and_no_other(run: RunSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:

        def stop(*_: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr("phistack.ensemble.batch.runner.check_output", stop)
        with pytest.raises(KeyboardInterrupt):
            deidentify(run)
    assert run.known is not None
    content = run.known.read_text()
    run.known.write_text(content.replace("Ann", "Eve"))
    for other in (run, replace(run, known=None)):
        with pytest.raises(SettingsError, match="begun with another roster"):
            deidentify(other)
    run.known.write_text(content)
    assert deidentify(run).known["PATIENT"] == 2


def test_a_saved_roster_is_the_same_and_nobody_else_can_read_it(tmp_path: Path) -> None:
    opened, index = Roster.open(roster(tmp_path)), tmp_path / "index"
    opened.save(index, "digest")
    assert stat.S_IMODE(index.stat().st_mode) == 0o600
    saved = Roster.saved(opened.path, index, "digest")
    assert saved is not None and saved.record("110") == opened.record("110") and saved.columns == opened.columns
    assert Roster.saved(opened.path, index, "other") is Roster.saved(opened.path, tmp_path / "none", "digest") is None
    index.write_bytes(b"damaged")
    assert Roster.saved(opened.path, index, "digest") is None
    with pytest.raises(StorageError, match="cannot be copied"):
        opened.save(index, "digest")


@pytest.mark.parametrize("is_stopped", [False, True])
def test_all_workers_read_the_roster_that_the_first_process_read(
    run: RunSettings, monkeypatch: pytest.MonkeyPatch, is_stopped: bool
) -> None:
    assert run.known is not None
    source, saved, save = run.known, [], Roster.save

    def save_and_remove(self: Roster, index: Path, digest: str) -> None:
        save(self, index, digest)
        saved.append(index)
        source.unlink()
        if is_stopped:
            raise KeyboardInterrupt

    monkeypatch.setattr(Roster, "save", save_and_remove)
    if is_stopped:
        with pytest.raises(KeyboardInterrupt):
            deidentify(replace(run, jobs=2))
    else:
        # The roster itself is gone, so it cannot have been read again.
        assert deidentify(replace(run, jobs=2)).known == {"PATIENT": 2, "MEDICALRECORD": 1}
    assert len(saved) == 1 and not saved[0].exists() and not run.work.exists()


def test_on_invented_notes_every_mention_of_the_record_is_proposed_and_hardly_anything_else(tmp_path: Path) -> None:
    notes = synthesize(40, seed=11).documents
    patients = {note.group: invent_patient(int(note.group), seed=11) for note in notes}
    known = KnownIdentifiers(Roster.open(write_roster(patients, tmp_path / "roster.csv")), RecordSearch(I2B2, "en"))
    rng = random.Random(0)
    exact = [(note, mentions_of(note, patients[note.group])) for note in notes]
    for pairs in (exact, [mistyped_in(*pair, rng) for pair in exact]):
        counts = outcome(pairs, lambda notes: (known.added(note, []) for note in notes))
        assert counts.proposed == counts.mentions > 200
        assert counts.accepted > 0.85 * counts.mentions
        assert counts.false_hits < 0.04 * counts.mentions
