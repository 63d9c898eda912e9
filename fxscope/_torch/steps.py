"""Steps of a program: where they end, when enough were observed, and how long the others took.

A step ends where the first optimizer's `step` returns; a program without one has no steps that can be known while it
runs (its repetitions are found afterwards, in what was seen). Each end is an event in the trace. The observation ends
after a number of steps, of calls of a compiled graph, or of seconds. From there on each step of an optimizer, or each of
`MOST_TIMED` calls of the graph or of the one model, costs one time stamp.
"""

import _thread
import array
import collections
import ctypes
import functools
import gc
import math
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterable
from types import MethodType
from typing import Any

import torch

from fxscope._torch.environment import available_bytes
from fxscope._torch.hooks import Hooks, hook_before, resolve
from fxscope._torch.nodes import is_user_file
from fxscope.data import read_table
from fxscope.errors import one_line
from fxscope.model import StepTimes
from fxscope.passes.program_steps import MOST_PREPARING, REPEATS, of_rarest
from fxscope.readers.own_trace import STEP_ENDS

OPTIMIZER_HOOK = "torch.optim.optimizer:register_optimizer_step_post_hook"
COMPILED_CALL = "torch._inductor.output_code:CompiledFxGraph.__call__"
COMPILE_FRAME = "torch._dynamo.convert_frame:_compile"
REPLAY = "torch.cuda.graphs:CUDAGraph.replay"
CAPTURING = "the capture of a CUDA graph"
MOST_TIMED = 100  # calls of a compiled graph after the observation: the hook costs each of them 3 µs
# Bytes of events, 300,000 ops, or this share of what is available if that is less: at a session's end its events need up
# to 23 times as much, and half is for the program.
MOST_HEAP, HEAP_SHARE = 256 << 20, 1 / 46
MOST_EVENTS_PER_S = 150 << 20  # bytes; measured with the smallest ops: 100 MB a second on a CPU, 37 on an H200
_MOST_KEPT = 1_000_000  # durations
_SAMPLES = 64
_LOOK_S = 0.05
_LOOKS_SHARE = 10  # the heap is looked at for a tenth of the time at most
# What prepares a program does not count as observed: (end of the file's name, function; "" for all of them).
_PREPARES: list[list[str]] = read_table("preparing.json")
_MORE = 3  # times the bound of seconds for the steps that are wanted, once one has ended
_FIRST = 24  # … for the first step of a program with an optimizer: autotuning and loading data take their time


def mark(name: str) -> None:
    """Leave an event in the trace, without going through the dispatcher."""
    with torch._C._profiler._RecordFunctionFast(name):
        pass


class Durations:
    """The times between ticks, in nanoseconds: the first million."""

    def __init__(self) -> None:
        self.kept = array.array("q")
        self.last = 0

    def tick(self) -> None:
        # None begins, or ends, while a profiler session of the program's is on.
        now = 0 if torch._C._autograd._profiler_enabled() else time.perf_counter_ns()
        if now and self.last and len(self.kept) < _MOST_KEPT:
            self.kept.append(now - self.last)
        self.last = now


def summary(times_us: Iterable[float], when: Any, *, calls: int = 1) -> StepTimes | None:
    """The statistics of steps, `None` of nothing; `calls`: steps that each time is the mean of."""
    samples = tuple(times_us)
    if not samples:
        return None
    ordered = sorted(samples)
    median, p95 = (ordered[math.ceil(share * len(ordered)) - 1] for share in (0.5, 0.95))
    return StepTimes(
        count=len(samples) * calls,
        when=when,
        samples_us=samples[:_SAMPLES],
        total_us=sum(samples) * calls,
        median_us=median,
        p95_us=p95,
        max_us=ordered[-1],
    )


class _MallocInfo(ctypes.Structure):
    _fields_ = [(f"field_{number}", ctypes.c_size_t) for number in range(10)]


