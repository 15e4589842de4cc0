"""What keeps numeric libraries to one thread a process, as several threads in each of several processes are slower."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ONE_THREAD"]

ONE_THREAD: Mapping[str, str] = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"),
    "1",
)
"""Environment variables, which the libraries read when they are loaded."""
