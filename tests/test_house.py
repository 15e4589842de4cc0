"""The rooms of the house, as the manual describes and draws them."""

import re

from benchmarks.house import PICTURE, ROOT, House

HOUSE = House.of(ROOT)
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def as_path(room: str) -> str:
    path = room.replace(".", "/")
    return f"{path}.py" if (ROOT / f"{path}.py").exists() else f"{path}/"


def test_the_manual_has_a_row_for_each_room_and_no_other() -> None:
    rows = re.findall(r"^\| `([\w/.]+)` \|", PAGE, re.M)
    assert sorted(rows) == sorted(map(as_path, HOUSE.floor))


def test_each_row_begins_reading_at_files_that_there_are() -> None:
    for room, files in re.findall(r"^\| `([\w/.]+)` \|.*\|([^|]*)\|$", PAGE, re.M):
        for file in re.findall(r"`([^`]+)`", files):
            assert (ROOT / room / file).is_file(), f"{room}{file}"


def test_the_picture_shows_each_room() -> None:
    names = set(re.findall(r'class="h"[^>]*>([^<]+)<', PICTURE.read_text(encoding="utf-8")))
    assert names == {as_path(room).removeprefix("ensemble/") for room in HOUSE.floor}


def test_paths_in_the_manual_exist() -> None:
    pages = {ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")}
    pages -= {ROOT / "docs" / "bundles.md"}  # which names the files of a bundle
    named = r"(?<!Write )(?<!here\s)`((?:features|tbed|submodels|ensemble|tests|benchmarks|docs|data)/[\w/.-]*)`"
    missing = [
        f"{page.name}: {path}"
        for page in sorted(pages)
        for path in re.findall(named, page.read_text(encoding="utf-8"))
        if "NAME" not in path and not (ROOT / path).exists()
    ]
    assert not missing
