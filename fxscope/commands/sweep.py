"""`fxscope sweep FILE.py:FACTORY --vary NAME=V1,V2,…`: setups over a varied input, compared at each value."""

import argparse
import sys
from typing import Any

from fxscope.analysis.findings import Sweep, SweepPoint
from fxscope.commands import common
from fxscope.errors import CaptureError
from fxscope.factories import explained_errors, load_factory, parse_value
from fxscope.index import index_of
from fxscope.model import KERNELS, Recording

FORMATS = {".json": "json", ".txt": "terminal"}


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("factory", metavar="FILE.py:FACTORY", help="a function that takes NAME and returns (module, inputs)")
    add("--vary", required=True, metavar="NAME=V1,V2,…", help="a parameter of the factory and its values")
    add("--setup", metavar="NAME", action="append", help=common.HELP["--setup"])
    add("--backward", action="store_true", help="run the backward pass as well")
    common.add_output_options(parser, "write to FILE: .json or .txt", tuple(FORMATS.values()))


def run(arguments: argparse.Namespace) -> int:
    from fxscope.render import sweeps

    format = common.text_format(arguments.output, arguments, FORMATS)
    sweep = measure(arguments)
    common.write_text(sweep.to_json() if format == "json" else sweeps.text(sweep), arguments.output, arguments)
    failed = [point for point in sweep.points if point.problem is not None]
    if failed:
        where = f"{failed[0].setup} at {sweep.vary}={failed[0].vary.get(sweep.vary)}: {failed[0].problem}"
        said = f"{len(failed)} of {len(sweep.points)} points failed; the first is {where}"
        print(f"fxscope sweep: {said}", file=sys.stderr)
    return 3 if failed else 0


def parse_vary(text: str) -> tuple[str, list[int | float | str]]:
    """(name, values) of "batch=1,8,64". Raises CaptureError."""
    name, equals, rest = text.partition("=")
    items = [item.strip() for item in rest.split(",") if item.strip()]
    values = [value if isinstance(value := parse_value(item), (int, float)) else item for item in items]
    if not equals or not name.strip().isidentifier() or not values:
        raise CaptureError(f"--vary {text}: write NAME=V1,V2,…, such as --vary batch=1,8,64.")
    return name.strip(), list(dict.fromkeys(values))


def measure(arguments: argparse.Namespace) -> Sweep:
    """Run every setup at every value. What fails becomes a point with a problem."""
    name, values = parse_vary(arguments.vary)
    setups: dict[str, tuple[str, Any]] = {}  # (factory, what to pass as `compile`)
    for text in arguments.setup or ["eager", "compiled"]:
        label, equals, factory = text.partition("=")
        if label in setups:
            raise CaptureError(f"--setup: two setups are called {label!r}.")
        options = {"eager": False, "compiled": True}.get(text, {"mode": text})
        setups[label] = (factory, False) if equals else (arguments.factory, options)
    sweep = Sweep(title=f"{arguments.factory} over {name}", vary=name, points=[])
    for value in values:
        for label, (factory, options) in setups.items():
            common.say(f"{label} at {name}={value}")
            point = SweepPoint(vary={name: value}, setup=label)
            try:
                environment = fill(point, factory, name, value, options, arguments)
                sweep.environment = sweep.environment or environment
            except CaptureError as error:
                if not sweep.points:
                    raise  # the first point fails for the same reason as all others would: a wrong name, say
                point.problem = str(error)
            sweep.points.append(point)
    return sweep


def fill(
    point: SweepPoint, program: str, name: str, value: Any, compile: Any, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Measure one point; return the environment. Raises CaptureError."""
    model, inputs, kwargs = load_factory(program, **{name: value})
    from fxscope._torch import running  # now: a missing file is reported before torch is imported
    from fxscope.analysis.compare.rest import per_step
    from fxscope.capture import record

    with explained_errors(f"{program} at {name}={value}"):
        recording: Recording = record(
            model, *inputs, kwargs=kwargs, compile=compile, backward=arguments.backward, title=point.setup
        )
        running.forget_compiled()
    point.wall_us = recording.step_times and recording.step_times.samples_us
    if recording.launches:
        point.device_us = index_of(recording).us_without(())
    point.num_kernels = per_step(recording, *KERNELS)
    if recording.memory is not None:
        point.peak_bytes = recording.memory.peak_bytes
    shares = [(call.roof.share, call.timing.total_us) for call in recording.calls if call.roof and call.timing]
    if total := sum(time for share, time in shares if share is not None):
        point.share_of_roof = sum(share * time for share, time in shares if share is not None) / total
    where = recording.environment
    return {"torch": where.torch, "triton": where.triton, "device": where.device}
