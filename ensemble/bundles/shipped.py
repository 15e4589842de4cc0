"""The shipped engines by name: the bundles `NAME.zip` in the folder `engines` beside this file.

    shipped_names()              ("dutch", "english", ...), those that are installed
    bundle_path("english")       the bundle of that name, unless there is a path `english`
    bundle_path("my-engine")     Path("my-engine")

Only the names of files are read, fast enough for help and completion of the command line.
"""

from __future__ import annotations

from pathlib import Path

from phistack.features.errors import BundleError, did_you_mean

FOLDER = Path(__file__).parent / "engines"


def shipped_names() -> tuple[str, ...]:
    """The names of all shipped engines, sorted; empty if phistack was installed without them."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.zip")))


def shipped_engine(name: str) -> Path:
    """The bundle of a shipped engine; :raises BundleError: if none has the name."""
    if name not in shipped_names():
        raise BundleError(no_bundle(name))
    return FOLDER / f"{name}.zip"


def bundle_path(given: str) -> Path:
    """The bundle of a path or the name of a shipped engine; an existing path comes before a name."""
    path = Path(given)
    return shipped_engine(given) if given in shipped_names() and not path.exists() else path


def no_bundle(path: Path | str) -> str:
    """The message for a missing bundle."""
    names = shipped_names()
    ships = f"the engines that ship are {', '.join(names)}; one of your own" if names else "one"
    near = did_you_mean(path, names)
    return f"there is no bundle at {path}{near}; {ships} is made with: phistack train CORPUS --model {path}"
