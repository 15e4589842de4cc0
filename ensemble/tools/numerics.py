"""Threads, kernels and memory of the processes of the commands; not for programs that use phistack as a library.

    os.environ |= numeric_environment()             before NumPy is loaded, or for a process that is about to start
    keep_freed_memory()                             in the process itself
    keep_all()                                      after loading an engine

In several processes, several threads each are slower than one. On processors that OpenBLAS does not know, such as AMD's
newer ones, it uses kernels for AVX2; those for AVX-512 take half the time. glibc returns large arrays to the system
after each use. Python's garbage collector examines the objects of an engine again and again, which takes a tenth of a
second each time.
"""

from __future__ import annotations

import ctypes
import gc
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
"""The processor flags that OpenBLAS's kernels for Intel's Skylake X need."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameter numbers of glibc's `mallopt`."""
_KEPT, _MOST_MAPPED = 256 << 20, 32 << 20
"""In bytes; the second is the most that glibc allows."""

_YOUNG = 50_000
"""New objects until a garbage collection; a batch of notes makes more, and nearly all are freed without one."""


def numeric_environment(processor: Path = _PROCESSOR) -> dict[str, str]:
    """Environment variables for a process that computes on one core.

    :param processor: the file in which Linux describes the processor; on other systems OpenBLAS chooses its kernels.
    """
    chosen = _KERNELS in os.environ or not _is_unknown_to_openblas(processor)
    return ONE_THREAD | ({} if chosen else {_KERNELS: "SkylakeX"})


def _is_unknown_to_openblas(processor: Path) -> bool:
    """Whether this is an AMD processor with AVX-512; OpenBLAS knows Intel's."""
    try:
        lines = processor.read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    facts = dict(line.replace("\t", "").split(":", 1) for line in lines if ":" in line)
    return "AMD" in facts.get("vendor_id", "") and set(facts.get("flags", "").split()) >= _AVX_512


def keep_freed_memory() -> None:
    """Keep up to 256 MB of freed memory for the next arrays; does nothing where the C library is not glibc."""
    adjust = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if adjust is not None:
        adjust(_TRIM_THRESHOLD, _KEPT)
        adjust(_MMAP_THRESHOLD, _MOST_MAPPED)


def keep_all() -> None:
    """Exclude all present objects from garbage collection, and collect new ones rarely."""
    gc.freeze()
    gc.set_threshold(_YOUNG, *gc.get_threshold()[1:])
