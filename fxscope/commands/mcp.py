"""Serve the verbs as tools of a coding agent (Model Context Protocol, over stdio).

Each answer is JSON of at most `--budget` bytes: the most important rows, and the command that prints the rest. Tools read
and write files only in the given folders. The tool `record` runs programs of these folders with your rights.
"""

import argparse
import asyncio
import copy
import functools
import itertools
import json
import os
import shlex
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from fxscope import __version__, children
from fxscope.commands.common import add_budget_option
from fxscope.errors import FxscopeError
from fxscope.text import shorten

SECONDS = 600  # of one tool
INSTRUCTIONS = """Find out what limits a PyTorch program: record it once, read the overview, ask why of the largest row,
change one thing, record again, diff. Ids and names in an answer are what `why` and `code` take."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    folders = "tools read and write here only; relative paths start at the first folder"
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help=folders)
    add_budget_option(parser)


def run(arguments: argparse.Namespace) -> int:
    try:
        from mcp.server import MCPServer  # pyright: ignore[reportMissingImports]
        from mcp.server.mcpserver.exceptions import ToolError  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise FxscopeError('the MCP SDK is not installed: pip install "mcp>=2".') from None
    folders = [Path(name).resolve() for name in arguments.folders]
    if missing := [str(folder) for folder in folders if not folder.is_dir()]:
        raise FxscopeError(f"{missing[0]} is not a folder: name the folders that tools may read and write.")
    server = MCPServer("fxscope", version=__version__, instructions=INSTRUCTIONS, log_level="ERROR")
    for name in filter(lambda name: not name.startswith("_"), vars(Tools)):
        server.add_tool(_told(name, Tools(folders, arguments.json_bytes), ToolError), structured_output=False)
    server.run("stdio")
    return 0


def _told(name: str, tools: "Tools", error: type[Exception]) -> Callable[..., Awaitable[str]]:
    """A tool, with its FxscopeErrors as errors that the SDK shows to the agent; a call that is cancelled ends its process."""

    @functools.wraps(getattr(tools, name))
    async def call(**options: Any) -> str:
        own = copy.copy(tools)  # has the process of this call
        try:
            return await asyncio.to_thread(getattr(own, name), **options)
        except (FxscopeError, OSError, ValueError, RuntimeError) as mistake:  # such as a loop of links, or a NUL
            raise error(str(mistake)[:1000]) from None
        finally:
            if own.process is not None:
                own.process.kill()

    return call


class Tools:
    """The tools of an agent; it reads their docstrings."""

    def __init__(self, folders: Sequence[Path], budget: int) -> None:
        self.folders, self.budget = folders, budget
        self.process: subprocess.Popen[bytes] | None = None

    def record(self, program: str, arguments: list[str] | None = None, output: str = "recording.fxscope") -> str:
        """Run a Python script and record it; returns its overview. `output` is the .fxscope file, which is replaced."""
        return self._made(output, "run", self._path(program), "--", *(arguments or []))

    def plan(self, factory: str, target: str = "h200", output: str = "plan.fxscope") -> str:
        """Compile FILE.py:FACTORY for a GPU that is not here (h200, h100, a100, …) and predict its kernels and times.

        FACTORY() returns (module, inputs).
        """
        file, _, name = factory.rpartition(":")
        if not file:
            raise FxscopeError(f"{factory} names no factory: write FILE.py:FACTORY.")
        gpu = target if target.isalnum() else self._path(target.strip())  # a file that `fxscope calibrate` wrote
        return self._made(output, "run", "--target", gpu, f"{self._path(file)}:{_plain(name)}")

    def read(self, trace: str, output: str = "recording.fxscope", debug_dir: str = "", compile_log: str = "") -> str:
        """Read a profiler trace (.json, .json.gz), with the compile's TORCH_COMPILE_DEBUG folder or TORCH_TRACE log."""
        words = ["--debug-dir", self._path(debug_dir)] if debug_dir else []
        words += ["--compile-log", self._path(compile_log)] if compile_log else []
        return self._made(output, "view", self._path(trace), *words)

    def overview(self, recording: str) -> str:
        """Return what limits the step and what to try first: kernels, missed fusions, graph breaks, recompiles, idle time."""
        return self._asked("view", self._path(recording))

    def missed_fusions(self, recording: str) -> str:
        """Pairs that were not fused, the most expensive first, each with reason, saving and what to try."""
        return self._asked("why", self._path(recording))

    def why(self, recording: str, a: str, b: str = "") -> str:
        """Return why two ops were fused or not, or all about one; names as in an overview (gelu, op:mul#2, buf3)."""
        return self._asked("why", self._path(recording), *map(_plain, filter(None, (a, b))))

    def code(self, recording: str, name: str) -> str:
        """The generated code of the kernel that runs a node, op or kernel, each line with its node and source line."""
        return self._asked("code", self._path(recording), _plain(name))

    def diff(self, a: str, b: str) -> str:
        """Return what changed from recording A to B: times with their noise, kernels, fusions, recompiles."""
        return self._asked("diff", self._path(a), self._path(b))

    def check(self, recordings: list[str], expectations: str) -> str:
        """Hold recordings against a .toml file of expectations."""
        return self._asked("check", *map(self._path, recordings), self._path(expectations))

    def _made(self, output: str, verb: str, *words: str) -> str:
        """Make a recording, which replaces an earlier one, and return its overview. The exit code is the program's own."""
        if not output.endswith(".fxscope"):
            raise FxscopeError(f"{output}: an output's name ends in .fxscope.")
        target = self._path(output)
        made = Path(target)
        earlier = made.stat().st_mtime_ns if made.exists() else None
        done = self._run([verb, "-o", target, "--force", *words])
        if not made.exists() or made.stat().st_mtime_ns == earlier:
            raise FxscopeError(_error(done))
        said = done.stderr.decode(errors="replace").replace(f"wrote {target}\n", "").strip()[-400:]
        return self._asked("view", target, recording=target, exit_code=done.returncode or None, stderr=said)

    def _asked(self, *words: str, **first: Any) -> str:
        """Return the answer of a verb within the budget, after `first`. A `check` that found something ends with 1."""
        from fxscope.analysis.budget import fit

        done = self._run([*words, "--json", "--budget", "0"])
        if done.returncode > 1 or not done.stdout:
            raise FxscopeError(_error(done))
        answer = json.loads(done.stdout)
        answer = answer if isinstance(answer, dict) else {"rows": answer}
        return fit({**first, **answer}, self.budget, more=f"fxscope {shlex.join(words)} --json --budget 0")

    def _run(self, words: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        """Run a verb in a separate process. It writes to files: what a program leaves running would keep a pipe open."""
        with TemporaryFile() as output, TemporaryFile() as errors:
            files: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": errors}
            with children.start(*words, cwd=self.folders[0], **files) as process:
                self.process = process
                try:
                    process.wait(SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise FxscopeError(f"fxscope {words[0]} took more than {SECONDS} s.") from None
            for file in (output, errors):
                file.seek(0)
            return subprocess.CompletedProcess(process.args, process.returncode, output.read(), errors.read())

    def _path(self, name: str) -> str:
        """The path of a file or folder, all of which is in the given folders. Raises FxscopeError where it is not."""
        if not name or "\0" in name:
            raise FxscopeError("the name of a file is empty, or has a null byte.")
        path = (self.folders[0] / name).resolve()
        inside = (Path(folder, item) for folder, *rows in os.walk(path) for row in rows for item in row)
        # The path first: a walk of / takes minutes.
        for item in itertools.chain([path], filter(Path.is_symlink, inside)):
            if not any(item.resolve().is_relative_to(folder) for folder in self.folders):
                what = name if item == path else f"{item} in {name}"
                given = ", ".join(map(str, self.folders))
                raise FxscopeError(f"{what:.200} is outside of the folders given at start ({given}).")
        return str(path)


def _error(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return "\n".join(shorten(line, 500) for line in lines)[-1000:] or children.died(done.returncode)


def _plain(word: str) -> str:
    if word.startswith("-"):
        raise FxscopeError(f"{word} is an option, not a name.")
    return word
