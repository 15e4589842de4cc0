"""The benchmark counts names that stay although they were found elsewhere in the patient's notes."""

from benchmarks.repeated_mentions import outcome, released, table_of, without_repeats
from phistack.ensemble.stacking.repeats.word_counts import WordCounts
from phistack.features.documents import Document, Span

TEXT = "Smith, Dana: seen. Dana Smith fell. Rusk called."
GOLD = (Span(0, 11, "PATIENT"), Span(19, 29, "PATIENT"), Span(36, 40, "DOCTOR"))
NOTES = [Document("1-01", TEXT, GOLD, "1"), Document("2-01", TEXT, GOLD, "2")]
FOUND = [[GOLD[1]], []]


def test_what_stays_is_counted_and_so_is_what_was_found_elsewhere() -> None:
    counted = outcome(NOTES, FOUND)
    assert (counted.right, counted.found, counted.gold, counted.names) == (1, 1, 6, 6)
    assert (counted.stay, counted.found_elsewhere, counted.spurious) == (5, 1, 0)
    assert counted.figures[:3] == ("100.00", "16.67", "28.57")


def test_a_release_takes_out_what_was_found_elsewhere_and_nothing_of_other_patients() -> None:
    after = outcome(NOTES, released(NOTES, FOUND, WordCounts("en")))
    assert (after.right, after.stay, after.found_elsewhere, after.spurious) == (2, 4, 0, 0)


def test_the_table_has_four_rows_of_one_engine() -> None:
    from phistack.ensemble.synthesis import synthesize
    from phistack.ensemble.training.settings import EngineSettings
    from phistack.ensemble.training.trainer import train

    corpus = synthesize(24, seed=5)
    engine = train(corpus, EngineSettings(folds=2).only(("regex",))).engine
    assert table_of(engine, corpus.documents).row_count == 4
    assert without_repeats(engine).stacker.repeats_ is None and engine.stacker.repeats_ is not None
