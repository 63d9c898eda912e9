"""Options that the verbs share: where recordings come from (file, trace, folder) and where results go (`-o`, `--format`)."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from os import getpid  # programs and their tests replace `os.getpid`
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from fxscope.data import read_table
from fxscope.errors import FxscopeError, RenderError, UsageError, one_line
from fxscope.model import Memory, Recording, replace
from fxscope.render import WITHOUT_STAGE, check_target, format_of, render, save
from fxscope.render.legible import legible, legible_streams, screen_width as screen_width, write_bytes

if TYPE_CHECKING:
    from fxscope.analysis.select import Place

HELP = read_table("options.json")  # texts that take more than a line
TRACES = ("trace.json.gz", "trace.json")
TEXT_SUFFIXES = {".txt": "terminal", ".md": "md", ".json": "json"}
TEXT_FORMATS = tuple(TEXT_SUFFIXES.values())
LOGS = ("torch_trace.log.gz", "torch_trace.log")


def say(message: str) -> None:
    if sys.stderr.isatty():
        print(message, file=sys.stderr, flush=True)


class Terminated(BaseException):
    """A signal came that is to end the process: no `except Exception` is to hold it."""


@contextlib.contextmanager
def tidy_on_termination() -> Generator[None]:
    """On SIGTERM and SIGHUP let every `finally` run, so that no temporary file stays, and then die of the signal."""

    def leave(number: int, _: Any) -> None:
        signal.signal(number, signal.SIG_DFL)  # a second one ends it at once
        raise Terminated(number)

    in_main = threading.current_thread() is threading.main_thread()
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if in_main and hasattr(signal, name)]
    numbers = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, leave)
    try:
        yield
    except Terminated as end:
        os.kill(getpid(), end.args[0])
        raise
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def failed(error: FxscopeError, verb: str, usage: str = "") -> int:
    """Say what kept a verb from its work, and how it is called; return the exit code."""
    with legible_streams():
        print(f"fxscope {verb}: {error}", *([f"usage: {usage}"] if usage else []), sep="\n", file=sys.stderr)
    drop_what_stdout_does_not_take()
    return error.exit_code


def drop_what_stdout_does_not_take() -> None:
    """Have nothing in the way of Python's last flush, which would complain once more, with an exit code of its own."""
    stdout: TextIO | None = sys.stdout
    if stdout is None:
        return
    try:
        stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())


def read(name: str, arguments: argparse.Namespace | None = None) -> Recording:
    """The recording that a path stands for, titled after it: a recording, trace, compile log, debug folder, or folder of these.

    Raises FxscopeError: the path is none of these, or an option of `add_input_options` does not apply to it.
    """
    from fxscope.readers.join import read_trace

    path = Path(name)
    given = {option: value for option in INPUT_OPTIONS if (value := getattr(arguments, option, None))}
    if path.is_dir():
        recording = read_folder(path, given)
    elif is_recording(path):
        from fxscope.store import load

        if given:
            option = next(iter(given)).replace("max_bytes", "max_size").replace("_", "-")
            raise FxscopeError(f"--{option} is for traces, and {name} is a recording.")
        recording = load(path)
    else:
        recording = read_trace(path, **given)
    return recording if recording.title else replace(recording, title=stem(path))


INPUT_OPTIONS = ("debug_dir", "compile_log", "capture", "steps", "max_bytes")


def step_range(text: str) -> range:
    """Parse "2:5" as steps 2, 3 and 4, and "2" as step 2."""
    first, colon, last = text.partition(":")
    last = last if colon else first
    if first.isdecimal() and last.isdecimal() and len(text) <= 40:
        found = range(int(first), int(last) + (not colon))
        if found and found.stop <= sys.maxsize:
            return found
    raise argparse.ArgumentTypeError(f"{text!r} is not a range of steps: write N, or A:B with A < B, such as 2:5")


def add_input_options(parser: argparse.ArgumentParser, *, nargs: str | None = "+") -> None:
    """The inputs of a verb, `recordings`, and how traces among them are read."""
    what = "a recording, a trace, a TORCH_TRACE log, a TORCH_COMPILE_DEBUG folder, or a folder with one of these"
    parser.add_argument("recordings", nargs=nargs, metavar="RECORDING", help=what)
    add_trace_options(parser)


