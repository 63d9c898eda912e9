"""Scripts under `fxscope run` do what they do under Python: streams, exit code and files, and what ran is recorded."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fxscope import load
from fxscope.commands import script
from tests.processes import run_python

pytestmark = pytest.mark.once
ROOT = Path(__file__).parents[2]
SCRIPTS = dict(
    re.findall(
        r"^# --- (\w+)\n(.*?)(?=^# --- |\Z)", (Path(__file__).with_name("any_scripts.txt")).read_text(), re.S | re.M
    )
)
HEAD = SCRIPTS.pop("head").strip() + "\n"
EXTRA = {"argparse": ["--format", "x", "-o", "y", "--json", "--steps", "4", "--b", "5"]}
SAYS = (
    "print(__name__, __package__, __spec__ and __spec__.name, os.path.basename(__file__), sys.argv[1:], type(__loader__))\n"
    "print(os.path.relpath(sys.argv[0]), [os.path.basename(part) for part in sys.path[:2]])\ntorch.ones(3).sin()\n"
)
MODULE = {
    "mine/__init__.py": "",
    "mine/beside.py": "x = 1\n",
    "mine/tool.py": f"{HEAD}from .beside import x\n{SAYS}",
    "mine/__main__.py": f"{HEAD}{SAYS}",
}


def started(folder: Path, words: list[str]) -> tuple[int, str, str]:
    environment = {"KINETO_LOG_LEVEL": "6", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = run_python(*words, cwd=folder, typed="typed\n", timeout_s=120, **environment)
    return done.returncode, done.stdout, done.stderr


def begun(folder: Path, text: str) -> subprocess.Popen[str]:
    (folder / "script.py").write_text(text)
    return subprocess.Popen(
        [sys.executable, "-m", "fxscope", "run", "-o", "out.fxscope", "script.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What a shell starts in the background ignores ctrl-C, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def alike(text: str) -> str:
    """Leave out addresses, times, and what torch says of processes by number."""
    return re.sub(r"0x[0-9a-f]+|[WIE]\d{4} [\d:.]+ \d+|\[rank\d\].*|process \d+", "…", text)


def said(error: str) -> str:
    return "".join(line for line in error.splitlines(keepends=True) if not line.startswith(("fxscope run: ", "wrote ")))


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in (".fxscope", ".zip"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def both(tmp_path: Path, files: dict[str, str], words: list[str], extra: list[str]):
    sides = []
    for how in ("plain", "observed"):
        folder = tmp_path / how / "same"  # both print the same paths, but for this part
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        if "mine/__main__.py" in files:
            shutil.make_archive(str(folder / "mine"), "zip", folder / "mine")
        before = ["-m", "fxscope", "run", "-o", "recorded.fxscope"] if how == "observed" else []
        status, out, error = started(folder, [*before, *words, *extra])
        sides.append((status, alike(out.replace(how, "")), alike(said(error).replace(how, "")), contents(folder)))
    recorded = tmp_path / "observed" / "same" / "recorded.fxscope"
    return (*sides, load(recorded) if recorded.exists() else None)


# Only the main thread can end its session of the profiler, and it does not return.
MAY_BE_LOST = {"os_exit_in_a_thread"}
# No folder: Python lets spawned children import a script and a module, but not a `__main__.py`.
WAYS = [*((name, "script.py") for name in SCRIPTS), ("spawn", "-m script"), ("raises", "-m script")]


@pytest.mark.slow  # a script is run twice, plain and observed: five seconds and more
@pytest.mark.parametrize(("name", "words"), WAYS)
def test_a_script_does_the_same_when_it_is_observed(tmp_path, name, words) -> None:
    script = HEAD + SCRIPTS[name]
    plain, observed, recording = both(tmp_path, {"script.py": script}, words.split(), EXTRA.get(name, []))
    expected = 128 - plain[0] if plain[0] < 0 else plain[0]
    assert observed[0] in (plain[0], expected), observed[2]
    for index, what in ((1, "stdout"), (2, "stderr"), (3, "files")):
        assert observed[index] == plain[index], what
    assert recording is not None or name in MAY_BE_LOST
    if recording is None:
        return
    targets = {node.target for graph in recording.graphs for node in graph.nodes}
    assert any("linear" in target or "sin" in target for target in targets), targets
    assert not any("cos" in target for target in targets)


@pytest.mark.slow
@pytest.mark.parametrize("words", [["-m", "mine.tool"], ["-m", "mine"], ["mine"], ["mine.zip"]], ids=" ".join)
def test_modules_folders_and_zip_files_run_as_python_would(words, tmp_path) -> None:
    sides = both(tmp_path, MODULE, words, ["--lr", "3"])
    plain, observed, recording = sides
    assert observed == plain and plain[0] == 0 and "['--lr', '3']" in plain[1]
    assert recording.title == words[-1]


def test_a_folder_that_python_cannot_run_fails_as_in_python(tmp_path) -> None:
    status, _, error = started(tmp_path, ["-m", "fxscope", "run", str(tmp_path)])
    assert status == 1 and f"can't find '__main__' module in '{tmp_path}'" in error and "fxscope/" not in error, error


def test_ctrl_c_in_the_middle_keeps_what_was_seen(tmp_path) -> None:
    process = begun(tmp_path, HEAD + "torch.ones(3).sin()\nprint('ready', flush=True)\nwhile True:\n    pass\n")
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    try:
        _, error = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode in (130, -signal.SIGINT) and "KeyboardInterrupt" in error and "fxscope/" not in error
    assert "aten::sin" in {node.target for node in load(tmp_path / "out.fxscope").graph("eager").nodes}


SIGNALLED = (
    HEAD
    + """import os, signal, time
print(signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP), signal.getsignal(signal.SIGALRM))
torch.ones(3).sin()
print('ready', flush=True)
HERE
"""
)
LONG_C_CALL = "x = 10 ** 200_000_000"


@pytest.mark.parametrize(
    ("number", "where"),
    [(signal.SIGTERM, LONG_C_CALL), (signal.SIGHUP, LONG_C_CALL), (signal.SIGTERM, "time.sleep(60)")],
)
def test_signals_end_a_script_as_without_fxscope(number, where, tmp_path) -> None:
    process = begun(tmp_path, SIGNALLED.replace("HERE", where))
    before, ready = process.stdout.readline(), process.stdout.readline()
    assert ready == "ready\n"
    time.sleep(0.1)
    process.send_signal(number)
    began = time.monotonic()
    process.communicate(timeout=60)
    assert process.returncode == -number
    assert not (tmp_path / "out.fxscope").exists()
    assert before == f"{int(signal.SIG_DFL)} " * 2 + f"{int(signal.SIG_DFL)}\n" and time.monotonic() - began < 5


@pytest.mark.parametrize("head", [b"\xef\xbb\xbf", b"# -*- coding: latin-1 -*-\n"], ids=["marked", "latin-1"])
def test_a_script_is_read_as_python_reads_it(head: bytes, tmp_path: Path) -> None:
    letter = "é".encode("latin-1" if b"latin" in head else "utf-8")
    path = tmp_path / "script.py"
    path.write_bytes(head + b"def f(x: int): pass\nfound = '" + letter + b"', f.__annotations__\n")
    names: dict[str, object] = {}
    exec(script.compiled(path), names)
    assert names["found"] == ("é", {"x": int})
