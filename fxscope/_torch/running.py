"""Calling the user's model several times: what to run, how to compile it, how long it takes without a profiler."""

import difflib
import inspect
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from fxscope._torch.hooks import Hooks, switches
from fxscope._torch.module_names import ModuleNames
from fxscope._torch.nodes import leaves
from fxscope._torch.steps import summary
from fxscope.errors import CaptureError
from fxscope.model import Memory, StepTimes

DYNAMIC_STATE = "torch._dynamo.pgo:_CODE_STATE"
MAX_CALLS, BUDGET_S = 80, 0.3  # of the calls after the first that are made only to be timed
BLOCKS = 10


def compile_options(compile: Any) -> dict[str, Any] | None:
    """The keyword arguments for `torch.compile`; None for eager. Raises CaptureError for unknown ones."""
    if compile is None or compile is False:
        return None
    if compile is True:
        return {}
    if isinstance(compile, str):
        compile = {"mode": compile}
    options: dict[str, Any] = dict(compile)
    known = set(inspect.signature(torch.compile).parameters) - {"model", "disable"}
    if wrong := sorted(set(options) - known):
        raise CaptureError(f"torch.compile has no option {wrong[0]!r}. It has {', '.join(sorted(known))}.")
    mode = options.get("mode")
    if mode is not None:
        from torch._inductor import list_mode_options

        modes = sorted(list_mode_options())
        if mode not in modes:
            raise CaptureError(f"torch.compile has no mode {mode!r}. Choose one of {', '.join(modes)}.")
        if options.get("options"):
            # torch.compile takes one or the other; a mode is nothing but a set of options.
            options["options"] = {**list_mode_options(mode), **options["options"]}
            del options["mode"]
    if options.get("options"):
        options["options"] = _checked(options["options"])
    return options


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Inductor options with dots; a name that Inductor does not have is an error with the nearest ones."""
    known = switches()
    checked: dict[str, Any] = {}
    for name, value in options.items():
        name = name.replace("-", "_")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3) or [key for key in known if key.endswith("." + name)]
            advice = f" Did you mean {' or '.join(near)}?" if near else ""
            raise CaptureError(f"Inductor has no switch {name!r}.{advice}")
        checked[name] = value
    return checked


def runner(
    model: Any,
    inputs: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    backward: bool,
    compile_options: dict[str, Any] | None,
) -> Callable[[], Any]:
    """A function that runs the model once, compiled or not, with its backward or without gradients."""
    function = model if compile_options is None else compiled(model, compile_options)
    module = model if isinstance(model, torch.nn.Module) else None

    def forward() -> Any:
        return function(*inputs, **kwargs)

    def training() -> None:
        for leaf in (*(module.parameters() if module is not None else ()), *leaves((inputs, kwargs))):
            if leaf.is_leaf and leaf.requires_grad:
                leaf.grad = None
        loss_of(forward()).backward()

    if backward:
        return training
    return torch.no_grad()(forward) if module is not None else forward


def compiled(model: Any, options: dict[str, Any]) -> Any:
    """`torch.compile(model)` with cache entries of its own: the user's and ours do not mix."""
    inner = getattr(model, "_orig_mod", model)
    rest = dict(options)
    if "isolate_recompiles" in inspect.signature(torch.compile).parameters:  # torch 2.13: limits of its own, too
        rest.setdefault("isolate_recompiles", True)
    if rest.get("backend", "inductor") == "inductor":
        # An isolated compile still takes entries of others that fit, so the backend has to be another one as well.
        rest["backend"] = _OwnInductor(rest.pop("mode", None), rest.pop("options", None), rest.get("dynamic"))
    return torch.compile(inner, **rest)


class _OwnInductor(torch._TorchCompileInductorWrapper):
    """Inductor as a backend that equals no other, so that Dynamo compiles again for it."""

    __name__ = "inductor"  # what torch calls the backend in its messages

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def loss_of(output: Any) -> torch.Tensor:
    """The scalar to run backward from: the output, or the sum of all that need a gradient."""
    found = [leaf for leaf in leaves(output) if leaf.requires_grad]
    if not found:
        raise CaptureError("no output needs a gradient: give it parameters or inputs with requires_grad.")
    if len(found) == 1 and found[0].numel() == 1:
        return found[0].reshape(())
    return sum((leaf.sum() for leaf in found[1:]), found[0].sum())


def fresh_dynamic_state(hooks: Hooks) -> None:
    """Forget, for as long as the hooks are on, which sizes earlier compiles saw.

    Dynamo makes a size dynamic when it has changed since the last compile of the same code, in this process or (from
    its profile on disk) an earlier one. A recording must not depend on what was recorded before.
    """
    from torch._dynamo import pgo

    hooks.replace(DYNAMIC_STATE, defaultdict(pgo.CodeState))


def names_of(model: Any, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> ModuleNames:
    names = ModuleNames()
    function = model
    if isinstance(model, torch.nn.Module):
        function = model.forward
        names.add(model)
    try:
        bound = inspect.signature(function).bind_partial(*inputs, **kwargs).arguments
    except (TypeError, ValueError):
        bound = {f"input_{index}": value for index, value in enumerate(inputs)}
    for name, value in bound.items():
        tensors = leaves(value)
        several = len(tensors) > 1
        names.name_tensors((f"{name}_{index}" if several else name, tensor) for index, tensor in enumerate(tensors))
    return names


def peak_memory(*, begins: bool = False) -> Memory | None:
    """The peak of CUDA memory so far, None without a CUDA device; only `begins` resets it: the program may ask for it."""
    if not torch.cuda.is_initialized():
        return None
    if begins:
        torch.cuda.reset_peak_memory_stats()
    segments = (item for item in torch.cuda.memory_snapshot() if any(item.get("segment_pool_id", ())))
    pools = sum(item["total_size"] for item in segments) or None
    return Memory(peak_bytes=torch.cuda.max_memory_allocated(), pool_bytes=pools)


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def times_of_calls(run: Callable[[], Any]) -> StepTimes | None:
    """Time calls of a warm function as a training loop runs them: blocks of calls between two synchronisations.

    A sample is the mean over a block. There are two calls at least, and more as far as `BUDGET_S` reaches.
    """
    synchronize()
    first = _block(run, 1)
    most = max(1, min(MAX_CALLS, int(BUDGET_S * 1e9 / first)))
    calls = max(1, most // BLOCKS)
    samples, ends = ([first] if calls == 1 else []), time.perf_counter() + BUDGET_S
    while len(samples) < BLOCKS and calls * (len(samples) or 1) <= most and (not samples or time.perf_counter() < ends):
        samples.append(_block(run, calls))
    return summary((sample / 1e3 for sample in samples), "calls", calls=calls)


def _block(run: Callable[[], Any], calls: int) -> int:
    start = time.perf_counter_ns()
    for _ in range(calls):
        run()
    synchronize()
    return max(1, (time.perf_counter_ns() - start) // calls)


forget_compiled = torch.compiler.reset  # every function compiles anew when it is called next, for its own shapes