class _Heap:
    """Growth of the heap by the events of the profiler.

    They grow steadily. What grows faster, as the state of an optimizer or a communicator does, is the program's.
    """

    def __init__(self) -> None:
        self.most = min(MOST_HEAP, int(HEAP_SHARE * available_bytes()))
        self._used, self._events, self._others = self._used_bytes(), 0, 0
        self._seconds = self._look_at = 0.0

    def is_full(self, seconds: float) -> bool:
        """Return whether events take more bytes than `most`; the program ran for so many seconds since the last call."""
        self._seconds += seconds
        began = time.monotonic()
        if began < self._look_at:
            return False
        used = self._used_bytes()
        grown, self._used = used - self._used, used
        freed = max(0, -grown)
        events = min(max(0, grown), int(self._seconds * MOST_EVENTS_PER_S))
        self._events = max(0, self._events + events - max(0, freed - self._others))
        self._others = max(0, self._others + max(0, grown) - events - freed)
        self._seconds, self._look_at = 0.0, began + _LOOKS_SHARE * (time.monotonic() - began)
        return self._events > self.most

    def _used_bytes(self) -> int:
        """Bytes of blocks in use; larger ones, from 32 MB on at the latest, are mapped and do not count."""
        asked = getattr(ctypes.CDLL(None), "mallinfo2", None)  # of glibc
        if asked is None:
            return 0
        asked.restype = _MallocInfo
        return asked().field_7


class _Stepped:
    """The steps of one optimizer; one that is gone makes room for the next."""

    def __init__(self, number: int) -> None:
        self.mark = f"{STEP_ENDS} {number}"
        self.observed = 0
        self.size: int | None = None  # of the parameters
        self.durations = Durations()  # after the observation
        self.others = 0  # steps after it that are not like the observed ones
        self.is_other = False  # so are those to come


