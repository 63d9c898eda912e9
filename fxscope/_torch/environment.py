"""Facts of this machine and its torch: packages, devices, caches, and the names that fxscope hooks."""

import contextlib
import importlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from shutil import which
from typing import Any

import torch

from fxscope import __version__
from fxscope._torch import inductor, profiler, running, steps
from fxscope._torch.hooks import exists, hooks_of
from fxscope._torch.inductor import InductorCapture
from fxscope._torch.made_for import Demands
from fxscope._torch.scheduler import Watch
from fxscope.model import Environment, Problem

# What is hooked or read → what is lost without it.
HOOKS: dict[str, str] = {
    **{item.path: item.purpose for kind in (InductorCapture, profiler.Session) for _, item in hooks_of(kind)},
    inductor.METRICS: "compile times",
    inductor.HANDLES: "kernel → node links by debug handle",
    steps.OPTIMIZER_HOOK: "recognising the steps of a training script",
    steps.COMPILED_CALL: "the end of an observation after a number of calls",
    running.DYNAMIC_STATE: "dynamic shapes independent of earlier compiles",
    "torch._C:_dispatch_dump_table": "the dispatcher's tables",
    "torch._inductor.config:trace.provenance_tracking_level": "debug handles in output code",
    "torch._inductor.config:cpp.enable_kernel_profile": "C++ kernels in traces",
    "torch._inductor.config:fx_graph_cache": "bypassing Inductor's cache",
    "torch._functorch.config:enable_autograd_cache": "bypassing AOTAutograd's cache",
    **{item.path: item.purpose for kind in (Watch, Demands) for _, item in hooks_of(kind) if not item.optional},
}


def environment() -> Environment:
    device, properties = device_of()
    return Environment(
        fxscope=__version__,
        torch=str(torch.__version__),
        triton=triton_version(),
        python=platform.python_version(),
        platform=f"{sys.platform}-{platform.machine()}",
        device=device,
        device_properties=properties,
        cuda=torch.version.cuda,
        float32_matmul_precision=_float32_matmul_precision(),
    )


def _float32_matmul_precision() -> str | None:
    """Return the setting for GEMMs on a GPU; None where there is none, or where it was set for each backend."""
    with contextlib.suppress(RuntimeError):
        return torch.get_float32_matmul_precision() if torch.cuda.is_available() else None
    return None


def triton_version() -> str | None:
    try:
        import triton  # type: ignore[reportMissingTypeStubs]
    except Exception:  # one whose driver, or whose environment, is not what it expects
        return None
    return str(getattr(triton, "__version__", None))


def device_of() -> tuple[str | None, dict[str, Any] | None]:
    """The name and properties of the device that programs here run on: the CUDA device, else the CPU."""
    if torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        values = {name: getattr(properties, name, None) for name in dir(properties) if not name.startswith("_")}
        return properties.name, {name: value for name, value in values.items() if isinstance(value, (int, float, str))}
    return cpu_name(), {"num_threads": torch.get_num_threads(), "capability": torch.backends.cpu.get_cpu_capability()}


def cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def probe() -> list[tuple[str, bool, str]]:
    """(name, whether this torch has it, what it is for) of every hook and switch."""
    return [(name, exists(name), purpose) for name, purpose in HOOKS.items()]


def missing(told: Iterable[Problem]) -> tuple[Problem, ...]:
    """A problem for each hook and switch that this torch lacks and that none of those told already names."""
    named = " ".join(problem.where for problem in told).replace(":", ".")
    return tuple(
        Problem(
            where=f"hook {name}",
            message=f"this torch does not have it: the recording is without {purpose}",
            remedy="see `fxscope doctor`; the rest is recorded",
        )
        for name, found, purpose in probe()
        if not found and name.replace(":", ".") not in named
    )


def tiny_program() -> Any:
    return torch.ones(2) + 1


def cpp_compiler() -> str | None:
    """The C++ compiler that Inductor takes, None where it finds none."""
    try:
        from torch._inductor import cpp_builder, exc
    except Exception:  # it cannot be imported here: what it is known to look for
        names = filter(None, (os.environ.get("CXX"), "g++", "clang++"))
        return next((found for name in names if (found := which(name))), None)
    try:
        return str(cpp_builder.get_cpp_compiler())
    except (exc.InvalidCxxCompiler, OSError, subprocess.SubprocessError):  # such as CXX set to what is no program
        return None


def cache_folders() -> list[tuple[str, Path | None, str]]:
    """(name, folder, the variable that moves it) of Inductor's and Triton's caches.

    A folder is None where torch itself cannot name it: some ask for the name of a user who has none (a container's).
    """
    inductor_folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if not inductor_folder:
        with contextlib.suppress(Exception):  # of a user without a name
            inductor_folder = importlib.import_module("torch._inductor.runtime.cache_dir_utils").default_cache_dir()
    triton_folder = os.environ.get("TRITON_CACHE_DIR") or f"{os.environ.get('TRITON_HOME') or '~'}/.triton/cache"
    return [
        ("Inductor cache", Path(inductor_folder) if inductor_folder else None, "TORCHINDUCTOR_CACHE_DIR"),
        ("Triton cache", Path(triton_folder), "TRITON_CACHE_DIR"),
    ]


def triton_pin() -> tuple[str | None, str | None]:
    """(the Triton that is installed, the one that this torch was released with); None for what is not known."""
    table = json.loads((resources.files("fxscope") / "data" / "triton_versions.json").read_text())
    release = ".".join(str(torch.__version__).split(".")[:2])
    return triton_version(), table.get(release)
