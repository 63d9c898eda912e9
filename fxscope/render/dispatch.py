# ruff: noqa: E501 (a sentence stays on one line, so that it can be read and searched)
"""What the dispatcher does with an op: as a table, a tree, and in prose."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from fxscope.text import aligned

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fxscope.dispatch_model import Called, Dispatch, Key

INDUCTOR = {
    "decomposition": "decomposes it before lowering",
    "fallback": "has no code for it by choice: it calls the ATen kernel (a fallback)",
    "decomposition or lowering": "decomposes it where its decomposition takes the case, and lowers it to its own IR or template otherwise",
    "lowering": "lowers it to its own IR or template",
    "composite": "never sees it: it is composed of other ops, and those are what the graph holds",
    "implicit fallback": "has neither decomposition nor lowering: it makes a fallback to the ATen kernel on the way",
}


def render(dispatch: Dispatch, *, form: str = "all", width: int = 80) -> str:
    """One form: `table`, `tree`, `prose`, or `all` of them."""
    blocks: list[str] = []
    if form in ("all", "prose"):
        blocks.append(prose(dispatch, width=width))
    if form in ("all", "table"):
        blocks.append(key_table(dispatch, width=width))
    if dispatch.ran is not None and form in ("all", "tree"):
        blocks.append(f"With {', '.join(dispatch.example)}:\n{tree(dispatch.ran)}")
    elif form == "tree":
        blocks.append(
            f"{dispatch.name}\n"
            + "\n".join(f"{'└' if last else '├'}─ {key.key}: {key.state}" for key, last in _marked(dispatch.keys))
        )
    return "\n\n".join(blocks)


def _marked(items: Sequence[Key]) -> list[tuple[Key, bool]]:
    return [(item, position == len(items) - 1) for position, item in enumerate(items)]


def prose(dispatch: Dispatch, *, width: int = 80) -> str:
    """Tell it in sentences, every one from what is registered or ran."""
    return textwrap.fill(" ".join(sentences(dispatch)), width, break_long_words=False, break_on_hyphens=False)


def sentences(dispatch: Dispatch) -> list[str]:
    name = dispatch.name
    found: list[str] = []
    below = [key for key in dispatch.keys if key.state.startswith("calls")]
    last = below[-1] if below and below[-1].state == "calls" else None
    if below and last is None:
        found.append(f"{name}: which kernel runs for {dispatch.device} tensors this build of torch cannot tell.")
    elif last is not None and last.registration.kind == "math kernel":
        found.append(
            f"{name} is CompositeImplicit for {dispatch.device} tensors: it has no kernel of its own, only code that calls other ops ({last.registration.where}), reached at {last.key}."
        )
    elif last is not None and last.registration.kind == "default backend kernel":
        found.append(
            f"{name} is CompositeExplicit: one kernel serves every backend ({last.registration.where}), and calls other ops below autograd."
        )
    elif last is not None and last.registration.kind == "backend fallback":
        found.append(
            f"{name} has no kernel for {dispatch.device} tensors: {last.key} falls back to {last.registration.where}."
        )
    elif last is not None:
        found.append(
            f"{name} has a kernel of its own for {dispatch.device} tensors, at {last.key} ({last.registration.where})."
        )
    else:
        found.append(f"{name} has nothing registered for {dispatch.device} tensors: the call fails.")
    passed = [key for key in dispatch.keys if key.state == "calls, then goes on"]
    if passed:
        found.append("Before that it passes " + " and ".join(f"{key.key}, which {key.why}" for key in passed) + ".")
    through = [key.key for key in dispatch.keys if key.state == "falls through"]
    if through:
        found.append(f"{_list(through)} {'has' if len(through) == 1 else 'have'} nothing to do for it.")
    if dispatch.ran is not None:
        found += _ran(dispatch)
    if dispatch.mutates:
        found.append(f"It writes into {_list(dispatch.mutates)}.")
    if dispatch.aliases:
        found.append(
            f"By its schema the result may share memory with {_list(dispatch.aliases)}; whether it does depends on the strides."
        )
    elif dispatch.aliases is not None and not dispatch.mutates:
        found.append("By its schema the result shares memory with no input.")
    if dispatch.decomposition:
        found.append(f"torch can decompose it ({dispatch.decomposition}).")
    if dispatch.inductor:
        where = f" ({', '.join(dispatch.inductor_where)})" if dispatch.inductor_where else ""
        found.append(f"Inductor {INDUCTOR[dispatch.inductor]}{where}.")
    found += [f"Note: {note}." for note in dispatch.notes]
    return found


def _ran(dispatch: Dispatch) -> list[str]:
    ran = dispatch.ran
    assert ran is not None
    names = [child.name for child in ran.children]
    tensors = [word for word in dispatch.example if re.match(r"\w+ \[?\w+\[", word)]
    seen = f"It saw {_list(tensors)}" if tensors else "It ran"
    if not names:
        return [f"{seen}, and called no other op."]
    found = [f"{seen}, so it called {_list(dict.fromkeys(names))}; {len(flat(ran))} op names in all."]
    for what, called in dispatch.contrasts:
        found.append(f"{what[0].upper()}{what[1:]} it calls {_list(dict.fromkeys(called)) or 'no other op'} instead.")
    return found


def flat(called: Called) -> list[Called]:
    """An op and everything below it."""
    return [called, *(item for child in called.children for item in flat(child))]


def tree(called: Called, lead: str = "", branch: str = "") -> str:
    """The ops that ran as a tree, with shapes and launches."""
    shapes = " ".join("×".join(map(str, shape)) for shape in called.shapes)
    lines = [f"{branch}{called.name}{f'  {shapes}' if shapes else ''}"]
    below: list[Called | str] = [*called.children, *called.kernels]
    for position, child in enumerate(below):
        last = position == len(below) - 1
        first, rest = ("└─ ", "   ") if last else ("├─ ", "│  ")
        if isinstance(child, str):
            lines.append(f"{lead}{first}⚡ {child}")
        else:
            lines.append(tree(child, lead + rest, lead + first))
    return "\n".join(lines)


def key_table(dispatch: Dispatch, *, width: int = 80) -> str:
    """The keys in the order they are asked, what happens at each and where it is registered."""
    rows = [[key.key, key.state, key.registration.kind, key.registration.where] for key in dispatch.keys]
    lines = [f"  {line}" for line in aligned([["key", "what happens", "kind", "registered at"], *rows], left=range(4))]
    if max(map(len, lines)) > width:  # the files' names on lines of their own
        lines: list[str] = []
        for key in dispatch.keys:
            lines += [
                f"  {key.key:<16} {key.state:<20} {key.registration.kind}",
                f"  {'':<16} {key.registration.where}",
            ]
    return "\n".join(lines)


def _list(words: Iterable[str]) -> str:
    words = list(words)
    return "".join(words) if len(words) < 2 else f"{', '.join(words[:-1])} and {words[-1]}"
