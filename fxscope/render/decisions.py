"""Fusion decisions as text: what became of a pair, why, what would change it, what staying apart costs."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from fxscope.index import index_of
from fxscope.render import labels, theme
from fxscope.text import at_least, counted, first_line, flop, microseconds, num_bytes, percent, rate, shorten

if TYPE_CHECKING:
    from fxscope.model import Counters, Decision, KernelCall, Node, Recording, Source

VERDICT_WORDS: dict[str | None, str] = {
    "fused": "fused",
    "rejected": "not fused: rejected",
    "never_considered": "not fused: never considered",
    None: "cannot be told",
}


def render(recording: Recording, decisions: list[Decision], *, width: int = 80) -> str:
    """Decisions as text of at most `width` columns."""
    ends = labels.Ends(recording)
    return (
        "\n\n".join(block(recording, decision, " → ".join(ends(decision)), width=width) for decision in decisions)
        + "\n"
    )


def block(recording: Recording, decision: Decision, pair: str, *, width: int = 80) -> str:
    """One decision: a headline, the reason, hint and cost, where its two ends are in the source."""
    glyph, _ = theme.VERDICTS[decision.verdict]
    words = VERDICT_WORDS[decision.verdict] + (f" ({decision.how})" if decision.how else "")
    lines = [f"{glyph} {pair}", f"  {words}"]
    lines += wrap(decision.reason, width)
    if decision.raw_reason and decision.raw_reason not in decision.reason:
        lines += wrap(f"Inductor: {first_line(decision.raw_reason)!r}", width)
    if decision.hint:
        switch = f" (torch._inductor.config.{decision.config})" if decision.config else ""
        lines += wrap(f"hint: {decision.hint}{switch}", width)
    price = cost(decision)
    if price:
        lines += wrap(price, width)
    lines += places(recording, decision, width)
    return "\n".join(lines)


LIKE_THE_LIBRARY = ", if the kernel that fuses is as fast as the library's"


def cost(decision: Decision) -> str | None:
    """What staying apart costs, in words."""
    if decision.verdict == "fused" or decision.saved_bytes is None:
        return None
    text = f"costs {num_bytes(decision.saved_bytes)} of traffic that one kernel would not have"
    if decision.saved_launches:
        text += f" and {counted(decision.saved_launches, 'launch')}"
    if decision.expected_us:
        text += f"; about {microseconds(decision.expected_us)} of device time"
        least = at_least(decision.saved_us)
        text += f", {least}" if least else "" if decision.saved_us is not None else LIKE_THE_LIBRARY
    elif least := at_least(decision.saved_us):
        text += f"; {least} of device time"
    return text


def places(recording: Recording, decision: Decision, width: int) -> list[str]:
    """The kernel call and the user's line of each end."""
    nodes = index_of(recording).nodes
    calls = index_of(recording).calls
    lines: list[str] = []
    sides = (
        (decision.a, decision.graph, decision.a_call),
        (decision.b, decision.other_graph or decision.graph, decision.b_call),
    )
    if decision.a_call == decision.b_call and decision.a_call is not None:
        sides = (((*decision.a, *decision.b), decision.graph, decision.a_call),)
    for names, graph, call_id in sides:
        call = calls.get(call_id or "")
        handle = call.handle if call is not None else None
        source = user_line([nodes[graph][name] for name in names if name in nodes.get(graph, {})])
        head = handle or ", ".join(names[:3]) or "?"
        lines.append("  in " + shorten(head, width - 5))
        if source:
            lines.append("\n".join(whole(source, width, "     ")))
    return list(dict.fromkeys(lines))


def whole(text: str, width: int, indent: str) -> list[str]:
    """A line of source in full, on as many lines as it needs."""
    return textwrap.wrap(
        text,
        width=max(width, 40),
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=True,
        break_on_hyphens=False,
    )


def user_line(nodes: list[Node]) -> str | None:
    """The user's line that most of these nodes come from."""
    sources = [node.source for node in nodes if node.source is not None and node.source.file]
    if not sources:
        return None
    keys = [(source.file, source.line) for source in sources]
    best: Source = sources[keys.index(max(keys, key=keys.count))]
    name = (best.file or "").rsplit("/", 1)[-1]
    return f"{name}:{best.line}" + (f"  {best.code.strip()}" if best.code else "")


