"""Every kind of expectation both ways: a recording that meets it, one that does not; and every mistake named."""

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from fxscope.analysis import check
from fxscope.analysis.check import quantity
from fxscope.errors import PassError
from fxscope.model import replace
from fxscope.render import reports
from tests import build

RECORDINGS = {
    "eager": build.gelu_mul_eager(),
    "compiled": build.gelu_mul_compiled(),
    "again": build.gelu_mul_recompiled(),
}
# kind → (where, value that is met, value that is not)
BOTH_WAYS: dict[str, tuple[str, object, object]] = {
    "kernels": ("eager", 3, 4),
    "memsets": ("eager", 1, 0),
    "copies": ("eager", 0, 1),
    "device_events": ("eager", 4, 3),
    "gemms": ("compiled", 1, 3),
    "kernel_calls": ("compiled", 2, 3),
    "kernel_counts": ("eager", {"elementwise*": 2}, {"elementwise*": 1}),
    "ops": ("eager", {"aten::mm": 1}, {"mm": 2}),
    "has_ops": ("eager", ["aten::t"], ["TorchDynamo Cache Lookup"]),
    "no_ops": ("compiled", ["aten::t"], ["aten::mm"]),
    "launches": ("eager", {"aten::linear": 1}, {"aten::linear": 2}),
    "launches_none": ("eager", ["aten::t"], ["aten::gelu"]),
    "graphs": ("compiled", 1, 2),
    "graph_breaks": ("compiled", 0, 1),
    "recompiles": ("again", 1, 0),
    "fused": ("compiled", ["gelu", "mul"], ["mm", "gelu"]),
    "not_fused": ("compiled", ["mm", "aten::gelu"], ["mul_6", "gelu"]),
    "same_kernel": ("", ["eager:aten::mm", "compiled:aten::mm"], ["eager", "compiled"]),
    "different_kernel": ("", ["eager:gelu", "eager:mul"], ["eager:mm", "compiled:mm"]),
    "decoded": ("eager", {"mm": {"layout": "TN", "tile": [256, 128], "stages": 4}}, {"mm": {"epilogue": "bias"}}),
    "runtime": ("eager", {"gelu": ["cudaLaunchKernel"]}, {"mm": ["cudaLaunchKernel"]}),
    "config": ("compiled", {"triton_poi*": "XBLOCK=512"}, {"triton_poi*": "XBLOCK=1024*"}),
    "registers": ("eager", {"elementwise*": "<= 40"}, 32),
    "num_warps": ("compiled", {"triton_poi*": 8}, {"triton_poi*": 4}),
    "num_stages": ("eager", {"mm": 4}, {"mm": 5}),
    "call_bytes": ("compiled", {"triton_poi*": 768}, {"triton_poi*": "<= 700 B"}),
    "shapes": ("eager", {"aten::mm#1": [[8, 4], [4, 16]]}, {"aten::mm": [[8, 4], [16, 4]]}),
    "strides": ("eager", {"aten::t": [[4, 1]]}, {"aten::mm": [[4, 1], [16, 1]]}),
    "flops": ("eager", {"aten::mm": 1024}, {"aten::mm": 2048}),
    "shares_storage": ("eager", ["aten::t"], ["aten::gelu"]),
    "time_us": ("eager", {"gelu": "30..31"}, {"gelu": "< 20"}),
    "device_us": ("eager", {"aten::t": 0, "aten::gelu": "30..31"}, {"aten::gelu": 0}),
    "same_launch": ("", ["eager:mm", "compiled:mm"], ["eager:gelu", "eager:mul"]),
    "faster": ("", ["compiled:triton*", "eager:gelu + eager:mul"], ["eager:mul", "eager:gelu"]),
    "ratio": (
        "",
        {"of": "eager:mul", "to": "eager:gelu", "is": "1.1..1.25"},
        {"of": "eager:mul", "to": "eager:gelu", "is": "< 1"},
    ),
    "peak_memory": ("eager", "~ 2 MB", "<= 1 MB"),
}


def outcome(kind: str, value: object, where: str = "", recordings=RECORDINGS):
    item = {kind: value, **({"in": where} if where else {})}
    return check.check(recordings, {"expect": [item]}).outcomes[0]


def test_every_kind_is_tested_both_ways() -> None:
    assert set(BOTH_WAYS) == set(check.KINDS)


