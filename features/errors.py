"""Every error that phistack raises on purpose, and parts of their messages.

A message says what is wrong, where, and what to do. It never contains text of a note: it names documents by id, as
`features.shown` shows it, and places by offset. For a name that does not exist it suggests the nearest one:

    no_such("policy", "safeharbor", ("mask", "safe-harbor", "tag"))
    "there is no policy named safeharbor (did you mean safe-harbor?); there are mask, safe-harbor, tag"
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path

_LONGEST = 100


class PhistackError(Exception):
    """The base of every error raised on purpose; the command line prints it as one sentence."""


class CorpusError(PhistackError):
    """A file or folder cannot be read as annotated notes."""


class LabelError(PhistackError):
    """A PHI label is not in the label set."""


class SettingsError(PhistackError):
    """A configuration cannot work."""


class PackageError(SettingsError):
    """A submodel or column comes from a package that is missing, cannot be imported, or disagrees with another."""


class UnsafePatternError(SettingsError):
    """A regular expression may take endless time on some text, or is too large to check."""


class MissingResourceError(PhistackError):
    """Optional data, a server or a process that the settings ask for is missing."""


class StorageError(PhistackError):
    """A disk is full or fails, or returns other data than was written; the message says if a run can be resumed."""


class OverdueError(PhistackError):
    """Work exceeds its time limit."""

    def __init__(self, message: str = "the work took longer than it may; allow it more time") -> None:
        super().__init__(message)


class TrainingError(PhistackError):
    """Nothing can be learned from the given corpus with the given settings."""


class BundleError(PhistackError):
    """A trained engine on disk is damaged, was tampered with, or is of another protocol."""


class VerificationError(PhistackError):
    """A new text is not what the policy asks for, so it must not be used."""


class EvaluationError(PhistackError):
    """Gold and system documents cannot be compared."""


def place_of(error: BaseException) -> str:
    """Module and line where an exception was raised, without its message, which may contain patient text."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name} line {trace.tb_lineno}" if trace else "an unknown place"


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


def no_such(kind: str, name: object, known: Iterable[str]) -> str:
    """A message: there is no `kind` of that name, the nearest name, and all names."""
    names = tuple(known)
    return f"there is no {kind} named {name}{did_you_mean(name, names)}; there are {', '.join(names)}"


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The nearest known name as a remark in brackets after a blank; empty if none is near."""
    # Comparison takes quadratic time, and a longer name is no typing error.
    given, folded = str(name).casefold()[: _LONGEST + 1], {other.casefold(): other for other in known}
    found = get_close_matches(given, folded, n=1) if len(given) <= _LONGEST else []
    return f" (did you mean {folded[found[0]]}?)" if found else ""
