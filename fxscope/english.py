"""All the English of fusion decisions: reasons, notes, hints and verdicts. Logic reads codes, never these sentences.

`data/english.json` holds the sentence of each code. A new reason touches two files: its words there, and the rule in
`passes/fusion/` that finds it. Placeholders are the decision's `arguments`; `config` and `limit` are the switch that it
is about and that switch's value.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from fxscope.data import read_table
from fxscope.text import counted, first_line, listed, num_bytes

_WORDS: dict[str, dict[str, str]] = read_table("english.json")
HOW = _WORDS["HOW"]
REASONS = _WORDS["REASONS"]  # `recorded` holds the words of a recording that was made before there were codes
NOTES = _WORDS["NOTES"]  # what is added to a reason
HINTS = _WORDS["HINTS"]  # what to do; `config` is a name in torch._inductor.config
SWITCHES = _WORDS["SWITCHES"]  # what a switch does
EXTRA = _WORDS["EXTRA"]  # purposes of kernels that compute nothing new, as a report counts them
PURPOSES = _WORDS["PURPOSES"]  # why a kernel exists: purpose, with its cause where there are several
NUMERICS = _WORDS["NUMERICS"]  # cause of a difference between eager and compiled values, or why they were not compared
NEAR_MISSES = _WORDS["NEAR_MISSES"]  # where a pattern's closest candidate fails
DISPATCH = _WORDS["DISPATCH"]  # what is registered at the key that does the work → what that makes of the op
INDUCTOR = _WORDS["INDUCTOR"]  # what Inductor makes of an op
GUARD_WORDS = _WORDS["GUARD_WORDS"]  # a pattern in torch's words of a guard that failed → what stands in its place
GUARD_HINTS = _WORDS["GUARD_HINTS"]  # a pattern of a guard that failed → what to change; {0} is its first group
CUDAGRAPH_HINTS = _WORDS["CUDAGRAPH_HINTS"]  # a part of torch's reason for not using CUDA graphs → what to change

VERDICTS: dict[str | None, str] = {**_WORDS["VERDICTS"], None: "unknown"}
CAUSES: dict[str | None, str] = {**_WORDS["CAUSES"], None: "cause not known"}  # of a late rank
STAGES, LAYOUTS, UNREPLACED = _WORDS["STAGES"], _WORDS["LAYOUTS"], _WORDS["UNREPLACED"]
# Hints that promise no fusion: nothing is to be verified.
PROMISE_NOTHING = {"recorded", "remove_break", "record_fusion_log"}


def purpose_text(purpose: str | None, arguments: Mapping[str, Any]) -> str:
    if purpose is None:
        return "purpose unknown"
    cause = next((str(arguments[name]) for name in ("cause", "checkpoint", "of") if name in arguments), "")
    layout = {name: arguments[name] for name in ("stride_order", "strides") if arguments.get(name)}
    values = {"into": "an input", **worded({name: item for name, item in arguments.items() if name not in layout})}
    found = [f"{name.replace('_', ' ')} ({', '.join(map(str, item))})" for name, item in layout.items()]
    values["strides"] = found[0] if found else "another layout"
    return PURPOSES[f"{purpose} {cause}".strip()].format_map(values)


GRAPHS: dict[str | None, str] = {"pre_grad": "pre-grad", "joint": "joint", "post_grad": "post-grad"}


def rewrite_text(names: Sequence[str], made: Sequence[str], stage: str | None, by: str, pattern: str | None) -> str:
    """Render a change that a pass made: what stands in the place of some ops, and who put it there."""
    place = f"in the {GRAPHS[stage]} graph" if stage in GRAPHS else "in a graph"
    who = f"pattern {pattern} (pass {by})" if pattern else f"pass {by}"
    what = f"replaced by {listed(made, 4)}" if made else "removed"
    return f"{listed(names, 4)} {'were' if len(names) > 1 else 'was'} {what} {place}: {who}"


def near_miss_text(pattern: str, node: str, matched: int, total: int, code: str, arguments: Mapping[str, Any]) -> str:
    """Render how far a pattern came at its closest candidate, and the first check that failed."""
    values = worded({"node": "an operand", "users": "?", **arguments, "wanted": ""})
    values["wanted"] = " or ".join(arguments.get("wanted", ())) or "another op"
    place = f"Closest candidate ends at {node}: {matched} of {counted(total, 'op')} match"
    return f"Pattern {pattern} did not match. {place}; first failed check: {NEAR_MISSES[code].format_map(values)}."


def failure_text(kind: str, words: str) -> str:
    """The error that ended a compile: its first line; torch's explanation and hints in lines of their own."""
    lines = [line.strip() for line in words.splitlines() if line.strip()] or [""]
    reason = " ".join(lines[: 2 if lines[0].endswith(":") else 1])
    return "\n".join([f"{kind}: {reason}", *(row for row in lines[1:] if row.startswith(("Hint: ", "Explanation: ")))])