def add_trace_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("traces").add_argument
    add("--steps", type=step_range, metavar="STEPS", help="steps to read: 2:5 (2, 3 and 4), or 3")
    add("--debug-dir", metavar="FOLDER", help="TORCH_COMPILE_DEBUG folder of the same run")
    add("--compile-log", metavar="LOG", help="TORCH_TRACE log, or folder of logs, of the same run")
    add("--capture", metavar="TRACE", help=HELP["--capture"])
    add("--max-size", type=size, dest="max_bytes", metavar="SIZE", help=HELP["--max-size"])


MAX_LINES = 40


def write_words(
    text: str, format: str, arguments: argparse.Namespace, *, everything: bool, most: int = MAX_LINES
) -> None:
    """Write a text, cut to `most` lines of a screen's width unless everything is asked for; in Markdown as a block of code."""
    from fxscope.render import markdown

    if not everything:
        width = len(text) if format == "md" else screen_width()
        lines = [line if len(line) <= width else f"{line[: width - 1]}…" for line in text.splitlines()]
        rest = [f"… {len(lines) - most + 1} more lines: --all"] if len(lines) > most else []
        text = "\n".join([*lines[: most - len(rest)], *rest, ""])
    write_text(markdown.fenced(text) if format == "md" else text, arguments.output, arguments)


def call_named(recording: Recording, name: str) -> Place:
    """The first kernel call that a name stands for; say it where there are more. Raises FxscopeError where there is none."""
    from fxscope.analysis.why import places_of

    places = [place for place in places_of(recording, name) if place.call is not None]
    if not places:
        raise FxscopeError(f"no kernel call names {name}: see `fxscope why RECORDING NAME`.")
    if len(places) > 1:
        print(f"{name} ran in {len(places)} calls; this is the first. {name}#2 is the next.", file=sys.stderr)
    return places[0]


def told_apart(recordings: Sequence[Recording], names: Sequence[str]) -> list[Recording]:
    """The recordings with the names of their files in their titles: those of one program have the same title."""
    places = [Path(name) for name in names]
    common = Path(os.path.commonpath([place.absolute().parent for place in places]))
    out: list[Recording] = []
    for recording, place in zip(recordings, places, strict=True):
        is_one = sum(other.name == place.name for other in places) == 1
        shown = place.name if is_one else str(place.absolute().relative_to(common))
        bare = place.name.startswith(recording.title or "") or recording.title == shown
        out.append(replace(recording, title=legible(shown if bare else f"{recording.title} ({shown})")))
    return out


def several_in(path: Path) -> list[str]:
    """The recordings, or the traces, of a folder without a `trace.json`; none of a folder that is one input itself."""
    if not path.is_dir() or any((path / name).is_file() for name in (*TRACES, "output_code.py")):
        return []
    from fxscope.readers.trace.unpacked import beginning

    can_read = re.compile(rb'"(schemaVersion|deviceProperties|traceEvents|ph|fxscope/\d+)"').search  # not settings
    kinds = ((".pt.trace.json", ".pt.trace.json.gz"), (".json.gz", ".json.zst"), (".json",), (".fxscope",))
    read = (file for file in path.iterdir() if file.suffix != ".json" or can_read(beginning(file, 1 << 13) or b""))
    files = sorted(file for file in read if file.is_file())
    return next(filter(None, ([str(file) for file in files if file.name.endswith(kind)] for kind in kinds)), [])


