"""Run torch's own op_db under a bare profiler and under fxscope, and compare: `python -m tests.capture.op_db BATCH DEVICE`.

A process of its own: torch's testing library changes switches when it is imported.
"""

import difflib
import itertools
import sys
import types
import warnings
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils import _pytree as pytree

from fxscope._torch import profiler
from fxscope._torch.event_tree import EventTree
from fxscope.capture import Recorder
from fxscope.op_names import qualified

if "expecttest" not in sys.modules:  # torch's testing library imports it for a class that nothing here uses
    sys.modules["expecttest"] = types.ModuleType("expecttest")
    sys.modules["expecttest"].TestCase = object  # type: ignore[attr-defined]
from torch.testing._internal.common_methods_invocations import op_db

BATCHES = 8


def called(results: Any, device: bool) -> list[str]:
    events = sorted(results.events(), key=lambda event: event.start_ns())
    if device:
        names = [event.name() for event in events if event.device_type() == torch.autograd.DeviceType.CUDA]
        return [name for name in names if name != "[memory]"]  # an allocation, where memory is profiled
    names = [qualified(event.name()) for event in events if not event.is_python_function()]
    return [name for name in names if name.startswith(("aten::", "prims::"))]


def program(entries: list[tuple[Any, Any]], found: list[Any]) -> None:
    """Run each op forward and backward; append what came out."""
    for op, sample in entries:
        torch.manual_seed(0)
        leaves = [
            item.requires_grad_()
            for item in pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
            if isinstance(item, torch.Tensor) and item.is_leaf and item.is_floating_point()
        ]
        for leaf in leaves:
            leaf.grad = None
        try:
            result = op(sample.input, *sample.args, **sample.kwargs)
            outputs = [item for item in pytree.tree_leaves(result) if isinstance(item, torch.Tensor)]
            kept = [item.detach().clone() for item in outputs]
            sums = [item.abs().sum() for item in outputs if item.requires_grad]
            if sums:
                torch.stack(sums).sum().backward()
        except Exception as error:  # some refuse float32, or gradients: they do so in both runs
            kept = [f"{type(error).__name__}"]
        found.append((op.name, kept, [leaf.grad for leaf in leaves], torch.get_rng_state()))


def entries_of(number: int, device: str) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    for op in itertools.islice(op_db, number, None, BATCHES):
        dtype = torch.float32 if torch.float32 in op.supported_dtypes(device) else None
        if dtype is not None:
            torch.manual_seed(0)
            found += [(op, sample) for sample in itertools.islice(op.sample_inputs(device, dtype), 1)]
    return found


def same(a: Any, b: Any) -> bool:
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return type(a) is type(b) and (isinstance(a, torch.Tensor) or a == b)
    if a.shape != b.shape or a.dtype != b.dtype or a.layout != torch.strided:
        return a.shape == b.shape and a.dtype == b.dtype
    return torch.equal(bits(a), bits(b))


def bits(x: torch.Tensor) -> torch.Tensor:
    plain = x.detach().resolve_conj().resolve_neg()
    return plain.clone(memory_format=torch.contiguous_format).flatten().view(torch.uint8)


NOT_DETERMINED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}


def run_bare(number: int, device: str) -> tuple[list[Any], list[str]]:
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    found: list[Any] = []
    entries = entries_of(number, device)
    with profile(activities=activities) as session:
        program(entries, found)
        if device == "cuda":
            torch.cuda.synchronize()
    return found, called(session.profiler.kineto_results, device == "cuda")


def differing(one: list[Any], other: list[Any]) -> set[str]:
    """The entries whose outputs, gradients or generator differ between two runs."""
    return {
        name
        for (name, *results), (_, *others) in zip(one, other, strict=True)
        for a, b in zip(pytree.tree_leaves(results), pytree.tree_leaves(others), strict=True)
        if name not in NOT_DETERMINED and not same(a, b)
    }


def compare(number: int, device: str) -> None:
    program(entries_of(number, device), [])  # what is initialised once is
    bare, wanted = run_bare(number, device)
    # On a GPU some backward passes add with atomics, in any order: those differ between bare runs, too.
    atomic = set[str]().union(
        *(differing(bare, run_bare(number, device)[0]) for _ in range(10 if device == "cuda" else 0))
    )
    assert len(atomic) <= 3, atomic
    recorded: list[Any] = []
    entries = entries_of(number, device)
    results: list[Any] = []
    profiler.EventTree = lambda found: results.append(found) or EventTree(found)
    with Recorder(max_seconds=600) as recorder:
        program(entries, recorded)
    assert differing(bare, recorded) <= atomic, differing(bare, recorded) - atomic
    assert recorder.failure is None, recorder.failure
    found = called(results[0], device == "cuda")
    print(*difflib.unified_diff(wanted, found, "bare", "recorded", n=2, lineterm=""), sep="\n", file=sys.stderr)
    assert wanted == found
    print("the same", *(["but for what bare runs do not repeat:", *sorted(atomic)] if atomic else []))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    compare(int(sys.argv[1]), sys.argv[2])
