"""Bundles that were changed and given new hashes: only a check of the content can refuse them."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def rehash(bundle: Path) -> None:
    """Write the hashes of all present files into the manifest."""
    manifest = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    files = [p for p in sorted(bundle.rglob("*")) if p.is_file() and p != bundle / "manifest.json"]
    manifest["files"] = {p.relative_to(bundle).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}
    (bundle / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def change_json(path: Path, change: Callable[[Any], object]) -> None:
    """Read JSON, let a function change it, write it back."""
    state = json.loads(path.read_text(encoding="utf-8"))
    change(state)
    path.write_text(json.dumps(state), encoding="utf-8")


def with_array(path: Path, name: str, content: bytes) -> None:
    """Put other bytes in place of one array of an `.npz` file."""
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in (members | {f"{name}.npy": content}).items():
            archive.writestr(member, data)


def zipped(bundle: Path, target: Path) -> Path:
    """The folder as a zip, compressed as `save_bundle` does it."""
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(p for p in bundle.rglob("*") if p.is_file()):
            method = zipfile.ZIP_LZMA if path.suffix == ".json" else zipfile.ZIP_DEFLATED
            archive.write(path, path.relative_to(bundle).as_posix(), method)
    return target
