"""Optional libraries, installed by extras of the package.

need("pyarrow", "parquet", "Parquet")      raises if pyarrow is missing, with the command that installs it
how_to_install("parquet")                  "pip install '.[parquet]' in the folder of phistack's source"
"""

from __future__ import annotations

from importlib.util import find_spec

from phistack.features.errors import MissingResourceError


def need(module: str, extra: str, what: str) -> None:
    """Check that a library is installed, without importing it.

    :param extra: the extra of phistack that installs it.
    :param what: what needs it, as the start of a sentence.
    :raises MissingResourceError: if it is not installed.
    """
    if find_spec(module) is None:
        raise MissingResourceError(f"{what} needs {module}; install it with: {how_to_install(extra)}")


def how_to_install(extra: str) -> str:
    """The command that installs an extra; phistack is not on the package index."""
    return f"pip install '.[{extra}]' in the folder of phistack's source"