def read_folder(path: Path, given: Mapping[str, Any]) -> Recording:
    """The recording of a folder: with a trace and its compile's files, with one recording, of logs, or a debug folder."""
    from fxscope import passes
    from fxscope.readers.join import read_trace
    from fxscope.readers.log_files import is_log
    from fxscope.store import contents
    from fxscope.text import listed

    found = [str(path / name) for name in TRACES if (path / name).is_file()][:1] or several_in(path)
    if not found and is_log(path):
        return read_trace(path, **given)
    if (path / "output_code.py").is_file() or (not found and next(path.rglob("output_code.py"), None)):
        from fxscope.readers.compile_log import read_debug_dir

        return passes.run(read_debug_dir(path))
    if len(found) > 1:
        names = listed([Path(name).name for name in found], 3)
        raise FxscopeError(f"{path} holds {len(found)} files ({names}): name one; `fxscope fleet` reads the ranks.")
    if not found:
        below = sorted({str(file.parent) for kind in ("json*", "fxscope") for file in path.rglob(f"*/*.{kind}")})
        hint = f" Name one of its folders with such files: {listed(below, 3)}." if below else ""
        raise FxscopeError(f"{path} holds no trace, recording, compile log or debug folder.{hint}")
    trace = Path(found[0])
    if trace.suffix == ".fxscope":
        return read(found[0])
    debug = next((path / name for name in ("inductor", "torch_compile_debug") if (path / name).is_dir()), None)
    log = next((path / name for name in LOGS if (path / name).is_file()), None)
    recording = read_trace(trace, **dict[str, Any]({"debug_dir": debug, "compile_log": log, **given}))
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError, RecursionError, FxscopeError):
        peak = int(json.loads(contents(path / "meta.json", limit=1 << 20, what="a meta.json"))["peak_mem"])
        recording = replace(recording, memory=replace(recording.memory or Memory(), peak_bytes=peak))
    return recording


def is_recording(path: Path) -> bool:
    """Return whether a file is a recording: by its name, or as JSON, packed or not, that begins with the schema."""
    from fxscope.readers.trace.unpacked import beginning

    is_json = path.name.endswith((".json", ".json.gz"))
    return path.suffix == ".fxscope" or (is_json and b'"fxscope/' in (beginning(path, 200) or b""))


def stem(path: Path) -> str:
    return path.name.split(".")[0] or path.name


def named(files: list[str], arguments: argparse.Namespace | None = None) -> dict[str, Recording]:
    """Recordings by name: "eager=path" names one, else the file's name does. Raises FxscopeError."""
    recordings: dict[str, Recording] = {}
    for argument in files:
        name, _, path = argument.partition("=")
        if not path or "/" in name:
            name, path = "", argument
        name = name or stem(Path(path))
        if name in recordings:
            raise FxscopeError(f"two recordings are called {name!r}: name them, as in before={path}.")
        recordings[name] = read(path, arguments)
    return recordings


def size(text: str) -> int:
    """Parse "16G", "500M" or a number of bytes."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    number, unit = (text[:-1], units[text[-1].upper()]) if text[-1:].upper() in units else (text, 1)
    with contextlib.suppress(ValueError, OverflowError):
        if (value := int(float(number) * unit)) > 0:
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is not a size: write a number, or one with K, M, G or T")


def whole(text: str, least: int = 0) -> int:
    if text.isdecimal() and len(text) < 19 and int(text) >= least:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of {least} or more")


class Once(argparse.Action):
    """An option with one value: a second one is an error, not a silent replacement of the first."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        before = getattr(namespace, self.dest, None)
        if option_string and before not in (None, self.default, values):
            parser.error(f"argument {option_string}: given twice ({before} and {values}), and it takes one value")
        setattr(namespace, self.dest, values)


def refuse(arguments: argparse.Namespace, why: str, *names: str) -> None:
    """Raise UsageError where one of these options was given: here it would be taken and do nothing."""
    for name in names:
        if getattr(arguments, name) != arguments.parser.get_default(name):
            option = "--json or --format" if name == "format" else f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} means nothing here: {why}.")


