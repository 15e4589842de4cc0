"""Optional libraries, which extras of the package install.

need("pyarrow", "parquet", "Parquet")      raises if pyarrow is not installed, and says how to install it
how_to_install("parquet")                  "pip install '.[parquet]' in the folder of phistack's source"
"""

from __future__ import annotations

from importlib.util import find_spec

from phistack.features.errors import MissingResourceError


def need(module: str, extra: str, what: str) -> None:
    """Check that a library is installed, without importing it.

    :param extra: of phistack, which installs it.
    :param what: needs it, in words that begin a sentence.
    :raises MissingResourceError: if it is not installed.
    """
    if find_spec(module) is None:
        raise MissingResourceError(f"{what} needs {module}; install it with: {how_to_install(extra)}")


def how_to_install(extra: str) -> str:
    """The command that installs an extra; phistack is not on the package index."""
    return f"pip install '.[{extra}]' in the folder of phistack's source"
