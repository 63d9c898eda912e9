"""All the English of fusion decisions: reasons, notes, hints and verdicts. Logic reads codes, never these sentences.

A new reason touches two files: its words here, and the rule in `passes/fusion/` that finds it. Placeholders are the
decision's `arguments`; `config` and `limit` are the switch that it is about and that switch's value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fxscope.text import counted, listed, num_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VERDICTS: dict[str | None, str] = {
    "fused": "fused",
    "rejected": "not fused: rejected",
    "never_considered": "not fused: never considered",
    None: "unknown",
}

HOW: dict[str, str] = {
    "vertical": "the second reads what the first computes",
    "horizontal": "independent, and they share data",
    "reduction": "a reduction and the ops around it in one loop nest",
    "epilogue": "computed on the first's result before it is stored",
    "prologue": "computed while the second loads its input",
    "template": "part of a kernel template",
    "foreach": "lists of tensors in one launch",
    "combo": "independent kernels in one launch",
    "mix_order": "reductions over different axes share one read",
    "nested_reduction": "a reduction inside another's loop",
}

# Code → sentence. `recorded` holds the words of a recording that was made before there were codes.
REASONS: dict[str, str] = {
    "recorded": "{words}",
    # The scheduler rejected the pair.
    "torch_says": "Inductor: {words}",
    "too_many_nodes": "too many scheduler nodes for one kernel",
    "too_few_shared_bytes": "too few shared bytes",
    "too_far_apart": "more than 64 scheduler nodes between them",
    "raises_peak_memory": "one kernel would raise peak memory",
    "too_many_buffers": "one kernel would touch too many buffers",
    "cycle": "another kernel must run between them",
    "other_elements": "the second reads other elements than the first's loop has just written",
    "needs_between": "the second also needs a result that is computed between the two",
    "reduction_spaces_differ": "different iteration spaces (reductions, scans or sorts){spaces}",
    "spaces_differ": "different iteration spaces{spaces}",
    "prologue_spaces_differ": "iteration space differs from that of the template's prologue{spaces}",
    "pointwise_not_covering": "the pointwise loop does not cover the elements of the reduction",
    "elements_differ": "different numbers of elements",
    "tilings_differ": "different tilings: {tilings}",
    "tiling_not_reducible": "the pointwise part needs a tiling that the reduction cannot have",
    "native_matmul": "a native matmul fixes loop order and tiling",
    "split_scan": "a split scan cannot share a kernel with a reduction",
    "devices_differ": "different devices: {a} and {b}",
    "wrong_order": "one needs the other's result first",
    "disabled": "torch disables fusion of this buffer",
    "grouped": "the node's group must stay as it is",
    "launches_nothing_or_extern": "one of them launches nothing or is an extern kernel",
    "extern": "extern kernel, opaque to Inductor",
    "user_triton_epilogue": "user-written Triton kernel, called as it is",
    "user_triton_epilogue_refused": "a user-written Triton kernel takes only a pointwise epilogue of its output alone",
    "prescribed_order": "a reduction with a prescribed order of additions stays alone",
    "contracts_differ": "the two reductions prescribe different numerics",
    "foreach_dependency": "parts of a foreach kernel run in parallel, and one needs another's result",
    "no_stage_plan": "no plan puts the reduction and its successor into stages of one kernel",
    "prologues_off": "prologue fusion is off",
    "prologue_needs_template": "only a Triton template takes a prologue",
    "prologue_not_pointwise": "a template takes only a pointwise prologue",
    "prologue_not_allowed": "the template takes no prologue on this input",
    "prologue_mutates": "a prologue may not write in place or alias its input",
    "prologue_used_elsewhere": "the result is used elsewhere too, so it must be stored",
    "prologue_reads_more": "as a prologue it would make the template read more bytes",
    "prologue_padding": "padding inside the template would make its reads unaligned",
    "prologue_upcast": "as a prologue it would be computed in fp32 inside a low-precision template",
    "epilogue_not_pointwise": "a template takes only a pointwise epilogue that writes nothing in place",
    "multi_output_epilogue": "a template with several outputs takes no such epilogue",
    "would_spill": "benchmarked: {kernel} would spill registers",
    "foreach_lists_differ": "the lists of a foreach kernel do not pair up with the other node",
    # The scheduler found no shared data.
    "loops_differ_in_number": "different numbers of elements of {buffer}: {a} and {b}",
    "broadcast": "one reads {buffer} broadcast over another iteration space",
    "offsets_differ": "different parts of {buffer}: from element {a} and from element {b}",
    "loop_orders_differ": "different loop order over {buffer}",
    "indirect": "one indexes {buffer} indirectly",
    "whole_buffer": "one uses {buffer} as a whole (in place, or by a scatter)",
    "indices_differ": "different indices into {buffer}: {words}",
    "loops_do_not_match": "different loops over {buffer}",
    "no_shared_data": "no shared data",
    # The backend declined.
    "declined": "declined by the backend without a reason",
    "needs_reduction": "the second needs the result of the first's reduction, and they share no outer loop: {a}, then {b}",
    "cpp_loops_differ": "different loops: {a} and {b}",
    "too_many_horizontal": "too many scheduler nodes for one C++ function",
    "better_pair": "allowed, but a pair with a higher score was fused first",
    "combo_kinds_differ": "grouped by combo_kernels, but their kinds or sizes do not mix",
    # The scheduler was never asked.
    "device_boundary": "different devices: {a} and {b}",
    "stream_boundary": "different streams",
    "outside_scheduler": "one is a copy or a call that the wrapper adds outside the scheduler",
    "never_neighbours": "never neighbours in a round of the scheduler",
    "other_version": "each uses another part of a concatenation, or another version of a buffer that is written in place",
    "no_op": "no-op: it only names memory and launches nothing",
    "no_fusion_log": "no fusion log was recorded",
    "extern_gemm": "{library} GEMM, opaque to Inductor",
    "extern_convolution": "library convolution, opaque to Inductor",
    "extern_attention": "library attention, opaque to Inductor",
    "fallback": "fallback: Inductor writes no kernel for {kernel} here",
    "user_triton": "user-written Triton kernel {kernel}, called as it is",
    "both_extern": "two library kernels, opaque to Inductor",
    # Two graphs; the second is of older recordings.
    "forward_backward": "forward and backward are two graphs",
    "graph_break": "graph break{place}{code_line}: {why}",
    # Eager.
    "eager": "eager: each op launches its own kernel",
    # Fused.
    "folded": "became an argument (strides, shape) of {kernel}",
    "in_one_kernel": "run inside {kernel}",
    "inlined": "inlined at lowering into one scheduler node ({node}, {ops} ops)",
    "joined": "{ways} ({count} scheduler nodes)",
    "joined_pair": "{how_words} ({a} with {b})",
}

# What is added to a reason.
NOTES: dict[str, str] = {
    "is_set": "{config} is on, and does not help",
    "autotuned": "max_autotune was on and chose the library's kernel",
    "tried_as_template": "tried as a template; the benchmark chose the library's kernel",
    "one_cpp_function": "both are loops of one C++ function",
    "write_parts": "they write parts of one buffer",
    "overwrites_input": "the second overwrites what the first reads",
    "share_input": "they only share an input",
    "not_merged": "GEMMs with one input are not merged",
    "recomputed": "some are computed again in {again}",
    "unknown_ways": "the files do not contain which ops were inlined or joined",
    "passes_once": "between them {size}, written once and read once",
    "passes_alone": "between them {size}, which nothing else reads",
    "passes_shared": "between them {size}, which others read too",
    "passes_in_place": "between them {size}, written in place, so it is written all the same",
    "read_in_part": "{read} of it are read here",
    "both_read": "both read {source} ({size})",
    "both_read_parts": "both read parts of {source}",
}

# Code → what to do. `config` is a name in torch._inductor.config.
HINTS: dict[str, str] = {
    "activation_memory_budget": "recompute instead of saving",  # of older recordings
    "recorded": "{hint}",
    "enable": "set torch._inductor.config.{config}",
    "disable": "set torch._inductor.config.{config} = False",
    "raise": "raise torch._inductor.config.{config}",
    "lower": "lower torch._inductor.config.{config}",
    "template_epilogue": "try max_autotune_gemm with the Triton backend, as an epilogue",
    "template_prologue": "try max_autotune_gemm with the Triton backend, as a prologue",
    "template_cpp": "try max_autotune_gemm with freezing, as the epilogue of a C++ GEMM",
    "concatenate_weights": "concatenate the weights into one Linear",
    "remove_break": "remove the break; torch.compile(fullgraph=True) makes it an error",
    "record_fusion_log": "record with TORCH_LOGS=fusion, or with fxscope run",
    "compile": "torch.compile fuses such neighbours",
    "compile_template": 'try torch.compile(mode="max-autotune"): a Triton GEMM with this as its epilogue',
}
# Hints that promise no fusion: nothing is to be verified.
PROMISE_NOTHING = {"recorded", "remove_break", "record_fusion_log"}

# What a switch does.
SWITCHES: dict[str, str] = {
    "combo_kernels": "one launch for independent kernels",
    "loop_ordering_after_fusion": "tries other loop orders",
    "loop_reindexing_after_fusion": "reindexes the pointwise loop",
    "triton.nested_reduction": "reduces groups inside the other's loop",
    "aggressive_fusion": "fuses pointwise kernels that share nothing",
    "benchmark_fusion": "such pairs are fused without measuring",
    "epilogue_fusion_user_defined_triton_kernel": "the kernel takes a pointwise epilogue",
}


# Purposes of kernels that compute nothing new, as a report counts them.
EXTRA: dict[str, str] = {
    "program_copy": "Copies and fills in the program",
    "layout_copy": "Layout copies",
    "mutation_copy": "Copies for in-place writes",
    "recompute": "Recomputed for the backward",
    "saved": "Only saved for the backward",
    "split": "Second parts of split kernels",
    "fallback": "Fallbacks",
    "collective": "Collectives",
    "unknown": "Unknown purpose",
}

# Purpose, with its cause where there are several → why a kernel exists.
PURPOSES: dict[str, str] = {
    "computes": "computes {ops}",
    "program_copy": "copy or fill that the program asks for: {ops}",
    "layout_copy layout": "layout copy for {nodes}, which requires {strides}",
    "layout_copy input": "layout copy for {nodes}: its input is a view that a library kernel cannot read",
    "layout_copy output": "layout copy of {nodes}: the graph returns it with {strides}",
    "layout_copy saved": "layout copy of {nodes}: saved for the backward with {strides}",
    "mutation_copy": "copy into {into}, which the program writes in place",
    "mutation_copy out_of_place": "copy for {ops}, whose kernel writes into it: the operand has to stay as it is",
    "recompute True": "recomputes {ops} of the forward: torch.utils.checkpoint does not save it",
    "recompute False": "recomputes {ops} of the forward: the min-cut partitioner does not save it",
    "saved": "stores {buffers} only for the backward",
    "split reduction": "second part of {ops}: Inductor splits a long reduction into two kernels",
    "split foreach": "next part of {ops}: the list does not fit into the arguments of one kernel",
    "fallback no_lowering": "fallback: Inductor has no lowering of {op}",
    "fallback declined": "fallback: Inductor's lowering of {op} does not take these arguments",
    "fallback unsupported": "fallback: Inductor generates no code for {op} with this dtype or device",
    "collective": "collective {op}",
}


# Cause of a difference between eager and compiled values, or why they were not compared.
NUMERICS: dict[str, str] = {
    "": "cause not known",
    "upcast": "the kernel keeps in fp32 what eager rounds to half precision (upcast)",
    "fma": "the kernel rounds a product and a sum once (fused multiply-add)",
    "reassociation": "the kernel adds in another order (reassociation of a reduction)",
    "random": "another stream of random numbers",
    "unset": "memory that nothing was written to",
    "fp64": "its result is fp64, as the judge's",
    "no_graph": "its graph was not compared",
    "no_value": "no buffer of the kernel is the value of one op",
    "not_functional": "its ops cannot be run by themselves",
    "failed": "its ops failed when they were run by themselves",
}


def purpose_text(purpose: str | None, arguments: Mapping[str, Any]) -> str:
    """Render why a kernel exists."""
    if purpose is None:
        return "purpose unknown"
    cause = next((str(arguments[name]) for name in ("cause", "checkpoint", "of") if name in arguments), "")
    layout = {name: arguments[name] for name in ("stride_order", "strides") if arguments.get(name)}
    values = {"into": "an input", **worded({name: item for name, item in arguments.items() if name not in layout})}
    found = [f"{name.replace('_', ' ')} ({', '.join(map(str, item))})" for name, item in layout.items()]
    values["strides"] = found[0] if found else "another layout"
    return PURPOSES[f"{purpose} {cause}".strip()].format_map(values)


GRAPHS: dict[str | None, str] = {"pre_grad": "pre-grad", "joint": "joint", "post_grad": "post-grad"}


def rewrite_text(name: str, made: Sequence[str], stage: str | None, by: str, pattern: str | None) -> str:
    """Render a change that a pass made: what stands in the place of an op, and who put it there."""
    place = f"in the {GRAPHS[stage]} graph" if stage in GRAPHS else "in a graph"
    who = f"pattern {pattern} (pass {by})" if pattern else f"pass {by}"
    what = f"was replaced by {listed(made, 4)}" if made else "was removed"
    return f"{name} {what} {place}: {who}"


NEAR_MISSES: dict[str, str] = {
    "op": "it wants {wanted} where {node} is {op}",
    "users": "the result of {wanted} has other users, too",
    "value": "it wants {wanted} where {node} has {value}",
    "check": "every op matches, and the pattern's own check of dtypes, shapes or mutations refuses it",
    "other": "{text}",
}


def near_miss_text(pattern: str, node: str, matched: int, total: int, code: str, arguments: Mapping[str, Any]) -> str:
    """Render how far a pattern came at its closest candidate, and the first check that failed."""
    values = {"node": "an operand", **worded({name: item for name, item in arguments.items() if name != "wanted"})}
    values["wanted"] = " or ".join(arguments.get("wanted", ())) or "another op"
    place = f"Closest candidate ends at {node}: {matched} of {counted(total, 'op')} match"
    return f"Pattern {pattern} did not match. {place}; first failed check: {NEAR_MISSES[code].format_map(values)}."


# A part of torch's reason for not using CUDA graphs → what to change.
CUDAGRAPH_HINTS: dict[str, str] = {
    "mutated inputs": "return the new value, or mark the input static (torch._dynamo.mark_static_address)",
    "input mutation": "return the new value, or mark the input static (torch._dynamo.mark_static_address)",
    "cpu device": "move that tensor to the GPU",
    "multiple devices": "keep all tensors on one GPU",
    "symbolic shapes": "use fixed sizes (torch.compile(dynamic=False)), or pad",
    "incompatible op": "compile that op's part without CUDA graphs",
    "non-Tensor inputs": "pass tensors only",
}


def failure_text(kind: str, words: str) -> str:
    """The error that ended a compile: its first line, and torch's hints in lines of their own."""
    lines = [line.strip() for line in words.splitlines() if line.strip()] or [""]
    reason = " ".join(lines[: 2 if lines[0].endswith(":") else 1])
    return "\n".join([f"{kind}: {reason}", *(line for line in lines[1:] if line.startswith("Hint: "))])


