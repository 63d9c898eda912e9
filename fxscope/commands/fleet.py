"""`fxscope fleet FOLDER`: a job of many ranks: which one is late and why, and whose kernels differ."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fxscope.commands import common
from fxscope.render.legible import status

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from fxscope.fleet.model import Digest, Fleet
    from fxscope.fleet.sources import Source

SUFFIXES = {".txt": "terminal", ".md": "md", ".json": "json", ".html": "html", ".parquet": "parquet"}
MAX_REPORTS = 8
MAX_LISTED = 6  # folders
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))

EPILOG = """One trace a rank, as torch.profiler exports them (rank0.json.gz, …; two steps at least). By default the traces are
read by processes of this machine, within --memory; `--on ray` or `--on ray://HOST:PORT` spreads them over a cluster, and with
a batch system each job does its part: `fxscope fleet FOLDER --shard I/N -o DIGESTS`, then `fxscope fleet --from DIGESTS`.

Expectations for CI (--check FILE.toml; exit code 1 where one is not met):
  same_plan = true            # every rank launches the same kernels
  even = true                 # no rank stands out
  lateness = "<= 5 %"         # of a step, what the latest rank costs; or "<= 200 us"
  exposed = "<= 20 %"         # of a step, communication with nothing else running
  ranks = 8                   # so many could be compared"""


def configure(parser: argparse.ArgumentParser) -> None:
    import argparse

    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "traces",
        nargs="*",
        metavar="FOLDER-OR-URL",
        help="a folder of traces, one a rank; an address (s3://, gs://, hf://, …); or traces",
    )
    parser.add_argument("--pattern", metavar="REGEX", help="only files whose path in the folder this finds")
    parser.add_argument("--on", default="local", metavar="WHERE", help="local (default), ray, or ray://HOST:PORT")
    parser.add_argument(
        "--jobs", type=positive, metavar="N", help="processes at once (default: one a core, as memory allows)"
    )
    parser.add_argument(
        "--memory", type=common.size, default=2 << 30, metavar="SIZE", help="what all of them may take together (2G)"
    )
    parser.add_argument(
        "--max-size", type=common.size, default=16 << 30, metavar="SIZE", help="largest trace unpacked (16G)"
    )
    parser.add_argument(
        "--input-annotation",
        metavar="REGEX",
        help="record_function names in which data is loaded, beside the usual ones",
    )
    parser.add_argument(
        "--digests",
        metavar="FOLDER",
        help="keep the digests here (default: beside the output), and take up those that are there",
    )
    parser.add_argument(
        "--shard", type=shard, metavar="I/N", help="only digest part I of N, counted from 0, into the folder -o names"
    )
    parser.add_argument(
        "--from",
        dest="made",
        nargs="+",
        metavar="DIGESTS",
        help="folders of digests, or .parquet files, instead of traces",
    )
    parser.add_argument(
        "--reports", action="store_true", help="with -o X.html: also a report each of the named ranks and of one other"
    )
    parser.add_argument(
        "--check", metavar="FILE.toml", help="hold the job against expectations; exit code 1 where one is not met"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        action="append",
        default=[],
        help="write FILE instead: .html, .md, .json, .txt, .parquet; may be given again",
    )
    parser.add_argument("--format", choices=FORMATS, help="format, whatever the suffix")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="short for --format json")
    parser.add_argument("--force", action="store_true", help="overwrite a file that exists")


def positive(text: str) -> int:
    """Parse N ≥ 1."""
    import argparse

    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes: write 1 or more")
    return int(text)


def shard(text: str) -> tuple[int, int]:
    """Parse "0/4"."""
    import argparse

    first, slash, count = text.partition("/")
    if not slash or not first.isdigit() or not count.isdigit() or int(first) >= int(count):
        raise argparse.ArgumentTypeError(f"{text!r} is no part: write I/N with I from 0 to N-1, such as 0/4")
    return int(first), int(count)


