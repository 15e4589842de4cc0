"""Types of arrays, and a safe reader of `.npz` files that may be damaged or malicious.

    arrays = read_arrays(data)
    check_shapes(arrays, {"mean": (80,), "support": (None, 80)})

NumPy's own reader allocates what a header declares before it reads the data, so a small file can fill the memory. Here
a header must be one of the few that NumPy writes, and its size must match the bytes that follow it.
"""

from __future__ import annotations

import math
import re
import struct
import zipfile
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phistack.features.errors import BundleError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Floats32 = NDArray[np.float32]
Integers32 = NDArray[np.int32]

_MAGIC = b"\x93NUMPY"
_HEADER = re.compile(
    rb"\{'descr': '(?P<type><f[248]|<i[48]|\|i1)', 'fortran_order': (?P<columns_first>True|False), "
    rb"'shape': \((?P<shape>(?:\d{1,12}(?:,|(?:, \d{1,12}){1,7}))?)\), \} *\n"
)
_SMALL = 2**24
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA)
"""The compression methods that a zip of ours may use."""


def read_arrays(data: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of an `.npz` file by name: floats of 16, 32 or 64 bits, integers of 32 or 64.

    :raises BundleError: if it contains anything else, or expands far beyond its size.
    :raises ValueError, OSError, RuntimeError or zipfile.BadZipFile: if it is damaged.
    """
    with zipfile.ZipFile(BytesIO(data)) as archive:
        members = checked_sizes(archive, len(data))
        return {name.removesuffix(".npy"): _array(read_member(archive, m)) for name, m in members.items()}


def check_shapes(arrays: Mapping[str, NDArray[Any]], shapes: Mapping[str, tuple[int | None, ...]], dtype: Any) -> None:
    """Check names, shapes, types and values of arrays.

    :param shapes: name -> shape; `None` for any length.
    :raises BundleError: if an array is missing, has another shape or type, or contains a value that is not finite.
    """
    for name, shape in shapes.items():
        found = arrays.get(name)
        if found is None or found.dtype != dtype or len(found.shape) != len(shape):
            raise BundleError(f"the array {name} of the engine is missing or of another type; train it again")
        if any(wanted not in (None, length) for wanted, length in zip(shape, found.shape, strict=True)):
            raise BundleError(f"the array {name} does not fit the rest of the engine; train it again")
        if not np.isfinite(found).all():
            raise BundleError(f"the array {name} of the engine holds a value that is no finite number; train it again")


def checked_sizes(archive: zipfile.ZipFile, size: int, *, ratio: int = 200) -> dict[str, zipfile.ZipInfo]:
    """The files in a zip by name, checked by its directory; nothing is unpacked.

    :param size: of the zip, in bytes.
    :param ratio: the greatest plausible compression.
    :raises BundleError: if they are far too large, two share a name, or their compression is unusual.
    """
    members = [member for member in archive.infolist() if not member.is_dir()]
    if sum(member.file_size for member in members) > max(ratio * size, _SMALL):
        raise BundleError("the zip file would fill the memory when it is unpacked; do not use it")
    if len({member.filename for member in members}) < len(members):
        raise BundleError("the zip file holds two files of the same name; do not use it")
    if any(member.compress_type not in COMPRESSIONS for member in members):
        raise BundleError("the zip file is compressed in a way that phistack never uses; do not use it")
    return {member.filename: member for member in members}


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """A file of a zip, no longer than its directory says; raises what `zipfile` raises if it is damaged."""
    with archive.open(member) as file:
        return file.read(member.file_size)


def _array(data: bytes) -> NDArray[Any]:
    if data[:8] != _MAGIC + b"\x01\x00":
        raise ValueError("not an array of NumPy's first format")
    begin = 10 + struct.unpack_from("<H", data, 8)[0]
    header = _HEADER.fullmatch(data[10:begin])
    if header is None:
        raise ValueError("a header that NumPy does not write")
    shape = tuple(int(length) for length in re.findall(rb"\d+", header["shape"]))
    dtype = np.dtype(header["type"].decode())
    if len(data) - begin != dtype.itemsize * math.prod(shape):
        raise ValueError("not as many numbers as it says")
    numbers = np.frombuffer(data, dtype, offset=begin)
    return numbers.reshape(shape, order="F" if header["columns_first"] == b"True" else "C").copy()
