"""The random numbers of the C library, from which CRFsuite draws the order in which it reads.

seed_c_library(7)       what is trained next in this process is trained the same again
"""

from __future__ import annotations

import ctypes

from phistack.features.errors import SettingsError


def seed_c_library(seed: int) -> None:
    """Begin the C library's sequence of random numbers anew; :raises SettingsError: where it cannot be reached."""
    try:
        seed_with = ctypes.CDLL(None).srand
    except (OSError, TypeError, AttributeError):
        raise SettingsError(
            "the CRF's algorithm l2sgd draws from the C library, which cannot be seeded on this system, so that no "
            "training would be the same twice; take the algorithm lbfgs"
        ) from None
    seed_with(ctypes.c_uint(seed % 2**32))