def cudagraph_text(told: str) -> str:
    """Render why CUDA graphs were skipped: torch's reason, the innermost line of source that it names, what to change."""
    reason = re.sub(r"^(skipping|disabling) cudagraphs due to ", "", told.partition("Found from")[0]).strip(" \n.:")
    frames = re.findall(r'File "([^"]+)", line (\d+)', told)
    place = f" ({frames[-1][0].rpartition('/')[2]}:{frames[-1][1]})" if frames else ""
    hint = next((f". Try: {text}" for part, text in CUDAGRAPH_HINTS.items() if part in told), "")
    return f"{reason}{place}{hint}"


def reason_text(code: str, arguments: Mapping[str, Any], notes: Sequence[str] = (), config: str | None = None) -> str:
    """Render a reason and its notes."""
    values = {"config": config, **worded(arguments)}
    text = REASONS.get(code, code.replace("_", " ")).format_map(values)  # a file of another version has other codes
    if "limit" in arguments:
        text += f" ({config} = {arguments['limit']})"
    return "; ".join([text, *(NOTES[note].format_map(values) for note in notes if note in NOTES)])


def hint_text(
    code: str | None, arguments: Mapping[str, Any], config: str | None = None, *, verified: bool | None = None
) -> str | None:
    """Render a hint, `None` where there is none; one that torch was not asked about is marked."""
    if code is None:
        return None
    known = config in SWITCHES and code in ("enable", "disable")
    text = HINTS.get(code, code.replace("_", " ")).format_map({"config": config, **worded(arguments)})
    text += f" ({SWITCHES[config or '']})" if known else ""
    return text if verified or code in PROMISE_NOTHING else f"{text} (not verified)"


