"""A program under observation goes on as it would without, whatever fails in fxscope, and whoever ends a recording."""

import contextlib
import gc
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

import fxscope
from fxscope import capture, store
from fxscope._torch import environment, event_tree, hooks, inductor, module_names, nodes, profiler, running, steps
from fxscope.errors import CaptureError, RenderError
from tests.processes import run_python

pytestmark = pytest.mark.once
DATA = Path(__file__).resolve().parent.parent / "data"
TEXT = Path(__file__).with_name("programs.txt").read_text()
PROGRAMS = dict(re.findall(r"^# --- ([^\n]+)\n(.*?)(?=^# --- |\Z)", TEXT, re.S | re.M))


def run(code: str, folder: Path, *arguments: str, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
    script = folder / "script.py"
    script.write_text(code)
    return run_python(*arguments, script, cwd=folder, timeout_s=timeout_s)


def broken(*_: Any, **__: Any) -> None:
    raise ZeroDivisionError("broken")


@pytest.mark.parametrize(
    "name", ["bound.judged", "_with_facts", "environment", "_of_trace", "OwnTrace", "eager_graph.program_graph"]
)
def test_what_fails_in_fxscope_is_a_problem_and_a_warning(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, _, attribute = f"capture.{name}".rpartition(".")
    target = capture
    for part in owner.split(".")[1:]:
        target = getattr(target, part)
    monkeypatch.setattr(target, attribute, broken)
    with (
        pytest.warns(RuntimeWarning, match="could not record .*ZeroDivisionError: broken"),
        fxscope.record() as recorder,
    ):
        result = torch.ones(2) + 1
    assert result.tolist() == [2, 2] and recorder.recording is not None
    assert "ZeroDivisionError: broken" in recorder.recording.problems[0].message
    assert not hooks.active()


@pytest.mark.slow
def test_where_warnings_are_errors_ours_is_none(tmp_path: Path) -> None:
    done = run(
        "import fxscope\nwith fxscope.record():\n    pass\nprint('on')\n", tmp_path, "-W", "error::RuntimeWarning"
    )
    assert done.returncode == 0 and done.stdout == "on\n" and "could not record" in done.stderr


def test_what_the_program_raises_is_not_hidden_by_what_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture.bound, "judged", lambda _: 1 / 0)
    with pytest.raises(KeyError, match="theirs"), fxscope.record():
        raise KeyError("theirs")


def test_an_environment_that_torch_cannot_read_harms_no_program(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_MIN_NUM_SPLIT", "many")
    code = "import torch\nprint(torch.nn.Linear(4, 4)(torch.ones(2, 4)).shape)\n"
    done = run(code, tmp_path, "-m", "fxscope", "run", "-o", "eager.fxscope")
    assert (done.returncode, done.stdout, done.stderr) == (0, "torch.Size([2, 4])\n", "wrote eager.fxscope\n")
    recording = store.load(tmp_path / "eager.fxscope")
    assert "aten::addmm" in {node.target for node in recording.graph("eager").nodes}
    [problem] = recording.problems
    assert problem.where == "torch._dynamo" and "base 10: 'many'" in problem.message
    assert [item.what for item in recording.unobserved] == ["start-up"]


@pytest.mark.parametrize(
    "name", ['a "quoted" name', "line\nbreak \\ and \t tab", "dynamo", "entire_frame_compile", "\u202ex"]
)
def test_names_of_annotations_do_not_matter(name: str) -> None:
    with fxscope.record() as recorder, torch.profiler.record_function(name):
        torch.ones(3, 3) @ torch.ones(3, 3)
    assert recorder.failure is None and recorder.recording is not None
    assert [launch.op for launch in recorder.recording.launches if launch.op == "aten::mm"] == ["aten::mm"]


@pytest.mark.parametrize("where", ["begin()", "threading.Thread(target=begin, daemon=True).start(); begun.wait()"])
def test_a_program_that_ends_in_a_recording_ends_as_ever_and_is_told(where: str, tmp_path: Path) -> None:
    code = f"""
import os, sys, threading, time, torch, fxscope
r, begun = fxscope.record(), threading.Event()
def begin():
    r.__enter__()
    torch.ones(3).add(1)
    begun.set()
    while threading.current_thread().daemon: time.sleep(60)
{where}
torch.ones(3).add(1)
if os.fork() == 0: sys.exit(0)
os.wait()
sys.exit(3)
"""
    done = run(code, tmp_path)
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("a recording (recording) was still running as the program ended, and is lost") == 1


@pytest.mark.slow
def test_a_recording_may_end_in_another_thread_while_others_run(tmp_path: Path) -> None:
    done = run(PROGRAMS["threads"], tmp_path)
    expected = "() True False\n" * 4 + "[2.0, 2.0]\n"
    assert (done.returncode, done.stdout) == (0, expected), done.stdout + done.stderr
    assert "PythonTracer" not in done.stderr and "Leaked" not in done.stderr


def test_a_process_that_is_started_while_a_remark_is_kept_off_stderr_has_the_programs_stderr(tmp_path: Path) -> None:
    done = run(PROGRAMS["remark"], tmp_path)
    assert (done.returncode, done.stdout) == (0, "True\n")
    assert done.stderr.strip() == "of the child"


# Where it is left; in a backward pass it is recorded, or says why it is not: a waiting main thread may come too late.
LEFT = "in another thread", "twice, or by four threads at once", "in the thread of a backward pass"


@pytest.mark.slow
@pytest.mark.parametrize("where", LEFT)
def test_a_recording_may_be_left(where: str, tmp_path: Path) -> None:
    begin = "import threading, torch, fxscope\nfrom fxscope._torch import hooks\nr = fxscope.record()\nr.__enter__()\n"
    done = run(
        f"{begin}torch.ones(3).add(1)\n{PROGRAMS[where]}", tmp_path, *(["-W", "error"] if "twice" in where else [])
    )
    assert (done.returncode, done.stdout) == (0, "True True True\n"), done.stderr
    assert where != "in another thread" or "fxscope" not in done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
class TestForks:
    LEAVE = "import os, sys, torch, fxscope\nwith fxscope.record() as r:\n    torch.ones(3)\n    pid = os.fork()\n"

    @pytest.mark.slow
    @pytest.mark.parametrize("child", ["sys.exit(3)", "raise SystemExit(3)"])
    def test_a_child_ends_with_its_code_and_takes_nothing_with_it(self, child: str, tmp_path: Path) -> None:
        code = f"{self.LEAVE}    if pid == 0: {child}\n    print(os.waitpid(pid, 0)[1] >> 8)\nprint(r.failure)\n"
        done = run(code, tmp_path)
        assert (done.returncode, done.stdout) == (0, "3\nNone\n"), done.stderr

    def test_a_child_compiles_without_hooks_and_with_its_caches(self) -> None:
        with fxscope.record():
            before = hooks.active()
            pid = os.fork()
            if pid == 0:
                os._exit(sum(path.startswith(("torch._dynamo.", "torch._inductor.")) for path in hooks.active()))
            left = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            torch.ones(3).add(1)
        assert any(path.startswith("torch._dynamo.") for path in before)
        assert left == 3, (
            "the session's own: where compiled graphs are called, where Dynamo begins, where counting calls of modules ends"
        )

    @pytest.mark.slow
    def test_a_child_that_leaves_the_block_has_no_recording(self, tmp_path: Path) -> None:
        code = f"{self.LEAVE}if pid: os.waitpid(pid, 0)\nprint(r.recording is None)\n"
        done = run(code, tmp_path)
        assert (done.returncode, done.stdout) == (0, "True\nFalse\n"), done.stderr

    @pytest.mark.slow
    def test_a_child_of_a_script_writes_no_output(self, tmp_path: Path) -> None:
        code = "import os, torch\ntorch.ones(3).add(1)\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('end')\n"
        done = run(code, tmp_path, "-m", "fxscope", "run", "-o", "out.fxscope")
        assert done.returncode == 0 and done.stdout == "end\nend\n" and done.stderr.count("wrote") == 1, done.stderr
        assert store.load(tmp_path / "out.fxscope").launches

    @pytest.mark.slow
    def test_workers_that_fork_and_children_that_fail_cost_the_parent_nothing(self, tmp_path: Path) -> None:
        done = run(PROGRAMS["workers"], tmp_path, "-m", "fxscope", "run", "-o", "out.fxscope")
        assert (done.returncode, done.stdout) == (0, "[0.0, 10.0, 20.0]\n[[0, 1], [2, 3]]\n1 4\n"), done.stderr
        assert done.stderr.count("wrote out.fxscope") == 1 and done.stderr.count("Traceback") == 1
        ran = {launch.op for launch in store.load(tmp_path / "out.fxscope").launches}
        assert {"aten::add", "aten::mul"} <= ran
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out.fxscope", "script.py"]

    def test_a_folder_of_the_parents_outlives_the_child(self) -> None:
        folder = store.OwnFolder()
        pid = os.fork()
        if pid == 0:
            folder.cleanup()
            os._exit(0)
        os.waitpid(pid, 0)
        assert Path(folder.name).is_dir()
        folder.cleanup()
        assert not Path(folder.name).exists()


@pytest.mark.slow
def test_output_goes_where_it_was_meant_though_the_script_moves(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    code = "import os, torch\nos.chdir('elsewhere')\ntorch.ones(3).add(1)\n"
    done = run(code, tmp_path, "-m", "fxscope", "run", "-o", "out.fxscope")
    assert done.returncode == 0 and (tmp_path / "out.fxscope").is_file()
    assert not list((tmp_path / "elsewhere").iterdir())


class TestWriting:
    def test_a_new_file_has_the_mode_of_the_umask_and_an_old_one_its_own(self, tmp_path: Path) -> None:
        before = os.umask(0o027)
        try:
            new = store.write(tmp_path / "new", "x")
        finally:
            os.umask(before)
        assert new.stat().st_mode & 0o777 == 0o640
        new.chmod(0o600)
        store.write(new, "y", force=True)
        assert new.stat().st_mode & 0o777 == 0o600 and new.read_text() == "y" and list(tmp_path.iterdir()) == [new]

    def test_the_umask_of_the_process_is_not_touched(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask is the process's"))
        store.write(tmp_path / "new", "x")

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "target").write_text("old")
        (tmp_path / "link").symlink_to("target")
        store.write(tmp_path / "link", "new", force=True)
        assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_text() == "new"
        (tmp_path / "loop").symlink_to("loop")
        with pytest.raises(RenderError):
            store.write(tmp_path / "loop", "new", force=True)

    def test_devices_are_written_to_and_never_replaced(self, tmp_path: Path) -> None:
        with pytest.raises(RenderError, match="cannot write /dev/full: No space left"):
            store.write("/dev/full", "x" * 100_000)
        os.mkfifo(tmp_path / "pipe")
        reader = threading.Thread(target=(tmp_path / "pipe").read_bytes)
        reader.start()
        store.write(tmp_path / "pipe", "x")
        reader.join(timeout=30)
        assert (tmp_path / "pipe").is_fifo()

    def test_of_two_writers_without_force_one_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "file"
        monkeypatch.setattr(Path, "exists", lambda _: False)  # the other one came between the look and the writing
        path.write_text("theirs")
        with pytest.raises(RenderError, match="exists"):
            store.write(path, "ours")
        assert path.read_text() == "theirs" and list(tmp_path.iterdir()) == [path]


def test_a_child_of_a_plain_profiled_run_can_end(tmp_path: Path) -> None:
    assert profiler.let_children_end() is None
    code = "import os, sys, torch, fxscope\nfxscope.record(torch.sin, torch.ones(2))\npid = os.fork()\n"
    done = run(f"{code}if pid == 0: sys.exit(5)\nprint(os.waitpid(pid, 0)[1] >> 8)\n", tmp_path)
    assert done.stdout == "5\n"


@pytest.mark.slow
def test_a_recording_holds_the_lines_that_ops_stem_from_and_not_the_rest(tmp_path: Path) -> None:
    code = "KEY = 'secret'\n" + "\n" * 20
    code += "import torch\n@torch.compile(backend='aot_eager')\ndef f(x):\n    return x.sin() + 1\nf(torch.ones(4))\n"
    assert run(code, tmp_path, "-m", "fxscope", "run", "-o", "out.fxscope").returncode == 0
    texts = [source.text for source in store.load(tmp_path / "out.fxscope").sources if source.kind == "user"]
    assert len(texts) == 1 and "secret" not in texts[0]
    assert texts[0].splitlines()[24] == "    return x.sin() + 1"


@pytest.mark.slow
def test_an_interrupted_program_dies_of_it_as_python_does(tmp_path: Path) -> None:
    code = "import atexit, os, signal, torch\natexit.register(print, 'last')\ntorch.ones(3).add(1)\n"
    (tmp_path / "p.py").write_text(f"{code}os.kill(os.getpid(), signal.SIGINT)\n")
    ends = []
    for command in (["p.py"], ["-m", "fxscope", "run", "-o", "out.fxscope", "p.py"]):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            # What a shell starts in the background ignores ctrl-C, and so would what it starts.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        ends.append((done.returncode, done.stdout))
    assert ends == [(-signal.SIGINT, "last\n")] * 2
    assert store.load(tmp_path / "out.fxscope").launches


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("shell", [">&-", ">/dev/full"])
def test_a_standard_output_that_takes_nothing_is_one_line(shell: str, tmp_path: Path) -> None:
    recording = DATA / "checks" / "linear_live.fxscope"
    said = "" if shell == ">&-" else "cannot write to standard output: No space left on device.\n"
    code = "import sys; from fxscope.cli import main; sys.exit(main())"
    for verb in (
        f"view {recording}",
        f"view {recording} --json",
        f"why {recording}",
        "kernel triton_poi_fused_0",
        "--help",
    ):
        command = f"{sys.executable} -c '{code}' {verb} {shell}"
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
        name = "fxscope" if verb == "--help" else f"fxscope {verb.split()[0]}"
        assert (done.returncode, done.stderr) == ((2, f"{name}: {said}") if said else (0, "")), verb
    written = f"{sys.executable} -c '{code}' view {recording} -o out.svg {shell} 2>&-"
    assert subprocess.run(["sh", "-c", written], cwd=tmp_path, check=False).returncode == 0
    assert (tmp_path / "out.svg").stat().st_size > 1000


def test_names_that_no_file_can_have_and_devices_are_known_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="File name too long"):
        store.check_free(tmp_path / ("x" * 300))
    with pytest.raises(RenderError, match="is a folder"):
        store.check_free(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    for free in (tmp_path / "pipe", tmp_path / "dangling", "/dev/null"):
        store.check_free(free)
    (tmp_path / "file").touch()
    store.check_free(tmp_path / "file", force=True)
    with pytest.raises(RenderError, match="exists"):
        store.check_free(tmp_path / "file")


# What the program calls directly, and stands guard over the rest: broken itself, it is no longer what is tested.
GUARDS = {
    "_user_compiler", "__torch_dispatch__", "stop", "_leave", "record", "__init__", "__enter__", "__exit__",
    "_fail", "__call__", "_around_compile", "_calls_compiled", "pause",
    "_around_frame", "_steps_aside", "_alone",
}  # fmt: skip


def internals(module: Any) -> list[tuple[Any, str]]:
    found: list[tuple[Any, str]] = []
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value):
            found.append((module, name))
        elif inspect.isclass(value):
            found += [(value, key) for key, item in vars(value).items() if inspect.isfunction(item)]
    return [(owner, name) for owner, name in found if name not in GUARDS]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "module", [capture, inductor, profiler, steps, event_tree, module_names, nodes, running, environment]
)
def test_each_internal_may_raise(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = {"_compile_id", "_add_graph", "_compiled", "_config_here"}  # of a compile by Inductor
    for owner, name in internals(module):
        compiled = torch.compile(lambda x: x.sin() + 1, backend="inductor" if name in inner else "eager")
        torch._dynamo.reset()
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, broken)
            with fxscope.record() as recorder:
                results = (torch.ones(2) + 1).tolist(), compiled(torch.zeros(2)).tolist()
        assert results == ([2, 2], [1, 1]) and recorder.recording is not None, (owner, name)
        assert not hooks.active() and not profiler.is_profiling() and not capture._current, (owner, name)
        assert not _get_current_dispatch_mode_stack(), (owner, name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["start", "stop", "start_trace", "stop_trace"])
def test_a_session_of_the_profiler_ends_whatever_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # One that is on as the process ends crashes it.
    monkeypatch.setattr(torch.profiler.profile, name, broken)
    with fxscope.record() as recorder:
        result = torch.ones(2) + 1
    assert result.tolist() == [2, 2] and recorder.recording is not None
    assert "broken" in " ".join(problem.message for problem in recorder.recording.problems)
    assert not hooks.active() and not capture._current
    with contextlib.suppress(RuntimeError):  # of an older torch, where none is on
        assert torch._C._autograd._disable_profiler().trace_start_ns() <= 0, "it was on"


def test_a_device_that_fails_at_the_end_costs_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("CUDA error: an illegal memory access")

    session = profiler.Session()
    session.start()
    torch.ones(2).add(1)
    session._own.profiler.use_device = "cuda"
    with monkeypatch.context() as patched:
        patched.setattr(torch.cuda, "is_available", lambda: True)
        patched.setattr(torch.cuda, "synchronize", broken)
        path, _ = session.stop()
    try:
        assert "aten::add" in path.read_text()
        (problem,) = session.hooks.problems
        assert (problem.where, problem.message) == ("profiler", "RuntimeError: CUDA error: an illegal memory access")
    finally:
        session.cleanup()


def test_a_trace_that_cannot_be_written_is_told_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="set TMPDIR to another folder"):
        profiler.check_written(tmp_path / "gone" / "own.json")


