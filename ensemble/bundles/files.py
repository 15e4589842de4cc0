"""The manifest and the files of a bundle, from a folder or a zip, each checked before it is used.

    read_manifest(path)              the bundle's description of itself
    manifest, files = read_bundle(path)

A zip is never unpacked to disk. It is checked in this order: the number and sizes of the files by its directory; the
manifest; whether it lists exactly these files; the hash of each file.
"""

from __future__ import annotations

import hashlib
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import msgspec

from phistack.ensemble.bundles.shipped import no_bundle
from phistack.features.arrays import checked_sizes, read_member
from phistack.features.errors import BundleError
from phistack.features.labels import LabelSet, is_label
from phistack.features.language_gate import LanguageGate
from phistack.features.saved_files import (
    LARGEST,
    MOST_FILES,
    SavedFiles,
    check_name,
    damage_refused,
    files_below,
    read_file,
)

PROTOCOL = 2
"""Increased with every change after which an older phistack cannot read a bundle; see docs/bundles.md."""

_OLDEST_READ = 1
"""Bundles of protocol 1 have no repeats, surface forms or language gate."""

MANIFEST = "manifest.json"
SETTINGS = "settings.toml"
CARD, CERTIFICATES = "MODEL_CARD.md", "certificates.json"
_LABELS = "label_set.json"
_LANGUAGE_GATE = "language_gate/language_gate.json"
_LARGEST_MANIFEST = 2**24
_LARGEST_DIRECTORY = 2**22
_RATIO = 50
_END = struct.Struct("<4s4H2IH")
"""The last record of a zip; its third last number is the size of the directory."""


class _Manifest(TypedDict):
    """The required part of a manifest."""

    protocol: int
    kinds: dict[str, str]
    trained_on: dict[str, Any]
    figures: dict[str, Any]
    files: dict[str, str]


