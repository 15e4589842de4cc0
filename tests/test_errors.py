"""Errors: one tree in one module, each with a sentence and a status on the command line."""

import ast
import builtins
import sys
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.command_line.app import main
from phistack.features import errors
from phistack.features.errors import PhistackError

ROOT = Path(__file__).parents[1]
PACKAGES = ("features", "tbed", "submodels", "ensemble")
OURS = [found for found in vars(errors).values() if isinstance(found, type) and issubclass(found, BaseException)]
NAMES = {
    name for name, found in vars(builtins).items() if isinstance(found, type) and issubclass(found, BaseException)
} | {error.__name__ for error in OURS}


def exceptions_of(path: Path) -> set[str]:
    """The classes of a source, at whatever depth, that derive from an exception."""
    classes = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.ClassDef)]
    return {node.name for node in classes if {ast.unparse(base).rpartition(".")[2] for base in node.bases} & NAMES}


def test_every_exception_is_in_one_module_and_public_and_described() -> None:
    sources = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    elsewhere = {path.name: found for path in sources if (found := exceptions_of(path)) and path.name != "errors.py"}
    assert elsewhere == {}
    names = exceptions_of(ROOT / "features" / "errors.py")
    assert names == {error.__name__ for error in OURS}
    assert all(error.__doc__ for error in OURS)


@pytest.mark.parametrize("error", OURS, ids=lambda error: error.__name__)
def test_the_command_line_makes_of_each_one_sentence_and_a_status(
    error: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(*given: object, **reported: object) -> None:
        raise error("the thing is broken; mend it")

    monkeypatch.setattr("phistack.ensemble.batch.audit_run", failing)
    monkeypatch.setattr(sys, "argv", ["phistack", "audit", "out"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert issubclass(error, PhistackError) and ended.value.code == 1
    assert capsys.readouterr().err == "phistack: the thing is broken; mend it\n"