def call_story(recording: Recording, call: KernelCall, *, width: int = 80) -> str:
    """What ran in a call, in order, what was folded into it, and what only lent it a name."""
    nodes = index_of(recording).nodes.get(call.graph, {})
    lines = [shorten(call.handle, width)]
    for name in call.nodes:
        node = nodes.get(name)
        if node is None:
            continue
        elsewhere = [other for other in node.calls if other != call.id]
        again = f"  (also computed in {', '.join(elsewhere)})" if elsewhere else ""
        lines.append(shorten(f"  {labels.node_title(node, index_of(recording).graphs[call.graph])}{again}", width))
    if call.folded:
        lines += wrap(f"folded into its arguments: {', '.join(call.folded)}", width)
    if call.named_only:
        lines += wrap(f"its name also says {', '.join(call.named_only)}, which did not run here", width)
    if call.bytes_read is not None or call.bytes_written is not None:
        text = f"reads {num_bytes(call.bytes_read)}, writes {num_bytes(call.bytes_written)}"
        lines += wrap(text + (f", {flop(call.flops)}" if call.flops else ""), width)
    if call.roof is not None:
        lines += wrap(roof(call, recording), width)
    if call.counters is not None:
        lines += wrap(counters(call.counters), width)
    return "\n".join(lines)


def counters(item: Counters) -> str:
    """What Nsight Compute counted, as far as it did."""
    what = "one execution" + (f" of {item.launches} kernels" if item.launches > 1 else "")
    parts = [f"DRAM reads {num_bytes(item.dram_bytes_read)}, writes {num_bytes(item.dram_bytes_written)}"]
    parts += [f"{num_bytes(item.l2_bytes)} through L2"] if item.l2_bytes is not None else []
    parts.append(f"memory {percent(item.memory_share)} and compute {percent(item.compute_share)} of the speed of light")
    parts += [f"tensor cores busy {percent(item.tensor_share)}"] if (item.tensor_share or 0.0) >= 0.005 else []
    parts += [f"occupancy achieved {percent(item.occupancy)}"] if item.occupancy is not None else []
    parts += [f"{item.registers} registers"] if item.registers is not None else []
    parts += [f"{num_bytes(item.local_bytes)} of local memory (spills)"] if item.local_bytes else []
    if item.stalls:
        parts.append("stalls " + ", ".join(f"{reason} {percent(share)}" for reason, share in item.stalls))
    return f"Nsight Compute, {what}: {'; '.join(parts)} (tied by {item.evidence})"


def roof(call: KernelCall, recording: Recording) -> str:
    """How near to the device's limits a call runs, with the numbers."""
    assert call.roof is not None
    item = call.roof
    parts: list[str] = []
    if call.timing is not None:
        parts.append(f"{microseconds(call.timing.typical_us)} {labels.middle([call.timing])} of {call.timing.count}")
        setting = config(call, recording)
        if setting:
            parts.append(f"with {setting}")
    if item.bytes_per_second is not None:
        parts.append(rate(item.bytes_per_second))
    if item.flops_per_second is not None:
        parts.append(rate(item.flops_per_second, "FLOP/s"))
    if item.bound is not None:
        parts.append(f"{item.bound}-bound")
    if item.share is not None:
        parts.append(f"{percent(item.share)} of the roof")
    if item.floor_us is not None:
        parts.append(f"floor {microseconds(item.floor_us)}")
    return ", ".join(parts) + (f" ({item.basis})" if item.basis else "")


def config(call: KernelCall, recording: Recording) -> str | None:
    """The launch configuration that ran, from the traced launch or from what was compiled: a time without it
    says little.
    """
    launches = index_of(recording).launches_of_call.get(call.id)
    op = index_of(recording).op_of(launches[0]) if launches else None
    if op is not None and op.config and op.config.get("kernel_kwargs"):
        words = [str(op.config["kernel_kwargs"]).replace(",", ", ")]
        return ", ".join([*words, *([f"num_warps={op.config['num_warps']}"] if "num_warps" in op.config else [])])
    chosen = next((item for item in call.resources.configs if item.chosen), None) if call.resources else None
    if chosen is None:
        return None
    words = [f"{name}={value}" for name, value in chosen.kwargs.items()]
    words += [f"num_warps={chosen.num_warps}"] if chosen.num_warps is not None else []
    return ", ".join(words) or None


def wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width=max(width, 40),
        initial_indent="    ",
        subsequent_indent="      ",
        break_long_words=True,
        break_on_hyphens=False,
    )
