"""An identifier with invisible characters is replaced, struck and found again like the plain one."""

from phistack.ensemble.batch.rows import Part
from phistack.ensemble.batch.workers.column_identifiers import with_column_identifiers
from phistack.ensemble.batch.workers.identifier_register import IdentifierRegister
from phistack.ensemble.batch.workers.record import KnownWords, struck_places, suspects
from phistack.ensemble.deidentification import Deidentified, Deidentifier, Policy, Replacement, verify
from phistack.ensemble.engine.doubt import SafeText
from phistack.ensemble.stacking.candidates import Decision
from phistack.ensemble.stacking.known.identifiers import RecordSearch
from phistack.features.documents import Document, Span
from phistack.features.labels import LabelSet

SAFE = SafeText.of(("en",))
UNCHANGED = Deidentified("", ())
KEY = b"0123456789abcdef-key"
PLAIN = "Dr. Anselm Birchwood saw her on 03/12/2019."
WRITTEN = "Dr. \u200dAn\u200dselm\u00a0Birch\u00adwood saw her on ０３／１２／２０１９."


def spans(text: str, *pieces: tuple[str, str]) -> list[Span]:
    starts = [(text.index(piece), piece, label) for piece, label in pieces]
    return [Span(start, start + len(piece), label) for start, piece, label in starts]


def test_surrogates_are_those_of_the_plain_text() -> None:
    deidentifier = Deidentifier(Policy.named("surrogate"), LabelSet.named("i2b2-2014"), "en", KEY)
    results = []
    for text, name, date in (
        (PLAIN, "Anselm Birchwood", "03/12/2019"),
        (WRITTEN, "\u200dAn\u200dselm\u00a0Birch\u00adwood", "０３／１２／２０１９"),
    ):
        note = Document("n", text, (), "patient")
        found = spans(text, (name, "DOCTOR"), (date, "DATE"))
        result = deidentifier.apply(note, found)
        verify(note, result, found)
        results.append(result.text)
    assert results[0] == results[1]
    assert [r.strategy for r in result.replacements] == ["surrogate", "surrogate"]


def test_an_identifier_is_found_again_however_it_is_written() -> None:
    register = IdentifierRegister(KEY)
    for known in ("Anselm Birchwood", "An\u200dselm\u00a0Birch\u00adwood"):
        label, length, digest = register.entry("DOCTOR", known)
        entries = {length: {digest: label}}
        for text in (PLAIN, WRITTEN):
            assert register.search(text, [], entries) == {("DOCTOR", "outside"): 1}
        assert register.search(WRITTEN, [(4, 25)], entries) == {("DOCTOR", "inside"): 1}


def test_words_to_look_at_are_shown_as_they_are_read() -> None:
    after = WRITTEN.index(" saw")
    known = KnownWords(["Ms Birchwod"])
    names = [s for s in suspects(WRITTEN, UNCHANGED, [], SAFE, known) if s.word[0].isupper()]
    assert [(s.word, s.likely) for s in names] == [("Anselm", 0.015), ("Birchwood", 0.2)]
    changed = Deidentified("", (Replacement(Span(0, after, "DOCTOR"), 0, 8, "tag"),))
    assert not [s for s in suspects(WRITTEN, changed, [], SAFE, known) if s.word[0].isupper()]
    [rejected] = suspects("it was seen", UNCHANGED, [Decision(Span(3, 6, "DOCTOR"), 0.3, False, ())], SAFE, known)
    assert rejected == ("was", 0.3 * 0.3, 3, 6, ""), "a safe word counts less"


def test_a_struck_word_is_found_however_it_is_written() -> None:
    [place] = set(struck_places(WRITTEN, frozenset({"birchwood"})))
    assert WRITTEN[slice(*place)] == "Birch\u00adwood"


def test_what_a_column_tells_is_found_however_column_and_text_are_written() -> None:
    for name in ("Anselm Birchwood", "An\u200dselm\u00a0Birch\u00adwood"):
        for text, there in ((PLAIN, "Anselm Birchwood"), (WRITTEN, "\u200dAn\u200dselm\u00a0Birch\u00adwood")):
            parts, found = (Part(name, "PATIENT"), Part(text)), ((Span(0, len(name), "PATIENT"),), ())
            [(_, in_text)] = with_column_identifiers([parts], [found], RecordSearch(LabelSet.named("i2b2-2014"), "en"))
            assert [text[span.start : span.end] for span in in_text] == [there]


def test_words_are_like_those_of_an_identifier_with_invisible_characters() -> None:
    found = suspects(PLAIN, UNCHANGED, [], SAFE, KnownWords(["Birch\u00adwood"]))
    assert [suspect.word for suspect in found if suspect.likely > 0.1] == ["Birchwood"]
