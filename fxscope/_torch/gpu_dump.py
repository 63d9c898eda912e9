"""Describe the GPU of this machine in the form of `fxscope/gpus/NAME.json`.

Limits come from the driver. Bandwidth and matrix rates have to be measured: `benchmarks/measure_gpu.py` adds them.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import torch

from fxscope.gpus import Fact, Gpu

# Names of `torch.cuda.get_device_properties` that the planning and the rooflines use.
PROPERTIES = (
    "major", "minor", "warp_size", "max_threads_per_block", "max_threads_per_multi_processor",
    "regs_per_multiprocessor", "shared_memory_per_block", "shared_memory_per_block_optin",
    "shared_memory_per_multiprocessor", "multi_processor_count", "total_memory", "L2_cache_size", "clock_rate",
    "memory_clock_rate", "memory_bus_width",
)  # fmt: skip


def available() -> bool:
    """Return whether there is a CUDA (or ROCm) device here."""
    return torch.cuda.is_available()


def describe(properties: Any, *, vendor: str = "nvidia", torch_version: str = torch.__version__) -> Gpu:
    """Return what the driver says of a GPU; what it does not say is left out."""
    facts = {
        name: Fact(value, "card")
        for name in PROPERTIES
        if isinstance(value := getattr(properties, name, None), (int, float, str))
    }
    slug = re.sub(r"[^a-z0-9]+", "_", properties.name.lower().removeprefix("nvidia ")).strip("_")
    return Gpu(
        name=slug,
        device_name=properties.name,
        vendor="amd" if vendor == "amd" else "nvidia",
        target=vendor == "nvidia",
        properties=facts, bandwidths=(), matrix={},
        sources={"card": f"torch.cuda.get_device_properties, torch {torch_version}"},
        notes=("Rates are not measured yet: run benchmarks/measure_gpu.py on this machine.",),
    )  # fmt: skip


def dump_json() -> str:
    """Return the current GPU's description as JSON."""
    vendor = "amd" if getattr(torch.version, "hip", None) else "nvidia"
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    return msgspec.json.format(msgspec.json.encode(describe(properties, vendor=vendor)), indent=2).decode()
