"""Limits and rates of GPUs: one JSON file per GPU, each value with its source.

    gpu = load("h200")
    gpu.bandwidth().value            # bytes per second, measured where it was measured

A rate has the datasheet's value and the measured one: `bandwidth()` and `matrix_rate()` prefer the latter, because no kernel
reaches the former. `fxscope calibrate` writes the file of the GPU of a machine.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fxscope.errors import FxscopeError
from fxscope.gpus.calibration import Calibration, Positive
from fxscope.store import NOT_JSON, contents

__all__ = ["Fact", "Gpu", "Rate", "find", "known", "load", "names"]

_FOLDER = Path(__file__).parent


class Fact(msgspec.Struct, frozen=True, array_like=True):
    """A value and the key of its source in `Gpu.sources`."""

    value: Annotated[int, Meta(ge=0, lt=2**62)] | str
    source: str


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """A rate per second (bytes, or floating point operations) and how it is known."""

    value: Positive
    kind: Literal["measured", "datasheet"]
    source: str  # key in `Gpu.sources`


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU. `properties` uses the names of `torch.cuda.get_device_properties`, and a few more of the CUDA guide."""

    name: str  # "h200"
    device_name: str  # as the driver reports it: "NVIDIA H200"
    also: tuple[str, ...] = ()  # other names of the same silicon and memory
    vendor: Literal["nvidia", "amd"]
    target: bool  # whether `--target` can plan for it; False: a specification for rooflines only
    properties: dict[str, Fact]
    bandwidths: tuple[Rate, ...]  # device memory, bytes per second
    matrix: dict[str, tuple[Rate, ...]]  # dtype → dense floating point operations per second
    calibration: Calibration | None = None  # of every family of kernels: see fxscope.gpus.calibration
    sources: dict[str, str]
    notes: tuple[str, ...] = ()

    def limit(self, name: str) -> Any:
        fact = self.properties.get(name)
        return None if fact is None else fact.value

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability, such as (9, 0); only NVIDIA's GPUs have one."""
        return int(self.limit("major")), int(self.limit("minor"))

    @property
    def multiprocessors(self) -> int:
        return int(self.limit("multi_processor_count"))

    @property
    def datasheet_bandwidth(self) -> float:
        """The data sheet's rate of the device's memory, as Inductor asks for it; measured where there is none."""
        return min(self.bandwidths, key=lambda rate: rate.kind).value

    def bandwidth(self) -> Rate | None:
        """The rate of the device's memory, in bytes per second: measured, else the datasheet's."""
        return max(self.bandwidths, key=lambda rate: rate.kind, default=None)

    def matrix_rate(self, dtype: str) -> Rate | None:
        """The dense rate for a dtype ("bfloat16", "tfloat32"), `None` if not known; "float32" is the one without TF32."""
        return max(self.matrix.get(dtype, ()), key=lambda rate: rate.kind, default=None)

    def basis(self, rate: Rate) -> str:
        return f"{rate.kind}, {self.sources.get(rate.source, rate.source)}"


def names() -> tuple[str, ...]:
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.json")))


_opened: dict[str, Gpu] = {}  # the user's own GPUs, by the names in their files


def load(name: str) -> Gpu:
    """A GPU by its name: `"h200"`, in any case; or by the path of a file that `fxscope calibrate` wrote.

    Raises FxscopeError: there is no such GPU or file, or it is none of a GPU; the message lists the names there are.
    """
    key = name.strip().lower()
    if key.endswith(".json"):
        return _load_file(name)
    if key in names():  # a user's file does not change what a shipped name means
        return msgspec.json.decode((_FOLDER / f"{key}.json").read_bytes(), type=Gpu)
    if key in _opened:
        return _opened[key]
    raise FxscopeError(
        f"no GPU is called {name!r}: there are {', '.join(names())}. To add one, run `fxscope calibrate -o gpu.json` "
        "on a machine that has it, and give that file."
    )


_NEEDED = ("major", "minor", "multi_processor_count", "warp_size")  # what plans and predictions compute with


def _load_file(name: str) -> Gpu:
    try:
        gpu = msgspec.json.decode(contents(name.strip(), limit=16 << 20, what="a GPU's file"), type=Gpu)
    except NOT_JSON as error:
        raise FxscopeError(f"{name} describes no GPU: {error}. `fxscope calibrate -o FILE` writes one.") from None
    for limit in _NEEDED if gpu.target else ():
        if type(value := gpu.limit(limit)) is not int or not (value or limit == "minor"):
            said = f"{limit} is {value!r}. `fxscope calibrate -o FILE` writes one."
            raise FxscopeError(f"{name} describes no GPU: {said}")
    _opened[gpu.name] = gpu
    return gpu


def known(name: str) -> bool:
    return name in names() or name in _opened


def find(device_name: str | None) -> Gpu | None:
    """The GPU that a driver calls `device_name` ("NVIDIA H200"), `None` where it is not known.

    The whole name must agree: an "NVIDIA H100 PCIe" has other memory than an "NVIDIA H100 80GB HBM3".
    """
    wanted = (device_name or "").strip().casefold()
    for name in names() if wanted else ():
        gpu = load(name)
        if wanted in {alias.casefold() for alias in (gpu.device_name, *gpu.also)}:
            return gpu
    return None
