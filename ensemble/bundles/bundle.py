"""A trained engine on disk: a folder, or a zip file if its name ends in .zip.

    manifest.json         protocol, kinds, versions, SHA-256 of every other file, figures, what it was trained on
    MODEL_CARD.md         the same for people
    certificates.json     bounds on how much it leaves, if it was certified
    calibration.svg       reliability diagrams of submodels and stack, out of fold
    settings.toml         how it was trained; `train --config BUNDLE` reads it
    label_set.json        labels, categories, HIPAA membership
    self_test.json        invented sentences and the engine's answers when it was made
    features/             tokens, columns, vocabularies
    submodels/NAME/       native CRF file, arrays, rules and patterns as text
    stacker/              the SVM as arrays, that of the repeats, and rules that are merged after it, as text
    word_counts.json      words of the training notes, to tell names from words of the language
    subset_stackers/A+B/  the same for every subset of the submodels
    language_gate/        the languages and scripts that it can read, and learned limits
    cascade/              the submodels that read only lines in doubt, and thresholds

A bundle holds no code, and nothing is unpickled. It is refused if a file is missing, changed or not listed, if its
protocol is unknown, or if the self-test gives other answers.
"""

from __future__ import annotations

import json
import os
import platform
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from phistack.ensemble.bundles.files import CARD, MANIFEST, PROTOCOL, SETTINGS, file_hash, read_bundle, read_label_set
from phistack.ensemble.bundles.self_test import SelfTest, check_self_test
from phistack.ensemble.engine import Engine
from phistack.ensemble.stacking.cascade import Cascade
from phistack.ensemble.stacking.repeats.word_counts import WordCounts
from phistack.ensemble.stacking.stacker import Stacker
from phistack.ensemble.stacking.subsets import Subset, in_order, no_stacker, subset_name, subsets_of
from phistack.ensemble.tools.comma_lists import comma_list
from phistack.ensemble.tools.version import installed
from phistack.features.columns.installed import COLUMNS
from phistack.features.columns.table import FeatureSpace
from phistack.features.errors import BundleError, MissingResourceError, PackageError
from phistack.features.language_gate import LanguageGate
from phistack.features.saved_files import SavedFiles, damage_refused
from phistack.features.writing import new_file, new_folder, write_json
from phistack.submodels.base import load_submodel
from phistack.submodels.registry import KINDS

OPTIONAL_PARTS: Mapping[str, Callable[[SavedFiles], Any]] = {
    "language_gate": LanguageGate.load,
    "cascade": Cascade.load,
}
"""Parts that older bundles lack: name of the engine's attribute, of its argument and of the folder -> loader.

The attribute is `None` without the part; otherwise it has a method `save(folder)`.
"""

SERVERS = "PHISTACK_SERVERS"
"""The environment variable that names the hosts to which an engine may send text, joined by commas."""

_OWN_HOSTS = ("localhost", "127.0.0.1", "::1")
_PACKAGES = ("phistack", "numpy", "scikit-learn", "python-crfsuite", "keras", "tensorflow", "nltk")


def save_bundle(
    engine: Engine,
    path: Path,
    *,
    self_test: SelfTest,
    trained_on: Mapping[str, Any],
    figures: Mapping[str, Any],
    models: Mapping[str, SavedFiles] = MappingProxyType({}),
    settings: str = "",
) -> None:
    """Write an engine, all or nothing.

    :param path: a new folder or `.zip` file.
    :param self_test: the result of `ensemble.bundles.self_test.self_test`.
    :param trained_on: JSON-ready facts about the training corpus and settings, without text.
    :param figures: JSON-ready scores, with their protocol.
    :param models: the files of submodels that are saved already, by name; only the others are saved here.
    :param settings: the settings of the training, by `EngineSettings.to_toml`; empty if unknown.
    :raises SettingsError: if the path exists.
    :raises StorageError: if it cannot be written.
    """
    from phistack.ensemble.bundles.model_card import CALIBRATION_PICTURE, model_card
    from phistack.ensemble.evaluation.calibration import calibration_picture

    manifest = _manifest(engine, trained_on, figures)
    contents = {"self_test.json": _json(self_test), CARD: model_card(manifest, settings).encode()}
    if settings:
        contents[SETTINGS] = settings.encode()
    if "calibration" in figures:
        contents[CALIBRATION_PICTURE] = calibration_picture(figures["calibration"]).encode()
    parts = SavedFiles.written_by(partial(_write_parts, engine, models))
    write_files(path, manifest, contents | {name: parts.read(name) for name in parts.names})


def write_files(path: Path, manifest: Mapping[str, Any], contents: Mapping[str, bytes]) -> None:
    """Write the files of a bundle, and its manifest with their hashes.

    :param path: a new folder or `.zip` file.
    """
    manifest = {**manifest, "files": {name: file_hash(data) for name, data in sorted(contents.items())}}
    files = SavedFiles({**contents, MANIFEST: _json(manifest)})
    if path.suffix == ".zip":
        with new_file(path) as part, zipfile.ZipFile(part, "w") as archive:
            for name in files.names:
                # LZMA suits vocabularies and CRFs; arrays hardly shrink. Fixed times make equal bundles equal files.
                method = zipfile.ZIP_LZMA if name.endswith((".json", ".crfsuite")) else zipfile.ZIP_DEFLATED
                archive.writestr(zipfile.ZipInfo(name), files.read(name), method, compresslevel=9)
    else:
        with new_folder(path) as part:
            files.write_to(part)