class StepWatch:
    """Counts the steps of a program by its optimizer.

    Args:
        enough: called once, in the thread that began, when a bound is reached, with its name: "" for that of steps.
        steps: to observe.
        calls: of one compiled graph to observe, where no step ends.
        seconds: of the thread's own time to observe; compiling, importing, loading and the like are left out.
    """

    def __init__(self, *, enough: Callable[[str], None], steps: int, calls: int, seconds: float) -> None:
        self._enough, self._most = enough, (steps, calls, seconds)
        self.on_capture: Callable[[], None] = lambda: None  # of a CUDA graph, after the observation
        self._calls: dict[Any, int] = {}  # of each compiled graph and CUDA graph
        self._looked: set[Any] | None = None  # graphs that ran in a step after the observation, while one is looked at
        self._module_calls: collections.Counter[int] = collections.Counter()
        self._is_over = threading.Event()
        self.is_compiling: Callable[[], bool] = lambda: False
        self._thread = threading.get_ident()
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()  # optimizers
        self._stepped: list[_Stepped] = []
        self._stepped_of: weakref.WeakKeyDictionary[Any, _Stepped] = weakref.WeakKeyDictionary()
        self._num_preparing = 0  # steps that compiled something, or that ran before a CUDA graph was captured
        self.num_compiles: Callable[[], int] = lambda: 0
        self._num_compiled = 0  # of them, when the last step ended
        self.ended_at: int | None = None  # perf_counter_ns, when the observation did
        self.bound: str | None = None  # that ended it, or is about to
        self.was_eager = False  # it has seen no compiled graph and no CUDA graph
        self._between_calls: dict[int, Durations] = {}  # of each graph or model, after the observation
        self._timing = Hooks()  # around calls

    def start(self, hooks: Hooks, *, is_compiled: bool = False) -> None:
        """Begin; the hook is torch's public one for every optimizer. `is_compiled`: calls of modules do not count."""
        _, _, register = resolve(OPTIMIZER_HOOK)
        handle = register(functools.partial(hooks.guard, "optimizer steps", self._steps))
        hooks.at_end("optimizer steps", handle.remove)
        hooks.install(self)
        self._timing.problems = hooks.problems
        hooks.at_end("calls", self._timing.close)
        if not is_compiled:
            calls = _Calls(self._timing, self._module_called)
            self._timing.put(torch.nn.Module, "__call__", calls, "calls of modules")
        if "torch._dynamo.convert_frame" in sys.modules:  # it looks at what a call of a module is
            self._timing.wrap(COMPILE_FRAME, before=lambda *_, **__: self._timing.close())
        if self._thread == threading.main_thread().ident:  # Python calls back only there
            hooks.at_end("bound of seconds", self._is_over.set)
            _thread.start_new_thread(self._wait, (_Heap(),))

    @hook_before("torch.optim.optimizer:Optimizer._patch_step_function")
    def _makes(self, optimizer: Any, *_: Any) -> None:
        self._made.add(optimizer)

    @property
    def _rarest(self) -> _Stepped:
        return self._stepped[of_rarest([item.observed for item in self._stepped])] if self._stepped else _Stepped(0)

    @property
    def mark(self) -> str:
        """Name of the trace's events at the ends of steps."""
        return self._rarest.mark

    def num_after(self) -> tuple[int, int]:
        """Return how many steps after the observation were timed, and how many were not like the observed ones."""
        return len(self._rarest.durations.kept), max((item.others for item in self._stepped), default=0)

    @property
    def _num_steps(self) -> int:
        first = max((item.observed for item in self._stepped), default=0)
        waits = len(self._made) > len(self._stepped) and first < MOST_PREPARING  # for another optimizer's first
        return 0 if waits else self._rarest.observed

    @hook_before("torch.cuda.graphs:CUDAGraph.capture_begin")
    def _captures(self, *_: Any, **__: Any) -> None:
        """Count anew: what the program repeats from now on are replays, and what ran before prepared them."""
        if self.ended_at is None:
            self._num_preparing = self._num_steps
        else:
            self.on_capture()

    def _has_steps(self) -> bool:
        return self._num_steps > self._num_preparing

    def sees_repeats(self, eager: "StepWatch") -> bool:
        """Return whether what was compiled is repeated: by steps of an optimizer if `eager` has them, else by calls."""
        calls = 0 if eager._num_steps else max(self._calls.values(), default=0)
        return self._num_steps > 0 or calls >= REPEATS

    def _num_wanted(self) -> int:
        return self._most[0] + min(self._num_preparing, MOST_PREPARING) - self._num_steps

    @hook_before(REPLAY)
    def _replays(self, graph: Any, *_: Any, **__: Any) -> None:
        self.called(graph)

    def called(self, graph: Any) -> None:
        """Say that a compiled graph, or a CUDA graph, is about to run."""
        graph = _key(graph)
        if self.ended_at is not None or self._has_steps() or threading.get_ident() != self._thread:
            return
        self._calls[graph] = self._calls.get(graph, 0) + 1
        if self._calls[graph] > self._most[1] and not busy_with():
            self._enough(f"{self._most[1]} calls")

    def _module_called(self, module: Any) -> None:
        """End the observation where a module that no other one calls was called often enough."""
        if threading.get_ident() != self._thread:
            return
        address = id(module)
        self._module_calls[address] += 1
        if self._module_calls[address] != self._most[1] + 1 or self._made:
            return
        frame: Any = sys._getframe(2)
        while frame is not None and frame.f_code is not torch.nn.Module._call_impl.__code__:
            frame = frame.f_back
        if frame is None and self.ended_at is None and not busy_with():
            self._enough(f"{self._most[1]} calls")

    def _wait(self, heap: _Heap) -> None:
        """In a thread of its own: have the main thread end the observation, between two of its bytecodes."""
        left, bound = self._most[2], f"{self._most[2]:g} s"
        before, began, ran = self._clock(), time.monotonic(), 0.0
        while left > 0 or (self._num_wanted() > 0 and left > -self._most[2] * self._extensions()):
            if heap.is_full(ran):
                bound = f"{heap.most >> 20} MB of memory for events"
                break
            if self._is_over.wait(_LOOK_S):
                return
            now, ends = self._clock(), time.monotonic()
            prepares = self.is_compiling() or is_preparing(self._thread)
            left -= 0 if prepares else now - before
            ran = 0.0 if prepares else ends - began
            before, began = now, ends
        in_main_thread(functools.partial(self._reached, bound))

    def _clock(self) -> float:
        """Return seconds that the observed thread ran: one that waits, as for its children, leaves no events."""
        try:
            return time.clock_gettime(time.pthread_getcpuclockid(self._thread))
        except (AttributeError, OSError):  # not on this system
            return time.monotonic()

    def _extensions(self) -> int:
        """Return how often the bound of seconds is granted again, for steps that are expected."""
        if self._num_steps:
            return _MORE
        return _FIRST if self._made else 0

    def _reached(self, bound: str) -> None:
        """End the observation, or have it end later where that would harm the program."""
        if self.bound is not None or self._is_over.is_set():  # also of one that is reached while the session ends
            return
        if not busy_with():
            self._enough(bound)
        elif self._thread == threading.main_thread().ident:
            in_main_thread(functools.partial(self._reached, bound))

    def end_observation(self, roots: Collection[int]) -> None:
        """Say that from here on steps are only timed: without an optimizer, calls of compiled graphs or of models.

        Args:
            roots: addresses of the modules that no other module called.
        """
        if self.ended_at is not None:
            return
        self._is_over.set()
        self.ended_at = time.perf_counter_ns()
        self._num_compiled = self.num_compiles()
        self.was_eager = not self._num_compiled and not self._calls
        self._timing.close()
        if self._has_steps():
            return
        if self._calls:
            self._timing.wrap(COMPILED_CALL, before=self._called_again)
            self._timing.wrap(REPLAY, before=self._called_again)
            return
        self._calls = {root: self._module_calls[root] for root in roots if self._module_calls[root] >= REPEATS}
        kinds = {type(item) for item in gc.get_objects() if id(item) in self._calls}
        for kind in kinds:
            if issubclass(kind, torch.nn.Module) and kind.__call__ is torch.nn.Module.__call__:
                self._timing.put(kind, "__call__", _Calls(self._timing, self._called_again), "calls of a model")
        self._timing.wrap(COMPILE_FRAME, before=lambda *_, **__: self._timing.close())

    def _called_again(self, graph: Any, *_: Any, **__: Any) -> None:
        if (key := _key(graph)) in self._calls and threading.get_ident() == self._thread:
            durations = self._between_calls.setdefault(key, Durations())
            durations.tick()
            if len(durations.kept) == MOST_TIMED:
                self._timing.close()

    def _steps(self, optimizer: Any, *_: Any) -> None:
        if torch.compiler.is_compiling():  # first of all: Dynamo traces no further
            return
        # A hook of a backward pass is called in autograd's thread
        if threading.get_ident() != self._thread and torch._C._current_graph_task_id() < 0:
            return
        mine = self._stepped_of.get(optimizer)
        if is_new := mine is None:
            taken = set(self._stepped_of.values())
            mine = next((item for item in self._stepped if item not in taken), None)
            if mine is None:
                mine = _Stepped(len(self._stepped))
                self._stepped.append(mine)
            self._stepped_of[optimizer] = mine
            size = sum(item.numel() for group in optimizer.param_groups for item in group["params"])
            mine.is_other, mine.size = self.ended_at is not None and size != mine.size, size
        if self.ended_at is not None:
            self._later(mine, is_new)
            return
        mine.observed += 1
        mark(mine.mark)
        if busy_with() == CAPTURING:
            self._captures()
        elif self._num_compiled < self.num_compiles() and sum(item.observed for item in self._stepped) > 1:
            self._num_preparing += 1
        self._num_compiled = self.num_compiles()
        if self._num_wanted() <= 0:
            self._reached("")

    def _later(self, mine: _Stepped, is_new: bool) -> None:
        """Time a step after the observation; only count one that runs none of the compiled graphs that were observed."""
        if is_new or self._num_compiled < self.num_compiles():
            self._num_compiled, looked = self.num_compiles(), set[Any]()
            self._looked = looked
            self._timing.close()
            self._timing.wrap(COMPILED_CALL, before=lambda graph, *_, **__: looked.add(_key(graph)))
            return
        if self._looked is not None:
            self._timing.close()
            graphs = self._calls.keys()
            mine.is_other |= graphs.isdisjoint(self._looked) and bool(graphs or self._looked)
            mine.others += mine.is_other  # the step before
            self._looked = None
            mine.durations.last = 0
        if mine.is_other:
            mine.others += 1
        else:
            mine.durations.tick()

    def eager_times(self) -> StepTimes | None:
        """Return the statistics of what was called most often, or of the optimizer's steps."""
        return self.times(max(self._calls.values(), default=None))

    def times(self, num_calls: int | None) -> StepTimes | None:
        """Return the statistics of the steps after the observation.

        Args:
            num_calls: steps that were observed, where calls are the steps; None where they are not. What was called as
                often is called once in a step.
        """
        once = [graph for graph, number in self._calls.items() if 0 <= number - (num_calls or math.inf) <= 2]
        timed = [self._between_calls[graph].kept for graph in once if graph in self._between_calls]
        kept = self._rarest.durations.kept or max(timed, key=len, default=())
        return summary((duration / 1e3 for duration in kept), "after")


