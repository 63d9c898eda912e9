"""`fxscope doctor`: what is missing on this machine, what it is needed for, and the command that installs it.

Nothing is guessed: a program is recorded, a graph is laid out, a header is compiled, a file is written. Exit code 0
only if programs can be recorded here.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from fxscope import children
from fxscope.errors import one_line

COMPILER = "C++ compiler"
HEADERS = ("vector", "Python.h", *(() if sys.platform == "darwin" else ("omp.h",)))  # macOS: Inductor looks elsewhere
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
    """Print every check; return 0 where programs can be recorded, else 1."""
    checks = examine()
    if arguments.json:
        print(json.dumps([check._asdict() for check in checks], indent=2, ensure_ascii=False))
    else:
        for check in checks:
            print(shown(check))
        missing = sum(check.ok is False for check in checks)
        print(f"\n{verdict(checks)} {len(checks)} checks, {missing} with something missing.")
    return 1 if any(check.required and check.ok is False for check in checks) else 0


def verdict(checks: list[Check]) -> str:
    """The sentence that the exit code goes with."""
    missing = [check for check in checks if check.ok is False]
    if required := next((check.name for check in missing if check.required), None):
        return f"Nothing can be recorded here: {required}."
    compiled = ", but not compiled for the CPU" if any(check.name == COMPILER for check in missing) else ""
    return f"Programs can be recorded here{compiled}."


def shown(check: Check) -> str:
    """The lines of one check, at most 80 columns but for a command, which is copied whole."""
    mark = {True: "ok", False: "MISSING", None: "–"}[check.ok]
    lines = textwrap.wrap(
        f"{check.name}: {check.found}", 78, initial_indent=f"{mark:<9}", subsequent_indent=" " * 11
    ) or [mark]
    if check.ok is False:
        lines += textwrap.wrap(f"needed for {check.purpose}", 78, initial_indent=" " * 9, subsequent_indent=" " * 9)
        if check.remedy:
            lines.append(f"{' ' * 9}$ {check.remedy}")
    return "\n".join(lines)


def examine() -> list[Check]:
    """Every check, in the order in which one needs the other."""
    torch = torch_and_recording()
    return [versions(), *torch, *(inductor() if torch[0].ok else ()), scanner()]


def versions() -> Check:
    """List the versions that a bug report needs beside torch's."""
    names = ("fxscope", "msgspec", "networkx", "numpy", "rich", "isal", "kernels")
    found = [f"Python {platform.python_version()}", f"{sys.platform}-{platform.machine()}"]
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    return Check("versions", True, ", ".join(found), "bug reports")


def torch_and_recording() -> list[Check]:
    """Import torch, look its hooks up, and record a program."""
    purpose = "recording; reading and viewing recordings work without it"
    try:
        from fxscope._torch import environment
        from fxscope.capture import record

        here = environment.environment()
    except Exception as error:  # an import of a broken torch raises anything
        remedy = f"{PIP} torch" if importlib.util.find_spec("torch") is None else None
        return [Check("torch", False, one_line(error), purpose, remedy, required=True)]
    built = f"{here.torch}, {f'CUDA {here.cuda}' if here.cuda else 'no CUDA'}"
    checks = [Check("torch", True, f"{built}; {here.device}", purpose, required=True)]
    rows = environment.probe()
    lost = [f"{name}: no {wanted}" for name, found, wanted in rows if not found]
    found = f"{len(rows) - len(lost)} of {len(rows)} are in this torch{'; without ' if lost else ''}{'; '.join(lost)}"
    checks.append(Check("hooks", not lost, found, "whole recordings"))
    try:
        recording = record(environment.tiny_program, steps=1, warmup=0)
        ops = [node.target for graph in recording.graphs for node in graph.nodes]
        seen = "aten::add" in ops
        said = "a program of one op" if seen else f"one op ran, {ops or 'none'} was seen"
    except Exception as error:
        seen, said = False, one_line(error)
    checks.append(Check("recording", seen, said, "everything else", required=True))
    return checks