def add_output_options(
    parser: argparse.ArgumentParser, output: str = "", formats: Sequence[str] | None = None, *, several: bool = False
) -> None:
    """`-o`, with the help `output`, and its like; `formats` of a text, in one file or `several`, `None` for a recording."""
    group = parser.add_argument_group("output")
    if formats is None:
        output = "write FILE; its suffix is the format: .fxscope .json .svg .png .dot .md .html .txt; repeatable"
        group.add_argument("-o", "--output", metavar="FILE", action="append", help=output)
        group.add_argument("--format", metavar="NAME", help="output format, whatever the suffix; to stdout without -o")
        group.add_argument("--stage", metavar="STAGE", help="which graph to draw: eager, pre_grad, post_grad…")
    else:
        how: dict[str, Any] = {"action": "append"} if several else {}
        group.add_argument("-o", "--output", metavar="FILE", help=output or "write to FILE: .txt, .md or .json", **how)
        group.add_argument("--format", choices=formats, help="output format, whatever the suffix")
    as_json = "report" if formats is None else "json"
    group.add_argument("--json", action="store_const", const=as_json, dest="format", help="print the answer as JSON")
    add_budget_option(group)
    group.add_argument("--force", action="store_true", help="overwrite files that exist")
    group.add_argument("--all", action="store_true", help="print all rows, not one screen")


def text_format(output: str | None, arguments: argparse.Namespace, suffixes: Mapping[str, str] = TEXT_SUFFIXES) -> str:
    """The format that the options name for one output. Raises RenderError before the long work."""
    from fxscope import store

    if output is None:
        return arguments.format or "terminal"
    store.check_free(output, force=arguments.force)
    suffix = Path(output).suffix
    if not arguments.format and suffix not in suffixes:
        raise RenderError(f"{output}: the suffix names no format. Use one of {' '.join(suffixes)}, or --format.")
    return arguments.format or suffixes[suffix]


def add_budget_option(parser: Any) -> None:
    from fxscope.analysis.budget import DEFAULT_BYTES

    help = "cut a JSON answer to N bytes (default: %(default)s; 0: no limit); the answer names the command for the rest"
    how: dict[str, Any] = {"type": whole, "default": DEFAULT_BYTES, "metavar": "N", "help": help}
    parser.add_argument("--budget", dest="json_bytes", action="store", **how)  # the last one counts: `more` adds one


def budgeted(text: str, arguments: argparse.Namespace) -> str:
    import shlex

    from fxscope.analysis.budget import fit

    limit = getattr(arguments, "json_bytes", 0)
    if limit <= 0 or getattr(arguments, "all", False):
        return text
    words = list(arguments.words)
    at = words.index("--budget") if "--budget" in words else len(words)
    words[at : at + 2] = []
    end = 1 if arguments.verb == "run" else len(words)  # what follows a script is the script's
    more = ["fxscope", *words[:end], "--budget", "0", *words[end:]]
    return fit(json.loads(text), limit, more=shlex.join(more)) + "\n"


def write_text(text: str | bytes, output: str | Path | None, arguments: argparse.Namespace) -> None:
    from fxscope import store

    if not output:
        sys.stdout.write(budgeted(str(text), arguments) if getattr(arguments, "format", None) == "json" else str(text))
    else:
        print(f"wrote {store.write(output, text, force=arguments.force)}", file=sys.stderr)


def check_apart(arguments: argparse.Namespace) -> None:
    """Raise RenderError where two outputs are one file, or an output is a file that is read: `--force` is for others.

    Raises UsageError where an argument is empty, as an unset variable of a shell is: `Path("")` is the current folder.
    """
    given = {name: value if isinstance(value, list) else [value] for name, value in vars(arguments).items()}
    if empty := [name for name in given if name not in ("words", "arguments") and "" in given[name]]:
        raise UsageError(f"an argument is empty ({empty[0].replace('_', '-')}): leave it out, or give it a value.")
    outputs = [text for text in given.pop("output", ()) if isinstance(text, str)]
    inputs = given.keys() - {"verb", "words", "arguments", "title", "format"}
    names = [text for name in inputs for text in given[name] if isinstance(text, str)]
    read = [part for text in names for part in (text, text.rpartition(":")[0]) if part]  # of FILE.py:FACTORY, too
    for place, text in enumerate(outputs):
        file = os.path.realpath(text)
        if os.path.exists(file) and not os.path.isfile(file):  # noqa: PTH110, PTH113, which raise of long names
            continue  # a device takes several
        if file in map(os.path.realpath, read):
            raise RenderError(f"-o {text} is a file that is read here, and would be overwritten: name another.")
        if file in map(os.path.realpath, outputs[:place]):
            raise RenderError(f"-o {text} is named twice, under one name or several: give each output its own.")


