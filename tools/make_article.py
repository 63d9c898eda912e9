"""Write docs/article.md from `fxscope check` over what an H200 did: `python tools/make_article.py [--check]`.

Nothing in the page is written by hand except the connecting sentences here: numbers and verdicts come from the
captures in `tests/data` and the claims in `examples/claims`. `--check` writes nothing and fails where the page is not
up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from typing import TYPE_CHECKING, Any  # noqa: E402

import msgspec  # noqa: E402

from fxscope.analysis import check, select  # noqa: E402
from fxscope.analysis.compare import compare  # noqa: E402
from fxscope.analysis.compare.uses import use  # noqa: E402
from fxscope.analysis.findings import Sweep  # noqa: E402
from fxscope.commands import common  # noqa: E402
from fxscope.render import grid, labels, reports, sweeps  # noqa: E402
from fxscope.render.diff import diff_markdown  # noqa: E402
from fxscope.render.markdown import fenced, text  # noqa: E402
from fxscope.text import microseconds, num_bytes  # noqa: E402

if TYPE_CHECKING:
    from fxscope.analysis.findings import CheckReport, KernelUse, Outcome
    from fxscope.model import Recording

CLAIMS = ROOT / "examples" / "claims" / "torch_mlp_fusion.toml"
DATA = ROOT / "tests" / "data"
FOLDERS = (
    "linear_eager",
    "linear_compiled",
    "mlp_eager",
    "mlp_compiled",
    "mlp_liger",
    "mlp_max_autotune",
    "mlp_dynamic",
)
TRAINING = ("mlp_train_eager", "mlp_train_compiled")
PAGE = ROOT / "docs" / "article.md"
ARTICLE = "https://huggingface.co/blog/torch-mlp-fusion"


def inputs() -> list[str]:
    """Return the inputs of the check, as arguments of `fxscope check`."""
    return [*(str(DATA / "h200" / name) for name in FOLDERS), str(DATA / "checks" / "linear_live.fxscope")]


class RecordedSweep(Sweep, kw_only=True):
    """A sweep, and the other measurements of its run."""

    experiments: dict[str, Any]
    triton_configs: list[dict[str, Any]]


def pages() -> dict[Path, str]:
    """Return path → what should be in it."""
    recordings = common.named(inputs())
    data = check.parse(CLAIMS.read_text(encoding="utf-8"), CLAIMS.name)
    report = check.check(recordings, data, where=CLAIMS.name)
    sweep = msgspec.json.decode((DATA / "sweep" / "sweep.json").read_bytes(), type=RecordedSweep)
    parts = [
        "<!-- Written by tools/make_article.py. Change that, the claims or the captures, and run it again. -->",
        "",
        "# The article's claims, checked on an H200",
        "",
        f"[*Profiling in PyTorch (Part 2): From nn.Linear to a Fused MLP*]({ARTICLE}) measures on an A100. "
        "Its claims about one program are expectations in "
        f"`examples/claims/torch_mlp_fusion.toml`, checked here on an {recordings['mlp_eager'].environment.device}. "
        "The model is a GeGLU MLP, [64, 128, 768] in bfloat16, hidden 3072.",
        "",
        f"**{reports.summary(report)}** (a claim with several parts has one line for each).",
        "",
        "```",
        "fxscope check tests/data/h200/{linear_eager,linear_compiled,mlp_eager,mlp_compiled,mlp_liger,"
        "mlp_max_autotune,mlp_dynamic} \\",
        "    tests/data/checks/linear_live.fxscope examples/claims/torch_mlp_fusion.toml",
        "```",
        "",
        "## What does not hold here, and why",
        "",
        *differences(report),
        "",
        "## Every claim",
        "",
        "| | claim | where | fact |",
        "|---|---|---|---|",
        *(row(outcome) for outcome in report.outcomes),
        "",
        "## Eager, compiled, Liger",
        "",
    ]
    for a, b in (("mlp_eager", "mlp_compiled"), ("mlp_eager", "mlp_liger"), ("mlp_compiled", "mlp_max_autotune")):
        parts += [diff_markdown(compare(recordings[a], recordings[b])), ""]
    parts += memory_part(recordings)
    parts += resource_part(recordings, sweep)
    parts += sweep_part(sweep)
    page = "\n".join(parts).rstrip() + "\n"
    return {PAGE: page}


def differences(report: CheckReport) -> list[str]:
    """Return one entry per claim that is not met."""
    lines = []
    for outcome in report.outcomes:
        if outcome.status == "met":
            continue
        more = [outcome.reason, outcome.note]
        lines.append(f"- {reports.MARKS[outcome.status]} **{text(outcome.claim)}**: found {text(outcome.found)}.")
        lines += [f"  {text(line)}" for line in more if line]
    return lines


def row(outcome: Outcome) -> str:
    """Return one line of the table."""
    subject = "" if outcome.subject == "all" else f"`{outcome.subject}`"
    return f"| {reports.MARKS[outcome.status]} | {text(outcome.claim)} | {subject} | {text(outcome.found)} |"


def memory_part(recordings: dict[str, Recording]) -> list[str]:
    """Return peak memory, and what passes through memory between kernels that fusion joins."""
    lines = ["## Memory", "", "| setup | peak of the run | between kernels, written and read back |", "|---|--:|---|"]
    for name in ("mlp_eager", "mlp_compiled", "mlp_max_autotune", "mlp_liger"):
        recording = recordings[name]
        peak = recording.memory.peak_bytes if recording.memory else None
        lines.append(f"| {name} | {num_bytes(peak)} | {between(recording)} |")
    return [*lines, "", "The last column has the memory traffic of each pair that was not fused.", ""]


def between(recording: Recording) -> str:
    """Return the pairs that pass a tensor through memory, with its traffic."""
    nodes = {(graph.id, node.name): node for graph in recording.graphs for node in graph.nodes}
    found = []
    for decision in recording.decisions:
        if decision.verdict == "fused" or not decision.saved_bytes or decision.a_call is None is not decision.b_call:
            continue
        ops = [
            "·".join(
                dict.fromkeys(
                    select.op_of(nodes[decision.graph, name])
                    for name in side
                    if (decision.graph, name) in nodes and nodes[decision.graph, name].nature != "view"
                )
            )
            for side in (decision.a, decision.b)
        ]
        found.append(f"{text(' → '.join(ops))} {num_bytes(decision.saved_bytes)}")
    return "; ".join(found) or "–"


def resources(recording: Recording) -> list[str]:
    """Return the registers, occupancy and launch configuration of each kernel; those launched alike once."""
    columns = ("registers", "shared_bytes", "occupancy", "block", "num_warps", "num_stages", "config")
    rows = [["kernel", "median", *columns]]
    seen: dict[tuple, None] = {}
    for item in uses_of(recording):
        key = (item.kernel, item.ops if "<" in item.kernel else (), item.registers, item.block, item.config)
        if item.category == "kernel" and key not in seen:
            seen[key] = None
            values = (getattr(item, column) for column in columns)
            words = [
                "×".join(map(str, value)) if isinstance(value, tuple) else "–" if value is None else str(value)
                for value in values
            ]
            rows.append([labels.kernel_label(item, 40), microseconds(item.time_us), *words])
    return grid.table(rows, 10_000)


def resource_part(recordings: dict[str, Recording], sweep) -> list[str]:
    """Return registers, spills, occupancy and launch configuration: forward, and training."""
    lines = ["## Registers and launch configurations", ""]
    more = {name: common.read(str(DATA / "h200" / name)) for name in TRAINING}
    for name, recording in {
        **{name: recordings[name] for name in ("mlp_eager", "mlp_compiled", "mlp_max_autotune", "mlp_liger")},
        **more,
    }.items():
        lines += [f"### {name}", "", fenced("\n".join(resources(recording))), ""]
    rows = sweep.experiments.get("liger_resources")
    if isinstance(rows, list) and rows:
        lines += ["### Liger's kernel over column counts (the sweep's run)", ""]
        lines += ["| kernel | warps | registers | spilled bytes |", "|---|--:|--:|--:|"]
        lines += [f"| `{r['kernel']}` | {r['num_warps']} | {r['registers']} | {r['spills']} |" for r in rows]
        lines += [
            "",
            "`calculate_settings` takes the next power of two of the columns as the block, and warps from that.",
            "",
        ]
    configs = [c for c in sweep.triton_configs if "gelu" in c["kernel"]]
    if configs:
        lines += ["### What Inductor compiled for the fused kernel at batch 64 (the sweep's run)", ""]
        lines += ["| kernel | configuration | warps | registers | spilled bytes |", "|---|---|--:|--:|--:|"]
        seen = dict.fromkeys(
            f"| `{c['kernel']}` | {text(', '.join(f'{k}={v}' for k, v in c['kwargs'].items()))} | {c['num_warps']} | "
            f"{c['registers']} | {c['spills']} |"
            for c in configs
        )
        lines += [*seen, ""]
    return lines


def uses_of(recording: Recording) -> list[KernelUse]:
    """Return the kernels of a step."""
    return [use(recording, unit) for unit in select.units(recording)]


def sweep_part(sweep) -> list[str]:
    """Return the sweep over batch sizes, and the other measurements of its run."""
    lines = ["## Over batch sizes", ""]
    lines += [fenced(sweeps.text(sweep))]
    lines += ["", "### Depth", "", "| batch | layers | eager | compiled | |", "|--:|--:|--:|--:|---|"]
    lines += [pair_row([str(r["batch"]), str(r["depth"])], r["wall_us"]) for r in sweep.experiments.get("depth", [])]
    lines += ["", "### 1024×4096×1024", "", "| what | dtype | eager | compiled | |", "|---|---|--:|--:|---|"]
    lines += [
        pair_row([text(r["what"]), r["dtype"]], r["wall_us"])
        for r in sweep.experiments.get("up_proj_1024_4096_1024", [])
    ]
    return lines


def pair_row(head: list[str], times: dict[str, list[float]]) -> str:
    """Return a row with both times and what the repeats show."""
    from fxscope.analysis.stats import compare_times

    time = compare_times(times["eager"], times["compiled"])
    return (
        f"| {' | '.join(head)} | {microseconds(time.a_us)} | {microseconds(time.b_us)} | "
        f"{text(f'{time.verdict}: {time.reason}')} |"
    )


def main() -> int:
    """Write the pages, or say which are not up to date."""
    stale = []
    for path, content in pages().items():
        if "--check" in sys.argv[1:]:
            if not path.exists() or path.read_text(encoding="utf-8") != content:
                stale.append(path.name)
        else:
            path.write_text(content, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    if stale:
        print(f"not up to date: {', '.join(stale)}. Run python tools/make_article.py.", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