def inductor() -> list[Check]:
    """Look at what torch.compile needs: a compiler with headers, caches that can be written, Triton."""
    from fxscope._torch import environment

    caches = (cache(*where) for where in environment.cache_folders())
    return [compiler(environment.cpp_compiler()), *caches, triton(environment.triton_pin())]


def compiler(program: str | None) -> Check:
    """Compile what Inductor's generated code includes: the standard library, Python's header and OpenMP's."""
    purpose, remedy = "torch.compile on a CPU; Triton's launcher on a GPU", install("g++ python3-dev")
    if program is None:
        return Check(COMPILER, False, "neither $CXX nor g++ nor clang++", purpose, remedy)
    for header in HEADERS:
        command = [program, "-fsyntax-only", "-x", "c++", f"-I{sysconfig.get_path('include')}", "-"]
        command += ["-fopenmp"] if header == "omp.h" else []
        try:
            done = children.run(command, input=f"#include <{header}>\n".encode(), timeout=60)
        except (OSError, subprocess.TimeoutExpired) as error:
            return Check(COMPILER, False, f"{program}: {one_line(error)}", purpose, remedy)
        if done.returncode:
            return Check(COMPILER, False, f"{program} finds no {header}", purpose, remedy)
    return Check(COMPILER, True, f"{program}, with the headers of Python {platform.python_version()}", purpose)


def cache(name: str, folder: Path | None, variable: str) -> Check:
    """Write into a cache folder, or into the nearest folder above it that exists; None is a folder that has no name."""
    purpose = f"{name.removesuffix(' cache')}'s compiled code"
    remedy = f"export {variable}=$(mktemp -d)"
    if folder is None:
        said = f"this user (uid {os.geteuid()}) has no name, of which torch makes the folder's"
        return Check(name, False, said, f"{purpose}: torch.compile fails without it", remedy)
    # Where nobody knows a home, "~" is a folder in the current one: so it is to those who own these caches.
    existing = folder = Path(os.path.expanduser(folder))  # noqa: PTH111
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    try:
        with tempfile.NamedTemporaryFile(dir=existing, prefix=".fxscope-"):
            return Check(name, True, f"{folder} can be written", purpose)
    except OSError as error:
        return Check(name, False, f"{folder} cannot be written ({error.strerror})", purpose, remedy)


def triton(pin: tuple[str | None, str | None]) -> Check:
    """Hold Triton against the one that this torch was released with."""
    installed, wanted = pin
    purpose = "torch.compile on a GPU, and plans for one that is not here (--target)"
    remedy = f'{PIP} "triton=={wanted}.*"' if wanted else f"{PIP} triton"
    if sys.platform != "linux":
        return Check("triton", None, f"there is none for {sys.platform}", purpose)
    if installed is None:
        return Check("triton", False, "not installed", purpose, remedy)
    if wanted and not re.match(rf"{re.escape(wanted)}(\.|$)", installed):
        return Check("triton", False, f"{installed}, but this torch was released with {wanted}", purpose, remedy)
    return Check("triton", True, installed + ("" if wanted else " (which one this torch wants is not known)"), purpose)


def scanner() -> Check:
    from fxscope.readers.trace import reader

    purpose = "reading large traces at memory speed; without it the same columns come slower"
    if reader.native is not None:
        return Check("trace scanner", True, "compiled", purpose)
    if "FXSCOPE_NO_NATIVE" in os.environ:
        return Check("trace scanner", False, "switched off by FXSCOPE_NO_NATIVE", purpose, "unset FXSCOPE_NO_NATIVE")
    again = f"{sys.executable} -m pip install --force-reinstall --no-deps --no-cache-dir fxscope"
    remedy = again if shutil.which("g++") else install("g++")
    return Check("trace scanner", False, "not compiled when fxscope was installed", purpose, remedy)


def install(packages: str) -> str | None:
    """The command that installs packages; None where it is not known."""
    command = INSTALL.get(sys.platform)
    return command and command.format(packages)
