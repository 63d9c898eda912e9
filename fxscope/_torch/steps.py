"""Steps of a program: where they end, when enough were observed, and how long the others took.

A step ends where the first optimizer's `step` returns, with an event in the trace; without one, repetitions are found
afterwards. The observation ends after a number of steps, of calls of a compiled graph, or of seconds. Then `MOST_TIMED`
steps, or calls, are timed, or those before it where it waits, and the program is released. Steps of other shapes or numbers
of autograd's nodes are timed apart.
"""

import _thread
import collections
import ctypes
import functools
import math
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from statistics import median
from types import FrameType, MethodType
from typing import Any

import torch

from fxscope._torch.environment import available_bytes
from fxscope._torch.hooks import Hooks, hook_before, resolve
from fxscope._torch.nodes import is_user_file
from fxscope._torch.quiet import signals_held
from fxscope.data import read_table
from fxscope.model import StepTimes, replace
from fxscope.passes.program_steps import MOST_PREPARING, REPEATS, of_rarest
from fxscope.readers.own_trace import STEP_ENDS

OPTIMIZER_HOOK = "torch.optim.optimizer:register_optimizer_step_post_hook"
COMPILED_CALL = "torch._inductor.output_code:CompiledFxGraph.__call__"
COMPILE_FRAME = "torch._dynamo.convert_frame:_compile"
REPLAY, CAPTURE = "torch.cuda.graphs:CUDAGraph.replay", "torch.cuda.graphs:CUDAGraph.capture_begin"
CAPTURING = "the capture of a CUDA graph"
MOST_TIMED = 100  # steps or calls after the observation: a hook costs each call of a graph 3 µs, of a model 6 µs
# Bytes of events, 300,000 ops, or this share of what is available if that is less: at a session's end its events need up
# to 23 times as much, and half is for the program.
MOST_HEAP, HEAP_SHARE = 256 << 20, 1 / 46
MOST_EVENTS_PER_S = 150 << 20  # bytes; measured with the smallest ops: 100 MB a second on a CPU, 37 on an H200
_MOST_COMPARED = 64  # calls of a step, and tensors of a call
_SAMPLES = 64
_LOOK_S = 0.05
_LOOKS_SHARE = 10  # the heap is looked at for a tenth of the time at most
# What prepares a program does not count as observed: (end of the file's name, function; "" for all of them).
_PREPARES: list[list[str]] = read_table("preparing.json")
_MORE = 24, 3  # times the bound of seconds: for the first step of an optimizer (autotuning), for those wanted after it
_call_impl = torch.nn.Module._call_impl
_num_nodes: Callable[[], int] = getattr(torch._C._autograd, "_get_sequence_nr", int)


def mark(name: str) -> None:
    """Leave an event in the trace, without going through the dispatcher."""
    with torch._C._profiler._RecordFunctionFast(name):
        pass


Ran = tuple[Hashable, Hashable]  # ops, and the shapes of what they were given


class Repeated:
    """Calls of a compiled graph, a CUDA graph or a model, or steps: how many were observed, and the times of others.

    The times, in nanoseconds, are those between ticks, 0 where not known, each with what ran: before and after the
    observation.
    """

    def __init__(self) -> None:
        self.observed = 0
        self.seen: set[Ran | None] = set()  # what observed ones ran; None where that is not known
        self.before, self.after = list[tuple[Ran | None, int]](), list[tuple[Ran | None, int]]()
        self.last = 0
        self.running: Ran | None = None  # until the next tick

    @property
    def is_timed(self) -> bool:
        return len(self.after) > MOST_TIMED

    @property
    def kept(self) -> list[int]:
        """Return the times of what is like observed ones: those before the observation, if there are any."""
        return [time for ran, time in self.before or self.after if self.is_like_observed(ran)]

    @property
    def others(self) -> list[int]:
        return [time for ran, time in self.after if not self.is_like_observed(ran)]

    @property
    def varies(self) -> bool:
        """Return whether each observed one had other shapes, so that shapes tell no later one from them."""
        return REPEATS <= len(self.seen) == self.observed

    def is_like_observed(self, ran: Ran | None) -> bool:
        if ran is None or ran in self.seen:
            return True
        return self.varies and ran[0] in {item[0] for item in self.seen if item}

    def tick(self, now: int, *, is_before: bool = False) -> None:
        """Note a time in nanoseconds, on a clock that stands still in fxscope's own code."""
        # None begins, or ends, while a profiler session of the program's is on.
        now = 0 if torch._C._autograd._profiler_enabled() else now
        times = self.before if is_before else self.after
        times.append((self.running, now - self.last if now and self.last else 0))
        self.last = now


