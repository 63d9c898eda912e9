"""Calling the user's model several times without leaving a trace: what to run, how to compile it, what to put back."""

from __future__ import annotations

import contextlib
import inspect
import random
import sys
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from fxscope._torch.hooks import exists, is_deprecated
from fxscope.errors import CaptureError
from fxscope.model import Memory, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from fxscope._torch.hooks import Hooks
    from fxscope._torch.op_recorder import OpRecorder

DYNAMIC_STATE = "torch._dynamo.pgo:_CODE_STATE"


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
        modes = _modes()
        if mode not in modes:
            raise CaptureError(f"torch.compile has no mode {mode!r}. Choose one of {', '.join(modes)}.")
        if options.get("options"):
            # torch.compile takes one or the other; a mode is nothing but a set of options.
            options["options"] = {**torch._inductor.list_mode_options(mode), **options["options"]}
            del options["mode"]
    if options.get("options"):
        options["options"] = _checked(options["options"])
    return options


def _modes() -> list[str]:
    import torch._inductor

    return sorted(torch._inductor.list_mode_options())


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Inductor options with dots; a name that Inductor does not have is an error with the nearest ones."""
    import difflib

    known = inductor_switches()
    checked: dict[str, Any] = {}
    for name, value in options.items():
        name = name.replace("-", "_")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3) or [key for key in known if key.endswith("." + name)]
            raise CaptureError(
                f"Inductor has no switch {name!r}." + (f" Did you mean {' or '.join(near)}?" if near else "")
            )
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

    def inference() -> Any:
        with torch.no_grad():
            return function(*inputs, **kwargs)

    def training() -> None:
        _clear_gradients(module, inputs, kwargs)
        loss_of(forward()).backward()

    if backward:
        return training
    return inference if module is not None else forward


def compiled(model: Any, options: dict[str, Any]) -> Any:
    """`torch.compile(model)` with cache entries of its own: the user's and ours do not mix."""
    inner = getattr(model, "_orig_mod", model)
    rest = dict(options)
    if "isolate_recompiles" in inspect.signature(torch.compile).parameters:  # torch 2.13: limits of its own, too
        rest.setdefault("isolate_recompiles", True)
    if rest.get("backend", "inductor") != "inductor":
        return torch.compile(inner, **rest)
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
    leaves = [leaf for leaf in pytree.tree_leaves(output) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if not leaves:
        raise CaptureError(
            "backward was asked for, but no output needs a gradient: give it parameters or inputs with requires_grad."
        )
    if len(leaves) == 1 and leaves[0].numel() == 1:
        return leaves[0].reshape(())
    loss = leaves[0].sum()
    for leaf in leaves[1:]:
        loss = loss + leaf.sum()
    return loss


def _parameters(module: torch.nn.Module | None, inputs: Any, kwargs: Any) -> list[torch.Tensor]:
    found = list(module.parameters()) if module is not None else []
    return found + [leaf for leaf in _tensors((inputs, kwargs)) if leaf.requires_grad and leaf.is_leaf]


def _clear_gradients(module: torch.nn.Module | None, inputs: Any, kwargs: Any) -> None:
    for parameter in _parameters(module, inputs, kwargs):
        parameter.grad = None


def _tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


@contextlib.contextmanager
def preserved(model: Any, inputs: Any, kwargs: Any) -> Generator[list[Problem]]:
    """Put back what calling a model changes: random state, gradients, buffers and inputs written in place.

    Parameters are not copied: one that a forward changed is reported.
    """
    problems: list[Problem] = []
    module = model if isinstance(model, torch.nn.Module) else None
    numpy = sys.modules.get("numpy")
    random_state, numpy_state = random.getstate(), numpy.random.get_state() if numpy is not None else None
    cpu_state = torch.get_rng_state()
    cuda_states = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    gradients = [(parameter, parameter.grad) for parameter in _parameters(module, inputs, kwargs)]
    versions = [(name, p, p._version) for name, p in (module.named_parameters() if module is not None else ())]
    buffers = list(module.buffers()) if module is not None else []
    with torch.no_grad():
        copies = [_kept(tensor) for tensor in [*buffers, *_tensors((inputs, kwargs))]]
    try:
        yield problems
    finally:
        with torch.no_grad():
            for tensor, version, copy in copies:
                if copy is None:
                    if _version(tensor) != version:
                        problems.append(
                            Problem(
                                where="inputs",
                                message=f"a {type(tensor).__name__} was written in place, and fxscope cannot copy one",
                                remedy="record with a copy of it",
                            )
                        )
                # Batch norm writes its running statistics without counting a version.
                elif _version(tensor) != version or not torch.equal(tensor, copy):
                    tensor.detach().copy_(copy)
        for parameter, gradient in gradients:
            parameter.grad = gradient
        changed = [name for name, parameter, version in versions if parameter._version != version]
        if changed:
            problems.append(
                Problem(
                    where="parameters",
                    message=f"running it changed {len(changed)} parameters in place, such as {changed[0]}",
                    remedy="record a copy of the model",
                )
            )
        random.setstate(random_state)
        if numpy is not None and numpy_state is not None:
            numpy.random.set_state(numpy_state)
        torch.set_rng_state(cpu_state)
        if cuda_states is not None:
            torch.cuda.set_rng_state_all(cuda_states)


def _kept(tensor: torch.Tensor) -> tuple[torch.Tensor, int | None, torch.Tensor | None]:
    """A tensor, its version and a copy; without a copy where its kind cannot be copied and compared as a whole."""
    plain = type(tensor) in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
    if not plain or tensor.layout != torch.strided or tensor.is_nested or tensor.is_quantized or tensor.is_meta:
        return tensor, _version(tensor), None
    return tensor, _version(tensor), tensor.detach().clone()


def _version(tensor: torch.Tensor) -> int | None:
    """How often a tensor was written; None for one of inference mode, which does not count."""
    return None if tensor.is_inference() else tensor._version


def fresh_dynamic_state(hooks: Hooks) -> contextlib.AbstractContextManager[None]:
    """Forget, for as long as the hooks are on, which sizes earlier compiles saw.

    Dynamo makes a size dynamic when it has changed since the last compile of the same code, in this process or (from
    its profile on disk) an earlier one. A recording must not depend on what was recorded before.
    """
    if exists(DYNAMIC_STATE) and exists("torch._dynamo.pgo:CodeState"):
        from torch._dynamo import pgo

        hooks.replace(DYNAMIC_STATE, defaultdict(pgo.CodeState))
    return contextlib.nullcontext()


def names_of(model: Any, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[dict[int, str], dict[int, str]]:
    """The names of parameters, buffers and inputs, and of modules, by `id`."""
    names: dict[int, str] = {}
    modules: dict[int, str] = {}
    function = model
    if isinstance(model, torch.nn.Module):
        function = model.forward
        modules = {id(module): name for name, module in model.named_modules()}
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            names.setdefault(id(tensor), name)
    try:
        bound = inspect.signature(function).bind_partial(*inputs, **kwargs).arguments
    except (TypeError, ValueError):
        bound = {f"input_{index}": value for index, value in enumerate(inputs)}
    for name, value in bound.items():
        tensors = _tensors(value)
        for index, tensor in enumerate(tensors):
            names.setdefault(id(tensor), name if len(tensors) == 1 else f"{name}_{index}")
    return names, modules


def is_compiled(model: Any) -> bool:
    return hasattr(model, "_orig_mod") or hasattr(model, "_torchdynamo_orig_callable")


def peak_memory_of(run: Callable[[], Any]) -> Memory | None:
    """Run once and return the peak of CUDA memory; None without a CUDA device. Resets torch's own peak."""
    if not torch.cuda.is_available():
        return None
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    start = torch.cuda.memory_allocated()
    run()
    torch.cuda.synchronize()
    return Memory(
        peak_bytes=torch.cuda.max_memory_allocated(), start_bytes=start, device=f"cuda:{torch.cuda.current_device()}"
    )


class Observer:
    """An `OpRecorder` that can be ended in the middle of the program."""

    def __init__(self, recorder: OpRecorder) -> None:
        self.recorder = recorder
        self._on = False

    def start(self) -> None:
        self.recorder.__enter__()
        self._on = True

    def is_on_here(self) -> bool:
        """Whether the mode is in this thread's stack now: it is not while it, or a mode below, has an op."""
        return any(mode is self.recorder for mode in _get_current_dispatch_mode_stack())

    def stop(self) -> None:
        """End, from under modes of the program's as well; in another thread, whose modes are its own, only go quiet."""
        try:
            self.recorder.mute()
        finally:
            self._leave()

    def _leave(self) -> None:
        stack = _get_current_dispatch_mode_stack()
        if not self._on or not any(mode is self.recorder for mode in stack):
            return
        self._on = False
        above = stack[next(index for index, mode in enumerate(stack) if mode is self.recorder) + 1 :]
        # Of the program's modes only the place in torch's stack changes: what their own __exit__ does is not run.
        for mode in reversed(above):
            TorchDispatchMode.__exit__(mode, None, None, None)
        self.recorder.__exit__(None, None, None)
        for mode in above:
            TorchDispatchMode.__enter__(mode)


def inductor_switches() -> dict[str, Any]:
    """Every switch of `torch._inductor.config` with its value here, but for deprecated ones."""
    import torch._inductor.config as config

    entries: Any = getattr(config, "_config", {})
    return {
        name: getattr(config, name)
        for name, entry in entries.items()
        if getattr(entry, "alias", None) is None and not is_deprecated(config, name)
    } or dict(config.get_config_copy())
