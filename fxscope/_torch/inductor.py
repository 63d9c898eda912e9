"""Observe the compiler: graphs, output code, kernel calls, guards, recompiles, graph breaks."""

import contextlib
import importlib
import itertools
import linecache
import os
import sys
import threading
import traceback
import weakref
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from types import CodeType, FrameType
from typing import Any, get_args

import torch

from fxscope._torch import nodes as live, numerics
from fxscope._torch.guards import with_values
from fxscope._torch.hooks import Hooks, WithoutStacks, hook_after, hook_around, hook_before, resolve, switches
from fxscope._torch.module_names import ModuleNames, ObjectKey
from fxscope._torch.scheduler_facts import Lines
from fxscope.data import read_table
from fxscope.english import explained, failure_text, torchs_break_text
from fxscope.errors import one_line
from fxscope.index import COMPILED, Key
from fxscope.model import (
    Compile,
    Direction,
    Evidence,
    Graph,
    KernelCall,
    Link,
    NearMiss,
    Node,
    Recording,
    Rewrite,
    Schedule,
    Source,
    SourceText,
    Stage,
    replace,
)
from fxscope.op_names import COMPILED_REGION, INDUCTOR_RUNS, PACKAGE
from fxscope.passes.schedules import match
from fxscope.readers import output_code
from fxscope.readers.cache_keys import CacheKeys
from fxscope.readers.compile_log import of_metrics, place_of_frame
from fxscope.text import first_line

HANDLES = "torch._inductor.debug:_inductor_triton_kernel_to_post_grad_node_info"
AUTOGRAD_CACHE = "torch._functorch._aot_autograd.autograd_cache:AOTAutogradCache"
TREES = "torch._inductor.cudagraph_trees"
FRAMES_SO_FAR = "torch._dynamo.convert_frame:FRAME_COUNTER"
METRICS = "torch._dynamo.utils:get_compilation_metrics"
_MAX_GUARDS = 2000
NO_FRAME = "Dynamo compiled no frame: it is disabled, has none in Python, or failed earlier (torch._dynamo.reset())"


# The switches that a capture needs, for each config module. Level 1 of provenance tracking writes a debug handle beside
# each call. C++ kernels appear in a trace only with `enable_kernel_profile`. Both are part of the generated code, so they
# are on for the compile, not for the run. They are part of the key of a cache: other runs do not find this code.
SWITCHES: dict[str, dict[str, Any]] = read_table("switches.json")