# Arguments that name a buffer, a scheduler node or a call of one compile → what stands for any of them.
NAMES = {"buffer": "a buffer", "source": "one buffer", "node": "one node", "again": "other kernels"}


def without_names(code: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a reason without the names that another compile of the same program may change."""
    names = {**NAMES, "a": "one node", "b": "another"} if code == "joined_pair" else NAMES
    return {name: names.get(name, value) for name, value in arguments.items()}


def worded(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as a sentence has them: sizes with units, iteration spaces and lists in words."""
    words: dict[str, Any] = {}
    for name, value in arguments.items():
        if name == "spaces":
            words[name] = space_words(value)
        elif name in ("size", "read"):
            words[name] = num_bytes(value)
        elif name == "loops":
            words |= {"a": loop_words(*value[0]), "b": loop_words(*value[1])}
        elif name == "how":
            words["how_words"] = f"{value}: {HOW[value]}" if value else "joined"
        elif name == "break_line":
            words["code_line"] = f" ({value.strip()})" if value else ""
        elif name == "file":
            words["place"] = f" at {value}" if value else ""
        else:
            words[name] = listed(value) if isinstance(value, (list, tuple)) else value
    return {"spaces": "", "place": "", "code_line": "", **words}


def space_words(spaces: Sequence[Sequence[str]] | None) -> str:
    """The iteration space of each of two nodes, (elements, reduced elements); "" where they are not known."""
    if not spaces:
        return ""
    first, second = spaces
    if first[1] == second[1] == "1":
        return f": {first[0]} and {second[0]} elements"
    return f": (numel, rnumel) is ({', '.join(first)}) and ({', '.join(second)})"


def loop_words(outer: Sequence[str], inner: Sequence[str]) -> str:
    """ "64 × 64", "16 that reduce 256 each", "one that reduces 4096"."""
    around, reduced = " × ".join(outer), " × ".join(inner)
    if not reduced:
        return around or "one element"
    return f"{around} that reduce {reduced} each" if around else f"one that reduces {reduced}"
