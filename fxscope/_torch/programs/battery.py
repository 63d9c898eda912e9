"""Programs that show how fast a GPU is at each family of kernels, and what they took on the one that is here.

Each program of `data/battery.json` is one compiled graph of many independent calls: a family costs one compile. Tensors that
fit in the L2 cache together are found there, as between layers of a model. A call is a function whose defaults are its inputs,
over each combination of some sizes: `{"calls": ["lambda a=T(n, 8): a * 2"], "over": {"dtype n": [["bfloat16", 16]]}}`.
A program that fails is named, with its error.
"""

import contextlib
import itertools
import time
from collections.abc import Callable, Generator, Iterator
from functools import partial
from types import FunctionType
from typing import Any

import msgspec
import torch
import torch.nn.attention.flex_attention  # which calls name  # pyright: ignore[reportUnusedImport]
from torch.nn import functional
from torch.utils.benchmark import Timer

from fxscope.data import read_text
from fxscope.errors import one_line
from fxscope.gpus import Fact, Gpu
from fxscope.index import index_of
from fxscope.model import Recording, Workload
from fxscope.passes.cost import work_of

BF16, F16, F32 = torch.bfloat16, torch.float16, torch.float32
STEPS = 6
SECONDS = 240  # no further program is started after so long
KERNEL_US = 0.9  # of a replay's small kernel


class BatteryCalls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Calls, each over every combination of the rows of `over`; a key names the columns of its rows."""

    calls: tuple[str, ...]
    over: dict[str, list[Any]] = {}


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Many calls in one graph; `tf32`: multiply float32 by TF32."""

    cases: tuple[BatteryCalls, ...]
    train: bool = False
    tf32: bool = False


class Inputs:
    """Makes the inputs of a program: each tensor its own, so that no two calls share a read and are fused for it."""

    def __init__(self, device: str, *, grad: bool = False) -> None:
        self.device, self.grad, self.dtype = device, grad, BF16
        self.tensors: list[torch.Tensor] = []
        # What a call's defaults may be: noise, noise with channels last, several, row numbers, an arithmetic progression.
        last = partial(self.noise, memory_format=torch.channels_last)
        self.makers = {"T": self.noise, "L": last, "S": self.several, "I": self.indices, "A": self.arange}

    def put(self, tensor: torch.Tensor) -> int:
        self.tensors.append(tensor.requires_grad_(self.grad and tensor.is_floating_point()))
        return len(self.tensors) - 1

    def noise(self, *shape: int, **layout: Any) -> int:
        return self.put(torch.empty(shape, dtype=self.dtype, device=self.device, **layout).normal_())

    def several(self, count: int, *shape: int) -> tuple[int, ...]:
        return tuple(self.noise(*shape) for _ in range(count))

    def indices(self, count: int, bound: int) -> int:
        """Add random row numbers below `bound`, so that rows repeat as often as `count / bound` says."""
        return self.put(torch.randint(0, bound, (count,), device=self.device))

    def arange(self, start: int, stop: int, step: int, dtype: str = "int64") -> int:
        return self.put(torch.arange(start, stop, step, device=self.device, dtype=getattr(torch, dtype)))


def programs() -> dict[str, Part]:
    return msgspec.json.decode(read_text("battery.json"), type=dict[str, Part])


def functions(part: Part, inputs: Inputs) -> Iterator[FunctionType]:
    """Yield a program's calls; their defaults are numbers of tensors that were added to the inputs."""
    for sweep in part.cases:
        for rows in itertools.product(*sweep.over.values()):
            names: dict[str, Any] = {"dtype": "bfloat16"}
            for key, row in zip(sweep.over, rows, strict=True):
                names |= dict(zip(key.split(), row if " " in key else [row], strict=True))
            inputs.dtype = getattr(torch, names["dtype"])
            for call in sweep.calls:
                yield eval(call, {"torch": torch, "F": functional, **inputs.makers, **names})


