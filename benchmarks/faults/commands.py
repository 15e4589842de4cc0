"""Commands that once let PHI out with status 0, hung, crashed or misled, each with its required outcome.

    for wrong in wrong_commands(): ...       the cases that failed, with what happened
    wrong_commands(run)                      the same, with `run(arguments, folder)` in place of a process

A case runs in a folder with its files. It must end within `SECONDS` with its status and, if it is refused, with one
sentence that has the expected words. No file that it writes for release may contain a text that must go.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shlex import split

SECONDS = 60.0
_PHISTACK = (sys.executable, "-W", "ignore", "-c", "from phistack.ensemble.command_line.app import main; main()")
_REFUSED, _HELD_BACK = 1, 3


@dataclass(frozen=True, slots=True)
class Case:
    """A command and its required outcome.

    :param files: that it reads, by name.
    :param status: with which it must end.
    :param says: words of its last line on standard error, or of standard output if it is not refused.
    :param gone: what the folder or file `out` must not contain.
    """

    command: str
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    status: int = 0
    says: str = ""
    gone: tuple[str, ...] = ()


_AGES = {
    "n/1.txt": "Record date: 5/1/2022. (DOB 1925), a 90+-year-old man, seen for a cough and fever at home.",
    "n/2.txt": "97f bib ems from home after a fall, b. 1928, no fever. She is well and has no pain today.",
    "n/3.txt": "This is a ninety-eight years old lady who was born in 1927 and lives at home with help.",
    "n/4.txt": "Seen on 3/4/22 for a fall at home. DOB 2/3/24. The patient has no pain and walks well today.",
}
_TABLE = {"in.csv": "mrn,text\n8812345,The patient was seen at home for a cough and is well.\n"}
_WARD = {
    "in.csv": "id,group,ward,text\n1,110,Hilda Quackenbush 7B,The patient was seen at home and is well today.\n",
    "roster.csv": "patient,name\n110,Hilda Quackenbush\n",
}
_NOTE = {"n/1.txt": "The patient was seen at home for a cough on 3 March 2021 and is well."}
_KEPT = "--column id=keep --column group=keep --column ward=keep"
_ENGLISH = "--model english --policy safe-harbor"
_POLYNOMIAL = "/a*a*a*a*a*a*a*a*b/"
_OF_ONE = "patient,name\n" + "".join(f"1,Ann Hill{i}\n" for i in range(20_000))

CASES = (
    Case(f"deidentify n out {_ENGLISH}", _AGES, gone=("1925", "97f", "1928", "ninety-eight", "1927", "24.")),
    Case(
        f"deidentify in.csv out.csv {_ENGLISH} --patient-column mrn --id-column mrn",
        _TABLE,
        _REFUSED,
        "--column mrn=ID",
    ),
    Case(
        f"deidentify in.csv out.csv {_ENGLISH} --patient-column mrn --id-column mrn --column mrn=ID",
        _TABLE,
        gone=("8812345",),
    ),
    Case(f"deidentify in.csv out.csv {_ENGLISH} --known roster.csv {_KEPT}", _WARD, _HELD_BACK, gone=("Quackenbush",)),
    Case(
        "deidentify n out --model english --known roster.csv",
        _NOTE | {"roster.csv": _WARD["roster.csv"]},
        _REFUSED,
        "none of the 1 notes is of a patient",
    ),
    Case(
        "deidentify n out --model english --known roster.csv", _NOTE | {"roster.csv": _OF_ONE}, _REFUSED, "wrong column"
    ),
    Case(
        "patterns check p.toml",
        {"p.toml": '[[patterns]]\nname = "x"\nregex = "a*a*a*a*a*a*a*a*b"\nlabels = { "*" = "ID" }\n'},
        _REFUSED,
        "took too long",
    ),
    Case(
        "annotate n out --model english --always a.txt",
        _NOTE | {"a.txt": f"[DOCTOR]\n{_POLYNOMIAL}\n"},
        _REFUSED,
        "line 2",
    ),
    Case(
        "split c.jsonl out --group-by '('", {"c.jsonl": '{"id": "1", "text": "a", "spans": []}\n'}, _REFUSED, "group_by"
    ),
    Case("split c.jsonl out --group-by '(a+)+$'", {"c.jsonl": '{"id": "1", "text": "a", "spans": []}\n'}, _REFUSED),
    Case(
        "deidentify n out --config c.toml",
        _NOTE | {"c.toml": 'model = ["english", "german"]\n'},
        _REFUSED,
        "same language",
    ),
    Case("convert /dev/zero out.jsonl", {}, _REFUSED, "/dev/zero"),
    Case("annotate in.jsonl out.jsonl", {"in.jsonl": '{"id": "1", "note": "a"}\n'}, _REFUSED, "text"),
    Case(
        "deidentify in.csv out.csv --model english --column id=keep",
        {"in.csv": "id,text\n1,caf\xe9 at home\n".encode("cp1252")},
        _HELD_BACK,
        "--encoding cp1252",
    ),
    Case("convert in.csv out.jsonl", {"in.csv": b"id,text\r1,Seen at home.\r2,Well.\r"}, 0, "2 notes"),
    Case("convert n out.jsonl", {"n/a/1.txt": "Seen at home.", "n/2.txt": "Well."}, 0, "2 notes"),
    Case(f"deidentify n out {_ENGLISH} --key-file key", _NOTE | {"key": "0" * 34}, _REFUSED, "not random"),
    Case("deidentify n out --model english --strategy DATE=substitute --substitute DATE=then", _NOTE, 0, "replaced"),
    Case("deidentify n out --model english --no-second-pass", _NOTE, 0, "not checked"),
)


Run = Callable[[list[str], Path], tuple[int, str, str]]
"""Returns the status of a command and what it wrote to standard output and standard error."""


def _in_a_process(arguments: list[str], folder: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [*_PHISTACK, *arguments], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    return done.returncode, done.stdout, done.stderr


def wrong_commands(run: Run = _in_a_process) -> Iterator[str]:
    """Each case that failed, with what happened, and nothing of its files."""
    for case in CASES:
        with tempfile.TemporaryDirectory(prefix="phistack-command-") as folder:
            problem = _problem(case, Path(folder), run)
        if problem:
            yield f"phistack {case.command}: {problem}"


def _problem(case: Case, folder: Path, run: Run) -> str:
    for name, content in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        (folder / name).chmod(0o600)
    try:
        status, out, error = run(split(case.command), folder)
    except subprocess.TimeoutExpired:
        return f"it took more than {SECONDS:.0f} s"
    last = error.strip().splitlines()[-1:] or [""]
    said = last[0] if case.status == _REFUSED else out + error
    if status != case.status:
        return f"status {status}, not {case.status}"
    if case.says not in said or "Traceback" in error:
        return f"it does not say {case.says!r}"
    written = [path for path in (folder / "out", folder / "out.csv") if path.exists()]
    if case.status == _REFUSED:
        return "it left an output" if written else ""
    files = [file for path in written for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file()]
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    left = [place for place, words in enumerate(case.gone, 1) if words in text]
    return f"{len(left)} of {len(case.gone)} texts are in clear" if left else ""
