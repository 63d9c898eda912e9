"""Every program does under observation exactly what it does without: the programs are in `any_programs.py`."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture import any_programs

FILE = Path(any_programs.__file__)
NAMES = [*any_programs.PROGRAMS]
SAME = ("value", "error", "out", "err", "warnings", "random", "state")
ALWAYS = NAMES[::8]  # the others where slow tests run
LONG = {"aot_inductor_package"}  # compiles a package: as long as all others together
# Programs whose every op ran where nothing of it can be had: in other threads, or in a session that leaves no trace.
NOTHING_LEFT = set(
    "fake_tensors profiler_left_open profiler_in_a_thread threads thread_pool_training profiler_legacy profiler_of_itt".split()
)
HANGS_S = 240  # with or without fxscope: gloo has been seen to, in the plain program
# "W1121 14:06:31.682000 18085 ", the time and the process with which torch, or Kineto, begins a line of a log.
LOG_TIME = re.compile(r"^[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ |^ERROR:\S+ \S+ \d+:\d+ ", re.MULTILINE)
# Kineto's remark on the first session of a process, if that begins in another thread than the main one.
FIRST_SESSION = re.compile(r"^ERROR: External init callback must run in same thread.*\n", re.MULTILINE)
# torch's own remark where its first way to load a package fails; seen in the plain program alone, on a busy machine.
SECOND_WAY = re.compile(r"^.*Loading outdated pt2 file\. Please regenerate your package\.\n", re.MULTILINE)


@pytest.fixture(scope="module")
def results(request, tmp_path_factory) -> dict[str, dict[str, dict]]:
    asked = {
        item.callspec.params["name"]
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    }
    return both(tmp_path_factory.mktemp("any"), [name for name in NAMES if name in asked - LONG])


@pytest.fixture(scope="module")
def long_results(tmp_path_factory) -> dict[str, dict[str, dict]]:
    return both(tmp_path_factory.mktemp("long"), sorted(LONG), may_die=True)


def both(folder: Path, names: list[str], *, may_die: bool = False) -> dict[str, dict[str, dict]]:
    """Run the programs plain and observed, each side in a process of its own."""
    paths = {how: folder / f"{how}.json" for how in ("plain", "observed")}
    # Kineto announces each session on stderr unless it is told not to; `fxscope run` tells it.
    environment = {
        **os.environ,
        "KINETO_LOG_LEVEL": "6",
        "PYTHONPATH": str(FILE.parents[2]),
        "PYTHONFAULTHANDLER": "1",  # one that hangs says where
    }
    running = [
        subprocess.Popen([sys.executable, str(FILE), how, str(path), *names], env=environment, stderr=subprocess.PIPE)
        for how, path in paths.items()
    ]
    errors = [what_it_said(process)[-4000:] for process in running]
    found: dict[str, dict[str, dict]] = {}
    for how, path in paths.items():
        lines = path.read_text().splitlines() if path.exists() else []
        found[how] = {done["name"]: done for done in map(json.loads, lines)}
    if may_die and not found["plain"]:
        pytest.skip(f"not observed, it ends with {running[0].returncode} here, too")
    found["crash"] = {how: {"stderr": text} for how, text in zip(paths, errors, strict=True)}
    return found


def what_it_said(process: subprocess.Popen[bytes]) -> str:
    """Return its stderr once it has ended, with the stack of each thread where it had to be ended."""
    try:
        return process.communicate(timeout=HANGS_S)[1].decode()
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        return process.communicate()[1].decode()


def test_there_are_programs_of_every_kind() -> None:
    assert len(NAMES) >= 100


@pytest.mark.parametrize(
    "name",
    [name if name in ALWAYS and name not in LONG else pytest.param(name, marks=pytest.mark.slow) for name in NAMES],
)
def test_a_program_does_the_same_when_it_is_observed(request, name) -> None:
    results = request.getfixturevalue("long_results" if name in LONG else "results")
    for how in ("plain", "observed"):
        assert name in results[how], f"the {how} process ended in or before it: {results['crash'][how]['stderr']}"
    plain, observed = results["plain"][name], results["observed"][name]
    is_left_out = name in NOTHING_LEFT or "what ran from there on is not recorded" in str(observed.get("warnings"))
    for what in SAME:
        found, expected = observed[what], plain[what]
        if what == "err":
            found, expected = (
                LOG_TIME.sub("", SECOND_WAY.sub("", FIRST_SESSION.sub("", text))) for text in (found, expected)
            )
        if what == "warnings" and is_left_out:  # the one thing that fxscope says: that nothing was recorded
            found = [line for line in found if not line.startswith("fxscope could not record")]
        assert found == expected, what
    if not is_left_out:
        assert observed.get("nodes"), observed.get("left")
