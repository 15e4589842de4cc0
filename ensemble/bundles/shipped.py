"""The engines that phistack brings along, by name: the bundles `NAME.zip` in the folder `engines` beside this file.

    shipped_names()              ("dutch", "english", ...), as far as they are installed
    bundle_path("english")       the bundle of that name, unless there is a path `english`
    bundle_path("my-engine")     Path("my-engine")

Nothing is read here but the names of files, so that help and completion of a command line can have them.
"""

from __future__ import annotations

from pathlib import Path

from phistack.features.errors import BundleError
from phistack.features.suggestions import did_you_mean

FOLDER = Path(__file__).parent / "engines"


def shipped_names() -> tuple[str, ...]:
    """The names of all engines that ship, sorted; none where phistack was installed without them."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.zip")))


def shipped_engine(name: str) -> Path:
    """The bundle of an engine that ships; :raises BundleError: if none has the name, with those that there are."""
    if name not in shipped_names():
        raise BundleError(no_bundle(name))
    return FOLDER / f"{name}.zip"


def bundle_path(given: str) -> Path:
    """The path that is meant by a path or the name of an engine that ships; whatever exists here wins over a name."""
    path = Path(given)
    return shipped_engine(given) if given in shipped_names() and not path.exists() else path


def no_bundle(path: Path | str) -> str:
    """What to say where a bundle should be and none is."""
    names = shipped_names()
    ships = f"the engines that ship are {', '.join(names)}; one of your own" if names else "one"
    near = did_you_mean(path, names)
    return f"there is no bundle at {path}{near}; {ships} is made with: phistack train CORPUS --model {path}"
