"""DDP and FSDP2 without processes: what each rank compiles.

Process groups are torch's fake ones while the program is made. The collectives of both wrappers run between compiled
graphs, never in them, so they are left out of the plan; graphs are cut where the wrappers cut them: DDP's at the
buckets of its gradients (Dynamo does that itself once it is told whose forward runs), FSDP2's at each module that
gathers its parameters. Names: torch 2.11 to 2.15.
"""

# torch's insides are untyped: what comes from there is Any.

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Generator

    from fxscope._torch.target.simulate import Plan

_RANKS = 2  # where neither the program nor WORLD_SIZE says how many


@contextlib.contextmanager
def fake_groups() -> Generator[None]:
    """Make every process group that a program asks for one of rank 0 whose collectives do nothing."""
    import torch.distributed as dist

    if not dist.is_available():
        yield
        return
    import torch.distributed.device_mesh as device_mesh
    import torch.distributed.distributed_c10d as c10d
    from torch._subclasses.fake_tensor import unset_fake_temporarily
    from torch.testing._internal.distributed.fake_pg import FakeStore

    def init_process_group(*args: Any, world_size: int = -1, **kwargs: Any) -> None:
        ranks = world_size if world_size > 0 else int(os.environ["WORLD_SIZE"])
        original["init_process_group"]("fake", rank=0, world_size=ranks, store=FakeStore())

    # Ranks are looked up in a mesh: it has values even where the program's tensors have none. It is of the device on which
    # the program makes them: FSDP refuses to shard others.
    def init_device_mesh(device_type: str, *args: Any, **kwargs: Any) -> Any:
        with unset_fake_temporarily():
            here = device_type if torch.cuda.is_available() else "cpu"
            return original["init_device_mesh"](here, *args, **kwargs)

    original: dict[str, Any] = {
        "init_process_group": c10d.init_process_group,
        "init_device_mesh": device_mesh.init_device_mesh,
    }
    replaced = {"init_process_group": init_process_group, "init_device_mesh": init_device_mesh}
    launched = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": str(_RANKS), "LOCAL_WORLD_SIZE": str(_RANKS)}
    launched |= {"MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, {**launched, **os.environ}))
        stack.enter_context(mock.patch.object(sys, "excepthook", sys.excepthook))  # a group puts one of its own there
        for module in [module for name, module in sys.modules.items() if name.startswith("torch.distributed")]:
            for name, function in replaced.items():
                if vars(module).get(name) is original[name]:
                    stack.enter_context(mock.patch.object(module, name, function))
        before = dist.is_initialized()
        try:
            yield
        except BaseException:  # the program may be made again, on tensors without memory
            if dist.is_initialized() and not before:
                dist.destroy_process_group()
            raise


@contextlib.contextmanager
def without_processes(plan: Plan) -> Generator[None]:
    """Run DDP's forward without its reducer, so that Dynamo cuts its graphs as on each rank."""
    loaded: Any = sys.modules.get("torch.nn.parallel.distributed")
    if loaded is None:
        yield
        return
    ddp: Any = loaded.DistributedDataParallel

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        plan.assume(
            "DDP",
            f"graphs are cut at buckets of {self.bucket_bytes_cap / 2**20:g} MiB of gradients, as on each rank; their "
            "all-reduces are not in the plan",
            "a plan is one process; DDP launches collectives from outside of the compiled graphs",
        )
        with mock.patch.object(ddp, "_active_ddp_module", self):
            return self.module(*args, **kwargs)

    with mock.patch.object(ddp, "forward", torch._dynamo.disable(forward, recursive=False)):
        yield


def gather(module: nn.Module, plan: Plan) -> None:
    """Give each module of FSDP2 the parameters that it has gathered when its forward runs, in the dtype for computing."""
    for part in module.modules():
        state = _state_of(part)
        if state is None:
            continue
        for group in getattr(state, "_fsdp_param_groups", None) or [state._fsdp_param_group]:
            for parameter in group.fsdp_params if group is not None else ():
                _whole(parameter, state._mp_policy)
        _without_collectives(part, state)
        plan.assume(
            "FSDP",
            "each graph has the parameters that its module has gathered; gathering and scattering are not in the plan",
            "a plan is one process; FSDP launches collectives from outside of the compiled graphs",
        )


def _state_of(module: nn.Module) -> Any:
    loaded: Any = sys.modules.get("torch.distributed.fsdp")
    kind = getattr(loaded, "FSDPModule", None)
    return module._get_fsdp_state() if kind is not None and isinstance(module, kind) else None  # pyright: ignore[reportCallIssue, reportAttributeAccessIssue]


def _whole(parameter: Any, policy: Any) -> None:
    info, shard = parameter._module_info, parameter.sharded_param
    owners = [(info.module, info.param_name), *zip(info.shared_modules, info.shared_param_names, strict=True)]
    dtype = policy.param_dtype if policy.param_dtype is not None and shard.is_floating_point() else shard.dtype
    whole = nn.Parameter(
        torch.empty(tuple(parameter._orig_size), dtype=dtype, device="meta"), requires_grad=shard.requires_grad
    )
    for owner, name in owners:
        owner._parameters[name] = whole


def _without_collectives(module: nn.Module, state: Any) -> None:
    """Let FSDP's hooks do nothing but cast; Dynamo leaves the graph at them all the same."""
    policy = state._mp_policy

    def cast(values: Any, dtype: Any) -> Any:
        def one(value: Any) -> Any:
            is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
            return value.to(dtype) if is_float and dtype is not None else value

        return torch.utils._pytree.tree_map(one, values)

    @torch._dynamo.disable
    def before(module: Any, args: Any, kwargs: Any) -> Any:
        dtype = policy.param_dtype if policy.cast_forward_inputs else None
        return cast(args, dtype), cast(kwargs, dtype)

    @torch._dynamo.disable
    def after(module: Any, args: Any, output: Any) -> Any:
        return cast(output, policy.output_dtype)

    for hooks, replacement in ((module._forward_pre_hooks, before), (module._forward_hooks, after)):
        for key, hook in list(hooks.items()):
            if getattr(hook, "__self__", None) is state:
                hooks[key] = replacement
