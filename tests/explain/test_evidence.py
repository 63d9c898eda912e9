"""Every number in a sentence is computed again, by other code, from the items that the sentence names."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from math import prod
from pathlib import Path
from statistics import median

import msgspec
import pytest

from fxscope.analysis.explain import explain
from tests import captures

HOME = Path(__file__).parents[1] / "data" / "h200"
CAPTURES = dict(captures.CAPTURES)
CAPTURES |= {f"counters/{path.stem}": path for path in sorted((HOME / "counters").glob("*.fxscope"))}
NUMBER = r"(\d+(?:\.\d+)?)"
UNITS = {"ns": 1e-3, "µs": 1.0, "ms": 1e3, "s": 1e6, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}
TOPICS = {"overview", "dispatch", "launch", "fusion", "intermediate", "compile", "worth"}


class Record:
    """The recording as plain dictionaries, looked up by the ids that a sentence carries."""

    def __init__(self, folder: Path) -> None:
        self.recording = captures.read(folder)  # or a recording
        plain = json.loads(self.recording.to_json())
        self.ops = {item["id"]: item for item in plain["ops"]}
        self.launches = {item["id"]: item for item in plain["launches"]}
        self.calls = {item["id"]: item for item in plain.get("calls", ())}
        self.graphs = {item["id"]: item for item in plain.get("graphs", ())}
        self.steps = {item["step"]: item for item in (plain.get("summary") or {}).get("steps", ())}
        self.compiles = plain.get("compiles", ())

    def at_the_median(self, launch: dict) -> float:
        """Its µs over all steps: of the launch of its name that comes as late in each of them."""
        steps: dict[int | None, list[dict]] = {}
        for item in sorted(self.launches.values(), key=lambda item: item["start_ns"]):
            if item["name"] == launch["name"]:
                steps.setdefault(item.get("step"), []).append(item)
        at = steps[launch.get("step")].index(launch)
        return median(items[at]["duration_ns"] for items in steps.values() if len(items) > at) / 1e3

    def cited(self, sentence, kind: str, table: dict) -> list[dict]:
        keys = [item.partition(":")[2] for item in sentence.evidence if item.startswith(f"{kind}:")]
        return [table[int(key)] if kind in ("op", "launch", "step") else table[key] for key in dict.fromkeys(keys)]


def said(text: str, pattern: str) -> list[float]:
    """Return the numbers of one place in a text, times and sizes in µs and bytes; the place must be there once."""
    (found,) = re.findall(pattern.replace("NUMBER", NUMBER), text)
    parts = [found] if isinstance(found, str) else list(found)
    values = [
        float(part) * UNITS.get(unit, 1.0)
        for part, unit in zip(parts, [*parts[1:], ""], strict=True)
        if is_number(part)
    ]
    return values


def is_number(text: str) -> bool:
    return re.fullmatch(NUMBER, text) is not None


def agrees(shown: float, true: float) -> bool:
    """Three figures are shown."""
    return abs(shown - true) <= max(0.006 * abs(true), 0.006)


def is_percent(shown: float, true: float) -> bool:
    """One decimal is shown below ten."""
    return abs(shown - 100 * true) <= (0.0501 if shown < 10 else 0.501) + 0.1 * true  # what it is of is shown, too


def overview(record: Record, sentence) -> None:
    launches = record.cited(sentence, "launch", record.launches)
    if "cannot be tied" in sentence.text:
        lost = [item for item in record.launches.values() if item.get("op") is None]
        assert said(sentence.text, r"^NUMBER device events? of NUMBER ") == [len(lost), len(record.launches)]
        return
    (step,) = {item["step"] for item in launches}
    assert {item["id"] for item in launches} == {i for i, item in record.launches.items() if item["step"] == step}
    kinds = Counter(item["category"] for item in launches)
    words = {"kernel": ("kernel", "cpu_kernel"), "memset": ("gpu_memset",), "memory cop(?:y|ies)": ("gpu_memcpy",)}
    for word, names in words.items():
        count = sum(kinds[name] for name in names)
        if count or word == "kernel":
            assert said(sentence.text, rf"NUMBER {word}") == [count]
    if "of them" in sentence.text:
        working = {item.get("op_id") for item in launches}
        mine = [item for item in record.ops.values() if item["step"] == step and item["category"] == "cpu_op"]
        ops = [item for item in mine if re.fullmatch(r"\w+::\S+", item["name"]) and item["name"].count("::") == 1]
        launchers = [item for item in mine if item["id"] in working and not re.search("::| ", item["name"])]
        busy = [item for item in (*ops, *launchers) if item["id"] in working]
        parts = ["dispatches NUMBER ops?"] if ops else []
        parts += ["calls NUMBER compiled kernels?"] if launchers else []
        counts = [*filter(None, (len(ops), len(launchers))), len(busy)]
        assert said(sentence.text, rf"A step {' and '.join(parts)}(?: on the CPU)?; NUMBER of them") == counts


def dispatch(record: Record, sentence) -> None:
    ops = record.cited(sentence, "op", record.ops)
    launches = record.cited(sentence, "launch", record.launches)
    times = float(found[1]) if (found := re.search(r"\((\d+) times\)\.$", sentence.text)) else 1.0
    assert all(item["op_id"] in {op["id"] for op in ops} for item in launches)
    if counted := re.search(rf": {NUMBER} ops? \(", sentence.text):
        assert float(counted[1]) * times == len(ops)
    if reaching := re.search(rf"\), {NUMBER} of them runs? ", sentence.text):
        assert float(reaching[1]) * times == len({item["op_id"] for item in launches})
    for word, category in (("memset", "gpu_memset"), ("kernel", "kernel")):
        if counted := re.search(rf"(?:as|runs|and) {NUMBER} {word}s?\b", sentence.text):
            kinds = Counter(item["category"].replace("cpu_", "") for item in launches)
            assert float(counted[1]) * times == kinds[category]
    if "none of them launches" in sentence.text:
        assert not launches
    if "only metadata changes" in sentence.text:  # an allocation is none, and reading a value is none
        assert not {"aten::empty_like", "aten::empty", "aten::item", "aten::empty_strided"} & {op["name"] for op in ops}


def launch(record: Record, sentence) -> None:
    if sentence.text.startswith("The last step is"):
        (step,) = record.cited(sentence, "step", record.steps)
        busy, wall = said(sentence.text, r"device busy NUMBER % of NUMBER (\w+)")[0], step["wall_us"]
        assert (
            agrees(busy, 100 * step["device_busy_us"] / wall) or abs(busy - 100 * step["device_busy_us"] / wall) <= 0.5
        )
        assert agrees(said(sentence.text, r"% of NUMBER (\w+)")[0], wall)
        count = sum(item["step"] == step["step"] for item in record.launches.values())
        assert said(sentence.text, r"with NUMBER launch") == [count]
        assert ("CPU-bound" in sentence.text.split("(")[0]) >= (step["device_busy_us"] <= 0.4 * wall)
    elif sentence.text.startswith("In the last step"):
        ran = record.cited(sentence, "launch", record.launches)
        (op,) = record.cited(sentence, "op", record.ops)
        first = min(item["launched_ns"] for item in ran)
        start = min(item["start_ns"] for item in ran if item["launched_ns"] == first)
        cpu, queue, device = (
            said(sentence.text, rf"NUMBER (\w+) {words}")[0]
            for words in ("from the op's start", "until the kernel starts", "of device time")
        )
        assert agrees(cpu, (first - op["start_ns"]) / 1e3) and agrees(queue, (start - first) / 1e3)
        assert agrees(device, sum(item["duration_ns"] for item in ran) / 1e3)


def fusion(record: Record, sentence) -> None:
    (call,) = record.cited(sentence, "call", record.calls)
    assert said(sentence.text, r" runs NUMBER nodes") == [len(call["nodes"])]
    times = [item["duration_ns"] / 1e3 for item in record.launches.values() if item.get("call") == call["id"]]
    if "at the median" in sentence.text:
        assert agrees(said(sentence.text, r"NUMBER (\w+) at the median")[0], median(times))
    if "of memory traffic" in sentence.text:
        moved = sum(access["bytes"] for access in (*call["reads"], *call["writes"]) if "bytes" in access)
        assert agrees(
            said(sentence.text, r"for NUMBER (\w+) of memory traffic")[0], call["bytes_read"] + call["bytes_written"]
        )
        assert call["bytes_read"] + call["bytes_written"] <= 1.001 * moved or not moved


def intermediate(record: Record, sentence) -> None:
    calls = record.cited(sentence, "call", record.calls)
    if not calls:
        return eager_intermediate(record, sentence)
    total, buffers = 0, 0
    for position, writer in enumerate(calls_in_order(record, calls)):
        for access in writer["writes"]:
            later = calls_in_order(record, calls)[position + 1 :]
            reads = [read["bytes"] for call in later for read in call["reads"] if read["buffer"] == access["buffer"]]
            if reads and access.get("bytes") is not None:
                total, buffers = total + access["bytes"] + sum(reads), buffers + 1
    assert said(sentence.text, r": NUMBER intermediates? \(") == [buffers]
    assert agrees(said(sentence.text, r"NUMBER (\w+) in all")[0], total)


def eager_intermediate(record: Record, sentence) -> None:
    """Each result that a later kernel reads, itself or by views of it, is written once and read by each of them."""
    total = buffers = 0
    for graph in record.graphs.values():
        if graph["stage"] != "eager":
            continue
        nodes = {node["name"]: node for node in graph["nodes"]}
        views: dict = {}  # name → the kernel whose memory it is
        for name, node in nodes.items():
            root = name if node.get("kind") == "kernel" else None
            if node.get("kind") == "view" and node["inputs"]:
                root = views.get(node["inputs"][0])
            views[name] = root
        users: dict = {}
        for node in nodes.values():
            for name in dict.fromkeys(node["inputs"]):
                if node.get("kind") == "kernel" and views.get(name):
                    users.setdefault(views[name], []).append(name)
        for root, names in users.items():
            sizes = [size_of(nodes[item]) for item in (root, *names)]
            known = [size for size in sizes[1:] if size]
            if sizes[0] and known:
                total, buffers = total + sizes[0] + sum(known), buffers + 1
    assert said(sentence.text, r"^NUMBER results? of one kernel") == [buffers]
    assert agrees(said(sentence.text, r": NUMBER (\w+) written and read")[0], total)


def size_of(node: dict) -> int:
    if not node.get("outputs"):
        return 0
    tensor = node["outputs"][0]
    stride = tensor.get("stride") or [1] * len(tensor["shape"])
    width = {"float32": 4, "bfloat16": 2, "float16": 2, "int64": 8, "int32": 4, "bool": 1, "float64": 8}[
        tensor["dtype"]
    ]
    return width * prod(size for size, step in zip(tensor["shape"], stride, strict=True) if step)


def calls_in_order(record: Record, calls: list[dict]) -> list[dict]:
    cited = {call["id"] for call in calls}
    return [call for key, call in record.calls.items() if key in cited]


def compiling(record: Record, sentence) -> None:
    graphs = record.cited(sentence, "graph", record.graphs)
    if not graphs:
        return
    (graph,) = graphs
    if "not known" in sentence.text:
        nodes = record.cited(sentence, "node", {f"{graph['id']}/{node['name']}": node for node in graph["nodes"]})
        assert said(sentence.text, r"whether NUMBER of") == [len(nodes)]
        assert len(nodes) == sum(node.get("kind", "unknown") == "unknown" for node in graph["nodes"])
        return
    work = [node for node in graph["nodes"] if node.get("kind") != "input" and node["op"] != "output"]
    calls = [call for call in record.calls.values() if call["graph"] == graph["id"]]
    assert said(sentence.text, r"NUMBER nodes? became NUMBER kernel calls?") == [len(work), len(calls)]
    strides = {name for call in calls for name in call.get("folded", ())}
    folded = {node["name"] for node in graph["nodes"] if node.get("kind") == "folded"}
    gone = {node["name"] for node in graph["nodes"] if node.get("kind") == "eliminated"}
    for names, words in (
        (folded & strides, "views? became strides"),
        (folded - strides, "nodes? needed no kernel"),
        (gone, "nodes? disappeared"),
    ):
        count = len(names)
        assert (said(sentence.text, rf"NUMBER {words}") == [count]) if count else not re.search(words, sentence.text)


def worth(record: Record, sentence) -> None:
    if sentence.text.startswith("Compiling took"):
        total = sum(item.get("duration_us") or 0 for item in record.compiles)
        assert agrees(said(sentence.text, r"took NUMBER (\w+)\.")[0], total)


def workspace(record: Record, sentence) -> None:
    if "memset" not in sentence.text:
        return  # the two kernels of a split K have no number
    assert ("GEMM library" in sentence.text) == (not re.search(r"attention|convolution", sentence.text))
    cleared = [item for item in record.cited(sentence, "launch", record.launches) if item["category"] == "gpu_memset"]
    assert said(sentence.text, r"^NUMBER memsets?") == [len(cleared)]
    if "(" in sentence.text:
        (size,) = {item["bytes"] for item in cleared}
        assert agrees(said(sentence.text, r"\(NUMBER (\w+)(?: each)?\)")[0], size)
    if "beside" in sentence.text and "GEMM" in sentence.text:
        assert said(sentence.text, r"beside NUMBER GEMMs?") == [
            len({(item["op_id"], item.get("call")) for item in cleared})
        ]


def copy(record: Record, sentence) -> None:
    (launch, *_) = record.cited(sentence, "launch", record.launches)
    assert agrees(said(sentence.text, r"`, NUMBER (\w+)(?: \(|\.)")[0], record.at_the_median(launch))
    if " copies memory of " in sentence.text:
        assert agrees(said(sentence.text, r"copies memory of NUMBER (\w+)")[0], launch["bytes"])


def bias(record: Record, sentence) -> None:
    if "kernel of its own after the GEMM" in sentence.text:
        added = record.cited(sentence, "launch", record.launches)[1:]
        assert agrees(
            said(sentence.text, r", NUMBER (\w+)(?: \(\d+ times\))?\.")[0],
            sum(record.at_the_median(item) for item in added),
        )


def guards(record: Record, sentence) -> None:
    (key,) = (item.partition(":")[2] for item in sentence.evidence)
    (compiled,) = (item for item in record.compiles if item["compile_id"] == key)
    if "checked first" in sentence.text:
        assert said(sentence.text, r"NUMBER guards? (?:is|are) checked") == [len(compiled["guards"])]
    listed = re.findall(r"(\w+) of \(([^)]*)\) with strides \(([^)]*)\)", sentence.text)
    known = {item["name"]: item for item in compiled["assertions"]}
    for name, shape, stride in listed:
        for text, values in ((shape, known[name]["shape"]), (stride, known[name]["stride"])):
            assert [part.strip() for part in text.split(",") if part.strip()] == [str(value) for value in values]
    more = re.findall(r"and (\d+) more\.", sentence.text)
    if more:
        assert int(more[0]) + len(listed) == len(known)


SHARED, RESERVED, REGISTERS, WARPS, COUNT = 233472, 1024, 65536, 64, 132  # of an H200's multiprocessors


def product(record: Record, sentence, shape: list[int]) -> tuple[list[dict], list[float]]:
    """Return a product's launches over all steps, and how long its executions take in µs.

    It is the one with this (batch, M, K, N) among what a sentence cites.
    """
    ops = {item["id"] for item in record.cited(sentence, "op", record.ops) if fits(item.get("shapes") or (), shape)}
    cited = record.cited(sentence, "launch", record.launches)
    mine = [item for item in cited if item.get("op_id") in ops]
    if not mine:  # the op's shapes are not recorded: the graph's
        names = set()
        for key in (item.partition(":")[2] for item in sentence.evidence if item.startswith("node:")):
            graph, _, name = key.rpartition("/")
            nodes = {node["name"]: node for node in record.graphs[graph]["nodes"]}
            read = [nodes[item]["outputs"][0]["shape"] for item in nodes[name]["inputs"] if nodes[item].get("outputs")]
            names |= {(graph, name)} if fits(read, shape) else set()
        mine = [item for item in cited if any((item.get("graph"), name) in names for name in item["nodes"])]
    groups = executions(mine)
    main = [max(group, key=lambda item: item["duration_ns"]) for group in groups]
    taken = [median(together(record, group)) / 1e3 for group in groups]
    return [item for first in main for item in alike(record, first)], taken


def together(record: Record, launches: list[dict]) -> list[int]:
    """Return how long, in ns, one execution's launches take in each step, memsets and all."""
    found = [alike(record, item) for item in launches]
    return [sum(item["duration_ns"] for item in items) for items in zip(*found, strict=True)]


