# ruff: noqa: E501 (a sentence stays on one line, so that it can be read and searched)
"""What a recording says about its GEMMs: bias, transposes, copies, workspaces, why their kernels differ."""

from __future__ import annotations

import itertools
import re
from statistics import median
from typing import TYPE_CHECKING, Any

from fxscope.analysis import select
from fxscope.analysis.explain.gemm_table import evidence, main_kernel, role
from fxscope.analysis.story import Sentence
from fxscope.index import index_of
from fxscope.kernel_names import decode
from fxscope.model import weakest
from fxscope.op_names import GEMMS, is_convolution, op_name
from fxscope.text import counted, kernel_name, listed, microseconds, num_bytes, of_roof, rate, roof_share, sizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fxscope.analysis.story import GemmRow
    from fxscope.model import Launch, Op, Recording

_COPYING = ("copy", "memcpy")


def story(recording: Recording, gemms: Sequence[GemmRow]) -> list[Sentence]:
    """Every sentence about GEMMs."""
    groups = _first_step(recording)
    ops = index_of(recording).ops
    time = _times(recording)
    return [
        *_once(_bias(group, ops, time) for group in groups),
        *_once(_transpose(group, ops, recording) for group in groups),
        *_copies(recording, ops, time),
        *_workspace(groups),
        *_differences(gemms),
        *_rates(gemms),
    ]


def _first_step(recording: Recording) -> list[list[Launch]]:
    """The launches of each op of the first step, in order; launches whose op is known by its order only, by their call."""
    if not recording.launches:
        return []
    step = index_of(recording).first_step
    groups: dict[Any, list[Launch]] = {}
    for launch in recording.launches:
        if launch.step == step:
            # A replayed graph launches everything under one op: there the kernel call tells the products apart.
            by_call = launch.evidence.op == "order" or launch.op_id is None
            key = (launch.call, launch.invocation) if by_call else (launch.op_id, launch.call)
            groups.setdefault(key, []).append(launch)
    return list(groups.values())


def _times(recording: Recording) -> dict[int, float]:
    """Launch → µs at the median of all steps, as the other verbs show it."""
    rows = select.by_position(recording) if recording.launches else []
    return {launch.id: us for row in rows for us in [median(x.duration_ns for x in row) / 1000] for launch in row}


def _once(sentences: Any) -> list[Sentence]:
    """Say what is equal once, with all its evidence."""
    found: dict[str, Sentence] = {}
    for sentence in sentences:
        if sentence is None:
            continue
        same = found.get(sentence.text)
        found[sentence.text] = (
            sentence
            if same is None
            else Sentence(
                topic=same.topic,
                text=same.text,
                evidence=(*same.evidence, *sentence.evidence),
                weakest=same.weakest,
                values={**same.values, "times": same.values.get("times", 1) + 1},
            )
        )
    return list(found.values())


def _proof(group: Sequence[Launch]) -> tuple[str, ...]:
    return evidence(group[0], group)


def _bias(group: list[Launch], ops: Mapping[int, Op], time: Mapping[int, float]) -> Sentence | None:
    """Where the bias went: into the epilogue that the kernel's name states, or a kernel of its own, or neither is said."""
    main = main_kernel(group)
    if main is None:
        return None
    stated = (main.decoded or decode(main.name) or {}).get("epilogue")
    op = ops.get(main.op_id) if main.op_id is not None else None
    kernels = [launch for launch in group if launch.category == "kernel"]
    adds = [launch for launch in kernels if launch is not main and _adds(launch)]
    link = weakest(main.evidence.op)
    # The name is what says it: that is the weakest link of the argument.
    if stated and "bias" in stated:
        activation = re.sub(r"bias[a-z]?(?=_|$)", "", stated).strip("_")
        more = f" and {activation}" if activation else ""
        text = f"The bias{more} {'are computed' if activation else 'is added'} in the GEMM's epilogue, not by a kernel of its own: `{stated}` in the name of `{kernel_name(main.name, 60)}`."
        return Sentence(topic="bias", text=text, evidence=_proof(group), weakest="name", values={"epilogue": stated})
    takes = GEMMS.get(op_name(main.op or "")) == (1, 2) and op is not None and op.shapes and len(op.shapes[0]) == 1
    if adds:
        what = f"{listed([f'`{kernel_name(launch.name, 60)}`' for launch in adds])}"
        text = f"{_asked(main)} runs the addition in a kernel of its own after the GEMM: {what}, {microseconds(sum(time[launch.id] for launch in adds))}."
        return Sentence(topic="bias", text=text, evidence=_proof(group), weakest=link, values={"separate": len(adds)})
    if takes and len(kernels) == 1:
        text = f"The bias of {_asked(main)} has no kernel of its own: the op ran one kernel, so `{kernel_name(main.name, 60)}` added it; its name does not say so."
        return Sentence(topic="bias", text=text, evidence=_proof(group), weakest=link)
    return None