def test_a_program_that_recurses_too_deeply_says_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: said.append(str(found.exc_value)))

    def deeper(x: torch.Tensor, by: int) -> torch.Tensor:
        return deeper(torch.sin(x), 0) if by == 0 else deeper(x, by - 1)

    before = sys.getrecursionlimit()
    with fxscope.record() as recorder:
        gc.disable()  # what other tests have left, collected near the limit, complains, too
        sys.setrecursionlimit(len(inspect.stack(0)) + 100)
        try:
            for by in range(15):
                with pytest.raises(RecursionError):
                    deeper(torch.ones(1), by)
        finally:
            sys.setrecursionlimit(before)
            gc.enable()
    assert recorder.failure is None and not said, said


def test_an_interrupt_as_hooks_come_off_keeps_none_on() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    patches = hooks.Hooks()
    patches.wrap("json:dumps", "before", print)
    patches.at_end("a label", interrupted)
    with pytest.raises(KeyboardInterrupt):
        patches.close()
    assert not hooks.active() and not hasattr(json.dumps, "__wrapped__") and not patches.problems


def test_a_program_that_leaves_no_file_to_open_is_told_so(tmp_path: Path) -> None:
    code = "import resource, torch\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 64))\n"
    code += "print(torch.ones(2).add(1).tolist())\n"
    done = run(code, tmp_path, "-m", "fxscope", "run", "-o", "out.fxscope")
    assert (done.returncode, done.stdout) == (3, "[2.0, 2.0]\n")
    assert "Too many open files" in done.stderr.splitlines()[-1] and "does it call PyTorch" not in done.stderr