def measure_program(part: Part, device: str, **options: Any) -> Any:
    """Record one program and return its recording; `options` go to `fxscope.record` (`target=…` plans it instead)."""
    import fxscope

    torch.manual_seed(0)
    inputs = Inputs(device, grad=part.train)
    calls = [(function, function.__defaults__ or ()) for function in functions(part, inputs)]

    def run(*tensors: torch.Tensor) -> tuple[Any, ...]:
        def taken(number: Any) -> Any:
            return [tensors[each] for each in number] if isinstance(number, tuple) else tensors[number]

        return tuple(function(*map(taken, defaults)) for function, defaults in calls)

    try:
        with matmul_precision("high" if part.tf32 else "highest"):
            return fxscope.record(run, *inputs.tensors, compile={"dynamic": False}, backward=part.train, **options)
    finally:
        torch.compiler.reset()


@contextlib.contextmanager
def matmul_precision(precision: str) -> Generator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def timed_calls(recording: Recording) -> list[tuple[Workload, float]]:
    """(workload, device time in µs) of each call that ran and whose work is known."""
    graphs = index_of(recording).nodes
    works = ((work_of(call, graphs.get(call.graph, {}), recording), call.timing) for call in recording.calls)
    return [(work, timing.median_us) for work, timing in works if work and timing]


def timed(run: Callable[[], Any]) -> float:
    """Wall time of a call in µs, until the device has finished: the median over groups of calls."""
    return Timer("run()", globals={"run": run}).blocked_autorange(min_run_time=0.1).median * 1e6


def replay_us() -> float:
    """Measure the time between two kernels of a CUDA graph's replay beyond their own, by replays of 50 and 400 of them."""
    x, replays = torch.randn(256, device="cuda"), []
    for count in (50, 400):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(count):
                x.add_(1.0)
        replays.append(timed(graph.replay))
    return round(max(0.0, (replays[1] - replays[0]) / 350 - KERNEL_US), 3)


def rates() -> dict[str, float]:
    """Measure the rates of a copy and of square GEMMs, for the roofs."""
    found: dict[str, float] = {}
    total = torch.cuda.get_device_properties(0).total_memory
    source = torch.ones(min(2 << 30, total // 8), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    found["copy_bytes_per_s"] = 2 * source.numel() / timed(lambda: target.copy_(source)) * 1e6
    for dtype, size in ((BF16, 8192), (F16, 8192), (F32, 4096)):
        a, b = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
        found[str(dtype).removeprefix("torch.")] = 2 * size**3 / timed(lambda a=a, b=b: a @ b) * 1e6
    with matmul_precision("high"):
        found["tfloat32"] = 2 * 4096**3 / timed(lambda: a @ b) * 1e6
    return found


def described() -> Gpu:
    """GPU 0 by its driver, without rates. Raises RuntimeError."""
    if not torch.cuda.is_available():
        raise RuntimeError("there is no GPU here (torch sees none): run this where there is one.")
    found: Any = torch.cuda.get_device_properties(0)
    kept = [name for name in dir(found) if not name.startswith(("_", "pci_", "is_"))]  # others are of the single card
    return Gpu(
        name=found.name,
        device_name=found.name,
        vendor="amd" if torch.version.hip else "nvidia",
        target=torch.version.hip is None and found.major >= 8,
        properties={name: Fact(value, "card") for name in kept if type(value := getattr(found, name)) is int},
        bandwidths=(),
        matrix={},
        sources={"card": f"torch.cuda.get_device_properties on an {found.name}, torch {torch.__version__}"},
    )


def measure(say: Callable[[str], None]) -> dict[str, Any]:
    """Measure everything on GPU 0: `calls` by program, `rates`, `replay_us`, and errors in `failed`. Raises RuntimeError."""
    started = time.monotonic()
    result: dict[str, Any] = {"gpu": described(), "torch": torch.__version__, "failed": {}, "calls": {}, "rates": {}}
    parts: dict[str, Callable[[], Any]] = {"rates": rates, "replay_us": replay_us}
    for name, item in {**parts, **programs()}.items():
        if time.monotonic() - started > SECONDS:
            result["failed"][name] = "not started: the time was over"
            continue
        say(f"measuring {name}")
        try:
            if isinstance(item, Part):
                result["calls"][name] = timed_calls(measure_program(item, "cuda", steps=STEPS, warmup=4))
            else:
                result[name] = item()
        except Exception as error:  # another family may still do
            result["failed"][name] = one_line(error)[:500]
            say(f"{name} failed: {result['failed'][name]}")
        finally:
            torch.cuda.empty_cache()
    return result
