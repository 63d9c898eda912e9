"""Which hooks this torch offers, for `fxscope env` and bug reports. Nothing is assumed: each name is looked up."""

# torch types few of the private objects that pass through here.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingTypeArgument=false
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false, reportAttributeAccessIssue=false

from __future__ import annotations

import importlib
from typing import Any

from fxscope._torch import inductor, profiler, running
from fxscope._torch.hooks import exists, has_switch

# What is hooked or read → what is lost without it.
HOOKS: dict[str, str] = {
    inductor.CALL_USER_COMPILER: "pre-grad graphs",
    inductor.COMPILE_SUBGRAPH: "reasons for graph breaks",
    inductor.CHECK_FUNCTION: "guards",
    inductor.RECOMPILE_REASONS: "reasons for recompiles",
    inductor.METRICS: "compile times",
    inductor.JOINT_PASSES: "AOTAutograd's inference and joint graphs",
    inductor.INNER_COMPILE: "forward and backward graphs, cache hits, CUDA graphs",
    inductor.CODEGEN: "post-grad graphs, output code, kernel calls",
    inductor.HANDLES: "kernel → node links by debug handle",
    profiler.PREPARE: "stepping aside for the program's own profiler session",
    profiler.FINISH: "adopting the program's own profiler session",
    profiler.EXPORT: "adopting the program's own trace",
    running.DYNAMIC_STATE: "dynamic shapes independent of earlier compiles",
    "torch.utils._python_dispatch:TorchDispatchMode.ignore_compile_internals": "eager ops of programs that compile",
    "torch._C:_dispatch_dump_table": "the dispatcher's tables",
}
SWITCHES: dict[str, str] = {
    "torch._inductor.config:trace.provenance_tracking_level": "debug handles in output code",
    "torch._inductor.config:cpp.enable_kernel_profile": "C++ kernels in traces",
    "torch._inductor.config:fx_graph_cache": "bypassing Inductor's cache",
    "torch._functorch.config:enable_autograd_cache": "bypassing AOTAutograd's cache",
}


def probe() -> list[tuple[str, bool, str]]:
    """Return (name, whether this torch has it, what it is for) of every hook and switch."""
    rows = [(name, exists(name), purpose) for name, purpose in HOOKS.items()]
    rows += _scheduler_hooks()
    for name, purpose in SWITCHES.items():
        module, _, switch = name.partition(":")
        try:
            found = has_switch(importlib.import_module(module), switch)
        except ImportError:
            found = False
        rows.append((name, found, purpose))
    return rows


def _scheduler_hooks() -> list[tuple[str, bool, str]]:
    from fxscope._torch import scheduler

    return [
        (f"torch._inductor.scheduler:{name}", exists(f"torch._inductor.scheduler:{name}"), purpose)
        for name, purpose in scheduler.HOOKS.items()
    ]


def devices() -> list[dict[str, Any]]:
    """Return each device that PyTorch sees here."""
    import torch

    from fxscope._torch.environment import cpu_name

    found: list[dict[str, Any]] = [{"device": "cpu", "name": cpu_name(), "threads": torch.get_num_threads()}]
    for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        properties = torch.cuda.get_device_properties(index)
        found.append(
            {
                "device": f"cuda:{index}",
                "name": properties.name,
                "capability": f"{properties.major}.{properties.minor}",
                "memory_bytes": properties.total_memory,
                "multiprocessors": properties.multi_processor_count,
            }
        )
    return found
