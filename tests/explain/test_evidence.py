"""Every number in a sentence is computed again, by other code, from the items that the sentence names."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from statistics import median

import msgspec
import pytest

from fxscope.analysis.explain import explain
from fxscope.commands import common

HOME = Path(__file__).parents[1] / "data" / "h200"
CAPTURES = {"/".join(path.parent.relative_to(HOME).parts): path.parent for path in sorted(HOME.rglob("trace.json.gz"))}
NUMBER = r"(\d+(?:\.\d+)?)"
UNITS = {"ns": 1e-3, "µs": 1.0, "ms": 1e3, "s": 1e6, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}
TOPICS = {"overview", "dispatch", "launch", "fusion", "intermediate", "compile", "worth"}


class Record:
    """The recording as plain dictionaries, looked up by the ids that a sentence carries."""

    def __init__(self, folder: Path) -> None:
        self.recording = common.read(str(folder))
        plain = json.loads(self.recording.to_json())
        self.ops = {item["id"]: item for item in plain["ops"]}
        self.launches = {item["id"]: item for item in plain["launches"]}
        self.calls = {item["id"]: item for item in plain.get("calls", ())}
        self.graphs = {item["id"]: item for item in plain.get("graphs", ())}
        self.steps = {item["step"]: item for item in (plain.get("summary") or {}).get("steps", ())}
        self.compiles = plain.get("compiles", ())

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
    if "dispatches" in sentence.text:
        working = {item.get("op_id") for item in launches}
        mine = [item for item in record.ops.values() if item["step"] == step and item["category"] == "cpu_op"]
        ops = [item for item in mine if "::" in item["name"] or (item["id"] in working and " " not in item["name"])]
        busy = [item for item in ops if item["id"] in working]
        assert said(sentence.text, r"dispatches NUMBER ops?; NUMBER of them") == [len(ops), len(busy)]


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
        return  # an eager run's: its graph is held by the tests of its passes
    total, buffers = 0, 0
    for position, writer in enumerate(calls_in_order(record, calls)):
        for access in writer["writes"]:
            later = calls_in_order(record, calls)[position + 1 :]
            reads = [read["bytes"] for call in later for read in call["reads"] if read["buffer"] == access["buffer"]]
            if reads and access.get("bytes") is not None:
                total, buffers = total + access["bytes"] + sum(reads), buffers + 1
    assert said(sentence.text, r": NUMBER intermediates? \(") == [buffers]
    assert agrees(said(sentence.text, r"NUMBER (\w+) in all")[0], total)


def calls_in_order(record: Record, calls: list[dict]) -> list[dict]:
    cited = {call["id"] for call in calls}
    return [call for key, call in record.calls.items() if key in cited]


def compiling(record: Record, sentence) -> None:
    graphs = record.cited(sentence, "graph", record.graphs)
    if not graphs:
        return
    (graph,) = graphs
    work = [node for node in graph["nodes"] if node.get("kind") != "input"]
    calls = [call for call in record.calls.values() if call["graph"] == graph["id"]]
    assert said(sentence.text, r"NUMBER nodes? became NUMBER kernel calls?") == [len(work), len(calls)]
    for kind, words in (("folded", "views? became strides"), ("eliminated", "nodes? disappeared")):
        count = sum(node.get("kind") == kind for node in graph["nodes"])
        assert (said(sentence.text, rf"NUMBER {words}") == [count]) if count else not re.search(words, sentence.text)


def worth(record: Record, sentence) -> None:
    if sentence.text.startswith("Compiling took"):
        total = sum(item.get("duration_us") or 0 for item in record.compiles)
        assert agrees(said(sentence.text, r"took NUMBER (\w+)\.")[0], total)


def workspace(record: Record, sentence) -> None:
    if "memset" not in sentence.text:
        return  # the two kernels of a split K have no number
    cleared = [item for item in record.cited(sentence, "launch", record.launches) if item["category"] == "gpu_memset"]
    assert said(sentence.text, r"^NUMBER memsets?") == [len(cleared)]
    if "each)" in sentence.text:
        assert agrees(said(sentence.text, r"\(NUMBER (\w+) each\)")[0], max(item["bytes"] for item in cleared))


def copy(record: Record, sentence) -> None:
    (launch, *_) = record.cited(sentence, "launch", record.launches)
    assert agrees(said(sentence.text, r"`, NUMBER (\w+)(?: \(|\.)")[0], launch["duration_ns"] / 1e3)
    if " copies memory of " in sentence.text:
        assert agrees(said(sentence.text, r"copies memory of NUMBER (\w+)")[0], launch["bytes"])


def bias(record: Record, sentence) -> None:
    if "kernel of its own after the GEMM" in sentence.text:
        added = record.cited(sentence, "launch", record.launches)[1:]
        assert agrees(
            said(sentence.text, r", NUMBER (\w+)(?: \(\d+ times\))?\.")[0],
            sum(item["duration_ns"] for item in added) / 1e3,
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


CHECKS = {
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
        if re.search(r"\d", re.sub(r"`[^`]*`|\S*[/:]\S*", "", sentence.text)):
            assert sentence.evidence or sentence.topic in ("compile",), sentence.text
    assert checked


def test_the_checker_finds_a_wrong_number() -> None:
    record = Record(CAPTURES["mlp_compiled"])
    for topic in ("overview", "launch", "fusion", "intermediate", "compile", "worth", "workspace", "guards"):
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
