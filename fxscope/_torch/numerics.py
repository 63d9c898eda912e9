"""Compare what each kernel of a compiled program wrote with its ops run one by one, and both with fp64.

One extra run of the compiled program: the wrapper's frame is traced by line, and each buffer is copied after the call that
writes it. Then each call's ops are run from the values that the kernel itself read, in the program's dtypes and in fp64, so
an error counts at the kernel that makes it and is not carried on.
"""

import contextlib
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from operator import attrgetter, getitem
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import torch
from torch.utils import _pytree as pytree

from fxscope.errors import one_line
from fxscope.model import KernelCall, Numerics, NumericsRow, Problem, Recording, Schedule, replace
from fxscope.op_names import CASTS, JUMPS, SUMS, UNSET

Values: TypeAlias = dict[torch.fx.Node, Any]
TIMES_EAGER = 4  # the tolerance: so many times eager's error …
TIMES_EPS = 16  # … and so many roundings of the largest value
JUMP_SHARE = 1e-4  # of the elements may differ where a kernel compares or rounds what it computed
_RANKS = ("unknown", "random", "within", "outside")  # of a kernel's values the last in this order stands for it


class _Unknown(Exception):
    """The reference of a value cannot be computed."""


class _Mode(NamedTuple):
    """An arithmetic: the dtype that floating values are kept in, and after which ops they are rounded."""

    wide: torch.dtype | None = None  # None: the program's own dtypes
    keeps_casts: bool = True
    rounds: Callable[[torch.fx.Node], bool] = lambda _: False


_EAGER, _JUDGE = _Mode(), _Mode(torch.float64)
_UPCAST = _Mode(torch.float32, keeps_casts=False)
_FMAS = (  # of `a * b - c * d` one of the products is rounded
    _Mode(torch.float64, rounds=lambda node: not _is_product_of(node, 0)),
    _Mode(torch.float64, rounds=lambda node: not _is_product_of(node, 1)),
)


class Run:
    """The compiled graphs of a capture, and the values that one more run of each shows."""

    def __init__(self) -> None:
        self._modules: dict[str, torch.fx.GraphModule] = {}
        self._compiled: dict[str, Any] = {}
        self._last = ""

    def lowered(self, graph_id: str, module: torch.fx.GraphModule) -> None:
        self._modules[graph_id], self._last = module, graph_id

    def compiled(self, result: Any) -> None:
        if hasattr(result, "current_callable"):
            self._compiled[self._last] = result

    def compare(self, recording: Recording, run: Callable[[], Any]) -> tuple[Numerics, list[Problem]]:
        """Run the program once more and compare; `recording` has its kernel calls and schedules."""
        begin, problems, rows = time.perf_counter(), list[Problem](), list[NumericsRow]()
        graphs = [item for schedule in recording.schedules if (item := self._graph(recording, schedule))]
        with contextlib.ExitStack() as stack:
            for graph in graphs:
                stack.enter_context(graph.watched())
            run()
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            for graph in graphs:
                rows += graph.rows()
                problems += graph.problems
        known = {row.call: row for row in rows}
        rest = NumericsRow(call="", state="unknown", cause="no_graph")
        rows = [known.get(call.id) or replace(rest, call=call.id) for call in recording.calls]
        return Numerics(rows=tuple(rows), seconds=time.perf_counter() - begin), problems

    def _graph(self, recording: Recording, schedule: Schedule) -> "_Watched | None":
        module, compiled = self._modules.get(schedule.graph), self._compiled.get(schedule.graph)
        text = next((item.text for item in recording.sources if item.graph == schedule.graph), None)
        calls = [call for call in recording.calls if call.graph == schedule.graph]
        if module is None or compiled is None or text is None:
            return None
        return _Watched(schedule, calls, module, compiled, text)


