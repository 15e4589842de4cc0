"""A trained engine on disk: a folder, or a zip file if its name ends so.

    manifest.json         protocol, kinds, versions, SHA-256 of every other file, figures, what it was trained on
    MODEL_CARD.md         the same for people
    label_set.json        labels, categories, HIPAA membership
    self_test.json        invented sentences and what the engine said of them when it was made
    features/             tokens, columns, vocabularies
    submodels/NAME/       native CRF file, arrays, rules and patterns as text
    stacker/              the SVM as arrays
    subset_stackers/A+B/  the same for every subset of the submodels

Nothing in a bundle is code and nothing is unpickled. A bundle is refused if a file is missing, changed or not listed,
if its protocol is not ours, or if the self-test does not come out as it did.
"""

from __future__ import annotations

import hashlib
import json
import platform
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata, resources
from pathlib import Path, PurePosixPath
from typing import Any

from ensemble.engine import Engine
from ensemble.model_card import model_card
from ensemble.paths import refuse_existing
from ensemble.stacker import Stacker
from ensemble.subsets import Subset, in_order, no_stacker, subset_name, subsets_of
from features.documents import Document
from features.errors import BundleError, PhistackError
from features.labels import LabelSet
from features.table import FeatureSpace
from submodels.base import KINDS, submodel_class

__all__ = ["PROTOCOL", "load_bundle", "read_manifest", "save_bundle"]

PROTOCOL = 1
"""Raised by one with every change after which an older phistack cannot read a bundle; see docs/bundles.md."""

_PACKAGES = ("phistack", "numpy", "scikit-learn", "python-crfsuite", "keras", "tensorflow", "nltk")
_TOLERANCE = 1e-3


