"""Every error that phistack raises on purpose.

    PhistackError                 any of the below; the command line prints it as one sentence
    ├── CorpusError               a file or folder that cannot be read as annotated notes
    ├── LabelError                a PHI label that the label set does not have
    ├── SettingsError             a configuration that cannot work
    │   ├── PackageError          it needs a package that is missing or faulty
    │   └── UnsafePatternError    a regular expression that may never end
    ├── MissingResourceError      missing optional data, server or process
    ├── StorageError              a disk that is full, fails, or returns other data than was written
    ├── OverdueError              work that exceeds its time limit
    ├── TrainingError             a corpus from which nothing can be learned
    ├── BundleError               a trained engine that is damaged, tampered with or too new
    ├── VerificationError         a de-identified text that violates its policy
    └── EvaluationError           gold and system documents that cannot be compared

A message says what is wrong, where, and what to do. It never contains text of a note: it names documents by id, as
`features.shown` shows it, and places by offset.
"""

from pathlib import Path


class PhistackError(Exception):
    """The base of every error raised on purpose; the command line prints it as one sentence."""


class CorpusError(PhistackError):
    """A file or folder cannot be read as annotated notes."""


class LabelError(PhistackError):
    """A PHI label is not in the label set."""


class SettingsError(PhistackError):
    """A configuration cannot work."""


class PackageError(SettingsError):
    """A submodel or column is of a package that is not installed, cannot be imported, or disagrees with another."""


class UnsafePatternError(SettingsError):
    """A regular expression may take endless time on some text, or is too large to check."""


class MissingResourceError(PhistackError):
    """Optional data, a server or a process that the settings ask for is not there."""


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