@pytest.mark.parametrize("kind", check.KINDS)
def test_a_kind_both_ways(kind: str) -> None:
    where, good, bad = BOTH_WAYS[kind]
    met = outcome(kind, good, where)
    assert met.status == "met", met
    assert met.found
    missed = outcome(kind, bad, where)
    assert missed.status == "not_met", missed
    assert missed.expected and missed.found


def test_what_is_not_recorded_is_neither_met_nor_missed() -> None:
    for kind, where, value in (
        ("graph_breaks", "eager", 0),
        ("shares_storage", "compiled", ["mm"]),
        ("strides", "compiled", {"aten::mm": [[4, 1]]}),
    ):
        found = outcome(kind, value, where)
        assert (found.status, bool(found.reason)) == ("cannot_tell", True), (kind, found)
    assert not check.check(RECORDINGS, {"expect": [{"in": "eager", "graph_breaks": 0}]}).passed


def test_a_missed_fusion_says_why() -> None:
    found = outcome("fused", ["mm", "gelu"], "compiled")
    assert found.reason == "mm and gelu: extern kernel: opaque to the scheduler (max_autotune can try a template)"
    assert "nothing was compiled" in (outcome("fused", ["gelu", "mul"], "eager").reason or "")


def test_every_occurrence_of_the_rarest_op_counts() -> None:
    base = build.gelu_mul_compiled()
    known = {"nature": "kernel", "kind": "kernel", "calls": ("0/0:inference:1",)}
    alone = build.node("tanh_1", "aten.tanh.default", original_aten="aten.gelu", **known)
    graph = replace(base.graphs[0], nodes=(*base.graphs[0].nodes, alone))
    calls = (replace(base.calls[0], nodes=("mm", "tanh_1")), base.calls[1])
    two = replace(base, graphs=(graph,), calls=calls)
    assert outcome("fused", ["gelu", "tanh"], "two", {"two": two}).status == "met"  # gelu is what tanh came from
    extra = build.node("mul_7", "aten.mul.Tensor", original_aten="aten.mul", nature="kernel")
    graph = replace(graph, nodes=(*graph.nodes, extra))
    two = replace(two, graphs=(graph,), calls=(calls[0], replace(calls[1], nodes=("tanh", "mul_6"))))
    assert outcome("fused", ["gelu", "mul"], "two", {"two": two}).status == "met"  # one mul is elsewhere: mul is rarest


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kernls = 4", ["unknown key 'kernls'", "Did you mean kernels"]),
        ('[[expect]]\nin = "compild"\nkernels = 4', ["no recording 'compild'", "compiled"]),
        ('[[expect]]\nin = "compiled"\nfused = ["gelo", "mul"]', ["'gelo' does not occur in compiled", "gelu"]),
        ('[[expect]]\nin = "eager"\nlaunches_none = ["aten::tt"]', ["'aten::tt'", "aten::t"]),
        ('[[expect]]\nin = "compiled"\nno_ops = ["aten::geluu"]', ["occurs in no", "aten::gelu"]),
        ('[[expect]]\nin = "compiled"\nkernel_counts = { "elementwis<mul>" = 0 }', ["no kernel", "elementwise<mul>"]),
        ('[[expect]]\nin = "eager"\ndecoded = { mm = { tiles = [1] } }', ["'tiles'", "tile"]),
        ('[[expect]]\nin = "eager"\nshapes = { "aten::mm#3" = [[1]] }', ["only 1 op of aten::mm"]),
        ('[[expect]]\nsame_kernel = ["eagr:mm", "compiled:mm"]', ["no recording 'eagr'", "eager"]),
        ('kernels = "four"', ["'four' is not an expected number"]),
        ("kernels = true", ["not a number"]),
        ("kernels = [5, 3]", ["empty range"]),
        ('peak_memory = "3 parsec"', ["unit 'parsec'"]),
        ('fused = ["gelu"]', ["at least 2"]),
        ("[[expect]]\nclaim = 'x'", ["nothing is expected"]),
        ("", ["expects nothing"]),
        ("expect = 3", ["two brackets"]),
        ("kernels = ", ["not valid TOML"]),
    ],
)
def test_a_mistake_is_an_error_that_names_the_nearest(text: str, words: list[str]) -> None:
    with pytest.raises(PassError) as caught:
        check.check(RECORDINGS, check.parse(text, "x.toml"), where="x.toml")
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("value", "inside", "outside"),
    [
        (4, [4], [3, 5]),
        ("<= 5", [5, 0], [5.1]),
        ("< 5", [4.9], [5]),
        ("> 5", [6], [5]),
        ("!= 3", [2], [3]),
        ([3, 5], [3, 5], [2.9, 5.1]),
        ("0.7..0.8", [0.7, 0.8], [0.69, 0.81]),
        ("~ 100", [98, 102], [97, 103]),
        (">= 50 MB", [5e7], [4.9e7]),
        ("1 ms..2 ms", [1000, 2000], [999, 2001]),
        ("80 %", [0.8], [80]),
        ("1e3", [1000], [1]),
    ],
)
def test_numbers_as_people_write_them(value: object, inside: list[float], outside: list[float]) -> None:
    parsed = quantity.parse(value)
    assert all(parsed.holds(number) for number in inside)
    assert not any(parsed.holds(number) for number in outside)


