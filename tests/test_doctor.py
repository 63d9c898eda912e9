"""`fxscope doctor`: what it says is missing is missing, its command would mend it, and its exit code is about the main job."""

import json
import sys
from pathlib import Path

import pytest

from fxscope.commands import doctor
from fxscope.model import Problem, Recording, replace
from tests import build
from tests.processes import run_python


def examined(*, rc: int = 0, **environment: str) -> dict[str, doctor.Check]:
    """Run `fxscope doctor --json` in this environment with some variables changed."""
    done = run_python("-m", "fxscope", "doctor", "--json", **environment)
    assert done.returncode == rc, done.stderr
    return {check.name: check for check in (doctor.Check(**item) for item in json.loads(done.stdout))}


@pytest.mark.slow
def test_here_programs_can_be_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    checks = examined()
    assert checks["recording"].ok and checks["torch"].ok and checks["torch"].found[0].isdigit()
    assert all(check.purpose for check in checks.values())
    assert "fxscope" in checks["versions"].found and "msgspec" in checks["versions"].found


@pytest.mark.slow
def test_nothing_but_python_on_path_is_told_item_by_item(tmp_path: Path) -> None:
    """No compiler, no package manager: the program still records, and says what it lacks."""
    checks = examined(PATH=str(tmp_path), CXX="", FXSCOPE_NO_NATIVE="1")
    assert checks["recording"].ok
    assert {doctor.COMPILER, "trace scanner"} <= {n for n, check in checks.items() if check.ok is False}


def test_without_torch_nothing_can_be_recorded_and_the_exit_code_says_so(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('libtorch.so: cannot open shared object file')\n")
    checks = examined(rc=1, PYTHONPATH=str(tmp_path))
    assert checks["torch"].ok is False and "libtorch.so" in checks["torch"].found
    assert checks["trace scanner"].ok is not None  # what can be looked at without torch is


def test_a_cache_that_cannot_be_written_has_the_command_that_moves_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    check = examined(rc=1, TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "file" / "cache"))["recording"]
    assert check.ok is False and "NotADirectoryError" in check.found
    assert check.remedy == "export TORCHINDUCTOR_CACHE_DIR=$(mktemp -d)"


@pytest.mark.parametrize("compile", [False, True])
def test_what_a_recording_lacks_is_named(compile: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = Problem(where="hook torch:x", message="this torch does not have it")
    said = "hook torch:x: this torch does not have it"
    made = build.gelu_mul_compiled()
    monkeypatch.setattr("fxscope.capture.record", lambda *_, **__: replace(made, problems=(lost,)))
    recorded, lacks = doctor.recorded(compile=compile)  # a recording with gaps is still one
    assert recorded.ok and (lacks.ok, lacks.found, lacks.required, lacks.remedy) == (False, said, False, None)
    made = Recording()
    assert [(check.ok, check.found) for check in doctor.recorded(compile=compile)] == [(False, said)]


def test_the_verdict_is_about_the_main_job() -> None:
    fine = doctor.Check("torch", True, "2.13", "recording", required=True)
    browser, compiler = (doctor.Check(name, False, "none", "") for name in ("browser", doctor.COMPILER))
    assert doctor.verdict([fine, browser]) == "Programs can be recorded here."
    assert doctor.verdict([fine, browser, compiler]).endswith("but not compiled.")
    assert doctor.verdict([fine._replace(ok=False), compiler]) == "Nothing can be recorded here: torch."


@pytest.mark.skipif(sys.platform != "linux", reason="Triton has wheels for Linux only")
def test_triton_is_there_or_missing() -> None:
    assert doctor.triton("3.7.1").ok and doctor.triton(None).ok is False