def fits(shapes, shape: list[int]) -> bool:
    """Return whether two of the shapes multiply like that."""
    batch, m, k, n = shape
    matrices = [list(item) for item in shapes if len(item) >= 2]
    return any(
        a[-2:] == [m, k] and b[-2:] == [k, n] and prod(a[:-2]) == batch for a in matrices for b in matrices
    ) or any(a[-2:] == [m, k] and n == 1 and [k] in [list(item) for item in shapes] for a in matrices)


def executions(launches: list[dict]) -> list[list[dict]]:
    found: dict = {}
    for item in launches:
        found.setdefault((item.get("op_id"), item.get("call"), item.get("invocation")), []).append(item)
    return list(found.values())


def alike(record: Record, first: dict) -> list[dict]:
    """Return the launches of the same call, or at the same place of each step."""
    if first.get("call"):
        runs: dict = {}
        for item in record.launches.values():
            if item.get("call") == first["call"] and item["name"] == first["name"]:
                runs.setdefault((item["step"], item.get("invocation")), []).append(item)
        place = [item["id"] for item in runs[first["step"], first.get("invocation")]].index(first["id"])
        return [items[place] for items in runs.values() if len(items) > place]
    steps: dict = {}
    for item in record.launches.values():
        steps.setdefault(item["step"], []).append(item)
    place = [item["id"] for item in steps[first["step"]]].index(first["id"])
    return [items[place] for items in steps.values() if items[place]["name"] == first["name"]]