VERBS = """view TRACE/trace.json.gz --debug-dir TRACE/inductor -o o.fxscope
view o.fxscope
view o.fxscope -o o.html -o o.svg -o o.md -o o.json
why o.fxscope
view o.fxscope
code o.fxscope
diff o.fxscope o.json
redact o.fxscope -o r.fxscope
check o.fxscope RULES
fleet FLEET
kernel triton_poi_fused_add_0
dispatch aten::linear
run -o p.fxscope script.py
view p.fxscope"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [["-OO"], ["-W", "error"]], ids=" ".join)
def test_python_without_docstrings_and_assertions_or_with_warnings_as_errors(
    options: list[str], tmp_path: Path
) -> None:
    places = {"TRACE": str(DATA / "h200" / "plans" / "geglu" / "real"), "FLEET": str(DATA / "fleet" / "ddp_even")}
    places["RULES"] = str(tmp_path / "rules.toml")
    (tmp_path / "rules.toml").write_text('kernels = ">= 1"\nfused = ["gelu", "mul"]\n')
    lines = re.sub("[A-Z]{5}", lambda name: places[name[0]], VERBS).splitlines()
    (tmp_path / "script.py").write_text(
        "import torch\ntorch.compile(lambda x: x.sin() + 1, backend='eager')(torch.ones(8))\n"
    )
    code = (
        "import sys\nfrom fxscope import cli\n"
        "for line in sys.argv[1:]:\n    print(f'[{line}] ends with', cli.main(line.split()), file=sys.stderr)\n"
    )
    done = run_python(*options, "-c", code, *lines, cwd=tmp_path)
    ends = [line for line in done.stderr.splitlines() if line.startswith("[")]
    assert [line.rpartition(" ")[2] for line in ends] == ["0"] * len(lines), done.stderr
    assert done.returncode == 0 and "Warning" not in done.stderr and "Traceback" not in done.stderr, done.stderr