def summary(times_us: Iterable[float], when: Any, *, calls: int = 1) -> StepTimes | None:
    """The statistics of steps, `None` of nothing; `calls`: steps that each time is the mean of."""
    samples = tuple(times_us)
    if not samples:
        return None
    ordered = sorted(samples)
    return StepTimes(
        count=len(samples) * calls,
        when=when,
        samples_us=samples[:_SAMPLES],
        total_us=sum(samples) * calls,
        median_us=median(ordered),
        p95_us=ordered[math.ceil(0.95 * len(ordered)) - 1],
        max_us=ordered[-1],
    )


class _MallocInfo(ctypes.Structure):
    _fields_ = [(f"field_{number}", ctypes.c_size_t) for number in range(10)]


class _Heap:
    """Growth of the heap by the profiler's events, which is steady: what grows faster is the program's."""

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


class _Stepped(Repeated):
    """The steps of one optimizer; one that is gone makes room for the next."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.mark = f"{STEP_ENDS} {number}"
        self.kind: Hashable = None  # the optimizer's class, and how many parameters it has
        self.calls: list[Ran] | None = None  # since the last step; `None` where not all of them are known
        self._num_nodes = 0  # of autograd, which this thread had made by then

    def is_like_observed(self, ran: Ran | None) -> bool:
        return self.observed > 0 and (len(self.seen) < 2 or super().is_like_observed(ran))

    def ends(self, at: int, *, is_observed: bool = False, is_whole: bool = False, is_before: bool = False) -> None:
        """Note what ran since the last step, and how long it took where it is not observed."""
        now, calls = _num_nodes(), self.calls
        ops, shapes = zip(((self.kind, now - self._num_nodes), None), *(calls or ()), strict=True)
        ran = None if calls is None else (ops, shapes)
        self._num_nodes, self.calls = now, []
        if is_observed:
            self.observed += 1
            self.seen.add(ran)  # `None` of the first step, at least
            return
        if ran is None or not is_whole:
            self.last = 0
        self.running = ran
        self.tick(at, is_before=is_before)


class StepWatch:
    """Counts the steps of a program by its optimizer; without one, `calls` of one compiled graph are to be observed.

    `enough` is called once, in the thread that began, with the name of the bound that is reached ("" for that of steps).
    `seconds` are of the thread's own time, without that of compiling, importing, loading and the like. `wait` steps, or
    calls, are timed before the observation, which `begins` begins.
    """

    def __init__(
        self,
        compiler: Any,
        enough: Callable[[str], None],
        *,
        steps: int,
        calls: int,
        seconds: float,
        wait: int = 0,
        begins: Callable[[], None] = lambda: None,
    ) -> None:
        self._compiler, self._enough, self._most = compiler, enough, (steps, calls, seconds)
        self.wait, self._begins = wait, begins
        self.on_capture: Callable[[], None] = lambda: None  # of a CUDA graph, after the observation
        self._graphs: dict[Any, Repeated] = collections.defaultdict(Repeated)  # compiled ones, and CUDA graphs
        self.models: dict[Any, Repeated] = collections.defaultdict(Repeated)  # those that no other calls
        self._kinds: weakref.WeakSet[Any] = weakref.WeakSet()  # their classes
        self._timed: dict[Any, Repeated] = {}  # after the observation, without an optimizer
        self.not_known = "whether later steps had the same shapes"
        self._is_over = threading.Event()
        self.thread = threading.get_ident()
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()  # optimizers
        self._stepped: list[_Stepped] = []
        self._stepped_of: weakref.WeakKeyDictionary[Any, _Stepped] = weakref.WeakKeyDictionary()
        self._num_preparing = 0  # steps that compiled something, or that ran before a CUDA graph was captured
        self._num_compiled = 0  # of them, when the last step ended
        self.ended_at: int | None = None  # perf_counter_ns, when the observation did
        self.released_at: int | None = None  # when timing ended, too
        self._num_called = 0  # since the observation ended
        self.bound: str | None = None  # that ended it, or is about to
        self.was_eager = False  # it has seen no compiled graph and no CUDA graph
        self.timing = Hooks()  # around calls of modules and compiled graphs
        self._counting = Hooks()  # around all that makes steps
        self.began = self.own = 0  # nanoseconds: when the call began to be noted that is now, and what others took

    def start(self, hooks: Hooks, *, is_compiled: bool = False) -> None:
        """Begin; the hook is torch's public one for every optimizer. `is_compiled`: calls of modules do not count."""

        def stepped(optimizer: Any, *_: Any) -> None:
            if not torch.compiler.is_compiling() and self.released_at is None:  # first of all: Dynamo traces no further
                hooks.guard("optimizer steps", self._steps, optimizer)

        handle = resolve(OPTIMIZER_HOOK)[2](stepped)
        hooks.at_end("optimizer steps", handle.remove)
        hooks.install(self, CAPTURE)
        self.timing.problems = self._counting.problems = hooks.problems
        self._counting.install(self, ("torch.optim.", "torch._C:", REPLAY))
        self._counting.at_end("calls", self.timing.close)
        hooks.at_end("steps", self._counting.close)
        if not is_compiled:
            self._look()
        if self.thread == threading.main_thread().ident:  # Python calls back only there
            hooks.at_end("bound of seconds", self._is_over.set)
        if not self.wait:
            self._bound_seconds()

    def _bound_seconds(self) -> None:
        if self.thread == threading.main_thread().ident:
            _thread.start_new_thread(self._wait, (_Heap(),))

    def _waits(self, item: Repeated) -> None:
        """Begin the observation after enough steps or calls of one thing."""
        if len(item.before) > self.wait and not busy_with():
            self.wait = 0
            if self._graphs:
                self.timing.close()
            self._begins()
            self._bound_seconds()

    @hook_before("torch.optim.optimizer:Optimizer._patch_step_function")
    def _makes(self, optimizer: Any, *_: Any, **__: Any) -> None:
        self._made.add(optimizer)

    @property
    def _rarest(self) -> _Stepped:
        return self._stepped[of_rarest([item.observed for item in self._stepped])] if self._stepped else _Stepped(0)

    @property
    def mark(self) -> str:
        """Name of the trace's events at the ends of steps."""
        return self._rarest.mark

    @property
    def _num_steps(self) -> int:
        first = max((item.observed for item in self._stepped), default=0)
        waits = len(self._made) > len(self._stepped) and first < MOST_PREPARING  # for another optimizer's first
        return 0 if waits else self._rarest.observed

    @hook_before(CAPTURE)
    def _captures(self, *_: Any, **__: Any) -> None:
        """Count anew: what the program repeats from now on are replays, and what ran before prepared them."""
        if self.ended_at is None:
            self._num_preparing = self._num_steps
        else:
            self.on_capture()

    @hook_before("torch._C:_swap_tensor_impl", "programs that swap tensors")
    def _swaps(self, *_: Any, **__: Any) -> None:
        """End the observation: `torch.utils.swap_tensors` refuses tensors with weak references, as a session has them."""
        if self.ended_at is None and not self.wait:
            self._enough("the first swap of tensors")

    def _has_steps(self) -> bool:
        return self._num_steps > self._num_preparing

    def sees_repeats(self, eager: "StepWatch") -> bool:
        """Return whether what was compiled is repeated: by steps of an optimizer if `eager` has them, else by calls."""
        calls = [] if eager._num_steps else [item.observed for item in self._graphs.values()]
        return self._num_steps > 0 or max(calls, default=0) >= REPEATS

    def _num_wanted(self) -> int:
        has_optimizer = self._made or self._stepped
        return self._most[0] + min(self._num_preparing, MOST_PREPARING) - self._num_steps if has_optimizer else 0

    @hook_before(REPLAY)
    def called(self, graph: Any, inputs: Iterable[Any] = (), *_: Any, **__: Any) -> None:
        """Say that a compiled graph, or a CUDA graph, is about to run."""
        if threading.get_ident() != self.thread:
            return
        self.not_known = ""
        key = getattr(graph, "_fx_graph_cache_key", None) or self._compiler.names.key_of(graph)
        sizes = tuple(item for item in inputs if type(item) is int)  # dynamic ones
        self._called(self._graphs, key, (key, sizes), lambda: not self._has_steps())

    def _module_called(self, module: Any, frame: FrameType) -> None:
        """Count calls of a module that no other one calls; end the observation where there were enough."""
        caller = frame.f_back
        while caller is not None and caller.f_code is not _call_impl.__code__:
            caller = caller.f_back
        is_call = frame.f_code is torch.nn.Module._wrapped_call_impl.__code__
        if not is_call or caller is not None:
            return
        kind, given, names = type(module), frame.f_locals, self._compiler.names
        with torch._C.DisableTorchFunction():  # else a function mode of the program's would see it
            shapes = _shapes((given["args"], given["kwargs"]))
        what = (kind.__qualname__, getattr(module, "training", None), torch.is_grad_enabled()), shapes
        key = names.noted(module) if self.ended_at is None else names.key_at(id(module), time.time_ns())
        if self.ended_at is None:
            self._kinds.add(kind)
            self.not_known = "" if self.not_known and "torch.Size" in str(what) else self.not_known
        self._called(self.models, key, what, lambda: not self._made)

    def _graph_called(self, graph: Any, frame: FrameType) -> None:
        given = frame.f_locals.get("args", ())  # the list of inputs, or a tuple that holds it
        self.called(graph, given[0] if type(given) is tuple and len(given) == 1 else given)

    def _called(self, all_: dict[Any, Repeated], key: Any, what: Ran, may_end: Callable[[], bool]) -> None:
        """Count a call, with all that tells it from others of the same; time it after the observation."""
        for item in self._stepped:
            if item.calls is not None and len(item.calls) < _MOST_COMPARED:
                item.calls.append(what)
        if self.wait:
            all_[key].tick(self.now(), is_before=True)
            all_[key].running = what
            if not self._made and not self._stepped:
                self._waits(all_[key])
        if not self.wait and self.ended_at is None:  # also of the call that the observation begins with
            all_[key].observed += 1
            all_[key].seen.add(what)
            if all_[key].observed > self._most[1] and may_end() and not busy_with():
                self._enough(f"{self._most[1]} calls")
        elif not self.wait:
            self._num_called += 1
            if (mine := self._timed.get(key)) is not None:
                mine.tick(self.now())
                mine.running = what
            if self._num_called > MOST_TIMED * _MOST_COMPARED or (mine is not None and mine.is_timed):
                self.release()

    def release(self) -> None:
        """Let the program run as without fxscope, but for a hook of optimizers that does nothing, and of compiles."""
        self._is_over.set()
        self.released_at = time.perf_counter_ns()
        self._counting.close()

    def now(self) -> int:
        """Return nanoseconds of the program's own time: without those in which calls are noted."""
        return (self.began or time.perf_counter_ns()) - self.own

    def _compiles(self, *_: Any, **__: Any) -> None:
        """Look at no call of a module while Dynamo looks at what one is; before the observation, at those of graphs."""
        self.timing.close()
        if self.wait:
            self._look_at_graphs()
        for item in self._stepped:
            item.calls = None

    def _wait(self, heap: _Heap) -> None:
        """In a thread of its own: have the main thread end the observation, between two of its bytecodes."""
        left, bound = self._most[2], f"{self._most[2]:g} s"
        before, began, ran = self._clock(), time.monotonic(), 0.0
        while left > 0 or (self._num_wanted() > 0 and left > -_MORE[self._num_steps > 0] * self._most[2]):
            if heap.is_full(ran):
                bound = f"{heap.most >> 20} MB of memory for events"
                break
            if self._is_over.wait(_LOOK_S):
                return
            now, ends = self._clock(), time.monotonic()
            prepares = self._compiler.num_compiling > 0 or is_preparing(self.thread)
            left -= 0 if prepares else now - before
            ran = 0.0 if prepares else ends - began
            before, began = now, ends
        in_main_thread(functools.partial(self._reached, bound))

    def _clock(self) -> float:
        """Return seconds that the observed thread ran: one that waits, as for its children, leaves no events."""
        try:
            return time.clock_gettime(time.pthread_getcpuclockid(self.thread))
        except (AttributeError, OSError):  # not on this system
            return time.monotonic()

    def _reached(self, bound: str) -> None:
        """End the observation, or have it end later where that would harm the program."""
        if self.bound is not None or self._is_over.is_set():  # also of one that is reached while the session ends
            return
        if not busy_with():
            self._enough(bound)
        elif self.thread == threading.main_thread().ident:
            in_main_thread(functools.partial(self._reached, bound))

    def end_observation(self) -> None:
        """Say that from here on steps are only timed: without an optimizer, calls of compiled graphs or of models."""
        if self.ended_at is not None:
            return
        self._is_over.set()
        self.ended_at = time.perf_counter_ns()
        self.was_eager = not self._compiler.num_compiles and not self._graphs
        self._timed = self._repeated()
        if any(item.before for item in (*self._stepped, *self._timed.values())):
            self.release()
        else:
            self._look()

    def _repeated(self) -> dict[Any, Repeated]:
        repeated = self._graphs or {key: item for key, item in self.models.items() if item.observed >= REPEATS}
        return {} if self._has_steps() else repeated

    def _look(self) -> None:
        """Have calls noted that make steps, or that tell them apart: of all models, or of the observed and compiled ones."""
        self.timing.close()
        kinds = [torch.nn.Module] if self.ended_at is None else [] if self._timed is self._graphs else list(self._kinds)
        for kind in kinds:
            if kind._call_impl is _call_impl:
                calls = _Calls(self, self._module_called, _call_impl if kind is torch.nn.Module else None)
                self.timing.put(kind, "_call_impl", calls, "calls of modules")
        if kinds and "torch._dynamo.convert_frame" in sys.modules:
            self.timing.wrap(COMPILE_FRAME, "before", self._compiles)
        if self._graphs and (self.wait or self.ended_at is not None):
            self._look_at_graphs()

    def _look_at_graphs(self) -> None:
        self.timing.replace(COMPILED_CALL, _Calls(self, self._graph_called, resolve(COMPILED_CALL)[2]))

    def _steps(self, optimizer: Any) -> None:
        # A hook of a backward pass is called in autograd's thread
        if threading.get_ident() != self.thread and torch._C._current_graph_task_id() < 0:
            return
        mine = self._stepped_of.get(optimizer)
        if is_new := mine is None:
            taken = set(self._stepped_of.values())
            if not set(self._stepped) - taken:
                self._stepped.append(_Stepped(len(self._stepped)))
            mine = next(item for item in self._stepped if item not in taken)
            self._stepped_of[optimizer] = mine
            with torch._C.DisableTorchFunction():  # else a function mode of the program's would see it
                size = sum(item.numel() for group in optimizer.param_groups for item in group["params"])
            mine.kind = type(optimizer).__qualname__, size
        if mine.calls is None:
            self._look()
        has_compiled = self._num_compiled < self._compiler.num_compiles
        self._num_compiled = self._compiler.num_compiles
        if self.wait or self.ended_at is not None:
            mine.ends(self.now(), is_whole=not (is_new or has_compiled), is_before=self.wait > 0)
            if self.wait:
                self._waits(mine)
            elif mine.is_timed:
                self.release()
            return
        mine.ends(self.now(), is_observed=True)
        mark(mine.mark)
        if busy_with() == CAPTURING:
            self._captures()
        elif has_compiled and sum(item.observed for item in self._stepped) > 1:
            self._num_preparing += 1
        if self._num_wanted() <= 0:
            self._reached("")

    @property
    def waited(self) -> list[tuple[Ran | None, int]]:
        """Return what ran most often before the observation, with its times."""
        every = self._stepped or [*self._graphs.values()] or [*self.models.values()]
        return max((item.before for item in every), key=len, default=[])

    def later(self, num_calls: int | None) -> tuple[StepTimes | None, StepTimes | None]:
        """Return the statistics of unobserved steps like the observed ones, and of all others after the observation.

        `num_calls`: steps that were observed, where calls are the steps, else None. What was called as often is called
        once in a step. 0: that of what was called most often.
        """
        if self.wait:  # a session of the program's came first
            return summary((time / 1e3 for _, time in self.waited if time), "before"), None
        timed = self._timed or self._repeated()
        counts = [item.observed for item in timed.values()]
        wanted = (max(counts, default=0) if num_calls == 0 else num_calls) or math.inf
        early = sum(count for count in counts if count < REPEATS)  # calls of graphs that a recompile replaced
        once = [item for item in timed.values() if -early <= item.observed - wanted <= 2]
        steps = max(once, key=lambda item: len(item.kept), default=self._rarest)
        if steps.varies:
            self.not_known = "step time by shape: no two observed steps had the same shapes"
        other = max((steps, *self._stepped), key=lambda item: len(item.others)).others
        kept = summary((time / 1e3 for time in steps.kept if time), "before" if steps.before else "after")
        others = summary((time / 1e3 for time in other if time), "after")
        return kept, others and replace(others, count=len(other))


