"""The dispatcher's treatment of an op: as a table, a tree, and in prose."""

from __future__ import annotations

import re
import sys
import textwrap
from typing import TYPE_CHECKING

from fxscope.english import DISPATCH, INDUCTOR
from fxscope.render import grid
from fxscope.text import aligned, listed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fxscope.dispatch_model import Called, Dispatch


def render(dispatch: Dispatch, *, form: str = "all", width: int = 80) -> str:
    """One form: `table`, `tree` (of an op that ran), `prose`, or `all` of them."""
    rows = [(key.key, key.state, key.registration.kind) for key in dispatch.keys]
    lines = aligned([("key", "what happens", "kind, and where it is registered"), *rows])
    start = lines[0].index("kind")
    places = ("", *(f"\n  {' ' * start}{key.registration.where}" for key in dispatch.keys))
    blocks = {
        "prose": textwrap.fill(prose(dispatch), width, break_long_words=False, break_on_hyphens=False),
        "table": "\n".join(f"  {line.rstrip()}{place}" for line, place in zip(lines, places, strict=True)),
    }
    if dispatch.ran is not None:
        lines = grid.tree(dispatch.ran, below, lambda item, _: item if isinstance(item, str) else called(item))
        blocks["tree"] = "\n".join([f"With {', '.join(dispatch.example)}:", called(dispatch.ran), *lines])
    return "\n\n".join(blocks.values()) if form == "all" else blocks[form]


def prose(dispatch: Dispatch) -> str:
    """Tell it in sentences, every one from what is registered or ran."""
    return " ".join([*_kernel(dispatch), *_ran(dispatch), *_properties(dispatch)])


def _kernel(dispatch: Dispatch) -> list[str]:
    """The kernel that does the work, and the keys before it."""
    name, device = dispatch.name, dispatch.device
    found: list[str] = []
    last = next((key for key in dispatch.keys if key.state == "calls"), None)
    passed = [key for key in dispatch.keys if key.state == "calls, then goes on"]
    if last is not None:
        sentence = DISPATCH.get(last.registration.kind, DISPATCH["kernel"])
        found.append(sentence.format(name=name, device=device, key=last.key, where=last.registration.where))
    elif passed:
        found.append(f"{name}: which kernel runs for {device} tensors this build of torch cannot tell.")
    else:
        found.append(f"{name} has nothing registered for {device} tensors: the call fails.")
    if passed:
        found.append("Before that it passes " + " and ".join(f"{key.key}, which {key.why}" for key in passed) + ".")
    return found


def _properties(dispatch: Dispatch) -> list[str]:
    found: list[str] = []
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
    if dispatch.ran is None:
        return []
    names = [child.name for child in dispatch.ran.children]
    tensors = [word for word in dispatch.example if re.match(r"\w+ \[?\w+\[", word)]
    seen = f"It saw {_list(tensors)}" if tensors else "It ran"
    if not names:
        return [f"{seen}, and called no other op."]
    return [f"{seen}, so it called {_list(dict.fromkeys(names))}; {len(flat(dispatch.ran))} op names in all."]


def flat(called: Called) -> list[Called]:
    """An op and everything below it."""
    return [called, *(item for child in called.children for item in flat(child))]


def below(item: Called | str) -> list[Called | str]:
    """The ops that an op called, and the kernels that it launched."""
    return [] if isinstance(item, str) else [*item.children, *(f"⚡ {name}" for name in item.kernels)]


def called(item: Called) -> str:
    """An op with the shapes of its inputs."""
    return "  ".join(
        [item.name, *([" ".join("×".join(map(str, shape)) for shape in item.shapes)] if item.shapes else [])]
    )


def _list(words: Iterable[str]) -> str:
    return listed(list(words), sys.maxsize)
