"""`fxscope fleet FOLDER`: a job of many ranks: which one is late and why, and whose kernels differ."""

import argparse
import contextlib
import os
from functools import partial
from pathlib import Path

from fxscope.commands import common
from fxscope.errors import FxscopeError
from fxscope.fleet.model import Digest, Fleet

SUFFIXES = {".txt": "terminal", ".md": "md", ".json": "json", ".html": "html", ".svg": "svg", ".png": "png"}
FORMATS = tuple(name for name in SUFFIXES.values() if name != "png")  # to stdout


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "One trace per rank, of two steps or more, as torch.profiler exports it (rank0.json.gz, …)."
    add = parser.add_argument
    add("traces", nargs="+", metavar="FOLDER", help="a folder with a trace or a compile log per rank; or the traces")
    add("--pattern", metavar="REGEX", help="read only files whose path in the folder matches")
    add("--on", default="local", metavar="WHERE", help="where ranks are read: local (default), ray, ray://HOST:PORT")
    add("--jobs", type=partial(common.whole, least=1), metavar="N", help="processes at once (default: one per core)")
    add("--memory", type=common.size, default=2 << 30, metavar="SIZE", help="limit for all processes (default: 2G)")
    common.add_output_options(parser, f"write to FILE: {' '.join(SUFFIXES)}; repeatable", FORMATS, several=True)


def run(arguments: argparse.Namespace) -> int:
    from fxscope.fleet import findings, run as running, sources

    found = [(Path(name), common.text_format(name, arguments, SUFFIXES)) for name in arguments.output or ()]
    outputs: list[tuple[Path | None, str]] = [*found] or [(None, arguments.format or "terminal")]
    if logs := logs_alone(arguments):
        return run_logs(logs, outputs, arguments)
    traces = sources.listed(arguments.traces, pattern=arguments.pattern)
    if arguments.on not in ("local", "ray") and not arguments.on.startswith("ray://"):
        raise FxscopeError(f"--on {arguments.on}: write local, ray, or ray://HOST:PORT.")
    limits = {"jobs": arguments.jobs, "memory_bytes": arguments.memory}
    digests = running.digests(traces, progress=progress, on=arguments.on, **limits)
    fleet = findings.examine(digests, title=title(arguments))
    if not fleet.ranks:
        words = [f"{item.where}: {item.message.rstrip('.')}. {item.remedy or ''}".rstrip() for item in fleet.problems]
        raise FxscopeError(f"no rank's trace holds a step that can be compared: {[*words, 'there is none.'][0]}")
    by_trace = {source.path: made for source, made in zip(traces, digests, strict=True)}
    for path, format in outputs:
        show(fleet, by_trace, path, format, arguments)
    return 0


def logs_alone(arguments: argparse.Namespace) -> dict[int, list[Path]]:
    """Rank → its compile logs, where no trace is given."""
    from fxscope.fleet import logs, sources

    found = logs.find(arguments.traces)
    given = {path for files in found.values() for path in files}
    others = [place for place in map(Path, arguments.traces) if place not in given]
    return {} if found and any(sources.local(place) for place in others) else found


def progress(done: int, of: int, name: str) -> None:
    if of > 1 and (done == of or done % (of // 10 + 1) == 0):
        common.say(f"{done} of {of} ranks: {name}")


def logs_beside(arguments: argparse.Namespace, width: int) -> str:
    """Return what the compile logs beside the traces say: in which aspects ranks differ; all of it with `--all`."""
    from fxscope.fleet import logs
    from fxscope.render import fleet_logs

    found = logs.find(arguments.traces)
    if len(found) < 2:
        return ""
    try:
        job = logs.examine(found, title=title(arguments))
    except FxscopeError as error:
        return f"Compile logs: {error}\n"
    shown = fleet_logs.text(job, width=width, every=True)
    return shown if arguments.all else "\n".join(shown.splitlines()[:2]) + "\n"


def run_logs(
    found: dict[int, list[Path]], outputs: list[tuple[Path | None, str]], arguments: argparse.Namespace
) -> int:
    from fxscope.fleet import logs
    from fxscope.render import fleet_logs

    common.refuse(arguments, "these are compile logs without traces", "pattern")
    job = logs.examine(found, title=title(arguments))
    for path, format in outputs:
        if format not in ("terminal", "json"):
            raise FxscopeError(f"the compile logs of ranks have no {format}: choose .txt or .json.")
        shown = fleet_logs.text(job, width=common.screen_width() if path is None else 80, every=arguments.all)
        common.write_text(job.to_json() + "\n" if format == "json" else shown, path, arguments)
    return 0


def title(arguments: argparse.Namespace) -> str:
    return Path(os.path.commonpath([Path(name).resolve() for name in arguments.traces])).name


def show(fleet: Fleet, made: dict[str, Digest], path: Path | None, format: str, arguments: argparse.Namespace) -> None:
    from fxscope.render import fleet as rendering

    if format == "html":
        from fxscope.render import fleet_page

        traces = {digest.rank: trace for trace, digest in made.items()}
        recordings = {}
        for rank in fleet_page.reported(fleet):
            with contextlib.suppress(FxscopeError):  # the page then names the command, which says what is wrong
                recordings[rank] = common.read(traces[rank])
        output = fleet_page.render(fleet, made.values(), recordings)
    elif format in ("svg", "png"):
        from fxscope.render import fleet_strip, strip

        output = fleet_strip.render(fleet, is_light=format == "png")
        output = strip.rasterised(output) if format == "png" else output
    elif format == "json":
        output = fleet.to_json() + "\n"
    elif format == "md":
        output = rendering.markdown(fleet)
    else:
        width = common.screen_width() if path is None else 80
        output = rendering.text(fleet, width=width, every=arguments.all) + logs_beside(arguments, width)
    common.write_text(output, path, arguments)