def _shapes(value: Any, levels: int = 4) -> Hashable:
    if type(value) in (torch.Tensor, torch.nn.Parameter):
        return None if value.is_nested or torch.jit.is_tracing() else value.shape
    for kind in (tuple, list, dict) if levels else ():
        if issubclass(type(value), kind):
            items: Any = dict.values(value) if kind is dict else kind.__iter__(value)  # a subclass may have others
            return tuple([_shapes(item, levels - 1) for item in islice(items, _MOST_COMPARED)])
    return None


class _Calls:
    """A method of torch's (None: of modules), which says of which object it is looked up, and in which frame.

    The lookup returns torch's own: there is no frame of fxscope's around the program's code.
    """

    def __init__(self, watch: StepWatch, called: Callable[[Any, FrameType], None], method: Any) -> None:
        self._watch, self._called, self._method = watch, called, method

    def __get__(self, owner: Any, kind: type) -> Any:
        method = self._method or torch.nn.Module._call_impl  # which the program may have replaced meanwhile
        if owner is None:
            return method
        if threading.get_ident() == self._watch.thread:
            self._watch.began = time.perf_counter_ns()
            self._watch.timing.guard("calls", self._called, owner, sys._getframe(1))
            self._watch.own += time.perf_counter_ns() - self._watch.began
            self._watch.began = 0
        return MethodType(method, owner)


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
    return CAPTURING if torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing() else ""


_soon: collections.deque[Callable[[], object]] = collections.deque()


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
def _call_soon(_: int | None) -> int:
    with signals_held():
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