class _Watched:
    """One compiled graph: the values that were seen in its wrapper, and its ops."""

    def __init__(
        self, schedule: Schedule, calls: list[KernelCall], module: torch.fx.GraphModule, compiled: Any, text: str
    ) -> None:
        self.schedule, self.calls, self.module, self.compiled, self.text = schedule, calls, module, compiled, text
        self.nodes = {node.name: node for node in module.graph.nodes}
        self._order = {node: position for position, node in enumerate(module.graph.nodes)}
        self.problems: list[Problem] = []
        self.inputs: list[Any] | None = None
        self.targets = {call.id: dict(self._targets(call)) for call in calls}
        self.seen: dict[str, Any] = {}  # node → what its kernel wrote
        self._wrapper: Any = None
        self._open: list[KernelCall] = []  # whose lines the wrapper is at
        self._due: dict[str, str] = {}  # node → the buffer that holds its value now
        self._known: Values = {}

    def _targets(self, call: KernelCall) -> Iterator[tuple[str, str]]:
        """Yield each node whose value the call leaves in a buffer, and the wrapper's name of the buffer.

        A node of several buffers (but a fallback's tuple), and a buffer that several kernels write, are left out.
        """
        if call.conditional or call.subgraph:
            return
        owners = Counter(node.origin_node for node in self.schedule.nodes if node.type not in ("nop", "fallback"))
        renames = self.schedule.renames
        writers = Counter(renames.values())
        written = {access.buffer for access in call.writes or ()}
        for node in self.schedule.nodes:
            mine = node.name in call.scheduler_nodes and len(node.writes) == 1
            item = node.type == "multi_output" and any(read.buffer in written for read in node.reads)
            if not (mine or item):
                continue
            buffer = node.writes[0].buffer
            place = renames.get(buffer, buffer)
            origin = node.origin_node or self._written_over(call, place)
            if origin is None or origin not in self.nodes or owners[origin] > 1:
                continue
            if (item or written & {buffer, place}) and not writers[buffer] and writers[place] < 2:
                is_input = self.nodes.get(place) is not None and self.nodes[place].op == "placeholder"
                if place == buffer or is_input or node.origin_node is None:
                    yield origin, place

    def _written_over(self, call: KernelCall, place: str) -> str | None:
        """Return the node whose value a write in place leaves: the buffer's maker (a scatter), or what writes (`copy_`)."""
        inside = {name: self.nodes[name] for name in call.nodes if name in self.nodes}
        makers = (node.origin_node for node in self.schedule.nodes for access in node.writes if access.buffer == place)
        into = (name for name, item in inside.items() if _is_mutable(item) and str(item.args[0]) == place)
        return next((name for name in (*makers, *into) if name in inside), None)

    # ------------------------------------------------------------------ the extra run

    @contextlib.contextmanager
    def watched(self) -> Generator[None]:
        original = self.compiled.current_callable

        def call(inputs: Any) -> Any:
            if self.inputs is not None:
                return original(inputs)
            self.inputs = [_copy(value) for value in inputs]
            before = sys.gettrace()
            sys.settrace(self._called)
            try:
                return original(inputs)
            finally:
                sys.settrace(before)

        self.compiled.current_callable = call
        try:
            yield
        finally:
            self.compiled.current_callable = original

    def _called(self, frame: Any, event: str, _: Any) -> Any:
        if event != "call" or frame.f_code.co_name != "call" or self._wrapper is not None:
            return None
        with contextlib.suppress(OSError):
            if Path(frame.f_code.co_filename).read_text().strip() == self.text.strip():
                self._wrapper = frame.f_code
                return self._line
        return None

    def _line(self, frame: Any, event: str, _: Any) -> Any:
        """Copy what a call wrote as soon as the wrapper is at another line; never raise into the wrapper."""
        try:
            line = frame.f_lineno if event == "line" else 0
            for call in self._open:
                if not _is_at(call, line):
                    self._due.update(self.targets[call.id])
            self._open = [call for call in self.calls if _is_at(call, line)]
            places = frame.f_locals if self._due else {}
            for node, place in list(self._due.items()):  # the items of a tuple come in lines of their own
                if isinstance(places.get(place), torch.Tensor):
                    self.seen[node] = _copy(places[place])
                    del self._due[node]
        except Exception as error:
            self._problem(f"the wrapper's values could not be copied: {one_line(error)}")
        return self._line

    def _problem(self, message: str) -> None:
        where = f"numerics of {self.schedule.graph.removesuffix(':post_grad')}"
        self.problems.append(Problem(where=where, message=message))

    # ------------------------------------------------------------------ the comparison

    def rows(self) -> Iterator[NumericsRow]:
        if self.inputs is None or self._wrapper is None:
            what = "did not run again" if self.inputs is None else "runs no Python wrapper (C++ wrapper or CUDA graph)"
            self._problem(f"nothing was compared: the graph {what}")
            return
        placeholders = [node for node in self.nodes.values() if node.op == "placeholder"]
        if len(placeholders) != len(self.inputs):
            self._problem("nothing was compared: its inputs are not those of its nodes")
            return
        self._known.update(zip(placeholders, self.inputs, strict=True))
        for call in self.calls:
            seen = [node for node in self.targets[call.id] if node in self.seen]
            found = [self._row(call, node) for node in seen]
            self._known.update({self.nodes[node]: self.seen[node] for node in seen})
            nothing = NumericsRow(call=call.id, state="unknown", cause="no_value")
            yield max(found, key=lambda row: (_RANKS.index(row.state), row.share or 0.0), default=nothing)

    def _row(self, call: KernelCall, name: str) -> NumericsRow:
        value = self.seen[name]
        row = NumericsRow(call=call.id, node=name, dtype=str(value.dtype).removeprefix("torch."), state="unknown")
        inside = {self.nodes[node] for node in (*call.nodes, name) if node in self.nodes}
        try:
            return _Kernel(self.nodes[name], inside, self._known, self._order).judged(row, value)
        except _Unknown as why:
            return replace(row, state="random" if str(why) == "random" else "unknown", cause=str(why))
        except Exception as error:
            self._problem(f"{name} cannot be run by itself: {one_line(error)}")
            return replace(row, cause="failed")


