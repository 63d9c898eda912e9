"""`fxscope calibrate -o gpu.json`: measure this machine's GPU, for plans that are made for it elsewhere."""

import argparse
import sys
from pathlib import Path
from typing import Any

import msgspec

from fxscope import gpus, store
from fxscope.errors import CaptureError, FxscopeError
from fxscope.model import replace


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the GPU's file, for `--target FILE`")
    parser.add_argument("--force", action="store_true", help="overwrite a file that exists")


def run(arguments: argparse.Namespace) -> int:
    out = Path(arguments.output)
    if out.suffix != ".json":
        raise CaptureError(f"{out}: a GPU's file is called NAME.json.")
    store.check_free(out, force=arguments.force)
    from fxscope._torch.programs import battery

    try:
        measured = battery.measure(say)
    except RuntimeError as error:
        raise CaptureError(str(error)) from None
    say("fitting")
    gpu = calibrated(measured, out.stem)
    store.write(out, msgspec.json.format(msgspec.json.encode(gpu), indent=1).decode() + "\n", force=arguments.force)
    families = gpu.calibration.families if gpu.calibration is not None else {}
    say(f"wrote {out}: {', '.join(f'{name} ({fit.count})' for name, fit in families.items())}")
    if failed := measured["failed"]:
        say(f"not measured: {', '.join(failed)} ({next(iter(failed.values()))})")
    say(f"plan for it with `fxscope run MODEL.py:FACTORY --target {out}`")
    return 0


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def calibrated(measured: dict[str, Any], name: str) -> gpus.Gpu:
    """The GPU with its rates and the fit to what `battery.measure` gave. Raises FxscopeError: there is nothing to fit to."""
    from fxscope.gpus import fitting
    from fxscope.gpus.calibration import Calibration

    found = [fitting.Observation("battery", work, us) for calls in measured["calls"].values() for work, us in calls]
    if not found:
        failed = next(iter(measured["failed"].items()), ("", "no program ran"))
        raise FxscopeError(f"nothing could be measured: {': '.join(failed)}")
    gpu = measured["gpu"]
    known = gpus.find(gpu.device_name)
    if known is not None:  # what its data sheet says is better than a measured rate
        gpu = replace(known, properties=gpu.properties, sources=known.sources | gpu.sources)
    elif "copy_bytes_per_s" not in measured["rates"]:
        raise FxscopeError("the memory's rate could not be measured, without which no plan can be made for this GPU.")
    else:
        rates = {
            name: (gpus.Rate(value=float(f"{value:.4g}"), kind="measured", source="battery"),)
            for name, value in measured["rates"].items()
        }
        gpu = replace(gpu, bandwidths=rates.pop("copy_bytes_per_s"), matrix=rates)
    # A family with few calls stays near the fit of a like GPU, and one with none is taken from it.
    like = gpu.calibration.families if gpu.calibration is not None else {}
    groups = fitting.groups_of(found)
    start = {family: fit.parameters for family, fit in like.items()}
    parameters = fitting.fit_all(groups, gpu.multiprocessors, start=start)
    calibration = Calibration(
        families={**like, **fitting.described(groups, parameters, gpu.multiprocessors)},
        replay_us=measured.get("replay_us"),
        source="battery",
    )
    text = f"fxscope calibrate: {len(found)} calls on an {gpu.device_name}, torch {measured['torch']}"
    return replace(gpu, name=name.lower(), calibration=calibration, sources={**gpu.sources, "battery": text})
