"""The compiled regions that a trace alone shows. The graph and what the scheduler considered are not in it."""

import re

from fxscope.columns import distinct
from fxscope.index import index_of, kept
from fxscope.model import Recording
from fxscope.op_names import COMPILED_REGIONS, INDUCTOR_RUNS, PACKAGE, REGION_ID, is_generated
from fxscope.passes import regions

_GENERATED = re.compile(rf"triton_(poi|red|per|tem|for|split_scan)_|triton_(fused_\w+)?_0d1|cpp_fused_|{INDUCTOR_RUNS}")
MORE = (
    "To see graph nodes and fusion decisions, run again with TORCH_TRACE=FOLDER, then fxscope view TRACE "
    "--compile-log FOLDER; or record the run: fxscope run SCRIPT."
)


def regions_of(recording: Recording) -> frozenset[str]:
    """The ids of the compiled regions of a trace that run code of Inductor's; none where the compile's files say more."""
    return frozenset() if recording.calls else kept(recording, "traced regions", _regions)


def every_region(recording: Recording) -> frozenset[str]:
    """The ids of the regions of torch.compile in a trace, whatever backend runs in them."""
    found = map(REGION_ID.match, distinct(recording.ops, "name"))
    return frozenset(match["id"] for match in found if match)


def _regions(recording: Recording) -> frozenset[str]:
    """Those around Inductor's mark; a trace of a torch that writes no mark does not tell its regions apart."""
    around = frozenset(item.compile_id for item in regions.regions_of(recording, {}) if item.compile_id is not None)
    return around or (every_region(recording) if runs_generated(recording) else around)


def is_compiled(recording: Recording) -> bool:
    """Return whether a recorded or planned step runs compiled code."""
    runs = {item.compile_id: item.runs for item in recording.compiles}
    return any(runs.get(item) != 0 for item in index_of(recording).compiled) or runs_generated(recording)


def runs_other_backend(recording: Recording) -> bool:
    """Return whether regions of torch.compile, or functions of its AOTAutograd, ran without code of Inductor's."""
    ops = distinct(recording.ops, "name")
    return any(name.startswith(COMPILED_REGIONS) for name in ops) and not is_compiled(recording)


def runs_generated(recording: Recording) -> bool:
    """Return whether a kernel or an op has a name of Inductor's ("triton__0d1d2d" in torch 2.0): compiled code ran."""
    return any(map(_GENERATED.match, distinct(recording.launches, "name") | distinct(recording.ops, "name")))


def hides_kernels(recording: Recording) -> bool:
    """Return whether compiled code ran on a CPU whose trace has no event of a generated kernel."""
    has_cpp = bool(regions_of(recording)) or any(call.type == "cpp" for call in recording.calls)
    is_seen = any(map(is_generated, distinct(recording.launches, "name")))
    return has_cpp and index_of(recording).is_on_cpu and not is_seen


def more(recording: Recording) -> list[str]:
    """Say what would show the graphs of a trace's compiled regions; nothing where the compile's files are read."""
    has_files = any(graph.stage == "post_grad" for graph in recording.graphs)
    return [MORE] if not has_files and any(not item.startswith(PACKAGE) for item in regions_of(recording)) else []
