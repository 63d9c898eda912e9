"""Answers torch's and Triton's questions about a CUDA device that is not there.

Each patch answers one question that Inductor asks while it compiles. What a real device would be asked to measure or to
choose is in `decisions.py`. Names: torch 2.11 to 2.14, Triton 3.6 to 3.8.
"""

import contextlib
import ctypes
import sys
import types
from collections.abc import Generator
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from fxscope._torch.target import decisions
from fxscope._torch.target.plan import Plan
from fxscope.gpus import Gpu

_CUDA, _META = 1, 14  # c10::DeviceType


class NeedsDeviceError(RuntimeError):
    """Something tried to launch or to measure."""


class _CudaGenerator(torch.Generator):
    """The device's generator, which a checkpointed draw is given in both passes."""

    device = torch.device("cuda", 0)

    def clone_state(self) -> torch.Generator:
        return type(self)()


@contextlib.contextmanager
def device(plan: Plan) -> Generator[None]:
    """Make torch and Triton believe that the plan's GPU is device 0."""
    import torch._dynamo.device_interface as device_interface
    import torch._subclasses.fake_tensor as fake_tensor

    _guard_that_does_nothing()
    gpu = plan.gpu
    properties = device_properties(gpu)
    with contextlib.ExitStack() as stack:
        answers = {name: value for name, value in _cuda_functions(gpu, properties).items() if hasattr(torch.cuda, name)}
        stack.enter_context(mock.patch.multiple(torch.cuda, **answers))
        # Fake CUDA tensors must not touch the device when they are made, although `is_available` now says yes.
        stack.enter_context(mock.patch.object(FakeTensorMode, "avoid_device_init", property(lambda _: True)))
        stack.enter_context(mock.patch.object(fake_tensor, "init_gpu_context", lambda device: None, create=True))
        allocator = (torch._C, "_cuda_cudaCachingAllocator_is_enabled", lambda: True)  # captures need it
        stack.enter_context(mock.patch.object(*allocator, create=True))
        if (meshes := sys.modules.get("torch.distributed.device_mesh")) is not None:  # they lie on the device, too
            kind = property(lambda mesh: "cpu" if plan.on_cpu else "cuda", lambda mesh, value: None)
            stack.enter_context(mock.patch.object(meshes.DeviceMesh, "device_type", kind, create=True))
        device_interface.get_interface_for_device("cpu")  # fills the table that is patched next
        interfaces = dict.fromkeys(("cuda", "cuda:0"), _interface(gpu, properties))
        stack.enter_context(mock.patch.dict(device_interface.device_interfaces, interfaces))
        # From 2.15 on a frame asks for the accelerator's current stream when it begins; a plan has no streams.
        stack.enter_context(mock.patch.object(torch.accelerator, "is_available", lambda: False))
        # Inductor's rooflines ask `nvidia-smi` for the highest clock, in MHz; without an answer they call every GEMM
        # bound by arithmetic.
        clock = properties.clock_rate // 1000
        stack.enter_context(mock.patch.object(torch._utils_internal, "max_clock_rate", lambda: clock))
        chosen = decisions.padding(plan), decisions.library_kernels(plan), decisions.cudnn_layouts(plan)
        constants = decisions.constants_on_cpu(), decisions.constants_on_device()
        for context in (_triton_driver(gpu), *chosen, *constants):
            stack.enter_context(context)
        _clear_caches()
        stack.callback(_clear_caches)
        yield


def device_properties(gpu: Gpu) -> types.SimpleNamespace:
    values: dict[str, Any] = {"gcnArchName": "", "name": gpu.device_name}
    values |= {name: fact.value for name, fact in gpu.properties.items()}
    if values.get("memory_clock_rate") is None and values.get("memory_bus_width"):
        # kHz; the datasheet's bandwidth is two transfers per clock over the width of the bus.
        values["memory_clock_rate"] = round(gpu.datasheet_bandwidth * 8 / 2 / values["memory_bus_width"] / 1e3)
    return types.SimpleNamespace(**values)


def _guard_that_does_nothing() -> None:
    """Give CUDA a device guard that asks no driver.

    Without one, writes into fake CUDA tensors raise, and autograd aborts the process. A CUDA build has one. A CPU
    build, and a copy of a process that has used CUDA, borrow the meta device's from libc10's array of guards.
    """
    forked = torch.cuda._is_in_bad_fork()
    if torch.version.cuda is not None and not forked:
        torch._C._ensureCUDADeviceGuardSet()
        return
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libc10.so"))
    start = ctypes.addressof(ctypes.c_void_p.in_dll(library, "_ZN3c104impl26device_guard_impl_registryE"))
    registry = (ctypes.c_void_p * (_META + 1)).from_address(start)
    if registry[_META] and (forked or not registry[_CUDA]):
        registry[_CUDA] = registry[_META]


