"""Rewrites of graphs: which pass or pattern replaced which nodes, from torch's own observer of graph passes; and of each
pattern that did not match, the candidate that came closest, from torch's own `FailedMatch`.
"""

import functools
import threading
from collections.abc import Callable, Iterable, Set
from typing import Any, NamedTuple

import torch

from fxscope._torch.hooks import Hooks, hook_after, hook_around, hook_before
from fxscope._torch.nodes import target_name
from fxscope.model import NO_OP, NearMiss, Rewrite, Stage, closeness

OBSERVER = "torch.fx.passes.graph_transform_observer:GraphTransformObserver"
PATTERNS = "torch._inductor.pattern_matcher"
_INSIDE = ("args", "kwargs", "outputs", "pattern", "inner_pattern")  # where a pattern holds others
MOST_LINES = 30  # of either side of one change
NO_REWRITES, NO_NEAR_MISSES = "which passes and patterns replaced nodes", "why patterns did not match"
_STAGES: dict[str, Stage] = {
    "pre_grad_passes": "pre_grad",
    "joint_graph_passes": "joint",
    "post_grad_passes": "post_grad",
}


def _ops(nodes: Iterable[Any]) -> dict[str, tuple[Any, tuple[str, ...]]]:
    # An erased node loses its inputs, not its op.
    return {node.name: (node, tuple(item.name for item in node.all_input_nodes)) for node in nodes}


class _Pass:
    def __init__(self, observer: Any) -> None:
        self.observer = observer
        self.told: set[str] = set()  # nodes whose making or removal is told of a pattern, or of a pass inside
        self.before = _ops(observer.gm.graph.nodes)

    @property
    def created(self) -> set[str]:
        return set(self.observer.created_nodes)


class _Here(threading.local):
    def __init__(self) -> None:
        self.passes: list[_Pass] = []  # that run now, the innermost last
        self.tries: dict[Any, _Try] | None = None  # of the pattern matcher that runs now, by pattern
        self.context: Any = None  # of the match that is tried


