"""Scripts under `fxscope run` do what they do under Python: streams, exit code and files, and what ran is recorded."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fxscope import cli, load, render
from fxscope._torch.signals import HeldSignals, handlers
from fxscope.commands import script

ROOT = Path(__file__).parents[2]
SCRIPTS = dict(
    re.findall(
        r"^# --- (\w+)\n(.*?)(?=^# --- |\Z)", (Path(__file__).with_name("any_scripts.txt")).read_text(), re.S | re.M
    )
)
HEAD = SCRIPTS.pop("head").strip() + "\n"
EXTRA = {"argparse": ["--format", "x", "-o", "y", "--json", "--steps", "4"]}
MODULE = {
    "mine/__init__.py": "",
    "mine/tool.py": HEAD + "print(__name__, __package__, sys.argv[1:])\ntorch.ones(3).sin()\n",
}


def started(folder: Path, words: list[str]) -> tuple[int, str, str]:
    environment = {**os.environ, "KINETO_LOG_LEVEL": "6", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        input="typed\n",
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


def alike(text: str) -> str:
    """Leave out addresses, and what torch says of processes by number."""
    return re.sub(r"0x[0-9a-f]+|\[rank\d\].*|process \d+", "…", text)


def said(error: str) -> str:
    """Return stderr without the lines that are fxscope's own."""
    return "".join(line for line in error.splitlines(keepends=True) if not line.startswith(("fxscope run: ", "wrote ")))


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "recorded.fxscope")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def both(tmp_path: Path, files: dict[str, str], words: list[str], extra: list[str]):
    sides = []
    for how in ("plain", "observed"):
        folder = tmp_path / how / "same"  # both print the same paths, but for this part
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        before = ["-m", "fxscope", "run", "-o", "recorded.fxscope"] if how == "observed" else []
        status, out, error = started(folder, [*before, *words, *extra])
        sides.append((status, alike(out.replace(how, "")), alike(said(error).replace(how, "")), contents(folder)))
    recorded = tmp_path / "observed" / "same" / "recorded.fxscope"
    return (*sides, load(recorded) if recorded.exists() else None)


@pytest.mark.slow  # a script is run twice, plain and observed: five seconds and more
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_does_the_same_when_it_is_observed(tmp_path, name) -> None:
    script = HEAD + SCRIPTS[name]
    plain, observed, recording = both(tmp_path, {"script.py": script}, ["script.py"], EXTRA.get(name, []))
    expected = 128 - plain[0] if plain[0] < 0 else plain[0]
    assert observed[0] in (plain[0], expected), observed[2]
    for index, what in ((1, "stdout"), (2, "stderr"), (3, "files")):
        assert observed[index] == plain[index], what
    targets = {node.target for graph in recording.graphs for node in graph.nodes}
    assert any("linear" in target or "sin" in target for target in targets), targets
    assert not any("cos" in target for target in targets)


def test_what_the_program_replaced_is_itself_again_while_fxscope_works(monkeypatch: pytest.MonkeyPatch) -> None:
    found, stat, length = script._Found(), os.stat, len
    monkeypatch.setattr(os, "stat", None)
    monkeypatch.setattr("builtins.len", None)
    with found:
        assert os.stat is stat and len is length
        with found:
            pass
        assert os.stat is stat
    theirs = os.stat, len
    monkeypatch.undo()
    assert theirs == (None, None)


def test_what_a_handler_raises_waits_for_the_recording_and_a_second_signal_does_not() -> None:
    class Mine(Exception):
        pass

    def handler(number: int, frame: object) -> None:
        raise Mine

    signals = HeldSignals(handlers())
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        signals.hold()
        signal.raise_signal(signal.SIGUSR1)
        with pytest.raises(Mine):
            signal.raise_signal(signal.SIGUSR1)
        with pytest.raises(Mine):
            signals.go_on()
        assert signal.getsignal(signal.SIGUSR1) is handler
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGCHLD])
def test_a_signal_that_comes_while_the_recording_is_written_does_not_cost_it(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the program's handler raises is told as Python tells it; SIGCHLD is of fxscope's own processes then."""
    (tmp_path / "script.py").write_text(
        HEAD + f"import signal\nsignal.signal({int(number)}, lambda *_: 1 // 0)\ntorch.ones(3).sin()\n"
    )
    monkeypatch.chdir(tmp_path)
    save, before = render.save, signal.getsignal(number)

    def interrupted(*words: object, **options: object) -> object:
        signal.raise_signal(number)
        return save(*words, **options)

    monkeypatch.setattr(render, "save", interrupted)
    try:
        status = cli.main(["run", "-o", "out.fxscope", "script.py"])
    finally:
        signal.signal(number, before)
    assert load(tmp_path / "out.fxscope").graph("eager").nodes
    raised = number == signal.SIGUSR1
    assert (status, "ZeroDivisionError" in capsys.readouterr().err) == (int(raised), raised)


@pytest.mark.slow
def test_a_module_is_run_as_python_would(tmp_path) -> None:
    plain, observed, recording = both(tmp_path, MODULE, ["-m", "mine.tool", "--lr", "3"], [])
    assert observed == plain and "mine ['--lr', '3']" in plain[1]
    assert recording.title == "mine.tool"


def test_ctrl_c_in_the_middle_keeps_what_was_seen(tmp_path) -> None:
    (tmp_path / "script.py").write_text(
        HEAD + "torch.ones(3).sin()\nprint('ready', flush=True)\nwhile True:\n    pass\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-m", "fxscope", "run", "-o", "out.fxscope", "script.py"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What a shell starts in the background ignores ctrl-C, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    try:
        _, error = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode in (130, -signal.SIGINT) and "KeyboardInterrupt" in error and "fxscope/" not in error
    assert "aten::sin" in {node.target for node in load(tmp_path / "out.fxscope").graph("eager").nodes}


@pytest.mark.parametrize("head", [b"\xef\xbb\xbf", b"# -*- coding: latin-1 -*-\n"], ids=["marked", "latin-1"])
def test_a_script_is_read_as_python_reads_it(head: bytes, tmp_path: Path) -> None:
    letter = "é".encode("latin-1" if b"latin" in head else "utf-8")
    path = tmp_path / "script.py"
    path.write_bytes(head + b"def f(x: int): pass\nfound = '" + letter + b"', f.__annotations__\n")
    names: dict[str, object] = {}
    exec(script._script(str(path)).code, names)
    assert names["found"] == ("é", {"x": int})