def load_bundle(path: Path | SavedFiles, *, only: Iterable[str] = ()) -> Engine:
    """Read an engine; every file's hash and the self-test are checked.

    :param path: the path of the bundle, or its files if another bundle holds it.
    :param only: names of submodels; the others are not read, and the stacker is the one that was trained without them.
    :raises BundleError: if the bundle is damaged or changed, has no stacker for that subset, or needs a package, tagger
        or server that is missing.
    :raises SettingsError: if a submodel is not in the bundle.
    """
    manifest, files = read_bundle(path)
    names = tuple(manifest["kinds"])
    names = in_order(names, tuple(only) or names)
    try:
        with damage_refused(f"the bundle {path}"):
            engine = _read_engine(files, manifest["kinds"], names)
            check_self_test(engine, files.json("self_test.json", SelfTest), path)
    except (MissingResourceError, PackageError) as error:
        raise BundleError(f"the bundle {path} cannot be used here: {error}") from None
    return engine


def _write_parts(engine: Engine, models: Mapping[str, SavedFiles], folder: Path) -> None:
    labels = engine.label_set
    write_json(folder / "label_set.json", {**asdict(labels), "hipaa_labels": sorted(labels.hipaa_labels)})
    engine.space.save(folder / "features")
    engine.stacker.save(folder / "stacker")
    if engine.stacker.counts is not None:
        engine.stacker.counts.save(folder)
    for subset, stacker in engine.subset_stackers.items():
        stacker.save(folder / "subset_stackers" / subset_name(subset))
    for model in engine.submodels:
        home = folder / "submodels" / model.name
        if model.name in models:
            models[model.name].write_to(home)
        else:
            home.mkdir(parents=True)
            model.save(home)
    for name in OPTIONAL_PARTS:
        if (part := getattr(engine, name)) is not None:
            (folder / name).mkdir()
            part.save(folder / name)


def _manifest(engine: Engine, trained_on: Mapping[str, Any], figures: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "protocol": PROTOCOL,
        "kinds": {model.name: model.kind for model in engine.submodels},
        "label_set": engine.label_set.name,
        "language": engine.language,
        "tokeniser": engine.space.settings.tokeniser,
        "columns": list(engine.space.columns),
        "versions": {"python": platform.python_version(), **{name: installed(name) for name in _packages(engine)}},
        "trained_on": dict(trained_on),
        "figures": dict(figures),
    }


def _packages(engine: Engine) -> tuple[str, ...]:
    """The packages that the engine's answers depend on: libraries, and those of its kinds and columns."""
    kinds = (package for model in engine.submodels for package in KINDS.packages(model.kind))
    columns = (package for name in engine.space.settings.extra for package in COLUMNS.packages(name))
    return tuple(dict.fromkeys((*_PACKAGES, *kinds, *columns)))


def _read_engine(files: SavedFiles, kinds: Mapping[str, str], names: Subset) -> Engine:
    label_set = read_label_set(files)
    space = FeatureSpace.load(files.part("features"))
    _refuse_strange_servers((space.settings.pos, space.settings.ner))
    models = [load_submodel(name, kinds[name], files.part("submodels").part(name), space) for name in names]
    smaller = files.part("subset_stackers")
    homes = {subset: smaller.part(subset_name(subset)) for subset in subsets_of(names)}
    homes[tuple(kinds)] = files.part("stacker")
    counts = WordCounts.load(files) if WordCounts.FILE in files else None
    stackers = {
        subset: Stacker.load(home, sources=subset, counts=counts) for subset, home in homes.items() if home.names
    }
    if names not in stackers:
        raise no_stacker(names)
    optional = {name: load(files.part(name)) for name, load in OPTIONAL_PARTS.items() if name in files}
    engine = Engine(label_set, space, models, stackers.pop(names), stackers, **optional)
    if names != tuple(kinds):
        engine.cascade = None
    if engine.cascade is not None and engine.cascade.first(names) not in engine.subset_stackers:
        raise BundleError("the cascade of the engine is for other submodels than those in it; train it again")
    return engine


def _refuse_strange_servers(urls: Iterable[str]) -> None:
    """Refuse an engine that sends notes to a server that the user has not named."""
    known = {*_OWN_HOSTS, *comma_list(os.environ.get(SERVERS, ""))}
    for host in {urlsplit(url).hostname or "" for url in urls if "://" in url} - known:
        raise BundleError(
            f"the engine sends the text of notes to the server {host[:60]!a}; if that is right, name it in the "
            f"environment: {SERVERS}={host[:60]!a}"
        )


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
