"""What is loaded to stay is left out of garbage collections."""

import gc

from ensemble.tools.garbage import keep_all


def test_what_is_there_is_no_longer_looked_through() -> None:
    before, thresholds = gc.get_freeze_count(), gc.get_threshold()
    keep_all()
    try:
        assert gc.get_threshold() > thresholds
        assert gc.get_freeze_count() > before
        later = [object()]
        assert any(one is later for one in gc.get_objects())
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