class Rewrites:
    """Calls `tell` with each change of a graph while the hooks are on; fills `near`.

    `graph_of`: the id of the graph that a stage's passes change now. `near`: (graph, pattern) → the closest candidate.
    """

    def __init__(
        self,
        hooks: Hooks,
        tell: Callable[[Rewrite], None],
        graph_of: Callable[[str | None], str],
        near: dict[tuple[str, str], NearMiss],
    ) -> None:
        self._tell, self._graph_of, self._near = tell, graph_of, near
        self._here = _Here()
        self._hooks = hooks
        hooks.install(self)

    @hook_after(f"{OBSERVER}.__enter__", NO_REWRITES)
    def _enter(self, _: Any, observer: Any) -> None:
        if observer.active:
            self._here.passes.append(_Pass(observer))

    @hook_before(f"{OBSERVER}.__exit__", NO_REWRITES)
    def _leave(self, observer: Any, *_: Any, **__: Any) -> None:
        passes = self._here.passes
        if not passes or passes[-1].observer is not observer:
            return
        done = passes.pop()
        created, erased = done.created - done.told, set(observer.erased_nodes) - done.told
        self._changed(done, None, erased - created, created - erased)
        if passes and passes[-1].observer.gm is observer.gm:
            passes[-1].told |= done.created | set(observer.erased_nodes)

    @hook_around(f"{PATTERNS}:ReplacementPatternEntry.apply", "which patterns replaced nodes")
    @hook_around(f"{PATTERNS}:GraphPatternEntry.apply", "which patterns replaced nodes")
    @hook_around(f"{PATTERNS}:LoweringPatternEntry.apply", "which patterns replaced nodes")
    def _apply(self, original: Callable[..., Any], entry: Any, match: Any, *args: Any, **kwargs: Any) -> Any:
        here = self._here.passes[-1] if self._here.passes else None
        nodes, before = list(match.nodes), here.created if here is not None else set[str]()
        if self._here.tries is not None:
            self._here.tries.pop(entry.pattern, None)
        result = original(entry, match, *args, **kwargs)
        if here is not None:
            self._hooks.guard("rewrites", self._matched, here, entry, nodes, before)
        return result

    def _matched(self, here: _Pass, entry: Any, nodes: list[Any], before: set[str]) -> None:
        erased = {node.name for node in nodes if node._erased}
        created = here.created - before
        self._changed(here, _name_of(entry), erased, created)
        here.told |= erased | created

    # --- patterns that do not match ---

    @hook_around(f"{PATTERNS}:PatternMatcherPass.apply", NO_NEAR_MISSES)
    def _tried(self, original: Callable[..., Any], matcher: Any, *args: Any, **kwargs: Any) -> Any:
        outer, self._here.tries = self._here.tries, {}
        try:
            result = original(matcher, *args, **kwargs)
            self._hooks.guard("patterns", self._keep_closest, matcher, self._here.tries)
            return result
        finally:
            self._here.tries = outer

    @hook_around(f"{PATTERNS}:PatternExpr.match", NO_NEAR_MISSES)
    @hook_around(f"{PATTERNS}:MultiOutputPattern.match", NO_NEAR_MISSES)
    def _match(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._here.context = None
        result = original(*args, **kwargs)
        self._hooks.guard("patterns", self._match_ended, result, *args, **kwargs)
        return result

    @hook_around(f"{PATTERNS}:MatchContext.__init__", NO_NEAR_MISSES)
    def _context(self, original: Callable[..., Any], context: Any, *args: Any, **kwargs: Any) -> None:
        if self._here.context is None:  # others are of parts of the pattern
            self._here.context = context
        original(context, *args, **kwargs)

    def _match_ended(self, result: Any, pattern: Any, node: Any) -> None:
        tries, context = self._here.tries, self._here.context
        if tries is None or context is None:
            return
        # Those on the way to the check that failed are there, too: all but the last of them have matched.
        count = sum(hasattr(item, "fns") for item in context.pattern_to_node) - (not result)
        best = tries.get(pattern)
        if best is not None and closeness(best.matched, best.arguments) >= (count, True):
            return  # cannot be better: most tries end here, and words cost
        code, arguments = (None, {}) if result else _why(result)
        if best is None or closeness(best.matched, best.arguments) < closeness(count, arguments):
            tries[pattern] = _Try(count, node.name, code, arguments)

    def _keep_closest(self, matcher: Any, tries: "dict[Any, _Try]") -> None:
        names = {entry.pattern: _name_of(entry) for entries in matcher.patterns.values() for entry in entries}
        subsystem, by = getattr(matcher, "subsystem", None), getattr(matcher, "pass_name", None)
        graph = self._graph_of(_STAGES.get(subsystem or ""))
        for pattern, (matched, node, code, arguments) in tries.items():
            if (name := names.get(pattern)) is None:
                continue
            total = _num_calls(pattern)
            found = NearMiss(
                graph=graph,
                by=by or "pattern_matcher",
                pattern=name,
                node=node,
                matched=min(matched, total) if code else total,
                total=total,
                code=code or "check",
                arguments=arguments,
            )
            known = self._near.get((graph, name))
            if known is None or known.rank <= found.rank:
                self._near[graph, name] = found

    def _changed(self, here: _Pass, pattern: str | None, removed: Set[str], added: Set[str]) -> None:
        now = _ops(node for node in here.observer.gm.graph.nodes if node.name in added)
        gone, made = [name for name in here.before if name in removed], list(now)
        if gone or made:
            passes = (*self._here.passes, here)
            subsystems = [item.observer.subsystem for item in passes if item.observer.subsystem]
            stage = _STAGES.get(subsystems[0]) if subsystems else None
            self._tell(
                Rewrite(
                    graph=self._graph_of(stage),
                    stage=stage,
                    by=passes[0].observer.passname,
                    pattern=pattern,
                    removed=tuple(gone),
                    removed_ops=tuple(target_name(here.before[name][0]) for name in gone),
                    removed_inputs=tuple(here.before[name][1] for name in gone[:MOST_LINES]),
                    added=tuple(made),
                    added_ops=tuple(target_name(now[name][0]) for name in made),
                    added_inputs=tuple(now[name][1] for name in made[:MOST_LINES]),
                )
            )
        here.before.update(now)


class _Try(NamedTuple):
    """How far a pattern came: its ops that matched, where, and which check failed (`None`: none that torch tells)."""

    matched: int
    node: str
    code: Any
    arguments: dict[str, Any]


def _name_of(entry: Any) -> str | None:
    """The name that torch registered, else that of the function: its handler, or what the pattern was traced from."""
    check = getattr(entry, "extra_check", None)
    names = getattr(getattr(check, "__code__", None), "co_freevars", ())
    held: dict[str, Any] = dict(zip(names, getattr(check, "__closure__", None) or (), strict=False))
    functions = (getattr(entry, "handler", None), getattr(held.get("search_fn"), "cell_contents", None))
    known = (getattr(entry, "pattern_name", None), *(getattr(item, "__name__", None) for item in functions))
    return next((name for name in known if name and name != "_"), None)


def _why(failed: Any) -> tuple[str, dict[str, Any]]:
    """The first check that failed, as a code and its arguments; torch wraps that of a list's item."""
    while failed.args and isinstance(failed.args[-1], type(failed)):
        failed = failed.args[-1]
    kind = failed.format_string.partition(":")[0].split(" ")[0]
    node = next((item for item in failed.args if isinstance(item, torch.fx.Node)), None)
    place = {"node": node.name, "op": NO_OP.get(node.op) or target_name(node)} if node is not None else {}
    if kind == "function_mismatch":
        wanted = getattr(failed.args[-1], "fns", ()) if failed.args else ()
        found = {} if place else {"op": repr(failed.args[0])[:80] if failed.args else ""}
        return "op", {**found, **place, "wanted": _op_names(wanted)}
    if kind == "multiple_users":
        pattern = failed.args[0]
        return "users", {"wanted": _op_names(getattr(pattern, "fns", ())), "users": str(getattr(pattern, "users", "?"))}
    if kind == "constant_args":
        value, wanted = failed.args[-1], failed.kwargs.get("pattern")
        return "value", {**place, "value": str(value)[:80], "wanted": [str(wanted)[:80]]}
    return "other", {**place, "text": str(failed)[:200]}


def _op_names(functions: Iterable[Any]) -> list[str]:
    names: list[str] = []
    for function in functions:
        is_op = hasattr(function, "overloads") or hasattr(function, "_schema")
        name = str(function if is_op else getattr(function, "__name__", function))
        if not any(name.startswith(f"{known}.") for known in names):
            names.append(name)
    return names[:4]


@functools.lru_cache(maxsize=4096)  # each graph is matched with the same patterns
def _num_calls(pattern: Any) -> int:
    from torch._inductor.pattern_matcher import PatternExpr

    waiting, seen = [pattern], set[Any]()
    while waiting:
        here = waiting.pop()
        if isinstance(here, PatternExpr) and here not in seen:
            seen.add(here)
            waiting += [vars(here)[name] for name in _INSIDE if name in vars(here)]
        elif isinstance(here, dict):
            waiting += here.values()
        elif isinstance(here, list | tuple):
            waiting += here
    return sum(hasattr(item, "fns") for item in seen)
