"""The rooms of the house: how many, on how many floors, and the picture of them in the manual.

    python -m benchmarks.house                 lines, floors and imports, room by room
    python -m benchmarks.house --draw          also writes docs/rooms.svg

A room is a package or, in `ensemble`, a folder or a loose file; `ensemble/__init__.py` is the face and no room. A room
stands one floor above the highest that it imports from. The last line is `rooms R, floors F, circles C`.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "rooms.svg"
_PACKAGES = ("features", "tbed", "submodels", "ensemble", "benchmarks")
_FACE = "ensemble"
_WIDTH, _HIGH, _GAP, _MARGIN = 1120, 64, 34, 24


@dataclass(frozen=True)
class House:
    """The rooms of a checkout.

    :param lines: room -> lines of Python.
    :param says: room -> the opening sentence of its package.
    :param uses: room -> the other rooms that its modules import from.
    :param floor: room -> its floor, the ground being 1.
    :param imports: module -> those that it imports, itself or a name of theirs.
    :param circles: the modules of an import circle, if there is one.
    """

    lines: Mapping[str, int]
    says: Mapping[str, str]
    uses: Mapping[str, set[str]]
    floor: Mapping[str, int]
    imports: Mapping[str, set[str]]
    circles: tuple[str, ...]

    @classmethod
    def of(cls, root: Path) -> House:
        """Read the imports of all modules, those inside functions too."""
        modules = {_name(path, root): path for package in _PACKAGES for path in (root / package).rglob("*.py")}
        lines: Counter[str] = Counter()
        says: dict[str, str] = {}
        imports: dict[str, set[str]] = {}
        for name, path in modules.items():
            text = path.read_text(encoding="utf-8")
            tree = ast.parse(text)
            imports[name] = {module for module in _imported(tree, modules) if module != name}
            if name == _FACE:
                continue
            lines[room_of(name)] += text.count("\n")
            if name == room_of(name):
                says[name] = (ast.get_docstring(tree) or "").partition("\n")[0]
        uses: dict[str, set[str]] = {room: set() for room in lines}
        for name in imports.keys() - {_FACE}:
            uses[room_of(name)] |= {*map(room_of, imports[name])} & {*lines} - {room_of(name)}
        return cls(lines, says, uses, _floors(uses), imports, _circle(imports))


def room_of(module: str) -> str:
    """The room of a module: `ensemble.batch.formats.rows` is in `ensemble.batch`."""
    return ".".join(module.split(".")[: 2 if module.startswith("ensemble.") else 1])


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).with_suffix("").as_posix().removesuffix("/__init__").replace("/", ".")


def _imported(tree: ast.Module, modules: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield from (name for name in (inner if inner in modules else node.module,) if name in modules)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)


def _floors(uses: Mapping[str, set[str]]) -> dict[str, int]:
    floors: dict[str, int] = {}
    for room in TopologicalSorter(uses).static_order():
        floors[room] = 1 + max((floors[below] for below in uses.get(room, ())), default=0)
    return floors


def _circle(imports: Mapping[str, set[str]]) -> tuple[str, ...]:
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return ()


def drawn(house: House) -> str:
    """The house as SVG: a floor a row, the width of a room by the root of its lines, and who uses whom by lines."""
    top = max(house.floor.values())
    boxes: dict[str, tuple[float, float, float]] = {}
    for floor in range(top, 0, -1):
        rooms = sorted((room for room in house.floor if house.floor[room] == floor), key=str)
        weights = [max(house.lines[room], 300) ** 0.5 for room in rooms]
        free = _WIDTH - 2 * _MARGIN - 16 * (len(rooms) - 1)
        unit = min(free / sum(weights), 9.0)
        x = (_WIDTH - unit * sum(weights) - 16 * (len(rooms) - 1)) / 2
        for room, weight in zip(rooms, weights, strict=True):
            boxes[room] = (x, _MARGIN + (top - floor) * (_HIGH + _GAP), unit * weight)
            x += unit * weight + 16
    height = 2 * _MARGIN + top * _HIGH + (top - 1) * _GAP
    body = [*_lines(house, boxes), *(_box(house, room, *boxes[room]) for room in boxes)]
    return _SVG.format(width=_WIDTH, height=height, body="\n  ".join(body))


def _lines(house: House, boxes: Mapping[str, tuple[float, float, float]]) -> Iterator[str]:
    """A line from each room to those that it uses, but for the ground floor, which all use, and what others imply."""
    for room, used in sorted(house.uses.items()):
        for below in sorted(used):
            implied = any(below in house.uses[other] for other in used if other != below)
            if house.floor[below] == 1 or implied:
                continue
            (x, y, width), (to_x, to_y, to_width) = boxes[room], boxes[below]
            begin, end, bend = x + width / 2, to_x + to_width / 2, (to_y - y - _HIGH) / 2
            curve = f"c0 {bend:.0f} {end - begin:.0f} {bend:.0f} {end - begin:.0f} {2 * bend:.0f}"
            yield f'<path class="line" d="M{begin:.0f} {y + _HIGH:.0f}{curve}"/>'


def _box(house: House, room: str, x: float, y: float, width: float) -> str:
    name = room.removeprefix("ensemble.") + ("/" if room != "ensemble.engine" else ".py")
    middle = x + width / 2
    return (
        f'<rect class="{room.partition(".")[0]}" x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{_HIGH}" rx="8">'
        f"<title>{escape(house.says.get(room, ''))}</title></rect>"
        f'<text class="h" x="{middle:.0f}" y="{y + 29:.0f}">{name}</text>'
        f'<text class="s" x="{middle:.0f}" y="{y + 48:.0f}">{house.lines[room] / 1000:.1f}k lines</text>'
    )


_SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">
  <title>The rooms of phistack, each above those that it imports; what all use stands at the ground</title>
  <style>
    .paper {{ fill: #faf9f6; }} rect {{ stroke: #8a8678; stroke-width: 1.2; }} .features {{ fill: #d5ead2; }}
    .tbed {{ fill: #f9dfc6; }} .submodels {{ fill: #f4d3d8; }}
    .ensemble {{ fill: #d3e3f6; }} .benchmarks {{ fill: #e4daf4; }}
    .line {{ fill: none; stroke: #8a8e96; stroke-width: 1.3; }}
    .s {{ font-size: 11.5px; fill: #5a5e66; }} .h {{ font-weight: 600; }}
    text {{ font-family: system-ui, "Segoe UI", sans-serif; font-size: 14px; text-anchor: middle; fill: #22252a; }}
  </style>
  <rect class="paper" width="{width}" height="{height}" rx="12"/>
  {body}
</svg>
"""


def main() -> None:
    """Print the rooms, and draw them if asked to."""
    parser = argparse.ArgumentParser(description="The rooms of the house, their floors and lines.")
    parser.add_argument("--draw", action="store_true", help="write docs/rooms.svg")
    house = House.of(ROOT)
    for room in sorted(house.floor, key=lambda room: (-house.floor[room], room)):
        print(f"{house.floor[room]:5}  {room:28} {house.lines[room]:6}  uses {', '.join(sorted(house.uses[room]))}")
    if parser.parse_args().draw:
        PICTURE.write_text(drawn(house), encoding="utf-8")
    print(f"rooms {len(house.floor)}, floors {max(house.floor.values())}, circles {int(bool(house.circles))}")


if __name__ == "__main__":
    main()
