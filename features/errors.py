"""Every error that phistack raises on purpose.

    PhistackError                 any of the below; the command line prints it as one sentence
    ├── CorpusError               a file or folder that cannot be read as annotated notes
    ├── LabelError                a PHI label that the label set does not know
    ├── SettingsError             a configuration that cannot work
    │   ├── PackageError          it needs a package that is not installed, or is not as it should be
    │   └── UnsafePatternError    a regular expression that may never end
    ├── MissingResourceError      optional data, a server or a process that is not there
    ├── StorageError              a disk that is full, fails, or gives back other than was written
    ├── OverdueError              work that takes longer than it may
    ├── TrainingError             a corpus from which nothing can be learned
    ├── BundleError               a trained engine that is damaged, tampered with or too new
    ├── VerificationError         a de-identified text that is not what its policy asks for
    └── EvaluationError           gold and system documents that cannot be compared

A message says what is wrong, where, and what to do, and never holds a line of a note's text: documents are named
by id as `features.shown` shows it, places by offset.
"""

from pathlib import Path


class PhistackError(Exception):
    """The base of every error raised on purpose; its message is one sentence without patient text."""


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
    """A disk is full or fails; where a run can go on later, the message says so."""


class OverdueError(PhistackError):
    """Work takes longer than it may."""

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
    """Where an exception was raised: module and line, and nothing of what it says, which may be a patient's text."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name} line {trace.tb_lineno}" if trace else "an unknown place"
