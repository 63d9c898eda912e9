"""A story as text of a given width, and its tables; plain text, so that it can be read anywhere and compared."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from fxscope.text import aligned, listed, roof_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.analysis.story import Story

HEADINGS = {
    "overview": "What a step runs",
    "dispatch": "From ops to kernels",
    "bias": "The bias",
    "transpose": "The transposed weight",
    "copy": "Copies",
    "workspace": "The library's own work",
    "fusion": "Fused kernels",
    "intermediate": "Intermediates",
    "compile": "What compiling changed",
    "guards": "What the compiled code asserts",
    "recompile": "Recompiles and graph breaks",
    "counters": "What the GPU counted",
    "launch": "Launching",
    "worth": "Was it worth it",
}


def story(story: Story, *, width: int = 80, evidence: bool = False) -> str:
    """The story as text; with `evidence` each sentence is followed by what proves it."""
    blocks: list[str] = [story.title] if story.title else []
    products = _products(story)
    headings = {**HEADINGS, "gemm": products[:1].upper() + products[1:]}
    topic = None
    for sentence in story.sentences:
        if sentence.topic != topic:
            topic = sentence.topic
            blocks.append(f"\n{headings.get(topic, topic)}" if blocks else headings.get(topic, topic))
        blocks.append(_wrapped(sentence.text, width, "  · "))
        if evidence and sentence.evidence:
            shown = list(sentence.evidence[:8])
            more = f" and {len(sentence.evidence) - 8} more" if len(sentence.evidence) > 8 else ""
            by = f", tied by {sentence.weakest}" if sentence.weakest else ""
            blocks.append(_wrapped(f"[{', '.join(shown)}{more}{by}]", width, "      "))
    if story.gemms:
        blocks += [f"\nThe {products}, one by one", gemm_table(story, width=width)]
    if story.compile_costs:
        blocks += ["\nCPU overhead of each call of compiled code", compile_table(story)]
    return "\n".join(blocks)


def _products(story: Story) -> str:
    """What the rows of the table are called."""
    names = {"gemm": "GEMMs", "gemv": "GEMMs", "convolution": "convolutions", "attention": "attentions"}
    roles = {row.role for row in story.gemms}
    return listed(list(dict.fromkeys(name for role, name in names.items() if role in roles)))


def _wrapped(text: str, width: int, lead: str) -> str:
    return textwrap.fill(
        text,
        width,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    )


def gemm_table(story: Story, *, width: int = 80) -> str:
    """The table of GEMMs: what, M·K·N, tile, waves, µs, TFLOP/s, share of peak; the kernels below it."""
    header = ["", "op", "M·K·N", "GFLOP", "tile", "waves", "µs", "TFLOP/s", "of peak"]
    rows: list[list[str]] = []
    kernels: dict[str, int] = {}
    for row in story.gemms:
        number = kernels.setdefault(row.kernel, len(kernels) + 1)
        size = f"{row.m}·{row.k}·{row.n}" if row.m is not None else "–"
        rows.append(
            [
                f"[{number}]",
                row.label,
                f"{row.batch}×{size}" if row.batch else size,
                f"{row.flops / 1e9:.4g}" if row.flops else "–",
                "×".join(map(str, row.tile)) if row.tile else "–",
                f"{row.waves:.2f}" if row.waves is not None else "–",
                f"{row.duration_us:.1f}",
                f"{row.flops_per_second / 1e12:.3g}" if row.flops_per_second else "–",
                roof_share(row.share_of_peak),
            ]
        )
    lines = _table([header, *rows], 3)
    lines += [_wrapped(f"{name}", width, f"  [{number}] ") for name, number in kernels.items()]
    notes = {row.note: [other for other in story.gemms if other.note == row.note] for row in story.gemms if row.note}
    for note, rows_of_it in notes.items():
        names = list(dict.fromkeys(row.label for row in rows_of_it))
        lines.append(_wrapped(f"{listed(names, 3)}: {note}", width, "  "))
    peaks = list(dict.fromkeys(row.peak for row in story.gemms if row.peak and row.share_of_peak is not None))
    lines += [_wrapped(f"peak: {peak}", width, "  ") for peak in peaks]
    return "\n".join(lines)


def compile_table(story: Story) -> str:
    """What a compiled call pays, part by part."""
    rows = [[cost.what, _number(cost.median_us), _number(cost.first_us)] for cost in story.compile_costs]
    total = sum(cost.median_us or 0.0 for cost in story.compile_costs)
    first = sum(cost.first_us or 0.0 for cost in story.compile_costs)
    partly = any(cost.unknown for cost in story.compile_costs)
    rows.append(["what is known" if partly else "together", _number(total), _number(first)])
    return "\n".join(_table([["", "median µs", "first µs"], *rows], 1))


def launch_table(story: Story) -> str:
    """What each op of the last step asked of the runtime, and how long each part took."""
    last = story.steps[-1].step if story.steps else 0
    rows = [
        [
            row.op,
            " + ".join(row.runtime),
            _number(row.cpu_us),
            _number(row.runtime_us),
            _number(row.queue_us),
            _number(row.device_us),
        ]
        for row in story.launches
        if row.step == last
    ]
    return "\n".join(_table([["op", "runtime calls", "CPU µs", "runtime µs", "queue µs", "device µs"], *rows], 2))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _table(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    return [f"  {line}" for line in aligned(rows, left=range(left))]