def at_once(launch: dict) -> int:
    """Return how many blocks of a launch an H200's multiprocessor holds."""
    warps = -(-prod(launch["block"]) // 32)
    registers = -(-launch["registers"] * 32 // 256) * 256
    shared = -(-(launch["shared_bytes"] + RESERVED) // 128) * 128
    return min(WARPS // warps, REGISTERS // 4 // registers * 4 // warps, SHARED // shared)


def gemm(record: Record, sentence) -> None:
    size = r"(?:(\d+) × )?(\d+)·(\d+)·(\d+)"
    if "run different kernels" in sentence.text:
        for part in sentence.text.split(": ", 1)[1].removesuffix(".").split(", against "):
            shape = [int(item or 1) for item in re.findall(size, part)[0]]
            ran, times = product(record, sentence, shape)
            assert ran, part
            taken = re.findall(r"([\d.]+) (ns|µs|ms)(?: with all that it launches)?$", part)
            assert any(agrees(float(taken[0][0]) * UNITS[taken[0][1]], time) for time in times)
            if tile := re.search(r"in tiles of (\d+)×(\d+)", part):
                assert any(f"{tile[1]}x{tile[2]}" in item["name"] for item in ran)
            if waves := re.search(r"(\d+) tiles?(?: in (\d+) blocks?)? = ([\d.]+) waves", part.replace(",", "")):
                first = ran[0]
                tiles = shape[0] * -(-shape[3] // int(tile[1])) * -(-shape[1] // int(tile[2]))
                blocks = prod(first["grid"])
                assert int(waves[1]) == tiles and int(waves[2] or tiles) == blocks
                assert agrees(float(waves[3]), max(tiles, blocks) / (COUNT * at_once(first)))
        return
    places = re.findall(r"([\d.]+) %", sentence.text)
    reached, unit, share, peak, peak_unit = re.findall(
        r"reaches ([\d.]+) (\w)FLOP/s, ([\d.]+) % of ([\d.]+) (\w)FLOP/s", sentence.text
    )[0]
    scale = {"G": 1e9, "T": 1e12}
    speeds = [flops / (median(times) / 1e9) for flops, times in products(record, sentence)]
    speed = next(item for item in speeds if agrees(float(reached), item / scale[unit]))
    assert is_percent(float(share), speed / (float(peak) * scale[peak_unit]))
    if ";" in sentence.text.split(")")[-1]:
        if other := re.search(r"; .* % of ([\d.]+) (\w)FLOP/s \w+\.$", sentence.text):  # in another arithmetic
            peak, peak_unit = other.groups()
        assert any(is_percent(float(places[-1]), item / (float(peak) * scale[peak_unit])) for item in speeds)


def products(record: Record, sentence) -> list[tuple[float, list[int]]]:
    """Return (FLOPs by the operands' shapes, its time in each step in ns) of each product that a sentence cites.

    Of an attention those of all pairs of a query and a key, and those under a causal mask.
    """
    found = []
    for launches in executions(record.cited(sentence, "launch", record.launches)):
        main = max(launches, key=lambda item: item["duration_ns"])
        op = record.ops.get(main.get("op_id")) or {}
        shapes = [list(item) for item in op.get("shapes") or () if len(item) >= 2]
        for key in main["nodes"] if main.get("graph") in record.graphs else ():
            nodes = {node["name"]: node for node in record.graphs[main["graph"]]["nodes"]}
            shapes += [
                nodes[item]["outputs"][0]["shape"] for item in nodes[key]["inputs"] if nodes[item].get("outputs")
            ]
        known = [item for item in shapes if all(isinstance(size, int) for size in item)]
        pairs = {
            2 * prod(a) * b[-1]
            for a in shapes
            for b in shapes
            if len(a) == len(b) >= 2 and a[-1] == b[-2] and a is not b
        }
        for q, k in (pair for pair in pairwise(known) if len(pair[0]) == len(pair[1]) == 4):
            met = [prod(q[:3]) * k[2], prod(q[:2]) * sum(min(row + 1, k[2]) for row in range(q[2]))]
            pairs |= {multiplied * count * q[3] for count in met for multiplied in (4, 10)}  # forward, backward
        times = together(record, launches)
        found += [(flops, times) for flops in pairs if isinstance(flops, int)]
        for call in record.cited(sentence, "call", record.calls):
            found += [(call["flops"], times)] if call.get("flops") else []
    return found


def transpose(record: Record, sentence) -> None:
    stride = [int(item) for item in re.findall(r"strides \((\d+), (\d+)\)", sentence.text)[0]]
    shown = [list(item[-2:]) for op in record.cited(sentence, "op", record.ops) for item in op.get("strides") or ()]
    for key in (item.partition(":")[2] for item in sentence.evidence if item.startswith("node:")):
        graph, _, name = key.rpartition("/")
        (node,) = (node for node in record.graphs[graph]["nodes"] if node["name"] == name)
        shown.append(list(node["outputs"][0]["stride"][-2:]))
    assert stride in shown
    assert ("transposed" in sentence.text) == (stride[0] == 1 and stride[1] != 1)
    kernels = [item["name"].upper() for item in record.cited(sentence, "launch", record.launches)]
    for layout in re.findall(r"`([NT]{2,3})` layout", sentence.text):
        assert any(f"_{layout}" in name for name in kernels) or not any("NVJET" in name for name in kernels)


def counters(record: Record, sentence) -> None:
    if "more call" in sentence.text:
        assert said(sentence.text, r"^NUMBER more") == [len(sentence.evidence)]
        return
    calls = record.cited(sentence, "call", record.calls)
    (kind, _, key) = sentence.evidence[0].partition(":")
    graph, _, name = key.rpartition("/")
    item = calls[0] if kind == "call" else next(n for n in record.graphs[graph]["nodes"] if n["name"] == name)
    counted = item["counters"]
    if " of DRAM" in sentence.text:
        moved = counted["dram_bytes_read"] + counted["dram_bytes_written"]
        assert agrees(said(sentence.text, r"moved NUMBER (\w+) of DRAM")[0], moved)
    if " of tensors" in sentence.text:
        assert agrees(
            said(sentence.text, r"for NUMBER (\w+) of tensors")[0], item["bytes_read"] + item["bytes_written"]
        )
    if "speed of light" in sentence.text:
        memory, compute = said(sentence.text, r"used NUMBER % of the memory's and NUMBER % of the multiprocessors'")
        for shown, true in ((memory, counted["memory_share"]), (compute, counted["compute_share"])):
            assert is_percent(shown, true)
    if "wait most" in sentence.text:
        name, share = max(counted["stalls"], key=lambda pair: pair[1])
        assert f"wait most for `{name}`" in sentence.text
        (shown,) = said(sentence.text, r"NUMBER % of samples")
        assert is_percent(shown, share)


CHECKS = {
    "gemm": gemm,
    "transpose": transpose,
    "counters": counters,
    "workspace": workspace,
    "copy": copy,
    "bias": bias,
    "guards": guards,
    "overview": overview,
    "dispatch": dispatch,
    "launch": launch,
    "fusion": fusion,
    "intermediate": intermediate,
    "compile": compiling,
    "worth": worth,
}


@pytest.mark.parametrize("name", CAPTURES)
def test_every_number_is_in_the_record(name: str) -> None:
    record = Record(CAPTURES[name])
    story = explain(record.recording)
    checked = 0
    for sentence in story.sentences:
        if sentence.topic in CHECKS:
            CHECKS[sentence.topic](record, sentence)
            checked += 1
        else:
            assert sentence.topic == "recompile", sentence.text  # torch's own words
        if re.search(r"\d", re.sub(r"`[^`]*`|\S*[/:]\S*", "", sentence.text)):
            assert sentence.evidence or sentence.topic in ("compile",), sentence.text
    assert checked


def test_the_checker_finds_a_wrong_number() -> None:
    record = Record(CAPTURES["mlp_compiled"])
    topics = ("overview", "launch", "fusion", "intermediate", "compile", "worth", "workspace", "guards", "gemm")
    for topic in topics:
        for sentence in explain(record.recording).sentences:
            if sentence.topic != topic or not re.search(r"\d ", sentence.text):
                continue
            wrong = msgspec.structs.replace(
                sentence, text=re.sub(r"\b(\d+)(\.\d+)? ", lambda m: f"9{m[0]}", sentence.text)
            )
            with pytest.raises(AssertionError):
                CHECKS[topic](record, wrong)
            break
        else:
            pytest.fail(f"no sentence about {topic}")