def headline(text: str) -> str:
    """The first line of what torch says of a graph break or a failed compile."""
    return re.sub("^Unsupported: (Dynamo )?", "", first_line(text) or "reason not recorded")


def explained(text: str) -> str:
    """Torch's explanation of a graph break or a failed compile, its first sentence; the headline where there is none."""
    found = re.search(r"Explanation: (.+?)(?:\.*$|(?<!e\.g)(?<!i\.e)\. )", text, re.MULTILINE)
    words = re.sub(r" at 0x[0-9a-f]+", "", found[1].strip() if found else headline(text))
    return "a call in this line cannot be traced" if words == "step_unsupported" else words


def torchs_break_text(words: str, file: str, line: int | str) -> str:
    """Return what torch says of a break in its own code, without a call that the program does not have."""
    place = f"{PurePath(file).name}:{line}"
    return f"torch itself ends the graph here ({place})" if "torch._dynamo.graph_break()" in words else words


# Torch's advice on a graph break, a failed compile or a guard; of one that has a second cause ("# …") none.
_HINT = re.compile(
    r"(?m)(?:Hint: |HINT: (?!type |guard on )|to avoid (?:this )?specialization,? (?!.*  # ))(?:try )?(.+?)\)?$"
)


def hints_in(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(hint.strip() for hint in _HINT.findall(text)))


def guard_text(guard: str) -> str:
    """Render a guard that failed: torch's own functions and remarks in words."""
    for pattern, text in GUARD_WORDS.items():
        guard = re.sub(pattern, text, guard)
    return guard


def guard_hint(guard: str, *, was_symbolic: bool = False) -> str | None:
    """Return what avoids recompiles for a guard, `None`: not known. `was_symbolic`: its number, which the program fixed."""
    table = {**_WORDS["FIXED_HINTS"], **GUARD_HINTS} if was_symbolic else GUARD_HINTS
    found = ((re.search(pattern, guard), text) for pattern, text in table.items())
    return next((text.format(*match.groups()) for match, text in found if match), None)


def cudagraph_text(told: str) -> str:
    """Render why CUDA graphs were skipped: torch's reason, the innermost line of source that it names, what to change."""
    reason = re.sub(r"^(skipping|disabling) cudagraphs? due to ", "", told.partition("Found from")[0]).strip(" \n.:")
    frames = re.findall(r'File "([^"]+)", line (\d+)', told)
    place = f" ({frames[-1][0].rpartition('/')[2]}:{frames[-1][1]})" if frames else ""
    hint = next((f". Try: {text}" for part, text in CUDAGRAPH_HINTS.items() if part in told), "")
    return f"{reason}{place}{hint}"


def reason_text(
    code: str,
    arguments: Mapping[str, Any],
    notes: Sequence[str] = (),
    config: str | None = None,
    *,
    is_general: bool = False,
) -> str:
    """Render a reason and its notes; `is_general`: without what follows a colon, where several differ in that."""
    values = {"config": config, **worded(arguments)}
    template = REASONS.get(code, code.replace("_", " "))  # a file of another version has other codes
    text = (template.partition(":")[0] if is_general else template).format_map(values)
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
    named = {name: names.get(name, value) for name, value in arguments.items()}
    return named | {name: re.sub(r"(_\d+)?:\d+$", "", str(value)) for name, value in named.items() if name == "kernel"}


def worded(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as a sentence has them: sizes with units, iteration spaces and lists in words."""
    words: dict[str, Any] = {}
    for name, value in arguments.items():
        if name == "spaces":
            words[name] = ""
            if value:  # the iteration space of each of two nodes, (elements, reduced elements)
                first, second = value
                plain = first[1] == second[1] == "1"
                both = f"({', '.join(first)}) and ({', '.join(second)})"
                words[name] = f": {first[0]} and {second[0]} elements" if plain else f": (numel, rnumel) is {both}"
        elif name in ("size", "read"):
            words[name] = num_bytes(value)
        elif name == "how":
            words["how_words"] = f"{value}: {HOW[value]}" if value else "joined"
        elif name == "break_line":
            words["code_line"] = f" ({value.strip()})" if value else ""
        elif name == "file":
            words["place"] = f" at {value}" if value else ""
        else:
            words[name] = listed(list(map(str, value))) if isinstance(value, (list, tuple)) else value
    return {"spaces": "", "place": "", "code_line": "", **words}