NAN, INF, HUGE = float("nan"), float("inf"), 10**400


@pytest.mark.parametrize(
    "value",
    [NAN, INF, -INF, [NAN, 3], [3, NAN], HUGE, [0, HUGE], [0, INF], "1e999", "<= 1e400", "0..1e999", "1e308 TB"],
    ids=lambda value: str(value)[:9],
)
def test_what_no_number_can_be_is_not_expected(value: object) -> None:
    with pytest.raises(PassError, match="too large"):
        quantity.parse(value)


def test_the_reports(tmp_path: Path) -> None:
    data = check.parse(
        'title = "a < b"\nkernels = 3\n[[expect]]\nclaim = "a & b | c"\nin = "compiled"\nkernels = 9', "x"
    )
    report = check.check({"compiled": build.gelu_mul_compiled()}, data)
    text = reports.check_text(report)
    assert "✗ a & b | c" in text and "expected 9; found 2 kernels" in text and "0 of 2 hold, 2 do not" in text
    suite = ElementTree.fromstring(reports.junit(report))
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    assert [case.get("name") for case in suite] == ["kernels 3", "a & b | c"]
    assert json.loads(report.to_json())["outcomes"][1]["status"] == "not_met"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('title = "a"\r\n[[expect]]\r\nkernels = 3\r\n', [{"title": 1}, {"kernels": 3}]),
        ('[[expect]]\nnote = """\n[[expect]]\ngemms = 1"""\nkernels = 3', [{}, {"note": 2, "kernels": 5}]),
        ('[ops]\n"aten::mm" = 3\n[[expect]]\n[expect.ops]\nkernels = 3', [{"ops": 1}, {"ops": 4}]),
        ('expect = [\n{ kernels = 3 },\n{ gemms = 1 }]\nfused = [\n"]"]', [{"fused": 4}, {"kernels": 1}, {"gemms": 1}]),
    ],
)
def test_each_expectation_has_its_line(text: str, lines: list[dict[str, int]]) -> None:
    assert check.lines_of(text) == lines


def closed(**keys: object) -> dict[str, object]:
    """JSON Schema of an object that has these keys and no other."""
    return {"type": "object", "properties": keys, "required": [*keys], "additionalProperties": False}


def list_of(item: object) -> dict[str, object]:
    return {"type": "array", "items": item}


# The part of SARIF 2.1.0 that is written, with what GitHub's code scanning requires of it.
WORD = {"type": "string", "minLength": 1}
TEXT = closed(text=WORD)
ARTIFACT = {
    "oneOf": [closed(uri={"pattern": "^file:///"}), closed(uri={"pattern": "^[^/]"}, uriBaseId={"const": "%SRCROOT%"})]
}
PLACE = closed(artifactLocation=ARTIFACT, region=closed(startLine={"type": "integer", "minimum": 1}))
LOCATIONS = list_of(closed(physicalLocation=PLACE)) | {"minItems": 1}
RELATED = list_of(closed(id={"type": "integer"}, physicalLocation=PLACE))
RESULT = closed(ruleId=WORD, level={"const": "error"}, message=TEXT, locations=LOCATIONS, relatedLocations=RELATED)
RULES = list_of(closed(id=WORD, shortDescription=TEXT, fullDescription=TEXT, help=TEXT))
RUN = closed(tool=closed(driver=closed(name={"const": "fxscope"}, version=WORD, rules=RULES)), results=list_of(RESULT))
SARIF = closed(**{"$schema": WORD, "version": {"const": "2.1.0"}, "runs": list_of(RUN)})


