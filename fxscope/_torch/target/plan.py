"""A plan for a GPU that is not there: the code of each graph, what was assumed, and what would be replayed."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from fxscope.gpus import Gpu


class PlanError(Exception):
    """A program that cannot be planned without a device; the message says what, where, and what to do."""


class Plan:
    """The result of planning.

    Attributes:
        codes: the output code of each graph, in the order in which a device compiles them: backwards when they first run.
        assumptions: (subject, what was assumed, because).
        on_cpu: traced on CPU tensors that stand for the device's: a training, or a program that asks autograd itself.
        needs_cpu: autograd was asked on tensors of the device, where it cannot run.
        progress: called with a line now and then.
    """

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.lowered: list[str] = []
        self.ahead: list[str] = []  # backwards that the plan does not run, in the order of their forwards
        self.assumptions: list[tuple[str, str, str]] = []
        self.on_cpu = False
        self.needs_cpu = False
        self.cudagraphs = False  # the program asks for them
        self.cudagraph_skips: dict[str, str] = {}  # compile id → why torch would not replay its graph
        self.parts: defaultdict[str, list[Any]] = defaultdict(list)  # compile id → what torch captures as CUDA graphs
        self.replays: set[str] = set()  # compiles with such a part that nothing forbids
        self.known: Any = WeakTensorKeyDictionary()  # index, length or mask → its values, on the CPU
        self.managed: list[Any] = []  # storages that lie in the memory of CUDA graphs
        self.runs: Counter[str] = Counter()  # of a compile's graph, as the program is called once
        self.progress: Callable[[str], None] = lambda message: None

    @property
    def codes(self) -> list[str]:
        return [*self.lowered, *reversed(self.ahead)]

    def ran(self, compile_id: str, inputs: Mapping[str, Any], *, is_backward: bool = False) -> bool:
        """Note a run of a compile's graph on inputs; return whether torch's checks forbid no replay of any part."""
        self.runs[compile_id] += not is_backward
        reasons, managed = list[str | None](), {item._cdata for item in self.managed}
        for part in (part for part in self.parts[compile_id] if part.is_backward or not is_backward):
            values = [inputs.get(item.name) for item in part.placeholders]
            check: Any = torch._inductor.cudagraph_utils.check_for_mutation
            reasons.append(check(part, values, lambda x: x is not None and x.untyped_storage()._cdata in managed))
        self.replays |= {compile_id} if None in reasons else set()
        if reason := next(filter(None, reasons), None):
            self.cudagraph_skips.setdefault(compile_id, reason)
        return self.cudagraphs and bool(reasons) and not any(reasons)

    def assume(self, subject: str, assumed: str, because: str) -> None:
        if (subject, assumed, because) not in self.assumptions:
            self.assumptions.append((subject, assumed, because))
