"""Kinds of changes of a group of kernels."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fxscope.op_names import out_of_place

if TYPE_CHECKING:
    from fxscope.analysis.findings import KernelMatch

CHANGES = ("kept", "moved", "replaced", "regrouped", "fused", "merged", "split", "new", "gone")


def change_word(match: KernelMatch) -> str:
    """Return the change of A's kernels, one of `CHANGES`: "fused" only if one kernel is known to do all their work."""
    if match.kind in ("collapsed", "replaced") and len(match.a) > 1 and one_does_all(match):
        return "fused"
    if match.kind == "replaced" and max(len(match.a), len(match.b)) > 1:
        return "regrouped"
    return {"same": "kept", "collapsed": "merged"}.get(match.kind, match.kind)


def one_does_all(match: KernelMatch) -> bool:
    """Return whether the one kernel of B runs all ops of A's, each of which runs some: what a library's call launches besides a
    kernel (a memset, a reduction of its partial results) shares its ops, and is not fused.
    """
    if len(match.b) != 1 or not all(use.ops for use in match.a):
        return False
    if match.aligned_by == "nodes":
        calls = [use.call for use in match.a]
        return None not in calls and len(set(calls)) == len(calls)
    a, b = (Counter(out_of_place(op) for use in side for op in use.ops) for side in (match.a, match.b))
    return a <= b