def test_the_command(tmp_path: Path, command, monkeypatch: pytest.MonkeyPatch) -> None:
    build.gelu_mul_eager().save(tmp_path / "eager.fxscope")
    build.gelu_mul_compiled().save(tmp_path / "compiled.fxscope")
    expectations = tmp_path / "expect.toml"
    title = 'title = "a < b"\n'
    expectations.write_text(
        f'{title}[[expect]]\nin = "a"\nkernels = 3\n[[expect]]\nin = "compiled"\nfused = ["gelu", "mul"]\n'
    )
    files = [f"a={tmp_path / 'eager.fxscope'}", str(tmp_path / "compiled.fxscope"), str(expectations)]
    command("check", *files, "-o", tmp_path / "junit.xml")
    assert "2 of 2 hold" in command("check", *files).out
    assert command("check", *files, "--format", "md").out.startswith("### a &lt; b\n\n```text\n✓ [a] kernels 3")
    assert ElementTree.parse(tmp_path / "junit.xml").getroot().get("failures") == "0"
    expectations.write_text("kernels = 3\n[[expect]]\nclaim = 'one: 100 %, no'\ngemms = 9\nfused = ['gelu',\n'mm']\n")
    at = f"::error file={expectations},line"  # outside of a repository
    lines = command("check", *files, "--format", "github", status=1).out.splitlines()
    assert lines[0].startswith(f"{at}=1,title=kernels 3::expected 3; found 2 kernels")
    assert lines[1].startswith(f"{at}=4,title=one%3A 100 %25%2C no::expected 9")
    assert lines[4].startswith(f"{at}=5,") and lines[4].endswith("source: model.py:7")
    assert lines[-1].startswith("::notice title=fxscope check::1 of 6")
    (tmp_path / "repo/sub").mkdir(parents=True)
    (tmp_path / "repo/.git").touch()
    monkeypatch.chdir(tmp_path / "repo/sub")
    expectations = expectations.rename(tmp_path / "repo/sub/100 %.toml")
    command("check", *files[:2], "100 %.toml", "-o", tmp_path / "check.sarif", status=1)
    report = json.loads((tmp_path / "check.sarif").read_text())
    jsonschema.validate(report, SARIF)
    (run,) = report["runs"]
    places = [item["locations"][0]["physicalLocation"] for item in run["results"]]  # what holds would be an alert
    assert {item["ruleId"] for item in run["results"]} <= {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert [item["region"]["startLine"] for item in places] == [1, 4, 4, 5, 5]
    assert {tuple(item["artifactLocation"].values()) for item in places} == {("sub/100%20%25.toml", "%SRCROOT%")}
    rules = {item["id"]: item["help"]["text"] for item in run["tool"]["driver"]["rules"]}
    assert rules == {kind: check.KINDS[kind].help for kind in ("kernels", "gemms", "fused")}
    related = run["results"][4]["relatedLocations"][0]["physicalLocation"]
    assert related == {"artifactLocation": {"uri": "file:///somewhere/model.py"}, "region": {"startLine": 7}}
    assert "source: [model.py:7](1)" in run["results"][4]["message"]["text"]
    files[2] = str(expectations)
    command("check", *files, "-o", tmp_path / "check.xml", status=1)
    assert ElementTree.parse(tmp_path / "check.xml").getroot().get("failures") == "5"
    shapes = 'shapes = { "aten::mm" = [[0x%s]] }'
    for text in ("kernels = " + "9" * 5000, f"ratio = {{ is = {'9' * 5000} }}", shapes % ("f" * 5000)):
        expectations.write_text(text)
        assert len(command("check", *files, status=2).err.splitlines()) == 1
    expectations.write_text("kernels = 3\n")
    assert json.loads(command("check", *files, "--json", status=1).out)["schema"] == "fxscope-check/1"
    expectations.write_text("kernel = 3\n")
    assert "Did you mean kernels" in command("check", *files, status=2).err
    command("check", expectations, status=2)
    command("check", tmp_path / "none.fxscope", expectations, status=2)
