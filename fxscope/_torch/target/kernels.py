"""Compiles the Triton kernels of an output code for a GPU that is not there, and reads what they take.

Triton and ptxas need no driver to compile. Registers, spills and shared memory are read from the cubin with `cuobjdump`
of Triton's wheel, for every configuration that Triton would try.
"""

# torch's insides are untyped: what comes from there is Any.

from __future__ import annotations

import ast
import contextlib
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from fxscope import children
from fxscope.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fxscope._torch.target.simulate import Plan

TIMEOUT_S = 600  # of one tool, for one kernel
_USAGE = re.compile(r"REG:(\d+)\s+STACK:(\d+)\s+SHARED:(\d+)\s+LOCAL:(\d+)")


def triton_resources(code: str, plan: Plan, *, keep: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    """Compile every Triton kernel of one output code.

    Args:
        code: the output code of a graph.
        plan: the plan it belongs to; it must still be active.
        keep: "ptx" and "sass": texts to keep for each configuration.

    Returns:
        kernel → {"heuristic": str, "configs": {key: {"kwargs", "num_warps", "num_stages", "registers", "spill_bytes",
        "shared_bytes", "error", and the kept texts}}}.
    """
    found: dict[str, dict[str, Any]] = {}
    known: dict[str, str] = {}  # the same source under another name is compiled once
    with tempfile.TemporaryDirectory(prefix="fxscope-") as folder:
        environment = {} if os.environ.get("TRITON_CACHE_DIR") else {"TRITON_CACHE_DIR": str(Path(folder) / "cache")}
        with mock.patch.dict(os.environ, environment):
            _use_ptxas_of_torch(plan)
            for name, source in kernel_sources(code):
                body = source.replace(name, "KERNEL")
                if body in known:
                    found[name] = found[known[body]]
                    continue
                known[body] = name
                plan.progress(f"compiling {name} for {plan.gpu.device_name}")
                found[name] = _compile(name, source, Path(folder), plan, keep)
    return found


def _use_ptxas_of_torch(plan: Plan) -> None:
    """Let Triton assemble with the ptxas in torch's wheel where there is one, as Inductor does: it is not Triton's own.

    A CPU build of torch has none; registers may then be a few off.
    """
    from torch._inductor.runtime import compile_tasks

    choose: Any = getattr(compile_tasks, "_set_triton_ptxas_path", None)
    if choose is not None:
        getattr(choose, "__wrapped__", choose)()  # it remembers that it has been called, the environment is forgotten
    if "TRITON_PTXAS_PATH" not in os.environ:
        plan.assume(
            "ptxas",
            "kernels were assembled with the ptxas of Triton's wheel",
            "this torch brings none; a CUDA build's may be another version and take a few registers more or less",
        )


def kernel_sources(code: str) -> Iterator[tuple[str, str]]:
    """Yield (kernel, source) of each `NAME = async_compile.triton('NAME', '''…''')`."""
    for statement in ast.parse(code).body:
        if (
            isinstance(statement, ast.Assign)
            and isinstance(statement.value, ast.Call)
            and ast.unparse(statement.value.func) == "async_compile.triton"
        ):
            target, source = statement.targets[0], statement.value.args[1]
            if isinstance(target, ast.Name) and isinstance(source, ast.Constant):
                yield target.id, str(source.value)


def config_key(config: Any) -> str:
    blocks = ",".join(f"{name}={value}" for name, value in sorted(config.kwargs.items()))
    return f"{blocks};warps={config.num_warps};stages={config.num_stages}"


def _compile(name: str, source: str, folder: Path, plan: Plan, keep: tuple[str, ...]) -> dict[str, Any]:
    from torch._inductor.codecache import PyCodeCache

    path = folder / f"{name}.py"
    path.write_text(source)
    module: Any = PyCodeCache.load_by_key_path(f"fxscope_kernel_{name}", str(path))
    autotuner: Any = next(
        (value for value in vars(module).values() if hasattr(value, "_precompile_config")), None
    ) or getattr(module, name)
    configs: dict[str, Any] = {}
    compiled: list[tuple[Any, Any]] = []
    for config in list(autotuner.configs or ()):
        configs[config_key(config)] = _one(autotuner, config, folder, plan, keep, compiled)
    for config in _smaller_reductions(name, autotuner, [result for result, _ in compiled], plan):
        configs[config_key(config)] = _one(autotuner, config, folder, plan, keep, compiled)
    return {"heuristic": str(getattr(autotuner, "heuristic_type", "")), "configs": configs}


def _one(
    autotuner: Any, config: Any, folder: Path, plan: Plan, keep: tuple[str, ...], compiled: list[tuple[Any, Any]]
) -> dict[str, Any]:
    import triton

    facts: dict[str, Any] = {"kwargs": dict(config.kwargs), "num_warps": config.num_warps}
    facts |= {"num_stages": config.num_stages, "registers": None, "spill_bytes": None, "shared_bytes": None}
    binaries: list[Any] = []
    original: Any = triton.compile

    def compile_and_keep(*args: Any, **kwargs: Any) -> Any:
        binaries.append(original(*args, **kwargs))
        return binaries[-1]

    try:
        with mock.patch.object(triton, "compile", compile_and_keep):
            result: Any = autotuner._precompile_config(config)
    except Exception as error:  # the same config would fail on the device, where the others are then used
        return facts | {"error": one_line(error)}
    binary = binaries[-1]
    facts["shared_bytes"] = int(binary.metadata.shared)
    if cubin := binary.asm.get("cubin"):
        path = folder / "kernel.cubin"
        path.write_bytes(cubin)
        if found := _USAGE.search(_tool_output("cuobjdump", "--dump-resource-usage", str(path)) or ""):
            facts["registers"], facts["spill_bytes"] = int(found[1]), max(int(found[2]), int(found[4]))
        if "sass" in keep:
            facts["sass"] = _tool_output("nvdisasm", str(path))
    if "ptx" in keep:
        facts["ptx"] = binary.asm.get("ptx")
    limit = plan.gpu.limit("shared_memory_per_block_optin")
    if limit and facts["shared_bytes"] > int(limit):
        facts["error"] = f"out of resources: {facts['shared_bytes']} bytes of shared memory, the device has {limit}"
    result.kernel.n_regs = facts["registers"]
    compiled.append((result, facts))
    return facts


def _smaller_reductions(name: str, autotuner: Any, results: list[Any], plan: Plan) -> Iterator[Any]:
    """Yield the configurations that Inductor adds once it knows how many registers a reduction takes.

    `CachingAutotuner._dynamic_scale_rblock` halves a reduction's block where registers limit the occupancy. It is
    torch's own rule, run here with the numbers from the cubin; making launchers, which needs the device, is left out.
    """
    rule = getattr(autotuner, "_dynamic_scale_rblock", None)
    if rule is None or not results:
        return
    unasked = ("configurations", f"{name} is planned without the smaller blocks that Inductor may add")
    if any(result.kernel.n_regs is None for result in results):
        if str(getattr(autotuner, "heuristic_type", "")).endswith(".REDUCTION"):
            plan.assume(*unasked, "how many registers it takes is not known")
        return
    added: list[Any] = []

    def note(config: Any) -> Any:
        added.append(config)
        return results[-1]

    cls = type(autotuner)
    autotuner.compile_results = list(results)
    replaced: dict[str, Any] = {
        "_make_launchers": lambda *args, **kwargs: None,
        "_ensure_kernel_loaded": lambda *args, **kwargs: None,
        "_precompile_config": lambda self, config: note(config),
    }
    try:
        with contextlib.ExitStack() as stack:
            for method, function in replaced.items():
                if hasattr(cls, method):
                    stack.enter_context(mock.patch.object(cls, method, function))
            rule()
    except Exception as error:
        added.clear()
        plan.assume(*unasked, f"torch's rule raised {one_line(error)}")
    yield from added


def tool(name: str) -> str | None:
    """The path of a CUDA tool in Triton's wheel, None where it has none."""
    import triton

    path = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / name
    return str(path) if path.exists() else None


def ptxas_version() -> str | None:
    found = re.search(r"release ([\d.]+), V([\d.]+)", _tool_output("ptxas", "--version") or "")
    return found[2] if found else None


def _tool_output(name: str, *arguments: str) -> str | None:
    path = tool(name)
    if path is None:
        return None
    try:
        done = children.run([path, *arguments], timeout=TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (done.stdout + done.stderr).decode(errors="replace")