def _asked(launch: Launch) -> str:
    """What launched a kernel: its op; in a replayed graph, where no op is known, its node or call."""
    if launch.op and "::" in launch.op:
        return launch.op
    return listed(list(launch.nodes)) or launch.call or launch.op or "an unknown op"


def _adds(launch: Launch) -> bool:
    decoded = launch.decoded or decode(launch.name) or {}
    return decoded.get("role") == "elementwise" and "add" in (decoded.get("ops") or ())


def _transpose(group: list[Launch], ops: Mapping[int, Op], recording: Recording) -> Sentence | None:
    """Whether the weight was copied to transpose it: strides of the op's operand against the layout in the kernel's name."""
    main = main_kernel(group)
    if main is None or role(main) == "convolution" or role(main) == "attention":
        return None
    operand = _operand(main, ops, recording)
    if operand is None:
        return None
    shape, stride, proof = operand
    layout = (main.decoded or decode(main.name) or {}).get("layout")
    transposed = stride[-1] != 1 and stride[-2] == 1 and shape[-2] > 1 and shape[-1] > 1
    plain = stride[-1] == 1 and stride[-2] >= shape[-1]
    op = _asked(main)
    copies = [launch for launch in group if role(launch) in _COPYING]
    values = {"stride": list(stride), "shape": list(shape), "layout": layout}
    if transposed and not copies:
        text = (
            f"The second operand of {op} is transposed without a copy: it is a view with strides {sizes(stride[-2:])}"
        )
        if layout and layout[0] == "T":
            text += f", which the kernel's `{layout}` layout reads directly."
        elif layout:
            text += f"; the kernel's name says `{layout}`, which does not agree with that."
        else:
            text += "; the kernel's name does not say how it reads it." if main.category == "kernel" else "."
        return Sentence(
            topic="transpose",
            text=text,
            evidence=(*_proof(group), *proof),
            weakest="name" if layout else main.evidence.op,
            values=values,
        )
    if plain and layout:
        text = (
            f"The second operand of {op} is row-major, strides {sizes(stride[-2:])}; the kernel's layout is `{layout}`."
        )
        return Sentence(topic="transpose", text=text, evidence=(*_proof(group), *proof), weakest="name", values=values)
    return None


def _operand(
    main: Launch, ops: Mapping[int, Op], recording: Recording
) -> tuple[list[int], list[int], tuple[str, ...]] | None:
    """Shape and strides of a product's second matrix, from the op, else from the graph."""
    op = ops.get(main.op_id) if main.op_id is not None else None
    _, index = GEMMS.get(op_name(main.op or ""), (None, None))
    if (
        op is not None
        and op.shapes
        and op.strides
        and index is not None
        and len(op.shapes) > index
        and len(op.strides) > index
    ):
        shape, stride = op.shapes[index], op.strides[index]
        if len(shape) >= 2 and len(stride) == len(shape) and all(isinstance(item, int) for item in (*shape, *stride)):
            return list(shape), list(stride), ()
    for graph in recording.graphs:
        if graph.id != main.graph or len(main.nodes) != 1:
            continue
        by_name = {node.name: node for node in graph.nodes}
        node = by_name.get(main.nodes[0])
        last = by_name.get(node.inputs[-1]) if node is not None and node.inputs else None
        meta = last.outputs[0] if last is not None and last.outputs else None
        if (
            meta
            and meta.stride
            and len(meta.shape) >= 2
            and all(isinstance(item, int) for item in (*meta.shape, *meta.stride))
        ):
            return list(meta.shape), list(meta.stride), (f"node:{graph.id}/{last.name}",)  # type: ignore[arg-type, union-attr]
    return None


def _copies(recording: Recording, ops: Mapping[int, Op], time: Mapping[int, float]) -> list[Sentence]:
    """Copies that really moved memory: an op that was meant to be a view, a cast, a transfer."""
    if not recording.launches:
        return []
    step = index_of(recording).first_step
    sentences: list[Sentence | None] = []
    for launch in recording.launches:
        if launch.step != step or role(launch) not in _COPYING or launch.op is None:
            continue
        op = ops.get(launch.op_id) if launch.op_id is not None else None
        asked = [name for name in launch.chain if "::" in name]
        through = f", called by {asked[-2]}" if len(asked) > 1 and asked[-2] != launch.op else ""
        copied = op_name(launch.op) in ("copy_", "clone", "contiguous", "_to_copy")  # other ops have several operands
        if (
            copied
            and op is not None
            and op.shapes
            and op.shapes[0]
            and all(isinstance(size, int) for size in op.shapes[0])
        ):
            through += f", of a tensor of {sizes(op.shapes[0])}"
        moved = f" of {num_bytes(launch.bytes)}" if launch.bytes else ""
        text = f"{launch.op} copies memory{moved}{through}: `{kernel_name(launch.name, 60)}`, {microseconds(time[launch.id])}."
        sentences.append(
            Sentence(
                topic="copy",
                text=text,
                evidence=_proof([launch]),
                weakest=launch.evidence.op,
                values={"duration_us": time[launch.id]},
            )
        )
    return _once(sentences)


