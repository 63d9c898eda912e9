"""What every test shares."""

import operator
import os
import resource
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

# Kineto announces every profiler session on stderr; the variable is read when torch is loaded.
os.environ.setdefault("KINETO_LOG_LEVEL", "6")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--accept`: rewrite golden files instead of comparing with them."""
    parser.addoption("--accept", action="store_true", help="rewrite golden files; read the diff before you commit it")


@pytest.hookimpl(tryfirst=True)  # before the expression of -m is applied
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What drives a browser waits more than it works, and one after the other: it is for `make test-all`."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


NO_COMPILER = "No working C++ compiler found"  # torch/_inductor/exc.py, InvalidCxxCompiler
COMPILERS = (os.environ.get("CXX", "g++"), "g++", "clang++")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of the mark `cpp` where there is no compiler."""
    if item.get_closest_marker("cpp") and not any(map(shutil.which, COMPILERS)):
        pytest.skip("Inductor finds no C++ compiler")


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command line in this process, which must end with `status`: what it printed (`out`) and reported (`err`)."""
    from fxscope import cli

    def run(*words: object, status: int = 0) -> Any:
        capsys.readouterr()  # of what came before
        try:
            ended = cli.main([str(word) for word in words])
        except SystemExit as end:  # argparse's
            ended = end.code
        said = capsys.readouterr()
        assert ended == status, said.err
        return said

    return run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


AUTOGRADS_THREADS = "autograd's threads do not survive"  # a plan of this process's own model, after a backward in it


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Skip what failed for want of a C++ compiler, on a machine that has none: Inductor itself names the cause.

    Likewise a planned training of a model that only a copy of this process knows, where other tests trained before.
    """
    report = yield
    if report.failed and NO_COMPILER in str(report.longrepr) and not any(map(shutil.which, COMPILERS)):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1], "Skipped: Inductor found no C++ compiler")
    if report.failed and AUTOGRADS_THREADS in str(report.longrepr):  # CUDA builds only
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1], "Skipped: a backward had run in this process")
    return report


def torch_state() -> dict[str, Any]:
    """Return what fxscope hooks or switches in torch, as it is now; empty while torch is not loaded."""
    if "torch" not in sys.modules or "fxscope._torch.hooks" not in sys.modules:
        return {}
    import torch
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    from fxscope._torch import hooks

    state: dict[str, Any] = {
        "active": hooks.active(),
        "dispatch modes": len(_get_current_dispatch_mode_stack()),
        "profiling": torch.autograd._profiler_enabled(),
        "grad": torch.is_grad_enabled(),
    }
    kinds = {"inductor": "InductorCapture", "profiler": "Session", "scheduler": "Watch", "tap": "Tap"}
    for name, kind in kinds.items():
        module = sys.modules.get(f"fxscope._torch.{name}")
        for path in {item.path for _, item in hooks.hooks_of(getattr(module, kind))} if module else ():
            if path.partition(":")[0] in sys.modules and hooks.exists(path):  # one that nobody loaded has no hooks
                value = hooks.resolve(path)[2]
                state[path] = getattr(value, "__func__", value)
    for module, switches in {
        "torch._inductor.config": ("trace.provenance_tracking_level", "cpp.enable_kernel_profile", "fx_graph_cache"),
        "torch._functorch.config": ("enable_autograd_cache",),
    }.items():
        if module in sys.modules:
            for switch in switches:
                state[f"{module}.{switch}"] = operator.attrgetter(switch)(sys.modules[module])
    return state


def process_state() -> dict[str, Any]:
    """What tests that come after, and the processes that they start, would inherit."""
    umask = os.umask(0o077)
    os.umask(umask)
    handlers: dict[int, Any] = {number: signal.getsignal(number) for number in signal.valid_signals()}
    # pytest-timeout's own while a test runs, and given back where one has failed.
    handlers[signal.SIGALRM] = handlers[signal.SIGALRM] == signal.SIG_IGN
    return {
        "signals": handlers,
        "blocked": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "profiling timer": signal.getitimer(signal.ITIMER_PROF)[0] > 0,
        "folder": os.getcwd(),  # noqa: PTH109 - as a string
        "umask": umask,
        "excepthook": sys.excepthook,
        "limits": [resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")],
        "variables": {name: value for name, value in os.environ.items() if name.startswith("FXSCOPE_")},
    }


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {name: (before[name], after.get(name)) for name in before if before[name] != after.get(name)}


@pytest.fixture(autouse=True)
def nothing_stays_behind():
    """Hold every test to leave torch as it found it: no hook, no patched function, no switch, no mode, no session.

    What earlier tests compiled is none of its business.
    """
    if "torch._dynamo" in sys.modules:
        sys.modules["torch._dynamo"].reset()
    torch_before, before = torch_state(), process_state()
    yield
    after = torch_state()
    assert not changed(torch_before, after), "left behind in torch"
    assert not changed(before, process_state()), "left behind for every test that comes after"
    if after:
        assert after["active"] == ()
        assert after["dispatch modes"] == 0
        assert after["profiling"] is False
