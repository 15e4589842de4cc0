"""An error in a user's file always names the file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from phistack.ensemble.deidentification import Policy
from phistack.ensemble.tasks.placeholders import Style
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.errors import PhistackError
from phistack.features.files import file_named, read_toml
from phistack.features.labels import LabelSet
from phistack.submodels.regex.pattern_files import user_patterns

READERS: dict[str, Callable[[Path], object]] = {
    "settings": EngineSettings.from_toml,
    "policy": Policy.from_toml,
    "label set": lambda path: LabelSet.of(str(path)),
    "pattern": user_patterns,
    "style": lambda path: Style.of(str(path)),
}
WRONG = {
    "not there": None,
    "not UTF-8": b"# \xff",
    "not TOML": b"= 3",
    "nested too deep": b"x = " + b"[" * 50_000,
    "of other names": b"[[patterns]]\ncolour = 1\n[nonsense]\n",
}


@pytest.mark.parametrize("what", READERS)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, what: str, wrong: str) -> None:
    content = WRONG[wrong]
    if content is not None:
        (tmp_path / "mine.toml").write_bytes(content)
    with pytest.raises(PhistackError, match=rf"the {what} file .*mine\.toml cannot be used: "):
        READERS[what](tmp_path / "mine.toml")


def test_only_what_a_file_can_be_blamed_for_names_it(tmp_path: Path) -> None:
    with pytest.raises(KeyError), file_named("the file", tmp_path):
        raise KeyError("a fault of ours")
    (tmp_path / "fine.toml").write_text("a = 1")
    assert read_toml(tmp_path / "fine.toml") == {"a": 1}
