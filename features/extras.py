"""Libraries that not everybody needs, in extras of the package.

need("pyarrow", "parquet", "Parquet")      raises where pyarrow is not installed, and says how to install it
"""

from __future__ import annotations

from importlib.util import find_spec

from phistack.features.errors import MissingResourceError


def need(module: str, extra: str, what: str) -> None:
    """See to it that a library is installed, without importing it.

    :param extra: of phistack, which brings it.
    :param what: needs it, in words that begin a sentence.
    :raises MissingResourceError: if it is not installed.
    """
    if find_spec(module) is None:
        raise MissingResourceError(f"{what} needs {module}; install it with: pip install phistack[{extra}]")
