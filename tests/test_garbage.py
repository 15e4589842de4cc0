"""What is loaded to stay is left out of garbage collections."""

import gc

from ensemble.tools.garbage import keep_all


def test_what_is_there_is_no_longer_looked_through() -> None:
    thresholds = gc.get_threshold()
    # Commands that other tests ran in this process have called it already.
    gc.set_threshold(700)
    before = gc.get_freeze_count()
    try:
        keep_all()
        assert gc.get_threshold()[0] > 700
        assert gc.get_freeze_count() > before
        later = [object()]
        assert any(one is later for one in gc.get_objects())
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
