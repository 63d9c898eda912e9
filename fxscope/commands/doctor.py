"""`fxscope doctor`: what is missing on this machine, what it is needed for, and the command that installs it.

Nothing is guessed: a program is recorded, and compiled. Exit code 0 only if programs can be recorded here.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import platform
import shlex
import shutil
import sys
import textwrap
from importlib import metadata
from typing import NamedTuple

from fxscope.errors import one_line

COMPILER = "torch.compile"
PIP = f"{shlex.quote(sys.executable)} -m pip install"
INSTALL = {"linux": "apt-get install -y {}", "darwin": "brew install {}"}  # else there is no command to name


class Check(NamedTuple):
    """One thing that this machine has, lacks (`ok` is false), or for which the question does not arise (None)."""

    name: str
    ok: bool | None
    found: str  # what there is, or what went wrong
    purpose: str  # what it is needed for
    remedy: str | None = None  # a command, where one mends it
    required: bool = False  # without it nothing can be recorded


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the checks as JSON, for bug reports")


def run(arguments: argparse.Namespace) -> int:
    checks = [versions(), *torch_and_recording(), scanner()]
    if arguments.json:
        print(json.dumps([check._asdict() for check in checks], indent=2, ensure_ascii=False))
    else:
        for check in checks:
            print(shown(check))
        missing = sum(check.ok is False for check in checks)
        print(f"\n{verdict(checks)} {len(checks)} checks: {missing or 'nothing'} missing.")
    return 1 if any(check.required and check.ok is False for check in checks) else 0


def verdict(checks: list[Check]) -> str:
    missing = [check for check in checks if check.ok is False]
    if required := next((check.name for check in missing if check.required), None):
        return f"Nothing can be recorded here: {required}."
    compiled = ", but not compiled" if any(check.name == COMPILER for check in missing) else ""
    return f"Programs can be recorded here{compiled}."


def shown(check: Check) -> str:
    """The lines of one check, at most 80 columns but for a command, which is copied whole."""
    mark = {True: "ok", False: "MISSING", None: "–"}[check.ok]
    lines = textwrap.wrap(f"{check.name}: {check.found}", 78, initial_indent=f"{mark:<9}", subsequent_indent=" " * 11)
    if check.ok is False:
        lines += textwrap.wrap(f"needed for {check.purpose}", 78, initial_indent=" " * 9, subsequent_indent=" " * 9)
        if check.remedy:
            lines.append(f"{' ' * 9}$ {check.remedy}")
    return "\n".join(lines)


def versions() -> Check:
    names = ("fxscope", "msgspec", "networkx", "numpy", "rich", "isal", "kernels")
    found = [f"Python {platform.python_version()}", f"{sys.platform}-{platform.machine()}"]
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    return Check("versions", True, ", ".join(found), "bug reports")


def torch_and_recording() -> list[Check]:
    purpose = "recording; reading and viewing recordings work without it"
    try:
        from fxscope._torch import environment

        here = environment.environment()
    except Exception as error:  # an import of a broken torch raises anything
        remedy = f"{PIP} torch" if importlib.util.find_spec("torch") is None else None
        return [Check("torch", False, one_line(error), purpose, remedy, required=True)]
    built = f"{here.torch}, {f'CUDA {here.cuda}' if here.cuda else 'no CUDA'}"
    eager = recorded(compile=False)
    compiled = recorded(compile=True) if eager[0].ok else []
    found = Check("torch", True, f"{built}; {here.device}", purpose, required=True)
    return [found, *eager, *compiled, triton(here.triton)]


def triton(installed: str | None) -> Check:
    purpose = "torch.compile on a GPU, and plans for one that is not here (--target)"
    ok = installed is not None if sys.platform == "linux" else None  # there is none for others
    return Check("triton", ok, installed or "not installed", purpose, f"{PIP} triton")


def recorded(*, compile: bool) -> list[Check]:
    """Record a small MLP on this machine's device; a second check has what the recording lacks."""
    from fxscope._torch.programs import geglu
    from fxscope.capture import record

    name, purpose = (COMPILER, "compiled programs") if compile else ("recording", "everything else")
    remedy, lost = install("g++ python3-dev") if compile else None, list[str]()
    try:
        model, inputs = geglu.make()
        recording = record(model, *inputs, steps=1, warmup=0, compile=compile)
        lost = [f"{problem.where}: {problem.message}" for problem in recording.problems]
        failed = "" if recording.calls or (recording.ops and not compile) else "; ".join(lost) or "nothing was recorded"
    except Exception as error:
        failed = one_line(error)
        if isinstance(error.__cause__, OSError):  # Dynamo's import creates the folder of Inductor's cache
            remedy = "export TORCHINDUCTOR_CACHE_DIR=$(mktemp -d)"
    made = Check(name, not failed, failed or "a small MLP", purpose, remedy, required=not compile)
    partial = [Check(f"all of {name}", False, "; ".join(lost), "complete recordings")] if lost and not failed else []
    return [made, *partial]


def scanner() -> Check:
    from fxscope.readers.trace import reader

    purpose = "reading large traces at memory speed; without it the same columns come slower"
    if reader.native is not None:
        return Check("trace scanner", True, "compiled", purpose)
    if "FXSCOPE_NO_NATIVE" in os.environ:
        return Check("trace scanner", False, "switched off by FXSCOPE_NO_NATIVE", purpose, "unset FXSCOPE_NO_NATIVE")
    again = f"{PIP} --force-reinstall --no-deps --no-cache-dir .    (in the checkout of fxscope)"
    remedy = again if shutil.which("g++") else install("g++")
    return Check("trace scanner", False, "not compiled when fxscope was installed", purpose, remedy)


def install(packages: str) -> str | None:
    """The command that installs packages; None where it is not known."""
    command = INSTALL.get(sys.platform)
    return command and command.format(packages)