def run(arguments: argparse.Namespace) -> int:
    """Digest, compare, show; with --check return 1 where an expectation is not met."""
    from fxscope.errors import FxscopeError
    from fxscope.fleet import findings

    if bool(arguments.traces) == bool(arguments.made):
        raise FxscopeError("give a folder of traces (fxscope fleet FOLDER), or digests (fxscope fleet --from DIGESTS).")
    if arguments.made:
        reading = ("pattern", "on", "jobs", "memory", "max_size", "input_annotation", "digests", "reports")
        common.refuse(arguments, "--from takes digests, and no trace is read", *reading)
    if arguments.shard:
        return run_shard(arguments)
    outputs = chosen_outputs(arguments)
    if not any(format == "html" for _, format in outputs):
        common.refuse(arguments, "it adds to a page, as in -o fleet.html", "reports")
    expectations = read_expectations(arguments.check)
    digests = read_made(arguments.made) if arguments.made else made_now(arguments, outputs)
    fleet = findings.examine(digests, title=title(arguments))
    if not fleet.ranks:
        first = next((f"{problem.where}: {problem.message}" for problem in fleet.problems), "there is none")
        raise FxscopeError(f"no rank's trace holds a step that can be compared: {first.rstrip('.')}.")
    for path, format in outputs:
        show(fleet, digests, path, format, arguments)
    return report(fleet, expectations, arguments) if expectations is not None else 0


def run_shard(arguments: argparse.Namespace) -> int:
    """Digest one part of the traces into a folder."""
    from fxscope.errors import FxscopeError

    common.refuse(arguments, "--shard only digests", "check", "digests", "format", "reports")
    if len(arguments.output) != 1 or Path(arguments.output[0]).suffix in SUFFIXES or arguments.made:
        raise FxscopeError("--shard writes digests: name their folder, as in --shard 0/4 -o digests.")
    index, count = arguments.shard
    found = traces_of(arguments)[index::count]
    digest_all(found, Path(arguments.output[0]), arguments)
    print(
        f"wrote {len(found)} digests to {arguments.output[0]}; go on with: fxscope fleet --from {arguments.output[0]}",
        file=sys.stderr,
    )
    return 0


def title(arguments: argparse.Namespace) -> str:
    place = (arguments.traces or arguments.made)[0].rstrip("/")
    return Path(place).name or place


def chosen_outputs(arguments: argparse.Namespace) -> list[tuple[Path | None, str]]:
    """(file or standard output, format). Raises RenderError before the long work."""
    from fxscope.errors import RenderError

    found: list[tuple[Path | None, str]] = []
    for name in arguments.output:
        found.append((Path(name), common.text_format(name, arguments, SUFFIXES)))
    if not found and arguments.format == "parquet":
        raise RenderError("parquet is no text: name a file, as in -o fleet.parquet.")
    if any(format == "parquet" for _, format in found):
        from fxscope.fleet import arrow

        arrow.library()  # is it there?
    return found or [(None, arguments.format or "terminal")]


def made_now(arguments: argparse.Namespace, outputs: list[tuple[Path | None, str]]) -> list[Digest]:
    """The digests of the traces, kept beside the first output."""
    found = traces_of(arguments)
    folder = Path(arguments.digests) if arguments.digests else None
    if folder is None and outputs[0][0] is not None:
        folder = outputs[0][0].with_suffix(".digests")
    return digest_all(found, folder, arguments)


def traces_of(arguments: argparse.Namespace) -> list[Source]:
    """The job's traces, and say what was left out."""
    from fxscope.fleet import sources
    from fxscope.text import listed

    found, folders = sources.latest(sources.listed(arguments.traces, pattern=arguments.pattern))
    if folders:
        others = listed(folders[1:], MAX_LISTED)
        print(
            f"compared is {folders[0]}, the last whole one; --pattern {folders[1]}/ takes another: {others}",
            file=sys.stderr,
        )
    return found


def digest_all(found: list[Source], folder: Path | None, arguments: argparse.Namespace) -> list[Digest]:
    from fxscope.errors import FxscopeError
    from fxscope.fleet import run as running

    settings = running.Settings(input_annotation=pattern(arguments.input_annotation), max_bytes=arguments.max_size)
    options: dict[str, Any] = {"keep": folder, "settings": settings, "progress": progress(len(found))}
    if arguments.on == "local":
        return running.digests(found, jobs=arguments.jobs, memory_bytes=arguments.memory, **options)
    if arguments.on == "ray" or arguments.on.startswith("ray://"):
        from fxscope.fleet import cluster

        return cluster.digests(found, address=None if arguments.on == "ray" else arguments.on, **options)
    raise FxscopeError(f"--on {arguments.on}: write local, ray, or ray://HOST:PORT.")