class _Entry(NamedTuple):
    size: int
    read: Callable[[], bytes]


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a bundle; the other files are not read.

    :raises BundleError: if it is missing, of another protocol, or incomplete.
    """
    with _opened(path) as entries:
        return _manifest(entries, path)


def manifest_digest(path: Path) -> str:
    """SHA-256 of a bundle's manifest, which lists the SHA-256 of all its other files.

    :raises BundleError: if there is no manifest.
    """
    with _opened(path) as entries:
        return file_hash(_manifest_bytes(entries, path))


def engine_digest(path: Path) -> str:
    """SHA-256 of a bundle's manifest without certificates and card: the digest of the engine they are about.

    :raises BundleError: if there is no manifest, or it is incomplete.
    """
    manifest = read_manifest(path)
    files = {name: digest for name, digest in manifest["files"].items() if name not in (CARD, CERTIFICATES)}
    return file_hash(msgspec.json.encode({**manifest, "files": files}, order="sorted"))


def read_bundle(path: Path | SavedFiles) -> tuple[dict[str, Any], SavedFiles]:
    """The manifest and all files of a bundle, including the manifest's.

    :param path: the path of the bundle, or its files if another bundle holds it.
    :raises BundleError: if a file is missing, changed, not listed, a link, or far larger than an engine's.
    """
    with _opened(path) as entries:
        manifest = _manifest(entries, path)
        listed, found = set(manifest["files"]), set(entries) - {MANIFEST}
        for what, names in (("lacks", listed - found), ("has the unlisted", found - listed)):
            if names:
                raise BundleError(f"the bundle {path} {what} file {min(names)!a}; get a complete copy of it")
        contents = {name: entries[name].read() for name in sorted(entries)}
    for name in found:
        if file_hash(contents[name]) != manifest["files"][name]:
            raise BundleError(
                f"in the bundle {path} the file {name} was changed after the bundle was made; do not use it"
            )
    return manifest, SavedFiles(contents)


def bundle_labels(path: Path) -> tuple[str, ...]:
    """The labels of a bundle, without loading it; empty if they cannot be read, which loading reports."""
    try:
        return tuple(filter(is_label, _one_file(path, _LABELS).json(_LABELS, LabelSet).labels))
    except BundleError:
        return ()


def bundle_label_set(path: Path) -> LabelSet:
    """The label set of a bundle, without loading it; :raises BundleError: if it cannot be read."""
    return read_label_set(_one_file(path, _LABELS))


def bundle_languages(path: Path) -> tuple[str, ...]:
    """The languages of the notes that a bundle reads, its own first, as ISO 639-1 codes.

    :raises BundleError: if they cannot be read.
    """
    own = str(read_manifest(path).get("language", ""))
    try:
        gate = LanguageGate.load(_one_file(path, _LANGUAGE_GATE).part("language_gate"))
    except BundleError:
        # Older bundles have none.
        return (own,)
    return tuple(dict.fromkeys((own, *gate.languages)))


def bundle_settings(path: Path) -> str:
    """The settings that a bundle was trained with, as TOML; :raises BundleError: if it has none or cannot be read."""
    if SETTINGS not in read_manifest(path)["files"]:
        raise BundleError(f"the bundle {path} was made before bundles kept their settings; name a file of settings")
    return _one_file(path, SETTINGS).text(SETTINGS)


def bundle_certificates(path: Path) -> bytes:
    """The certificates in a bundle, as JSON; an empty list if it has none. :raises BundleError: if it is damaged."""
    has_some = CERTIFICATES in read_manifest(path)["files"]
    return _one_file(path, CERTIFICATES).read(CERTIFICATES) if has_some else b"[]"


def read_label_set(files: SavedFiles) -> LabelSet:
    """The label set among the files of a bundle; :raises BundleError: if it is not valid."""
    labels = files.json(_LABELS, LabelSet)
    if not all(map(is_label, labels.labels)):
        raise BundleError("the engine has a label that is not a valid name; train it again")
    return labels


def _one_file(path: Path, name: str) -> SavedFiles:
    """One file of a bundle, after a check of its hash."""
    with _opened(path) as entries:
        expected = _manifest(entries, path)["files"].get(name)
        data = entries[name].read() if name in entries else b""
    if file_hash(data) != expected:
        raise BundleError(f"in the bundle {path} the file {name} is missing or was changed; get a complete copy of it")
    return SavedFiles({name: data})


def file_hash(data: bytes) -> str:
    """SHA-256, as in manifests."""
    return hashlib.sha256(data).hexdigest()


def _manifest_bytes(entries: Mapping[str, _Entry], path: Path | SavedFiles) -> bytes:
    if MANIFEST not in entries or entries[MANIFEST].size > _LARGEST_MANIFEST:
        raise BundleError(f"{path} is not a phistack bundle: it has no readable {MANIFEST}")
    return entries[MANIFEST].read()


def _manifest(entries: Mapping[str, _Entry], path: Path | SavedFiles) -> dict[str, Any]:
    data = _manifest_bytes(entries, path)
    try:
        manifest = msgspec.json.decode(data, type=dict[str, Any])
    except (ValueError, RecursionError):
        raise BundleError(f"{path} is not a phistack bundle: it has no readable {MANIFEST}") from None
    protocol = manifest.get("protocol")
    if type(protocol) is not int:
        raise BundleError(f"{path} is not a phistack bundle: its {MANIFEST} names no protocol")
    if not _OLDEST_READ <= protocol <= PROTOCOL:
        raise BundleError(
            f"the bundle {path} has protocol {protocol}, and this phistack reads {_OLDEST_READ} to {PROTOCOL}; "
            f"train it again, or install the phistack that made it"
        )
    try:
        msgspec.convert(manifest, _Manifest)
    except ValueError:
        raise BundleError(f"the manifest of the bundle {path} does not list its files and kinds") from None
    if not manifest["kinds"]:
        raise BundleError(f"the bundle {path} has no submodels; train it again")
    for name in manifest["kinds"]:
        check_name(name)
    return manifest


@contextmanager
def _opened(path: Path | SavedFiles) -> Iterator[Mapping[str, _Entry]]:
    """The files of a bundle by name, readable while it is open."""
    if isinstance(path, SavedFiles):
        yield {name: _Entry(len(path.read(name)), partial(path.read, name)) for name in path.names}
    elif path.is_dir():
        with damage_refused(f"the bundle {path}"):
            below = files_below(path)
        yield {name: _Entry(size, partial(read_file, file, size)) for name, (file, size) in below.items()}
    elif path.is_file():
        with _opened_zip(path) as entries:
            yield entries
    else:
        raise BundleError(no_bundle(path))


@contextmanager
def _opened_zip(path: Path) -> Iterator[Mapping[str, _Entry]]:
    size = path.stat().st_size
    if not _has_directory(path, size):
        raise BundleError(f"{path} is neither a bundle folder nor a complete zip file; get another copy")
    with damage_refused(f"the zip file {path}"), zipfile.ZipFile(path) as archive:
        members = checked_sizes(archive, size, ratio=_RATIO)
        if len(members) > MOST_FILES:
            raise BundleError(f"there are far more files in {path} than an engine has; do not use it")
        for name in members:
            check_name(name)
        if sum(member.file_size for member in members.values()) >= LARGEST:
            raise BundleError(f"the files in {path} are far larger than those of an engine; do not use it")
        yield {name: _Entry(m.file_size, partial(read_member, archive, m)) for name, m in members.items()}


def _has_directory(path: Path, size: int) -> bool:
    """Whether a file ends like a zip, with a directory not larger than an engine's."""
    with path.open("rb") as file:
        file.seek(max(size - _END.size - 0xFFFF - 20, 0))
        tail = file.read(_END.size + 0xFFFF + 20)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size or tail[max(at - 20, 0) : at].startswith(b"PK\x06\x07"):
        return False
    return int(_END.unpack_from(tail, at)[5]) <= _LARGEST_DIRECTORY