class _Kernel:
    """The ops that a kernel runs for one of its results, from the values that it read."""

    def __init__(self, target: torch.fx.Node, inside: set[torch.fx.Node], known: Values, order: Values) -> None:
        self.target, self.known = target, {node: value for node, value in known.items() if node not in inside}
        found: set[torch.fx.Node] = set()
        waiting = [target]
        while waiting:
            node = waiting.pop()
            if node not in found and node not in self.known:
                found.add(node)
                waiting += node.all_input_nodes
        self.ops = sorted(found, key=order.__getitem__)
        for node in self.ops:
            _check(node, order)
        self.eager = self._run(_EAGER)

    def judged(self, row: NumericsRow, value: torch.Tensor) -> NumericsRow:
        eager, judge = self.eager[self.target], self._run(_JUDGE)[self.target]
        if not isinstance(eager, torch.Tensor) or (eager.shape, eager.dtype) != (value.shape, value.dtype):
            raise _Unknown("no_value")
        if value.dtype in (torch.float64, torch.complex128):
            raise _Unknown("fp64")
        if not value.numel():
            return replace(row, state="within", error=0.0, eager_error=0.0, tolerance=0.0)
        error, theirs = _distance(value, judge), _distance(eager, judge)
        if not (usable := theirs.isfinite()).any():  # eager overflows where fp64 does not
            raise _Unknown("overflow")
        error, theirs = error[usable], theirs[usable]
        spare = 2 + int(JUMP_SHARE * value.numel()) if self._jumps() else 0
        if value.dtype.is_floating_point or value.dtype.is_complex:
            limits, scale = torch.finfo(value.dtype), self._scale(judge)
            tolerance = TIMES_EAGER * _most(theirs) + TIMES_EPS * limits.eps * scale + limits.tiny
            outside = int((error > tolerance).sum()) > spare
            worst, eager_error = float(error.max()) if error.numel() else 0.0, _most(theirs)
        else:
            scale, worst, eager_error = None, float(error.sum()), float(theirs.sum())
            tolerance = TIMES_EAGER * eager_error + spare
            outside = worst > tolerance
        most = worst if math.isfinite(worst) else None
        row = replace(row, error=most, eager_error=eager_error, tolerance=tolerance, scale=scale)
        if not outside:
            return replace(row, state="within")
        return replace(row, state="outside", cause=self._cause(value, worst))

    def _run(self, mode: _Mode) -> Values:
        values = {node: _in(mode, value) for node, value in self.known.items() if node.users.keys() & set(self.ops)}
        for node in self.ops:
            values[node] = self._value(node, values, mode)
        return values

    def _value(self, node: torch.fx.Node, values: Values, mode: _Mode) -> Any:
        if node.op == "get_attr":
            return _in(mode, attrgetter(str(node.target))(node.graph.owning_module))
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
        if node.target is getitem:
            return args[0][args[1]]
        if _is_mutable(node):
            args, kwargs = pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
        wide = mode.wide
        if wide is None:
            return node.target(*args, **kwargs)  # type: ignore[operator]
        dtypes = (torch.dtype, lambda dtype: _widest(dtype, wide))
        args, kwargs = pytree.tree_map_only(*dtypes, (args, kwargs))
        result = node.target(*args, **kwargs)  # type: ignore[operator]
        eager = self.eager[node]
        if isinstance(eager, torch.Tensor) and isinstance(result, torch.Tensor):
            is_cast = _name(node) in CASTS and mode.keeps_casts and eager.dtype.is_floating_point
            if is_cast or (eager.dtype.is_floating_point and mode.rounds(node)):
                result = result.to(eager.dtype)
        return pytree.tree_map_only(torch.Tensor, lambda value: _in(mode, value), result)

    def _jumps(self) -> bool:
        """Return whether a value that the kernel itself computes is compared, rounded or sorted in it."""
        computed = set(self.ops)
        return any(
            (_name(node) in JUMPS or (_name(node) in CASTS and not _is_floating(self.eager[node])))
            and any(item in computed and _is_floating(self.eager[item]) for item in node.all_input_nodes)
            for node in self.ops
        )

    def _scale(self, judge: torch.Tensor) -> float:
        """Return the largest value; of a sum of many, what its terms would give at random signs if that is more."""
        scale = found = _most(judge.abs())
        for node in self.ops:
            values = {item: self._wide(item) for item in node.all_input_nodes}
            if _name(node) in SUMS and all(map(_is_floating, values.values())):
                squares = {item: value.square() for item, value in values.items()}
                total, square = (_most(self._value(node, table, _JUDGE).abs()) for table in (values, squares))
                least = math.sqrt(square)
                found = max(found, min(least, scale * least / total) if total else least)
        return found

    def _wide(self, node: torch.fx.Node) -> Any:
        return _in(_JUDGE, self.known[node] if node in self.known else self.eager[node])

    def _cause(self, value: torch.Tensor, error: float) -> str | None:
        """Name the arithmetic that gives the kernel's own values, or can; None where none of those known does."""
        if not value.dtype.is_floating_point:
            return None
        has_half = any(_is_floating(each) and each.dtype.itemsize < 4 for each in self.eager.values())
        for mode in (*([_UPCAST] if has_half else []), *_FMAS):
            like = self._run(mode)[self.target].to(value.dtype).double()
            if bool((_distance(value, like) <= 4 * torch.finfo(value.dtype).eps * like.abs()).all()):
                return "upcast" if mode is _UPCAST else "fma"
        return "reassociation" if error <= self._bound(torch.finfo(value.dtype).eps) else None

    def _bound(self, eps: float) -> float:
        """Return the largest error that a reduction is likely to have, whatever the order of its additions.

        4·√n·ε·Σ|x| of a sum (Higham and Mary 2019), 4·√n·ε·max|x|·σ of a variance, 0 where the result is none.
        """
        node = self.target.args[0] if self.target.target is getitem else self.target
        if not isinstance(node, torch.fx.Node) or _name(node) not in ("sum", "mean", "cumsum", "var", "var_mean"):
            return 0.0
        (item,) = node.all_input_nodes
        if not _is_floating(terms := self._wide(item)):
            return 0.0
        results = (self._value(node, {item: each}, _JUDGE) for each in (terms, terms.abs()))
        plain, sizes = (pytree.tree_leaves(result)[0] for result in results)
        count = 4 * math.sqrt(terms.numel() / max(1, plain.numel()))
        if _name(node).startswith("var"):
            return count * eps * _most(terms.abs()) * math.sqrt(_most(plain))
        return count * eps * _most(sizes)