class InductorCapture:
    """Collect every compile of this process while the context is open."""

    def __init__(self) -> None:
        self.hooks = Hooks()
        self.no_dynamo = self._failure_of_dynamo()  # why it cannot be imported; None where it can
        self._graphs: dict[str, Graph] = {}
        self._calls: dict[str, tuple[KernelCall, ...]] = {}
        self._links: dict[tuple[Key, Key], Link] = {}
        self._sources: dict[str, SourceText] = {}
        self._schedules: dict[str, Schedule] = {}
        self._compiles: dict[str, Compile] = {}
        self._rewrites: list[Rewrite] = []
        self._near_misses: dict[tuple[str, str], NearMiss] = {}
        self._fx_graphs: dict[int, tuple[str, Any]] = {}  # id(fx.Graph) → (our id, the graph kept alive)
        self._callers: dict[str, Source | None] = {}  # the user's line that called what is compiled
        self.names = ModuleNames()
        # code of `forward`, and module that it was compiled for → ids of these compiles
        self._modules: defaultdict[tuple[CodeType, ObjectKey], set[str]] = defaultdict(set)
        self.compiled_modules = set[ObjectKey]()
        self._metrics_before: set[int] = set()
        self._lock = threading.RLock()
        self._depth = threading.local()
        self._installed = False
        self._watch: Any = None
        self._keys = CacheKeys()
        self._plain: dict[str, Any] = {}  # Inductor's switches that fxscope sets, as the program has them
        self._saved = defaultdict[str, list[tuple[str, str | None]]](list)  # key → compile id, guards on symbolic sizes
        self._recordings: dict[str, list[int]] = {}  # compile id → the code of each CUDA graph that was recorded
        self._num_aot, self._num_keys = itertools.count(), itertools.count(1)
        self._ids: dict[int, str] = {}  # number of a graph in Inductor → compile id
        self.num_compiles = 0  # graphs so far
        self._num_frames = 0  # that Dynamo began to compile
        self._codes_skipped = set[CodeType]()  # of functions that it skipped
        self.num_compiling = 0  # compiles that go on, in any thread: a backward is compiled as it first runs
        self.on_compile: Callable[[], None] = lambda: None  # called before Dynamo compiles a frame
        self.numerics: numerics.Run | None = None  # where the compiled values are to be compared
        self.is_our_session: Callable[[], bool] = lambda: False  # whether what profiles now is fxscope's own session

    def _failure_of_dynamo(self) -> Exception | None:
        """Import Dynamo; return what that raises: its modules read variables and folders of the environment."""
        try:
            importlib.import_module("torch._dynamo")
        except Exception as error:
            message = f"cannot be imported here ({one_line(error)}): ops are known from the profiler alone"
            self.hooks.problem("torch._dynamo", message, "see `python -c 'import torch._dynamo'`")
            return error
        return None

    def __enter__(self) -> "InductorCapture":
        hooks = self.hooks
        if self.no_dynamo is not None:
            return self
        _open.add(self)
        try:
            hooks.install(self, ("torch._dynamo", "torch._inductor:", "torch._C."))
            self._metrics_before = {id(metrics) for metrics in self._metrics()}
            if "torch._inductor.compile_fx" in sys.modules:
                self._install_inductor()
        except BaseException:
            hooks.close()
            raise
        return self

    @hook_before("torch._dynamo.output_graph:OutputGraph.call_user_compiler", "graphs of Inductor")
    @hook_before("torch._inductor:aot_compile", "graphs compiled without Dynamo")
    @hook_before("torch._inductor:compile", "graphs compiled without Dynamo")
    @hook_before("torch._inductor:standalone_compile", "graphs compiled without Dynamo", optional=True)
    def _install_inductor(self, *_: Any, **__: Any) -> None:
        """Put the hooks into Inductor, when it is there or about to be: a program without it should not import it."""
        if self._installed:
            return
        self._installed = True
        self.hooks.install(self, ("torch._inductor.", "torch._functorch.", "torch.fx.", "torch.compiler."))
        from fxscope._torch.rewrites import Rewrites
        from fxscope._torch.scheduler import Watch

        self.hooks.guard("rewrites", Rewrites, self.hooks, self._rewrites.append, self._passed_graph, self._near_misses)
        self._watch = self.hooks.guard("scheduler", Watch, self.hooks)

    @hook_around("torch._C._aoti:AOTIModelPackageLoader.run", "packages of AOTInductor", optional=True)
    @hook_around("torch._C._aoti:AOTIModelPackageLoader.boxed_run", "packages of AOTInductor", optional=True)
    def _packaged(self, original: Callable[..., Any], package: Any, *args: Any, **kwargs: Any) -> Any:
        """Mark a package's run as torch marks that of another compiled graph: its code is C++, and marks nothing."""
        mark = torch._C._profiler._RecordFunctionFast
        with mark(f"{COMPILED_REGION}: {PACKAGE}{id(package)}"), mark(f"{INDUCTOR_RUNS} {PACKAGE}{id(package)} ##"):
            return original(package, *args, **kwargs)

    def __exit__(self, *exception: object) -> None:
        _open.discard(self)
        self.hooks.guard("compilation metrics", self._read_metrics)
        self.hooks.close()

    @property
    def why_no_graph(self) -> str:
        """Why Dynamo made no graph, in its words, with the lines of source."""
        met = {f"{problem.where}: {problem.message}": "" for problem in self.hooks.problems}  # reason → the place
        for item in self._compiles.values():
            source = item.break_source or item.source
            place = f" ({PurePath(source.file).name}:{source.line})" if source is not None and source.file else ""
            for text in filter(None, (item.failure, item.break_reason)):
                met.setdefault(explained(text), place)
        without = "Dynamo met no op" if self._num_frames else NO_FRAME
        return "; ".join([text + place for text, place in met.items()][:3]) or without

    def facts(self) -> Recording:
        with self._lock:
            return Recording(
                graphs=tuple(sorted(self._graphs.values(), key=_graph_order)),
                calls=tuple(call for calls in self._calls.values() for call in calls),
                links=tuple(self._links.values()),
                sources=(*self._sources.values(), *_user_files(self._graphs.values())),
                schedules=tuple(self._schedules.values()),
                rewrites=tuple(self._rewrites),
                near_misses=tuple(self._near_misses.values()),
                compiles=tuple(self._compiles.values()),
                problems=tuple(self.hooks.problems),
            )

    @hook_around(
        "torch._dynamo.callback:CompilationCallbackHandler.install_callbacks", "leaving out the compiler's own calls"
    )
    @contextlib.contextmanager
    def _around_compile(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Generator[None]:
        """Return what torch has around each compile, of a backward in autograd's threads, too."""
        is_backward = any(getattr(item, "name", "") == "LAZY_BACKWARD" for item in (*args, *kwargs.values()))
        if not is_backward and not getattr(self._depth, "compiling", 0):  # a method of this class may raise
            self._num_frames += 1
            self.hooks.guard("a compile after the observation", self.on_compile)
        begin = self._config_here if is_backward else self._compiling
        with original(*args, **kwargs), self.hooks.guard("stacks", begin) or contextlib.nullcontext():
            yield

    @hook_around("torch._dynamo:reset", "distinct ids of compiles after a reset")
    def _resets(self, original: Callable[..., Any]) -> None:
        """Have Dynamo count on: else the next compile has the id of the first, in its graphs, logs and traces."""
        counter = self.hooks.guard("ids of compiles", resolve, FRAMES_SO_FAR)
        original()
        if counter is not None:
            setattr(*counter)

    def _compile_id(self) -> str:
        return current_compile_id(default=getattr(self._depth, "compile_id", "unknown"))

    @hook_before("torch._dynamo.output_graph:OutputGraph.call_user_compiler", "pre-grad graphs")
    def _pre_grad(self, output_graph: Any, module: Any, *_: Any, **__: Any) -> None:
        compile_id = self._compile_id()
        with self._lock:
            self.num_compiles += 1
            self._callers[compile_id] = live.caller()
            self._add_graph(f"{compile_id}:pre_grad", "pre_grad", None, module.graph)
            code = getattr(getattr(output_graph, "root_tx", None), "f_code", None)
            self._compile(compile_id, source=_place(code) if code is not None else None)

    @hook_before("torch._dynamo.output_graph:OutputGraph.compile_subgraph", "reasons for graph breaks")
    def _subgraph_ends(self, output_graph: Any, tx: Any, reason: Any = None, *_: Any, **__: Any) -> None:
        if reason is None or not getattr(reason, "graph_break", False):
            return
        frames = list(getattr(reason, "user_stack", None) or ())
        logged, message = getattr(self._depth, "break_", (lambda: None, None))
        text = str(message if message and logged() is output_graph else reason.reason).strip()
        if frames and not live.is_user_file(frames[-1].filename):
            text = torchs_break_text(text, frames[-1].filename, frames[-1].lineno)
        source = live.source_of_frames(frames)
        if source is None or not live.is_user_file(source.file or ""):  # a function of torch's is compiled
            source = live.caller() or source
        self._compile(self._compile_id(), break_reason=text, break_source=source)

    @hook_before("torch._dynamo.convert_frame:format_error_msg", "frames that Dynamo does not begin to compile")
    def _left_to_python(self, error: Any, code: CodeType, *_: Any, **__: Any) -> None:
        """Keep why no compile of a frame began, such as a generator's: Dynamo has no record of it."""
        if all(frame.f_code.co_name != "_compile" for frame, _ in traceback.walk_tb(error.__traceback__)):
            self._not_begun(code, failure_text(type(error).__qualname__, str(error)))

    @hook_before("torch._dynamo.convert_frame:compute_cache_size", "skipped frames")
    def _considered(self, frame: FrameType, *_: Any, **__: Any) -> None:
        """Note whose compile Dynamo considers: what ends it from here on has a record, or no op is lost."""
        self._depth.considered = frame.f_code

    @hook_before("torch._dynamo.convert_frame:CatchErrorsWrapper._handle_skip", "skipped frames", optional=True)
    def _skipped(self, _: Any, result: Any, frame: FrameType) -> None:
        """Keep why Dynamo did not consider a frame of the user's: of the outermost one, which calls the others."""
        considered, self._depth.considered = getattr(self._depth, "considered", None), None
        if result.skip_reason is None or considered is frame.f_code or not live.is_user_file(frame.f_code.co_filename):
            return
        if all(caller.f_code not in self._codes_skipped for caller, _ in traceback.walk_stack(frame.f_back)):
            self._not_begun(frame.f_code, result.skip_reason)
        self._codes_skipped.add(frame.f_code)

    def _not_begun(self, code: CodeType, failure: str) -> None:
        compile_id = f"skipped/{len(self._compiles)}"
        self._compile(compile_id, source=_place(code), failure=failure, untraced=True, duration_us=0.0)

    @hook_before("torch._dynamo.symbolic_convert:InstructionTranslatorBase.log_graph_break", "reasons for graph breaks")
    def _break_logged(self, tx: Any, *_: Any, exc: Any = None, **__: Any) -> None:
        """Keep torch's explanation: the graph that ends at a branch on a tensor has the instruction's name alone."""
        self._depth.break_ = (weakref.ref(tx.output), getattr(exc, "msg", None))

    @hook_after("torch._dynamo.guards:CheckFunctionManager.__init__", "guards")
    def _guards(self, _: Any, manager: Any, code: CodeType, output_graph: Any, *__: Any, **___: Any) -> None:
        guard_manager = manager.guard_manager
        parts = getattr(guard_manager, "verbose_code_parts", None) or getattr(guard_manager, "code_parts", None) or ()
        if (module := _module_of(getattr(output_graph, "local_scope", {}))) is not None:
            self.compiled_modules.add(key := self.names.noted(module))
            self._modules[code, key].add(self._compile_id())
        guards = tuple(str(part).strip() for part in list(parts)[:_MAX_GUARDS])
        self._compile(self._compile_id(), guards=guards, source=_place(code))

    @hook_after("torch._dynamo.convert_frame:get_and_maybe_log_recompilation_reasons", "reasons for recompiles")
    def _recompiles(self, reasons: Any, entries: Any, frame: FrameType, *__: Any, **___: Any) -> None:
        """Keep the guards that failed. Of torch's own code, only those of versions for the same module, if there are any."""
        if not reasons:
            return
        lines = [str(reason).strip() for reason in reasons]
        module = None if live.is_user_file(frame.f_code.co_filename) else _module_of(frame.f_locals)
        if module is not None:
            same = self._modules.get((frame.f_code, self.names.noted(module)), ())
            lines = [line for line in lines if line.partition(": ")[0] in same]
        lines = self.hooks.guard("guards", with_values, lines, entries, frame.f_locals) or lines
        self._compile(self._compile_id(), recompile_reason="\n".join(lines), source=_place(frame.f_code))

    @hook_around("torch._inductor.compile_fx:compile_fx", "names of nodes in generated code")
    def _around_inductor(self, original: Callable[..., Any], module: Any, *args: Any, **kwargs: Any) -> Any:
        """Have the switches on for all that a cache key is made of; outside of Dynamo, name the compile as a log's reader."""
        if not getattr(self._depth, "inductor", False):
            known = getattr(module, "meta", {}).get("dynamo_compile_id")  # of its graph
            self._depth.compile_id = str(known or f"aot/{next(self._num_aot)}")
        with self.hooks.guard("Inductor's switches", self._config_here) or contextlib.nullcontext():
            return original(module, *args, **kwargs)

    @hook_around("torch._inductor.codecache:GuardedCache.find_guarded_entry", "graphs from a cache")
    def _candidates(self, original: Any, kind: Any, key: str, local: Any, remote: Any, *of: Any, **named: Any) -> Any:
        """Hide what a cache has from a compile: a graph out of a cache is not lowered, and leaves no evidence."""
        if not getattr(self._depth, "inductor", False):
            return original(kind, key, local, remote, *of, **named)
        if local and kind.__name__ == "FxGraphCache":
            self.hooks.guard("cache keys", self._hidden, kind, key.rpartition("-")[0], *of, **named)
        return original(kind, key, False, None, *of, **named)

    def _hidden(self, cache: Any, key: str, holds: Callable[..., bool], sizes: list[int]) -> None:
        """Keep what is hidden: the code of an earlier compile, which torch would have saved, or of the cache's folder."""
        entries = (("", item.guards_expr) for item, *_ in cache.iterate_over_candidates(True, None, key))
        held = (name for name, guards in (*self._saved[key], *entries) if not guards or holds(guards, sizes))
        known = getattr(self._compiles.get(self._compile_id()), "cache_held", ())
        self._compile(self._compile_id(), cache_held=(*known, next(held, None)))

    @hook_around("torch._inductor.codecache:FxGraphCache._write_to_local_cache", "what is cached")
    @hook_around(f"{AUTOGRAD_CACHE}._write_to_local_cache", "what is cached")
    def _cached(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Leave a compile's code out of the folders: no other run finds it. What a program saves itself is written."""
        if not getattr(self._depth, "inductor", False):
            original(*args, **kwargs)

    @hook_around("torch._inductor.codecache:FxGraphCache.prepare_key", "cache keys")
    def _cache_key(self, original: Callable[..., Any], module: Any, *args: Any, **kwargs: Any) -> Any:
        """Give each graph a key of its own, by which a trace names its runs: equal graphs have the same from torch."""
        with importlib.import_module("torch._inductor.config").patch(self._plain):  # the key is that without fxscope
            found, about = original(module, *args, **kwargs)
        return self.hooks.guard("cache keys", self._distinct, found, about) or found, about

    def _distinct(self, found: tuple[str, list[str]] | None, about: Mapping[str, Any]) -> tuple[str, list[str]] | None:
        compile_id = self._compile_id()
        if found is None:
            self._compile(compile_id, cache_bypass=about.get("cache_bypass_reason"))
            return None
        with self._lock:
            key, lines = found
            source, kind = getattr(self._compiles.get(compile_id), "source", None), self._depth.direction == "backward"
            self._compile(compile_id, **self._keys.add(kind, source, compile_id, key, lines))
            return f"{key}-{next(self._num_keys)}", lines

    def _passed_graph(self, stage: str | None) -> str:
        compile_id = self._compile_id()
        names = {"pre_grad": "pre_grad", "post_grad": getattr(self._depth, "direction", "inference")}
        joint = "joint" if f"{compile_id}:joint" in self._graphs else "inference"
        return f"{compile_id}:{names.get(stage or '', joint)}"

    @hook_before("torch._inductor.compile_fx:_recursive_joint_graph_passes", "AOTAutograd's inference and joint graphs")
    def _aot_graph(self, module: Any, *_: Any, **__: Any) -> None:
        """Keep the graph before the passes; after that, torch runs them on its subgraphs by the same function."""
        joint = any(node.op == "placeholder" and "tangents" in str(node.target) for node in module.graph.nodes)
        kind, stage, direction = ("joint", "joint", None) if joint else ("inference", "forward", "inference")
        if (graph_id := f"{self._compile_id()}:{kind}") not in self._graphs:
            self._add_graph(graph_id, stage, direction, module.graph)

    @hook_around("torch._inductor.compile_fx:_compile_fx_inner", "forward and backward graphs, cache hits, CUDA graphs")
    def _inner_compile(self, original: Callable[..., Any], module: Any, *args: Any, **kwargs: Any) -> Any:
        direction = _direction(kwargs.get("is_inference"), kwargs.get("is_backward"))
        compile_id = self.hooks.guard("ids of compiles", self._compile_id) or "unknown"
        if (number := kwargs.get("graph_id")) is not None:  # the same of a forward and its backward
            compile_id = self._depth.compile_id = self._ids.setdefault(number, compile_id)
        if direction != "inference" or f"{compile_id}:inference" not in self._graphs:  # before the joint passes
            place = (f"{compile_id}:{direction}", "backward" if direction == "backward" else "forward", direction)
            self.hooks.guard("forward and backward graphs", self._add_graph, *place, module.graph)
        self._depth.direction, self._depth.left_out, self._depth.lowered = direction, None, None
        asked = None if (graphs := kwargs.get("cudagraphs")) is None else bool(graphs)  # torch may clear it on the way
        with self.hooks.guard("Inductor's switches", self._config_here) or contextlib.nullcontext():
            result = original(module, *args, **kwargs)
        self.hooks.guard("inner compile", self._compiled, compile_id, self._depth.lowered, asked, result)
        if self.numerics is not None and self._depth.lowered is not None:
            self.hooks.guard("numerics", self.numerics.compiled, result)
        return result

    @hook_after("torch.compiler._cache:CacheArtifactManager.serialize", "artifacts of caches", optional=True)
    def _artifacts(self, artifacts: Any, *_: Any, **__: Any) -> None:
        if artifacts is not None:
            what = "saved artifacts hold code that was compiled with fxscope's switches: a run without them does not find it"
            self.hooks.problem("artifacts of caches", what, "save them in a run without fxscope")

    def _config_here(self) -> Any:
        # Only around a compile, and in the thread that compiles: config values are context variables since torch 2.13,
        # and a CUDA backward is compiled on autograd's own thread.
        with contextlib.ExitStack() as stack:  # what fails on the way takes back what was entered
            # What AOTInductor packages is kept and shipped: fxscope's switches would be in it.
            if not getattr(importlib.import_module("torch._inductor.virtualized").V, "aot_compilation", False):
                if not getattr(self._depth, "inductor", False):
                    ours = SWITCHES["torch._inductor.config"]
                    self._plain = {name: value for name, value in switches().items() if name in ours}
                for module, values in SWITCHES.items():
                    stack.enter_context(importlib.import_module(module).patch(values))
            stack.callback(setattr, self._depth, "inductor", getattr(self._depth, "inductor", False))
            self._depth.inductor = True
            stack.enter_context(self._compiling())
            return stack.pop_all()

    def num_compiling_here(self) -> int:
        """Return how many compiles go on in this thread, one in the other."""
        return getattr(self._depth, "compiling", 0)

    @contextlib.contextmanager
    def _compiling(self) -> Generator[None]:
        """Keep what the compiler does in this thread, millions of calls, out of fxscope's profile, but for one event."""
        depth = getattr(self._depth, "compiling", 0)
        is_ours = self.hooks.guard("compiles in the profile", self.is_our_session)
        self._depth.compiling = depth + 1
        self.num_compiling += 1
        with contextlib.ExitStack() as stack:
            if is_ours and depth == 0:
                stack.enter_context(torch._C._profiler._RecordFunctionFast(COMPILED))
                torch._C._autograd._enable_record_function(False)
                stack.callback(torch._C._autograd._enable_record_function, True)
            if is_ours:
                stack.enter_context(WithoutStacks())
            try:
                yield
            finally:
                self.num_compiling -= 1
                self._depth.compiling = depth

    @hook_after("torch.fx.experimental.proxy_tensor:_MakefxTracer.__init__", "quick compiles")
    def _without_stacks(self, _: Any, tracer: Any, *__: Any, **___: Any) -> None:
        """Take back what tracking provenance makes slow: a stack trace of the compiler for every node without a line."""
        if getattr(self._depth, "compiling", 0):
            tracer.record_stack_traces = False

    def _compiled(self, compile_id: str, graph_id: str | None, cudagraphs: bool | None, result: Any) -> None:
        failed = getattr(getattr(result, "cudagraph_info", None), "cudagraph_fail_reasons", None) or ()
        skip = getattr(result, "disabled_cudagraphs_reason", None) or ", ".join(failed) or self._depth.left_out
        key = getattr(result, "_fx_graph_cache_key", None)
        with self._lock:
            known = getattr(self._compiles.get(compile_id), "cudagraphs", None)
            self._compile(
                compile_id,
                cudagraphs=known or cudagraphs,  # a forward's skip is the backward's
                cudagraph_skip=skip if cudagraphs else None,
                config=_changed_config(),
                cache=None if graph_id is None else "bypassed" if key is None else "miss",
            )
            if key is not None:
                self._saved[key.rpartition("-")[0]].append((compile_id, result.guards_expr))
            if hasattr(result, "_fx_graph_cache_key") and graph_id in self._graphs:
                # Runs in a trace carry the key, which is None where no cache can hold the graph.
                result._fx_graph_cache_key = key or graph_id.removesuffix(":post_grad")
                self._graphs[graph_id] = replace(self._graphs[graph_id], cache_key=result._fx_graph_cache_key)

    @hook_after(f"{TREES}:CUDAGraphTreeManager.record_function", "recorded CUDA graphs", optional=True)
    def _recorded(self, _: Any, manager: Any, inputs: Any, function_id: Any) -> None:
        """Count recordings. Each size of a dynamic shape is a function of its own, with the same code."""
        recordings = self._recordings.setdefault(str(manager.compile_id), [])
        recordings.append(id(manager.ids_to_funcs[function_id].model))
        self._ran(manager, cudagraph_rerecords=len(recordings) - len(set(recordings)))

    @hook_after("torch._inductor.scheduler:Scheduler.should_partition", "what CUDA graphs leave out", optional=True)
    def _left_out(self, reason: str | None, _: Any, node: Any, *__: Any, **___: Any) -> None:
        """Keep why a graph is cut: the first op that cannot be captured, at its line."""
        if reason and not getattr(self._depth, "left_out", None) and getattr(node, "node", None) is not None:
            traces = filter(None, (origin.stack_trace for origin in node.node.get_origins()))
            self._depth.left_out = f"{reason} Found from {next(traces, '')}"

    @hook_before("torch._inductor.compile_fx:log_cudagraph_skip_and_bump_counter", optional=True)
    @hook_before(f"{TREES}:log_cudagraph_skip_and_bump_counter", "why CUDA graphs are skipped", optional=True)
    def _not_replayed(self, message: str, *_: Any, **__: Any) -> None:
        """Keep what torch finds only when it runs a graph (inputs that are written in place), or before it has one."""
        frame: FrameType | None = sys._getframe()
        while frame is not None and type(frame.f_locals.get("self")).__name__ != "CUDAGraphTreeManager":
            frame = frame.f_back
        if frame is not None:
            self._ran(frame.f_locals["self"], cudagraph_skip=message)
        else:
            self._compile(self._compile_id(), cudagraphs=True, cudagraph_skip=message)

    def _ran(self, manager: Any, **fields: Any) -> None:
        if str(manager.compile_id) in self._compiles:  # not of what was compiled before
            self._compile(str(manager.compile_id), **fields)

    @hook_around("torch._inductor.graph:GraphLowering.codegen", "post-grad graphs, output code, kernel calls")
    def _codegen(self, original: Callable[..., Any], lowering: Any, *args: Any, **kwargs: Any) -> Any:
        # Autotuning lowers candidates by the same way, inside the real one.
        if getattr(self._depth, "value", 0) or type(lowering).__name__ != "GraphLowering":
            if type(lowering).__name__ == "SubgraphLowering" and getattr(self._depth, "value", 0):
                self._depth.subgraphs.append(lowering)  # of `torch.cond`, a loop, a region that is compiled once
            return original(lowering, *args, **kwargs)
        self._depth.value, self._depth.subgraphs = 1, []
        try:
            result = original(lowering, *args, **kwargs)
        finally:
            self._depth.value = 0
        self.hooks.guard("post-grad graph", self._lowered, lowering, result)
        return result

    def _lowered(self, lowering: Any, result: Any) -> None:
        direction = _direction(lowering.is_inference, lowering.is_backward)
        with self._lock:
            graph_id = self._depth.lowered = self._free_id(f"{self._compile_id()}:{direction}:post_grad")
            self._add_graph(graph_id, "post_grad", direction, lowering.module.graph)
            text = getattr(result[0] if isinstance(result, tuple) else result, "value", None)
            names = [node.name for node in self._graphs[graph_id].nodes]
            if isinstance(text, str):
                table = self.hooks.value(HANDLES, "the nodes of debug handles") or {}
                handles = {handle: tuple(nodes) for handle, nodes in table.items()}
                self.hooks.guard("output code", self._add_code, graph_id, text, handles, names)
            if self.numerics is not None:
                self.hooks.guard("numerics", self.numerics.lowered, graph_id, lowering.module)
            texts = str(text).splitlines()
            self.hooks.guard("scheduler facts", self._scheduled, lowering, graph_id, graph_id, texts)
            called = {call.subgraph for call in self._calls.get(graph_id, ())}
            for subgraph in (item for item in self._depth.subgraphs if item.name in called):
                known = output_code.subgraph_id(graph_id, subgraph.name)
                self._graphs[known] = _graph(known, "post_grad", direction, subgraph.module.graph)
                self.hooks.guard("scheduler facts", self._scheduled, subgraph, known, graph_id, texts)

    def _scheduled(self, lowering: Any, graph_id: str, wrapper: str, texts: Sequence[str]) -> None:
        """Keep the schedule of a graph, and the lines of the kernels that its calls in a wrapper run."""
        if self._watch is None:
            return
        schedule, lines = self._watch.collect(lowering, graph=graph_id)
        if schedule is None:
            return
        self._schedules[graph_id] = schedule
        mine = [call for call in self._calls.get(wrapper, ()) if call.graph == graph_id]
        done = {call.id: call for call in with_lines(mine, schedule, lines, texts)}
        self._calls[wrapper] = tuple(done.get(call.id, call) for call in self._calls.get(wrapper, ()))

    def _add_code(self, graph_id: str, text: str, handles: dict[str, tuple[str, ...]], names: Iterable[str]) -> None:
        source_id = graph_id.replace(":post_grad", ":output_code")
        self._sources[source_id] = SourceText(id=source_id, kind="output_code", text=text, graph=graph_id)
        parsed = output_code.parse(text)
        if parsed.unread:
            self.hooks.problem(graph_id, parsed.unread, parsed.remedy)
        calls = output_code.kernel_calls(parsed, graph_id)
        self._calls[graph_id] = tuple(output_code.named_calls(calls, {graph_id: names}, handles, parsed.kernels))

    def _add_graph(self, graph_id: str, stage: Any, direction: Direction | None, graph: Any) -> None:
        with self._lock:
            found = _graph(graph_id, stage, direction, graph)
            if stage == "pre_grad":
                found = replace(found, nodes=_with_caller(found.nodes, self._callers.get(found.compile_id or "")))
            self._graphs[graph_id] = found
            if stage != "pre_grad":
                self._link_back(graph_id, direction, graph)
            self._fx_graphs[id(graph)] = (graph_id, graph)

    def _link_back(self, graph_id: str, direction: Direction | None, graph: Any) -> None:
        compile_id = graph_id.partition(":")[0]
        earlier = {
            candidate: {node.name for node in self._graphs[candidate].nodes}
            for candidate in (f"{compile_id}:pre_grad", f"{compile_id}:joint", f"{compile_id}:{direction}")
            if candidate in self._graphs and candidate != graph_id
        }
        for node in graph.nodes:
            if node.op in ("placeholder", "output"):
                continue
            # The partitioner and Inductor's passes keep a node that they do not replace, and its name with it. What they
            # take away (`alias`) may leave its ancestry at the node whose result is used in its place.
            kept = [known for known, names in earlier.items() if not known.endswith(":pre_grad") and node.name in names]
            for candidate in kept:
                self._link((candidate, node.name), (graph_id, node.name), "name")
            for name, identity in live.ancestry(node.meta):
                # The graph of a pattern's replacement is not known, and its names are its own.
                candidate = self._fx_graphs[identity][0] if identity in self._fx_graphs else None
                if candidate is not None and candidate not in kept and name in earlier.get(candidate, ()):
                    self._link((candidate, name), (graph_id, node.name), "from_node")

    def _link(self, from_: Key, to: Key, evidence: Evidence) -> None:
        self._links.setdefault((from_, to), Link(from_=from_, to=to, relation="lowered_to", evidence=evidence))

    def _free_id(self, graph_id: str) -> str:
        """An id that is not taken: a compile id can have several Inductor graphs (DDP's buckets)."""
        others = (graph_id.replace(":post_grad", f"_{number}:post_grad") for number in itertools.count(2))
        return next(free for free in itertools.chain([graph_id], others) if free not in self._graphs)

    def _compile(self, compile_id: str, **fields: Any) -> None:
        fields = {name: value for name, value in fields.items() if value is not None}
        with self._lock:
            known = self._compiles.get(compile_id) or Compile(compile_id=compile_id)
            self._compiles[compile_id] = replace(known, **fields)

    def _metrics(self) -> list[Any]:
        found = self.hooks.value(METRICS, "compile times") if self.no_dynamo is None else None
        return list(found()) if found else []

    def functions(self) -> dict[str, str]:
        """Return compile id → the user's function, of the last compiles of this process, also before the recording."""
        every = [item for item in self._metrics() if item.co_filename and live.is_user_file(item.co_filename)]
        return {it.compile_id: f"{it.co_name} ({PurePath(it.co_filename).name}:{it.co_firstlineno})" for it in every}

    def _read_metrics(self) -> None:
        """Add what only Dynamo's own record of a compile says: how long it took, and why it failed."""
        for metrics in self._metrics():
            compile_id = metrics.compile_id
            if id(metrics) in self._metrics_before or compile_id is None or getattr(metrics, "is_runtime", False):
                continue
            found = of_metrics(self._compiles.get(compile_id), vars(metrics))
            if failure := found.get("failure"):
                found["source"] = self._failed_at(metrics)
                if not found["untraced"]:
                    self.hooks.problem(f"compile {compile_id}", first_line(failure))
            if failure or compile_id in self._compiles:
                self._compile(compile_id, **found)

    def _failed_at(self, metrics: Any) -> Source | None:
        """The user's line at which a compile failed; where it did not begin, what earlier compiles of the frame compiled."""
        file, line = (getattr(metrics, f"fail_user_frame_{what}", None) for what in ("filename", "lineno"))
        if file and not live.is_user_file(file):  # in a function of torch's that the user's frame calls
            file, line = metrics.co_filename, metrics.co_firstlineno
        if file:
            return Source(file=file, line=line, function=metrics.co_name)
        return place_of_frame(metrics.compile_id, self._compiles)


def _place(code: CodeType) -> Source:
    """The name and the user's line of a compiled function: of one that is not in the user's files, who calls it."""
    source = Source(file=code.co_filename, line=code.co_firstlineno, function=code.co_name)
    caller = None if live.is_user_file(code.co_filename) else live.caller()
    return source if caller is None else replace(caller, function=code.co_name)


def _module_of(scope: Mapping[str, Any]) -> torch.nn.Module | None:
    """The module that a compiled frame calls: `fn` in the function that torch wraps around a module of its own."""
    module = scope.get("self", scope.get("fn"))
    return module if isinstance(module, torch.nn.Module) else None


def current_compile_id(default: str = "unknown") -> str:
    """The id of the compile that is going on in this thread, such as `"0/0"`."""
    found = torch._guards.CompileContext.current_compile_id()
    return str(found) if found is not None else default


def _graph(graph_id: str, stage: Any, direction: Direction | None, graph: Any) -> Graph:
    place: dict[str, Any] = {"stage": stage, "compile_id": graph_id.partition(":")[0], "direction": direction}
    outputs = tuple(dict.fromkeys(source.name for source in graph.output_node().all_input_nodes))
    return Graph(id=graph_id, nodes=tuple(map(live.fx_node, graph.nodes)), outputs=outputs, **place)


def _with_caller(nodes: tuple[Node, ...], caller: Source | None) -> tuple[Node, ...]:
    """Give ops that torch recorded no line for (those of a bare `nn.Linear`) the line that called the whole."""
    if caller is None:
        return nodes

    def placed(node: Node) -> Node:
        source, is_call = node.source or Source(), node.op.startswith("call_")
        known = replace(caller, module=source.module, module_type=source.module_type)
        return replace(node, source=known) if is_call and source.file is None else node

    return tuple(map(placed, nodes))


def _direction(is_inference: Any, is_backward: Any) -> Direction:
    return "backward" if is_backward else "inference" if is_inference else "forward"


def with_lines(
    calls: Sequence[KernelCall], schedule: Schedule, lines: Lines, texts: Sequence[str]
) -> Iterator[KernelCall]:
    """The calls with the node that each line of their kernel computes, of lines that the output code has as written."""
    members = {call.id: names for call, names in match(calls, schedule)}
    written = [text.strip() for text in texts]
    for call in calls:
        first = call.code.kernel[0] if call.code.kernel else 0
        known = lines.get(members.get(call.id, ()), {}) if first else {}
        found = ((first + 1 + position, text, name) for position, (text, name) in known.items())
        fitting = ((number, name) for number, text, name in found if written[number - 1 : number] == [text])
        yield replace(call, lines=tuple(fitting))


def _changed_config() -> dict[str, Any]:
    """Inductor's switches that differ from their default, without those that fxscope sets."""
    entries = importlib.import_module("torch._inductor.config")._config
    theirs = {name: it for name, it in switches().items() if name not in SWITCHES["torch._inductor.config"]}
    changed = {name: it for name, it in theirs.items() if it != getattr(entries[name], "default", None)}
    return {name: it if isinstance(it, bool | int | float | str | None) else repr(it) for name, it in changed.items()}


def _graph_order(graph: Graph) -> tuple[Any, ...]:
    number = [int(part) if part.isdigit() else 0 for part in (graph.compile_id or "").replace("!", "").split("/")]
    direction = {"inference": 0, "forward": 0, "backward": 1}.get(graph.direction or "", 0)
    return (number, get_args(Stage).index(graph.stage), direction, graph.id.count(":"), graph.id)


AROUND = 5  # lines kept before and after each that an op stems from


def _user_files(graphs: Iterable[Graph]) -> Iterable[SourceText]:
    """Yield the user's files as they were when the program ran: lines that ops stem from and a few around, others empty."""
    wanted: dict[str, set[int]] = {}
    for source in (node.source for graph in graphs for node in graph.nodes):
        if source is not None and source.file:
            line = source.line or 0
            wanted.setdefault(source.file, set()).update(range(line - AROUND, line + AROUND + 1))
    for file in sorted(wanted):
        if lines := linecache.getlines(file) if live.is_user_file(file) else []:
            kept = (line if number in wanted[file] else "\n" for number, line in enumerate(lines, start=1))
            yield SourceText(id=file, kind="user", file=file, text="".join(kept))


_open: weakref.WeakSet[InductorCapture] = weakref.WeakSet()


def _close_in_child() -> None:
    """Leave a forked child its caches: what it compiles is not recorded, and may hang where it is not in a cache."""
    for capture in list(_open):
        capture.hooks.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