def save_bundle(engine: Engine, path: Path, *, trained_on: Mapping[str, Any], figures: Mapping[str, Any]) -> None:
    """Write an engine, all or nothing.

    :param path: a folder that is not there yet, or a `.zip` file.
    :param trained_on: JSON-ready facts on the training corpus and settings, without text.
    :param figures: JSON-ready scores, with their protocol.
    :raises BundleError: if the path is taken.
    """
    refuse_existing(path, BundleError)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as temporary:
        folder = Path(temporary) / "bundle"
        _write_parts(engine, folder)
        manifest = _manifest(engine, folder, trained_on, figures)
        (folder / "MODEL_CARD.md").write_text(model_card(manifest), encoding="utf-8")
        manifest["files"] = _hashes(folder)
        (folder / "manifest.json").write_text(_json(manifest), encoding="utf-8")
        if path.suffix == ".zip":
            folder = _zipped(folder, Path(temporary) / "bundle.zip")
        folder.rename(path)


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a bundle, checked for protocol only.

    :raises BundleError: if there is none, or it is of another protocol.
    """
    with _opened(path) as folder:
        return _read_manifest(folder, path)


def load_bundle(path: Path, *, only: Iterable[str] = ()) -> Engine:
    """Read an engine; every file's hash and the self-test are checked first.

    :param only: names of submodels; the others are not read, and the stacker is the one that was trained without them.
    :raises BundleError: if anything about the bundle is not as it was made, or it has no stacker for that subset.
    :raises SettingsError: if a submodel is not in the bundle.
    """
    with _opened(path) as folder:
        manifest = _read_manifest(folder, path)
        _check_files(folder, manifest, path)
        names = tuple(manifest["kinds"])
        names = in_order(names, tuple(only) or names)
        try:
            engine = _read_engine(folder, manifest, names)
            _check_self_test(engine, json.loads((folder / "self_test.json").read_text(encoding="utf-8")), path)
        except BundleError:
            raise
        except (OSError, ValueError, KeyError, TypeError, PhistackError) as error:
            raise BundleError(f"the bundle {path} cannot be read ({type(error).__name__}); train it again") from None
    return engine


def _write_parts(engine: Engine, folder: Path) -> None:
    folder.mkdir()
    labels = engine.label_set
    state = {
        "name": labels.name,
        "categories": dict(labels.categories),
        "hipaa_labels": sorted(labels.hipaa_labels),
        "language": labels.language,
    }
    (folder / "label_set.json").write_text(_json(state), encoding="utf-8")
    engine.space.save(folder / "features")
    engine.stacker.save(folder / "stacker")
    for subset, stacker in engine.subset_stackers.items():
        stacker.save(folder / "subset_stackers" / subset_name(subset))
    for model in engine.submodels:
        home = folder / "submodels" / model.name
        home.mkdir(parents=True)
        model.save(home)
    (folder / "self_test.json").write_text(_json(_self_test(engine)), encoding="utf-8")


def _manifest(
    engine: Engine, folder: Path, trained_on: Mapping[str, Any], figures: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "protocol": PROTOCOL,
        "kinds": {model.name: model.kind for model in engine.submodels},
        "tag_scheme": "BIO",
        "label_set": engine.label_set.name,
        "language": engine.space.settings.language,
        "tokeniser": engine.space.settings.tokeniser,
        "columns": list(engine.space.columns),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in _PACKAGES}},
        "trained_on": dict(trained_on),
        "figures": dict(figures),
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _self_test(engine: Engine) -> dict[str, Any]:
    """Sentences, and the spans and probabilities that the engine and its subsets give them now."""
    sentences: dict[str, list[str]] = _sentences()
    texts = sentences.get(engine.space.settings.language, sentences["en"])
    subsets = {subset_name(subset): _answers(engine.only(subset), texts) for subset in engine.subset_stackers}
    return {"texts": texts, "answers": _answers(engine, texts), "subsets": subsets}


def _sentences() -> dict[str, list[str]]:
    import tomllib

    return tomllib.loads((resources.files("ensemble") / "self_test.toml").read_text(encoding="utf-8"))


def _answers(engine: Engine, texts: list[str]) -> list[list[list[Any]]]:
    documents = [Document(f"self-test-{i}", text) for i, text in enumerate(texts)]
    return [
        [
            [d.span.start, d.span.end, d.span.label, round(d.probability, 6), d.accepted]
            for d in decisions
            if d.accepted or d.probability > 0.01
        ]
        for decisions in engine.decide(documents)
    ]


def _check_self_test(engine: Engine, self_test: Mapping[str, Any], path: Path) -> None:
    answers = _answers(engine, self_test["texts"])
    subsets = self_test.get("subsets", {})
    for expected, found in zip(subsets.get(subset_name(engine.names), self_test["answers"]), answers, strict=True):
        accepted = [answer[:3] for answer in expected if answer[4]]
        if accepted != [answer[:3] for answer in found if answer[4]] or not _close(expected, found):
            raise BundleError(
                f"the bundle {path} fails its self-test: it does not annotate its test sentences as it did when it was "
                f"made; the installed packages may differ too much from those in its manifest"
            )


def _close(expected: list[list[Any]], found: list[list[Any]]) -> bool:
    chances = {tuple(answer[:3]): answer[3] for answer in found}
    return all(abs(chances.get(tuple(answer[:3]), 0.0) - answer[3]) <= _TOLERANCE for answer in expected if answer[4])


def _read_engine(folder: Path, manifest: Mapping[str, Any], names: Subset) -> Engine:
    state = json.loads((folder / "label_set.json").read_text(encoding="utf-8"))
    label_set = LabelSet(state["name"], state["categories"], frozenset(state["hipaa_labels"]), state["language"])
    space = FeatureSpace.load(folder / "features")
    kinds = manifest["kinds"]
    models = [submodel_class(kinds[name]).load(folder / "submodels" / name, space) for name in names]
    homes = {subset: folder / "subset_stackers" / subset_name(subset) for subset in subsets_of(names)}
    homes[tuple(kinds)] = folder / "stacker"
    stackers = {subset: Stacker.load(homes[subset]) for subset in subsets_of(names) if homes[subset].is_dir()}
    if names not in stackers:
        raise no_stacker(names)
    return Engine(label_set, space, models, stackers.pop(names), stackers)


def _read_manifest(folder: Path, path: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        protocol = manifest["protocol"]
    except (OSError, ValueError, KeyError, TypeError):
        raise BundleError(f"{path} is not a phistack bundle: it has no readable manifest.json") from None
    if protocol != PROTOCOL:
        raise BundleError(
            f"the bundle {path} has protocol {protocol}, and this phistack reads protocol {PROTOCOL}; "
            f"train it again, or install the phistack that made it"
        )
    return manifest


def _check_files(folder: Path, manifest: Mapping[str, Any], path: Path) -> None:
    listed = manifest.get("files")
    if not isinstance(listed, dict) or not isinstance(manifest.get("kinds"), dict):
        raise BundleError(f"the manifest of the bundle {path} does not list its files and kinds")
    found = _hashes(folder)
    for what, names in (("lacks", listed.keys() - found.keys()), ("has the unlisted", found.keys() - listed.keys())):
        if names:
            raise BundleError(f"the bundle {path} {what} file {min(names)}; get a whole copy of it")
    changed = sorted(name for name, digest in found.items() if digest != listed[name])
    if changed:
        raise BundleError(f"in the bundle {path} the file {changed[0]} was changed since it was made; do not use it")
    unknown = sorted(set(manifest["kinds"].values()) - set(KINDS))
    if unknown:
        raise BundleError(f"the bundle {path} has a submodel of kind {unknown[0]}, which this phistack does not know")


def _hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of every file but the manifest, by its path in the bundle."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path != folder / "manifest.json"
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _zipped(folder: Path, target: Path) -> Path:
    """A zip of the folder with fixed times, so that equal bundles are equal files."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.writestr(zipfile.ZipInfo(path.relative_to(folder).as_posix()), path.read_bytes())
    return target


@contextmanager
def _opened(path: Path) -> Iterator[Path]:
    """The bundle as a folder; a zip is unpacked for the while."""
    if path.is_dir():
        yield path
        return
    if not path.is_file():
        raise BundleError(f"there is no bundle at {path}; make one with: phistack train CORPUS --model {path}")
    with tempfile.TemporaryDirectory(prefix="phistack-bundle-") as temporary:
        folder = Path(temporary)
        try:
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    _check_name(name, path)
                archive.extractall(folder)
        except (zipfile.BadZipFile, OSError, EOFError, RuntimeError):
            raise BundleError(f"{path} is neither a bundle folder nor a whole zip file; get another copy") from None
        yield folder


def _check_name(name: str, path: Path) -> None:
    parts = PurePosixPath(name).parts
    if name.startswith("/") or ".." in parts or "\\" in name:
        raise BundleError(f"the zip file {path} holds a file that would land outside its folder; do not use it")