def _check(node: torch.fx.Node, order: dict[torch.fx.Node, int]) -> None:
    target, name = node.target, _name(node)
    if node.op == "placeholder":
        raise _Unknown("no_value")
    if node.op != "call_function" or target is getitem:
        return
    seeded = torch.Tag.nondeterministic_seeded in getattr(target, "tags", ()) and _draws(node)
    if seeded or "random" in name or "seed" in name or name in UNSET:
        raise _Unknown("unset" if name in UNSET else "random")
    is_known = isinstance(target, torch._ops.OpOverload) or getattr(target, "__module__", "") in ("_operator", "math")
    writers = [user for item in node.all_input_nodes for user in item.users if _is_mutable(user)]
    is_written = any(order[user] < order[node] for user in writers)
    if not is_known or is_written or (_is_mutable(node) and not name.endswith("_")):
        raise _Unknown("not_functional")


def _draws(node: torch.fx.Node) -> bool:
    """Return whether a random op draws numbers: an attention does not without a dropout."""
    names = [item.name for item in node.target._schema.arguments]  # type: ignore[union-attr]
    given = dict(zip(names, node.args, strict=False)) | node.kwargs
    return "dropout_p" not in names or bool(given.get("dropout_p"))


def _is_mutable(node: torch.fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def _name(node: torch.fx.Node) -> str:
    target = node.target
    return target._schema.name.rpartition("::")[2] if isinstance(target, torch._ops.OpOverload) else str(target)


def _is_product_of(node: torch.fx.Node, place: int) -> bool:
    """Return whether a product is only added, as the first or the second operand."""
    return _name(node) == "mul" and all(
        _name(user) in ("add", "sub") and user.args[place] is node for user in node.users
    )


def _is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point


def _in(mode: _Mode, value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or mode.wide is None:
        return value
    return value.to(_widest(value.dtype, mode.wide))


def _widest(dtype: torch.dtype, wide: torch.dtype) -> torch.dtype:
    if dtype.is_complex:
        return torch.complex128 if wide is torch.float64 else dtype
    return wide if dtype.is_floating_point and dtype.itemsize < wide.itemsize else dtype


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _is_at(call: KernelCall, line: int) -> bool:
    return call.code.call is not None and call.code.call[0] <= line <= call.code.call[1]


def _distance(value: torch.Tensor, judge: torch.Tensor) -> torch.Tensor:
    """Return |value - judge| in fp64: 0 where both are the same infinity or NaN, infinite where one is."""
    if not (value.dtype.is_floating_point or value.dtype.is_complex):
        return (value != judge).double()
    value = value.to(judge.dtype)
    same = (value == judge) | (value.isnan() & judge.isnan())
    return torch.where(same, 0.0, (value - judge).abs().nan_to_num(nan=math.inf, posinf=math.inf))


def _most(values: torch.Tensor) -> float:
    """Return the largest finite value; infinity where there are only others, 0 of none."""
    finite = values[values.isfinite()]
    return float(finite.max()) if finite.numel() else math.inf if values.numel() else 0.0
