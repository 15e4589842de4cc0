"""The first-day page: its commands work in the order in which they appear."""

from pathlib import Path

import pytest

from tests.test_readme import examples_of, ran

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "first-day.md").read_text(encoding="utf-8")
COMMANDS = [command for example in examples_of(PAGE) if not example.reason for command in example.commands()]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The folder in which all commands were run, and what each said."""
    folder = tmp_path_factory.mktemp("first-day")
    return folder, {command: ran(command, folder) for command in COMMANDS}


@pytest.mark.slow
def test_every_command_of_the_page_ends_well_and_the_engine_is_chosen(shown: tuple[Path, dict[str, str]]) -> None:
    folder, said = shown
    assert "english" in said["phistack engines"]
    first = said["phistack deidentify notes clean --policy safe-harbor"]
    assert "engine: english, as 20 of the 20 notes looked at are in English (en); " in first
    for clean in ("clean", "cleaner", "cleanest"):
        assert len(list((folder / clean).iterdir())) == 20
    assert "is complete" in said["phistack audit clean"]
    assert "looked at" not in said["phistack deidentify notes cleanest --model ours --policy safe-harbor"]


@pytest.mark.slow
def test_what_the_page_says_to_look_at_is_there(shown: tuple[Path, dict[str, str]]) -> None:
    folder, _ = shown
    for name in ("summary.html", "quarantine.jsonl", "review.tsv"):
        assert f"clean.run/{name}" in PAGE and (folder / "clean.run" / name).is_file()


def test_the_page_is_read_in_ten_minutes() -> None:
    assert len(PAGE.split()) < 10 * 150