def _workspace(groups: list[list[Launch]]) -> list[Sentence]:
    """Memsets and split-K reductions beside a product: the library's own, no op of the program asked for them."""
    sentences: list[Sentence] = []
    beside = [(main, group) for group in groups if (main := main_kernel(group)) and "memset" in map(role, group)]
    for own in (True, False):
        cleared = [
            group
            for main, group in beside
            if own == (role(main) in ("gemm", "gemv") and not is_convolution(main.op or ""))
        ]
        if not cleared:
            continue
        memsets = [launch for group in cleared for launch in group if role(launch) == "memset"]
        known = {launch.bytes for launch in memsets}
        size = next(iter(known))
        how_much = (
            f" ({num_bytes(size)}{' each' if memsets[1:] else ''})" if len(known) == 1 and size is not None else ""
        )
        ops = listed(list(dict.fromkeys(_asked(group[0]) for group in cleared)))
        verb = "is" if len(memsets) == 1 else "are"
        if own:
            what = f"the GEMM library's own: it clears a workspace beside {counted(len(cleared), 'GEMM')} of {ops}"
        else:  # what it clears, a workspace or a result that blocks add to, is not recorded
            what = f"launched by {ops} itself, beside its kernels: no op of the program asked for {'it' if verb == 'is' else 'them'}"
        sentences.append(
            Sentence(
                topic="workspace",
                text=f"{counted(len(memsets), 'memset')}{how_much} per step {verb} {what}.",
                evidence=tuple(item for group in cleared for item in _proof(group)),
                weakest=cleared[0][0].evidence.op,
                values={"memsets": len(memsets)},
            )
        )
    for group in groups:
        reductions = [launch for launch in group if role(launch) == "split_k_reduce"]
        main = main_kernel(group)
        if reductions and main:
            text = f"{_asked(main)} runs two kernels: K is split among blocks of `{kernel_name(main.name, 60)}`, and `{kernel_name(reductions[0].name, 60)}` adds the parts."
            sentences.append(Sentence(topic="workspace", text=text, evidence=_proof(group), weakest=main.evidence.op))
    return _once(sentences)


def _differences(gemms: Sequence[GemmRow]) -> list[Sentence]:
    """Why two products run different kernels, and that the same kernel means the same shape of work."""
    found: list[Sentence] = []
    kernels: dict[str, list[GemmRow]] = {}
    for row in gemms:
        if row.role in ("gemm", "gemv") and row.m is not None and row.kernel != row.op:  # else on the CPU
            kernels.setdefault(row.kernel, []).append(row)
    rows = list(kernels.values())
    if len(rows) < 2:
        return found
    for first, second in itertools.pairwise(rows):
        a, b = first[0], second[0]
        text = f"{a.label} and {b.label} run different kernels: {_work(a)}, against {_work(b)}."
        found.append(
            Sentence(
                topic="gemm",
                text=text,
                evidence=(*a.evidence, *b.evidence),
                weakest="name",
                values={"kernels": [a.kernel, b.kernel]},
            )
        )
    return found[:8]


def _work(row: GemmRow) -> str:
    text = f"{_size(row)}"
    if row.tile:
        text += f" in tiles of {row.tile[0]}×{row.tile[1]}"
    if row.tiles is not None and row.waves is not None:
        blocks = f" in {counted(row.blocks, 'block')}" if row.blocks and row.blocks != row.tiles else ""
        text += f", {counted(row.tiles, 'tile')}{blocks} = {row.waves:.2f} waves"
    return f"{text}, {microseconds(row.duration_us)}{' with all that it launches' if row.num_launches > 1 else ''}"


def _size(row: GemmRow) -> str:
    size = f"{row.m}·{row.k}·{row.n}"
    return f"{row.batch} × {size}" if row.batch else size


def _rates(gemms: Sequence[GemmRow]) -> list[Sentence]:
    known = [row for row in gemms if row.flops_per_second and row.share_of_peak is not None]
    if not known:
        return []
    best, worst = max(known, key=lambda row: row.share_of_peak or 0), min(known, key=lambda row: row.share_of_peak or 0)
    text = f"{best.label} reaches {rate(best.flops_per_second, 'FLOP/s')}, {of_roof(best.share_of_peak or 0.0, best.peak or 'its peak')}"
    if worst is not best:
        other = f" of {(worst.peak or '').partition(' (')[0]}" if worst.peak != best.peak else ""
        text += f"; {worst.label} {roof_share(worst.share_of_peak)}{other}"
    return [
        Sentence(
            topic="gemm",
            text=text + ".",
            evidence=(*best.evidence, *worst.evidence),
            values={"best": best.share_of_peak, "worst": worst.share_of_peak},
        )
    ]