def check_outputs(arguments: argparse.Namespace) -> None:
    """Fail before the long work, not after it: unknown formats and files that exist. Raises RenderError."""
    stage = getattr(arguments, "stage", None)
    check_apart(arguments)  # again: `run` has options that come after the program
    outputs = arguments.output or ()
    is_relative = not all(Path(name).is_absolute() for name in outputs)
    arguments.folder = Path.cwd() if is_relative else Path()  # where the names are meant: a program may change it
    for name in outputs:
        if name == "-":
            raise RenderError("-o - would be a file of that name: leave -o out, and --format NAME goes to stdout.")
        check_target(name, format=arguments.format, force=arguments.force)
    formats = {format_of(name, arguments.format or (None if name else "terminal")) for name in outputs or (None,)}
    if stage and formats <= WITHOUT_STAGE:
        raise RenderError(f"--stage means nothing here: {' and '.join(sorted(formats))} draw no single graph.")


def emit(recording: Recording, arguments: argparse.Namespace, *, keep: bool = False, **options: Any) -> None:
    """Write the recording where the options say; without -o, to stdout, and nothing else goes there.

    Every file that can be written is written before an error of another is raised. With `keep`, for a recording that
    exists nowhere else, a failure that would lose it saves it as .fxscope.

    Raises RenderError: something could not be made or written; one line for each.
    """
    from fxscope.store import rescue

    if getattr(arguments, "stage", None):
        options["stage"] = arguments.stage
    if keep:
        options["name"] = ""
    failed: list[str] = []
    unforeseen: Exception | None = None
    is_saved = False  # the recording itself is on disk
    with legible_streams():
        for name in arguments.output or (None,):
            try:
                is_saved = write(recording, name, arguments, **options) or is_saved
            except BrokenPipeError:
                raise
            except Exception as error:  # a fault of fxscope's own costs the user one file, not all of them
                is_ours = not isinstance(error, FxscopeError)
                unforeseen = error if is_ours else unforeseen
                said = f"{one_line(error)} (a fault of fxscope's)" if is_ours else str(error)
                failed.append(f"{name} was not written: {said}" if name else said)
        if failed and keep and not is_saved:
            failed.append(rescue(recording, arguments.folder / (arguments.output or ["recording"])[0]))
        if unforeseen is not None:
            print("\n".join(failed), file=sys.stderr)
            raise unforeseen
    if failed:
        raise RenderError("\n".join(failed))


def write(recording: Recording, output: str | None, arguments: argparse.Namespace, **options: Any) -> bool:
    """Write one file, or stdout; return whether the file holds the recording."""
    from fxscope.render.terminal import show

    format = format_of(output, arguments.format or (None if output else "terminal"))
    if output is None and format == "terminal":
        show(recording, everything=getattr(arguments, "all", False), **options)
        return False
    without = {*(("name",) if output or format != "report" else ()), *(("stage",) if format in WITHOUT_STAGE else ())}
    taken = {key: value for key, value in options.items() if key not in without}
    if output is not None:
        save(recording, arguments.folder / output, format=arguments.format, force=arguments.force, **taken)
        print(f"wrote {output}", file=sys.stderr)
        return format in ("fxscope", "json")
    data = render(recording, format, **taken)
    if isinstance(data, str):
        text = budgeted(data, arguments) if format == "report" else data
        data = (text if text.endswith("\n") else f"{text}\n").encode("utf-8", errors="replace")
    write_bytes(data)
    return False


def write_comparison(comparison: Any, arguments: argparse.Namespace, format: str, same: str = "") -> int:
    """Write a comparison; in the terminal `same` in place of one that shows no difference."""
    from fxscope.render.diff import diff_json, diff_markdown, diff_text

    show = {
        "terminal": lambda: same or diff_text(comparison, width=screen_width(), every=arguments.all),
        "md": lambda: diff_markdown(comparison, every=arguments.all),
        "json": lambda: diff_json(comparison),
    }
    write_text(show[format](), arguments.output, arguments)
    return 0