def _answers(gpu: Gpu, properties: types.SimpleNamespace) -> dict[str, Any]:
    return {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "get_device_properties": lambda device=None: properties,
        "is_bf16_supported": lambda including_emulation=True: gpu.capability[0] >= 8,
        "synchronize": lambda device=None: None,
        "device": contextlib.nullcontext,  # there is only one to be on
    }


def _cuda_functions(gpu: Gpu, properties: types.SimpleNamespace) -> dict[str, Any]:
    major, minor = gpu.capability
    return _answers(gpu, properties) | {
        "get_device_capability": lambda device=None: gpu.capability,
        "get_device_name": lambda device=None: properties.name,
        "is_tf32_supported": lambda: major >= 8,
        "mem_get_info": lambda device=None: (properties.total_memory, properties.total_memory),
        "is_current_stream_capturing": lambda: False,
        "_lazy_init": lambda: None,
        "get_rng_state": lambda device=None: torch.zeros(16, dtype=torch.uint8, device="cpu"),
        "set_rng_state": lambda state, device=None: None,
        "default_generators": (_CudaGenerator(),),
        "get_arch_list": lambda: [f"sm_{major}{minor}"],
    }


def _interface(gpu: Gpu, properties: types.SimpleNamespace) -> Any:
    """Dynamo's and Inductor's view of the device, as a class like `CudaInterface`."""
    from torch._dynamo.device_interface import CudaInterface

    answers = _answers(gpu, properties)
    major, minor = gpu.capability
    asked = {name: staticmethod(answers[name]) for name in ("set_device", "current_device", "get_device_properties")}
    own: dict[str, Any] = {
        **dict.fromkeys(("get_raw_stream", "exchange_device", "maybe_exchange_device"), lambda device: 0),
        "get_compute_capability": lambda device=None: major * 10 + minor,
        "is_triton_capable": lambda device=None: True,
        "raise_if_triton_unavailable": lambda device=None: None,
    }
    members: dict[str, Any] = {name: staticmethod(answer) for name, answer in (answers | own).items()}
    members |= {"device": contextlib.nullcontext, "Worker": type("Worker", (), asked)}
    return type("PretendedCuda", (CudaInterface,), members)


@contextlib.contextmanager
def _triton_driver(gpu: Gpu) -> Generator[None]:
    """Give Triton a driver that knows its target and refuses everything else."""
    import torch._inductor.runtime.triton_helpers as helpers
    import triton
    from triton.backends.compiler import GPUTarget

    values = device_properties(gpu)
    limits = {
        "max_shared_mem": values.shared_memory_per_block_optin,
        "max_num_regs": values.regs_per_multiprocessor,
        "multiprocessor_count": values.multi_processor_count,
        "warpSize": values.warp_size,
        "sm_clock_rate": values.clock_rate,
        "mem_clock_rate": values.memory_clock_rate,
        "mem_bus_width": values.memory_bus_width,
    }

    class Driver:
        utils = types.SimpleNamespace(get_device_properties=lambda device: limits)
        get_current_target = staticmethod(lambda: GPUTarget("cuda", gpu.capability[0] * 10 + gpu.capability[1], 32))
        get_current_device = staticmethod(lambda: 0)
        get_current_stream = staticmethod(lambda device=0: 0)
        get_active_torch_device = staticmethod(lambda: torch.device("cuda", 0))
        get_device_interface = staticmethod(lambda: torch.cuda)

        def __getattr__(self, name: str) -> Any:
            raise NeedsDeviceError(f"triton's driver.{name} needs a real GPU")

    with (
        mock.patch.object(triton.runtime.driver, "_active", Driver()),
        mock.patch.object(helpers, "set_driver_to_gpu", lambda: None),
    ):
        yield


def _clear_caches() -> None:
    import torch._inductor.utils as inductor_utils
    import torch.utils._triton as triton_utils
    from torch._inductor.runtime.hints import DeviceProperties

    for value in (*vars(triton_utils).values(), *vars(inductor_utils).values(), DeviceProperties.create):
        if callable(forget := getattr(value, "cache_clear", None)):
            forget()
