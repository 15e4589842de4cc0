"""How numeric libraries are set up before they are loaded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from phistack.ensemble.tools.numerics import keep_freed_memory, numeric_environment

AVX_512 = "fpu avx2 avx512f avx512cd avx512bw avx512dq avx512vl"


@pytest.mark.parametrize(
    ("vendor", "flags", "kernels"),
    [
        ("AuthenticAMD", AVX_512, "SkylakeX"),
        ("AuthenticAMD", "fpu avx2", None),
        ("AuthenticAMD", "fpu avx2 avx512f", None),
        ("GenuineIntel", AVX_512, None),
    ],
)
def test_only_a_processor_that_openblas_misjudges_gets_other_kernels(
    vendor: str, flags: str, kernels: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    processor = tmp_path / "cpuinfo"
    processor.write_text(f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: {flags}\n\n", encoding="utf-8")
    assert numeric_environment(processor).get("OPENBLAS_CORETYPE") == kernels
    assert "OPENBLAS_CORETYPE" not in numeric_environment(tmp_path / "absent")


def test_what_the_user_chose_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert "OPENBLAS_CORETYPE" not in numeric_environment()


def test_matrix_products_work_in_the_environment_that_commands_set() -> None:
    program = "import numpy as np; a = np.arange(12.0).reshape(3, 4); print((a @ a.T).trace())"
    environment = {**os.environ, **numeric_environment()}
    answer = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert float(answer.stdout) == sum(number**2 for number in range(12))


def test_the_command_line_has_not_loaded_numpy_before_it_sets_the_environment() -> None:
    program = "import sys, phistack.ensemble.command_line.app; print('numpy' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


def test_freed_memory_is_kept_without_ado() -> None:
    keep_freed_memory()