def pattern(text: str | None) -> str | None:
    """A regular expression that is one. Raises FxscopeError."""
    import re

    from fxscope.errors import FxscopeError

    try:
        re.compile(text or "")
    except re.error as error:
        raise FxscopeError(f"--input-annotation {text!r} is not a regular expression: {error}.") from None
    return text


def progress(total: int) -> Callable[[int, int, str], None] | None:
    """A function that says how far it is, on stderr: each rank on a terminal, each tenth in a log."""
    if total < 2:
        return None
    terminal = sys.stderr.isatty()

    def told(done: int, of: int, name: str) -> None:
        if terminal:
            end = "\n" if done == of else ""
            status(f"{done} of {of} ranks: {name}", end=end)
        elif of >= 20 and (done == of or done % (of // 10) == 0):
            print(f"{done} of {of} ranks", file=sys.stderr, flush=True)

    return told


def read_made(names: list[str]) -> list[Digest]:
    """Digests from folders and Parquet files. Raises FxscopeError."""
    from fxscope.errors import FxscopeError
    from fxscope.fleet import run as running

    found: list[Digest] = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            files = sorted(path.glob(f"*{running.SUFFIX}"))
            if not files:
                raise FxscopeError(
                    f"{path} holds no digests. Make them with `fxscope fleet FOLDER --shard I/N -o {path}`."
                )
            found += map(running.read, files)
        elif path.suffix == ".parquet":
            from fxscope.fleet import arrow

            found += arrow.read(path)
        elif path.is_file():
            found.append(running.read(path))
        else:
            raise FxscopeError(f"{path} does not exist: give a folder of digests, or a .parquet file.")
    return found


def show(fleet: Fleet, digests: list[Digest], path: Path | None, format: str, arguments: argparse.Namespace) -> None:
    from fxscope.render import fleet as rendering

    if format == "parquet":
        from fxscope.fleet import arrow

        assert path is not None
        output: str | bytes = arrow.parquet(digests)
    elif format == "html":
        from fxscope.render import fleet_page

        reports = write_reports(fleet, path, arguments) if arguments.reports and path is not None else None
        output = fleet_page.render(fleet, digests, reports=reports)
    elif format == "json":
        output = fleet.to_json() + "\n"
    elif format == "md":
        output = rendering.markdown(fleet)
    else:
        output = rendering.text(fleet, width=common.width() if path is None else 80)
    common.write_text(output, path, arguments)


def write_reports(fleet: Fleet, page: Path, arguments: argparse.Namespace) -> dict[int, str]:
    """Write the reports of the named ranks, and of one that is not, beside the page; return their addresses from it."""
    from fxscope import store
    from fxscope.fleet import sources
    from fxscope.readers.join import read_trace
    from fxscope.render.fleet import marks
    from fxscope.render.page import html

    by_name = {source.name: source for source in sources.find(arguments.traces, pattern=arguments.pattern)}
    named = sorted(marks(fleet))
    other = next((line.rank for line in fleet.ranks if line.rank not in named), None)
    wanted = [*named[:MAX_REPORTS], *([] if other is None else [other])]
    folder = page.with_suffix(".reports")
    found: dict[int, str] = {}
    for line in fleet.ranks:
        source = by_name.get(line.file)
        if line.rank not in wanted or source is None or source.is_remote:
            continue
        recording = read_trace(Path(source.address), compile_log=source.compile_log)
        path = store.write(folder / f"rank{line.rank}.html", html.render(recording), force=arguments.force)
        found[line.rank] = f"{folder.name}/{path.name}"
    return found


def read_expectations(name: str | None) -> dict[str, Any] | None:
    """Read --check's file before the long work. Raises FxscopeError."""
    if name is None:
        return None
    from fxscope.analysis import check

    return check.parse(common.read_text(name), name)


def report(fleet: Fleet, expectations: dict[str, Any], arguments: argparse.Namespace) -> int:
    """Say what was expected and found, on stderr where standard output holds the job itself."""
    from fxscope.fleet import check
    from fxscope.render import findings

    result = check.check(fleet, expectations, where=arguments.check)
    print(
        findings.check_text(result, width=common.width()), end="", file=sys.stdout if arguments.output else sys.stderr
    )
    return 0 if result.passed else 1