def _key(graph: Any) -> Any:
    """Return the cache key of a compiled graph, else an address, which may be another's once the graph is gone."""
    return getattr(graph, "_fx_graph_cache_key", None) or id(graph)


class _Calls:
    """`nn.Module.__call__`, or that of one class, which says of which module it is looked up.

    The lookup returns torch's own: there is no frame of fxscope's around the module's code.
    """

    torchs = torch.nn.Module.__call__

    def __init__(self, hooks: Hooks, called: Callable[[Any], None]) -> None:
        self._hooks, self._called = hooks, called

    def __get__(self, module: Any, kind: type) -> Any:
        if module is None:
            return _Calls.torchs
        try:  # not by `guard`: each call of Python costs while it is observed
            self._called(module)
        except Exception as error:
            self._hooks.problem("calls of modules", one_line(error))
        return MethodType(_Calls.torchs, module)


@functools.cache
def is_library_file(file: str) -> bool:
    """Return whether a file belongs to Python, torch or another installed package."""
    return "-packages" + os.sep in file or not is_user_file(file)


def is_preparing(thread: int) -> bool:
    """Return whether the program's line that a thread executes imports, initializes, loads, moves or tunes something."""
    frame = sys._current_frames().get(thread)
    while frame is not None and is_library_file(file := frame.f_code.co_filename):
        name = frame.f_code.co_name
        if any(file.endswith(end) and function in ("", name) for end, function in _PREPARES):
            return True
        frame = frame.f_back
    return False


def busy_with() -> str:
    """Return what this thread runs in which no session may end, "" for nothing.

    The end of a backward pass would put back a profiler that was ended in it. A wait for the device makes the capture of
    a CUDA graph fail.
    """
    if torch._C._current_graph_task_id() >= 0:
        return "a backward pass"
    if torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
        return CAPTURING
    return ""


_soon: collections.deque[Callable[[], object]] = collections.deque()


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
def _call_soon(_: int | None) -> int:
    for _ in range(len(_soon)):
        _soon.popleft()()
    return 0


def in_main_thread(function: Callable[[], object]) -> None:
    """Have the main thread call a function between two of its bytecodes: soon, or when it is no longer busy."""

    def wait() -> None:
        time.sleep(_LOOK_S)
        in_main_thread(function)

    if busy_with():
        _thread.start_new_thread(wait, ())
    else:
        _soon.append(function)
        ctypes.pythonapi.Py_AddPendingCall(_call_soon, None)
