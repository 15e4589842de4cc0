"""How numeric libraries are to work in the processes of the commands: set before they are loaded.

    os.environ |= numeric_environment()             for this process, or for one that is about to start
    keep_freed_memory()                             in the process itself

Three things that NumPy cannot be told once it is loaded, or not at all. Several threads in each of several processes
are slower than one. OpenBLAS takes the kernels for AVX2 on processors that it does not know, AMD's newer ones among
them, where those for AVX-512 give matrix products in half the time. And glibc hands large arrays back to the system
after each use, to ask for them again at the next.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"),
    "1",
)
"""Environment variables that libraries read when they are loaded."""

_KERNELS = "OPENBLAS_CORETYPE"
_PROCESSOR = Path("/proc/cpuinfo")
_AVX_512 = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
"""What the kernels need that OpenBLAS names after Intel's Skylake X."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Numbers of glibc's `mallopt`."""
_KEPT, _MOST_MAPPED = 256 << 20, 32 << 20
"""In bytes; glibc allows no more for the second."""


def numeric_environment(processor: Path = _PROCESSOR) -> dict[str, str]:
    """Environment variables for a process that computes on one core.

    :param processor: where Linux says what the processor can do; elsewhere OpenBLAS chooses for itself, unless the user
        has chosen.
    """
    chosen = _KERNELS in os.environ or not _is_unknown_to_openblas(processor)
    return ONE_THREAD | ({} if chosen else {_KERNELS: "SkylakeX"})


def _is_unknown_to_openblas(processor: Path) -> bool:
    """Whether this is a processor of AMD with AVX-512; those of Intel are known."""
    try:
        lines = processor.read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    said = dict(line.replace("\t", "").split(":", 1) for line in lines if ":" in line)
    return "AMD" in said.get("vendor_id", "") and set(said.get("flags", "").split()) >= _AVX_512


def keep_freed_memory() -> None:
    """Keep up to 256 MB of freed memory for the next arrays; does nothing where the C library is not glibc."""
    adjust = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if adjust is not None:
        adjust(_TRIM_THRESHOLD, _KEPT)
        adjust(_MMAP_THRESHOLD, _MOST_MAPPED)
