"""`fxscope calibrate -o gpu.json`: measure this machine's GPU, for plans that are made for it elsewhere."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from fxscope import store
from fxscope.errors import FOREIGN, CaptureError, FxscopeError


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-o", "--output", metavar="FILE", required=True, help="write the GPU's file, for `--target FILE`")
    add("--from", dest="source", metavar="FILE", help="fit earlier measurements (FILE.measured.json), measure nothing")
    add("--force", action="store_true", help="overwrite files that exist")


def run(arguments: argparse.Namespace) -> int:
    out = Path(arguments.output)
    if out.suffix != ".json":
        raise CaptureError(f"{out}: a GPU's file is called NAME.json.")
    store.check_free(out, force=arguments.force)
    measured = read(Path(arguments.source)) if arguments.source else measure(out, force=arguments.force)
    say("fitting")
    try:
        description = described(measured, out.stem)
    except FOREIGN as error:
        raise CaptureError(
            f"{arguments.source or out}: nothing can be fitted to these measurements ({type(error).__name__}: {error})."
        ) from error
    store.write(out, json.dumps(description, indent=1, ensure_ascii=False) + "\n", force=arguments.force)
    families = description["calibration"]["families"]
    fitted = ", ".join(f"{name} ({fit['count']})" for name, fit in families.items())
    say(f"wrote {out}: {fitted}")
    if failed := measured["failed"]:
        say(f"not measured: {', '.join(failed)} ({next(iter(failed.values()))})")
    say(f"plan for it with `fxscope run MODEL.py:FACTORY --target {out}`")
    return 0


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure(out: Path, *, force: bool) -> dict[str, Any]:
    path = out.with_suffix(".measured.json")
    if path.exists() and not force:
        raise CaptureError(f"{path} exists. Use --force to overwrite it, or fit it with --from.")
    from fxscope._torch import battery

    try:
        return battery.measure(path, say)
    except RuntimeError as error:
        raise CaptureError(f"{error} Measurements that were made elsewhere are fitted with --from.") from None


def read(path: Path) -> dict[str, Any]:
    import msgspec

    try:
        content = msgspec.json.decode(store.contents(path, what="a file of measurements"))  # no number beyond all
    except store.NOT_JSON as error:
        raise CaptureError(f"{path} holds no measurements: {error}.") from None
    parts = {"gpu", "calls", "launch", "failed"}
    if not isinstance(content, dict) or not all(isinstance(content.get(part), dict) for part in parts):
        raise CaptureError(f"{path} holds no measurements of `fxscope calibrate`.")
    return content


def described(measured: dict[str, Any], name: str) -> dict[str, Any]:
    """The GPU's description with rates and the fitted calibration.

    Raises:
        FxscopeError: nothing was measured that could be fitted to.
    """
    import msgspec

    from fxscope import gpus
    from fxscope.gpus import fitting
    from fxscope.gpus.calibration import Calibration
    from fxscope.model import Workload

    measured_calls = [(work, us) for calls in measured["calls"].values() for work, us in calls]
    found = [fitting.Observation("battery", msgspec.convert(work, Workload), float(us)) for work, us in measured_calls]
    if not found:
        failed = next(iter(measured["failed"].items()), ("", "no program ran"))
        raise FxscopeError(f"nothing could be measured: {': '.join(failed)}")
    description = dict(measured["gpu"])
    known = gpus.find(description["device_name"])
    multiprocessors = int(description["properties"]["multi_processor_count"][0])
    # A family with few calls stays near the fit of a like GPU, and one with none is taken from it.
    like = known.calibration.families if known is not None and known.calibration is not None else {}
    groups = fitting.groups_of(found)
    parameters = fitting.fit_all(groups, multiprocessors, start={name: fit.parameters for name, fit in like.items()})
    calibration = Calibration(
        families={**like, **fitting.described(groups, parameters, multiprocessors)},
        replay_us=fitting.replay_of(measured["launch"]),
        source="battery",
    )
    where = f"on an {description['device_name']}, torch {measured['torch']}"
    description |= {"name": name.lower(), "calibration": msgspec.to_builtins(calibration)}
    description["sources"] = {**description["sources"], "battery": f"fxscope calibrate: {len(found)} calls {where}"}
    if known is not None:  # what the data sheet says of the same card
        plain = msgspec.to_builtins(known)
        description |= {key: plain[key] for key in ("bandwidths", "matrix")}
        description["sources"] |= known.sources
        return description
    rates = {
        name: [{"value": float(f"{value:.4g}"), "kind": "measured", "source": "battery"}]
        for name, value in measured["rates"].items()
    }
    if "copy_bytes_per_s" not in rates:
        raise FxscopeError("the memory's rate could not be measured, without which no plan can be made for this GPU.")
    return description | {"bandwidths": rates.pop("copy_bytes_per_s"), "matrix": rates}
