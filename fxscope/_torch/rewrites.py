"""Rewrites of graphs: which pass or pattern replaced which nodes, from torch's own observer of graph passes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from fxscope._torch.nodes import target_name
from fxscope.model import Rewrite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fxscope._torch.hooks import Hooks

OBSERVER = "torch.fx.passes.graph_transform_observer:GraphTransformObserver"
ENTRIES = "torch._inductor.pattern_matcher:"
NO_REWRITES = "which passes and patterns replaced nodes"
HOOKS = {
    f"{OBSERVER}.__enter__": NO_REWRITES,
    f"{OBSERVER}.__exit__": NO_REWRITES,
    f"{ENTRIES}ReplacementPatternEntry.apply": "which patterns replaced nodes",
    f"{ENTRIES}GraphPatternEntry.apply": "which patterns replaced nodes",
    f"{ENTRIES}LoweringPatternEntry.apply": "which patterns replaced nodes",
}
_STAGES = {"pre_grad_passes": "pre_grad", "joint_graph_passes": "joint", "post_grad_passes": "post_grad"}


class _Pass:
    """A pass that runs now."""

    def __init__(self, observer: Any) -> None:
        self.observer = observer
        self.told: set[str] = set()  # nodes whose making or removal is told of a pattern, or of a pass inside
        self.targets = {node.name: target_name(node) for node in observer.gm.graph.nodes}

    @property
    def created(self) -> set[str]:
        return set(self.observer.created_nodes)


class Rewrites:
    """Tells each change of a graph while the hooks are on.

    Args:
        hooks: that hold it.
        tell: called with each change.
        graph_of: the id of the graph that the passes of a stage change now.
    """

    def __init__(self, hooks: Hooks, tell: Callable[[Rewrite], None], graph_of: Callable[[str | None], str]) -> None:
        self._tell, self._graph_of = tell, graph_of
        self._here = threading.local()
        enter, leave, *entries = HOOKS
        hooks.wrap(enter, after=self._enter, purpose=NO_REWRITES)
        hooks.wrap(leave, before=self._leave, purpose=NO_REWRITES)
        for entry in entries:
            hooks.wrap(entry, around=self._apply, purpose=HOOKS[entry])
        self._hooks = hooks

    @property
    def _passes(self) -> list[_Pass]:
        if not hasattr(self._here, "passes"):
            self._here.passes = []
        return self._here.passes

    def _enter(self, _: Any, observer: Any) -> None:
        if observer.active:
            self._passes.append(_Pass(observer))

    def _leave(self, observer: Any, *_: Any) -> None:
        if not self._passes or self._passes[-1].observer is not observer:
            return
        done = self._passes.pop()
        created, erased = done.created - done.told, set(observer.erased_nodes) - done.told
        self._changed(done, None, erased - created, created - erased)
        if self._passes and self._passes[-1].observer.gm is observer.gm:
            self._passes[-1].told |= done.created | set(observer.erased_nodes)

    def _apply(self, original: Callable[..., Any], entry: Any, match: Any, *args: Any, **kwargs: Any) -> Any:
        here = self._passes[-1] if self._passes else None
        nodes, before = list(match.nodes), here.created if here is not None else set[str]()
        result = original(entry, match, *args, **kwargs)
        if here is not None:
            self._hooks.guard("rewrites", self._matched, here, entry, nodes, before)
        return result

    def _matched(self, here: _Pass, entry: Any, nodes: list[Any], before: set[str]) -> None:
        erased = {node.name for node in nodes if node._erased}
        created = here.created - before
        handler = getattr(entry, "handler", None)
        name = getattr(entry, "pattern_name", None) or getattr(handler, "__name__", None)
        self._changed(here, name, erased, created)
        here.told |= erased | created

    def _changed(self, here: _Pass, pattern: str | None, removed: Iterable[str], added: Iterable[str]) -> None:
        graph = here.observer.gm.graph
        now = {node.name: target_name(node) for node in graph.nodes}
        gone, made = [name for name in here.targets if name in removed], [name for name in now if name in added]
        if gone or made:
            subsystems = [item.observer.subsystem for item in (*self._passes, here) if item.observer.subsystem]
            stage = _STAGES.get(subsystems[0]) if subsystems else None
            outer = self._passes[0] if self._passes else here
            self._tell(
                Rewrite(
                    graph=self._graph_of(stage),
                    stage=stage,
                    by=outer.observer.passname,
                    pattern=pattern,
                    removed=tuple(gone),
                    removed_ops=tuple(here.targets[name] for name in gone),
                    added=tuple(made),
                    added_ops=tuple(now[name] for name in made),
                )
            )
        here.targets.update((name, now[name]) for name in made)
