"""The face of the package: what `from ensemble import ...` gives."""

import inspect
import subprocess
import sys

import pytest

import ensemble
import features.errors

HEAVY = {"numpy", "scipy", "sklearn", "tensorflow", "keras", "lxml", "faker", "pyarrow", "rich", "typer", "nltk"}


@pytest.mark.parametrize("name", ensemble.__all__)
def test_every_name_is_there_and_reported(name: str) -> None:
    found = getattr(ensemble, name)
    assert found.__name__ == name
    assert inspect.getdoc(found)
    assert not str(found.__doc__).startswith(f"{name}("), "a docstring of its own, not that of a dataclass"
    assert f"`{name}`" in str(ensemble.__doc__)


def test_names_are_sorted_and_listed() -> None:
    assert ensemble.__all__ == sorted(set(ensemble.__all__))
    assert set(ensemble.__all__) <= set(dir(ensemble))
    gathered: dict[str, object] = {}
    exec("from ensemble import *", gathered)
    assert set(ensemble.__all__) <= set(gathered)


def test_every_error_that_a_call_may_raise_is_a_name_of_the_face() -> None:
    errors = [name for name in features.errors.__all__ if name.endswith("Error")]
    assert set(errors) <= set(ensemble.__all__)


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        getattr(ensemble, "nonsense")  # noqa: B009
    with pytest.raises(ImportError, match="nonsense"):
        exec("from ensemble import nonsense")


def test_importing_the_face_imports_no_library() -> None:
    code = f"import ensemble, sys; dir(ensemble); print(sorted({HEAVY} & set(sys.modules)), 'features' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["[]", "False"]
