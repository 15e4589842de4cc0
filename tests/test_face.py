"""The face of the package: what `from phistack import ...` gives."""

import inspect
import subprocess
import sys

import pytest

import phistack
from phistack.features import errors as kinds

HEAVY = {"numpy", "scipy", "sklearn", "tensorflow", "keras", "lxml", "faker", "pyarrow", "rich", "typer", "nltk"}


@pytest.mark.parametrize("name", phistack.__all__)
def test_every_name_is_there_and_reported(name: str) -> None:
    found = getattr(phistack, name)
    assert found.__name__ == name
    assert inspect.getdoc(found)
    assert not str(found.__doc__).startswith(f"{name}("), "a docstring of its own, not that of a dataclass"
    assert f"`{name}`" in str(phistack.__doc__)


def test_names_are_sorted_and_listed() -> None:
    assert phistack.__all__ == sorted(set(phistack.__all__))
    assert set(phistack.__all__) <= set(dir(phistack))
    gathered: dict[str, object] = {}
    exec("from phistack import *", gathered)  # noqa: S102
    assert set(phistack.__all__) <= set(gathered)


def test_every_error_that_a_call_may_raise_is_a_name_of_the_face() -> None:
    errors = [name for name in vars(kinds) if name.endswith("Error")]
    assert set(errors) <= set(phistack.__all__)


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        getattr(phistack, "nonsense")  # noqa: B009
    with pytest.raises(ImportError, match="nonsense"):
        exec("from phistack import nonsense")  # noqa: S102


def test_importing_the_face_imports_no_library() -> None:
    loaded = f"sorted({HEAVY} & set(sys.modules)), 'phistack.features' in sys.modules"
    code = f"import phistack, sys; dir(phistack); print({loaded})"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["[]", "False"]
