"""Files and clients that mean harm: one line, bounded work, nobody else served."""

from __future__ import annotations

import argparse
import gzip
import http.client
import io
import json
import os
import socket
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest

from fxscope import cli, gpus, kernel_names, store
from fxscope.analysis import explain
from fxscope.commands import open as opening
from fxscope.errors import FxscopeError, TraceError
from fxscope.model import Op, replace
from fxscope.readers import compile_log, eager_graph, graph_text, join, output_code, schedule_text, trace
from tests import build
from tools import fuzz, fuzz_formats


def test_a_recording_that_unpacks_too_far_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_BYTES", 1 << 20)
    path = tmp_path / "bomb.fxscope"
    path.write_bytes(gzip.compress(b" " * (8 << 20)))
    with pytest.raises(FxscopeError, match="unpacks to more than 1 MiB"):
        store.load(path)
    path.write_bytes(gzip.compress(b" " * 1000)[:-9])
    with pytest.raises(FxscopeError, match="damaged or truncated"):
        store.load(path)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["{" * 3_000_000, '{"a":[' * 500_000, "[[" * 1_000_000])
@pytest.mark.parametrize("head", ["", '{"traceEvents":['])
def test_brackets_without_end_are_refused(head: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(head + text)
    with pytest.raises(TraceError):
        trace.recording(path)


def bombs(folder: Path) -> dict[str, Path]:
    """Return files of one megabyte that would take fifty, and one that would take twenty."""
    made = {}
    for suffix, head in {"json.gz": b'{"traceEvents":[', "log.gz": b"V0101 {}\n", "fxscope": b"{"}.items():
        made[suffix] = folder / f"bomb.{suffix}"
        with gzip.open(made[suffix], "wb", compresslevel=1) as file:
            file.write(head)
            for _ in range(48):
                file.write(b" " * (1 << 20))
    made["zip"] = folder / "zip.fxscope"
    with zipfile.ZipFile(made["zip"], "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("recording.json", b" " * (48 << 20))
    made["sparse"] = folder / "sparse.fxscope"
    with made["sparse"].open("wb") as file:
        file.truncate(20 << 30)
    made["digest"] = folder / "rank0.digest.json.gz"
    made["digest"].write_bytes(made["fxscope"].read_bytes())
    return made


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_no_verb_takes_more_than_its_bound_of_a_file(tmp_path: Path) -> None:
    made = bombs(tmp_path)
    (tmp_path / "debug" / "model__0_inference_0.0").mkdir(parents=True)
    (tmp_path / "debug" / "model__0_inference_0.0" / "output_code.py").write_bytes(b"#" * (40 << 20))
    (tmp_path / "expect.toml").write_bytes(b"#" * (40 << 20))
    trace = str(fuzz.DATA / "h200" / "mlp_eager" / "trace.json.gz")
    whole = str(store.write(tmp_path / "whole.fxscope", store.encode(build.mlp_compiled())))
    commands = [
        ["trace", str(made["json.gz"])],
        ["trace", trace, "--compile-log", str(made["log.gz"])],
        ["trace", trace, "--debug-dir", str(tmp_path / "debug"), "--max-size", "30M"],
        ["trace", trace, "--steps", "0:999999999"],
        ["view", str(made["fxscope"])],
        ["view", str(made["zip"])],
        ["view", str(made["sparse"])],
        ["open", str(made["json.gz"]), "--annotated", "-o", str(tmp_path / "out.json.gz")],
        ["check", whole, str(tmp_path / "expect.toml")],
        ["fleet", "--from", str(tmp_path)],
    ]
    code = (
        "import sys, resource\n"
        "from fxscope import cli, store\n"
        "from fxscope.readers import compile_log\n"
        "from fxscope.readers.trace import reader\n"
        "store.MAX_BYTES = reader.MAX_PACKED_BYTES = compile_log.MAX_PACKED_BYTES = 20 << 20\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))\n"
        "sys.exit(cli.main(sys.argv[1:]))\n"
    )
    for command in commands:
        done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=False)
        said = done.stderr.strip().splitlines()
        assert done.returncode == 2 and len(said) <= 3 and "Traceback" not in done.stderr, (
            command,
            done.stderr[-2000:],
        )


def test_an_op_inside_itself_is_refused(tmp_path: Path) -> None:
    made = build.linear_eager()
    node = made.graphs[0].nodes[-1]
    nodes = (*made.graphs[0].nodes[:-1], replace(node, parent=node.name))
    looped = replace(made, graphs=(replace(made.graphs[0], nodes=nodes),))
    first, second = (
        Op(id=i, name="a", category="cpu_op", step=0, start_ns=0, duration_ns=1, parent=3 - i) for i in (1, 2)
    )
    for recording in (looped, replace(made, ops=(first, second))):
        path = store.write(tmp_path / "loop.fxscope", store.encode(recording), force=True)
        with pytest.raises(FxscopeError, match="is inside itself"):
            store.load(path)
    assert store.load(store.write(tmp_path / "whole.fxscope", store.encode(made))) == made


@pytest.mark.parametrize(
    "name, head, command",
    [
        ("a.json", '{"schema":"fxscope/1","title":', "view PATH"),
        ("a.json", '{"schema":"fxscope-sweep/1","title":', "sweep --from PATH"),
        ("a.json", '{"gpu":', "run nowhere.py:make --target PATH"),
        ("a.json", '{"gpu":', "calibrate --from PATH -o o.json"),
        ("rank0.digest.json.gz", '{"schema":"fxscope-digest/1","ranks":', "fleet --from PATH"),
        ("a.json", '{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":1,"args":{"a":', "trace PATH"),
    ],
)
def test_brackets_in_brackets_are_told_with_the_name_of_their_file(
    name: str, head: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    text = f"{head}{'[' * 100_000}{']' * 100_000}{'}' * head.count('{')}"
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    if "traceEvents" in head:
        path.write_text(text[:-2] + "}]}")
    assert cli.main(command.replace("PATH", str(path)).split()) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and str(path) in said, said


def test_names_that_are_not_utf_8_are_read_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "t\udcff"
    try:
        Path(f"{name}.json.gz").write_bytes((fuzz.DATA / "h200" / "mlp_eager" / "trace.json.gz").read_bytes())
    except OSError:
        pytest.skip("this file system takes no such names")
    store.write("r.json", build.mlp_compiled().to_json())
    assert cli.main(["trace", f"{name}.json.gz", "-o", f"{name}.fxscope", "-o", f"{name}.html"]) == 0
    assert store.load(f"{name}.fxscope").title == "t\\udcff"
    monkeypatch.setattr(store, "MANY", 0)
    assert cli.main(["trace", f"{name}.json.gz", "-o", f"{name}2.fxscope"]) == 0
    assert store.load(f"{name}2.fxscope").title == "t\\udcff"
    capsys.readouterr()
    assert cli.main(["diff", f"{name}.json.gz", "r.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    for command in (["open", "--no-browser", "--timeout", "0"], ["fleet"]):
        assert cli.main([*command, f"{name}.json.gz"]) == 2
        assert ".json.gz" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX's")
def test_a_trace_from_a_pipe_is_refused_before_any_of_it_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "t.json")
    for verb in ("trace", "explain"):
        assert cli.main([verb, str(tmp_path / "t.json")]) == 2
        assert "t.json is a pipe" in capsys.readouterr().err


def test_ops_in_many_regions_are_explained_once_each() -> None:
    """A walk up to the top for each op took minutes for 20,000 ops in a hundred regions."""
    looks = 0

    class Counted(Op):
        def __getattribute__(self, field: str) -> object:
            nonlocal looks
            looks += 1
            return super().__getattribute__(field)

    def op(number: int, name: str, parent: int | None) -> Op:
        category = "cpu_op" if "::" in name else "user_annotation"
        return Counted(id=number, name=name, category=category, step=0, start_ns=0, duration_ns=1, parent=parent)

    regions = [op(i, "region", i - 1 or None) for i in range(1, 1000)]
    ops = [op(1000 + i, "aten::a", 999) for i in range(1000)]
    made = (*regions, *ops, op(2000, "aten::b", 1000))
    sentences = explain.dispatch(replace(build.linear_eager(), ops=made, launches=()))
    assert [sentence.values["ops"] for sentence in sentences] == [2] and looks < 40_000


def test_names_made_to_be_slow_are_read(tmp_path: Path) -> None:
    """Each of these took from ten seconds to hours."""
    for unit in ("a_", "_", "_a1x1", " ", "<a", "_bias", "operator<"):
        for head in ("triton_poi_fused_", "cutlass_80_tensorop_f16_s16816gemm_", "volta_s", "void at::native::"):
            assert kernel_names.decode(head + unit * (4096 // len(unit)) + "!")
    ir = "op0: SchedulerNode(ComputedBuffer)\nop0.writes = [MemoryDep('buf0', c0, {c0: 10})]\n"
    for text in (
        "\n" * 100_000,
        "buf0.users = [\n" * 5000,
        "op0.unmet_dependencies = [" + "MemoryDep('b', c, {c: 1}" * 5000,
    ):
        assert schedule_text.schedule(ir + text, graph_id="g")
    assert graph_text.parse("    a = f(" + " " * 20_000 + "b = " * 5000)[0]
    names = eager_graph._Names()
    assert len({names.new(f"a_{i}") for i in range(30_000)} | {names.new("a") for _ in range(30_000)}) == 60_000


def test_open_answers_its_own_address_alone_and_a_silent_client_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
    monkeypatch.setattr(opening, "ADDRESS", address)
    text = bytes(range(256)) * 10_000  # of more than one piece
    arguments = {"browser": False, "timeout_s": 60}
    serving = threading.Thread(target=opening.serve, args=("t.json", io.BytesIO(text)), kwargs=arguments)
    serving.start()
    while not capsys.readouterr().out:
        time.sleep(0.01)
    with socket.create_connection(address) as silent:
        silent.sendall(b"GET /")
        ours = f"127.0.0.1:{address[1]}"
        for path, status, headers in (
            ("/t.json", 421, {"Host": "evil.example:9001"}),
            ("/t.json", 403, {"Host": ours, "Origin": "https://evil.example"}),
            ("/../t.json", 404, {"Host": ours}),
            ("/t.json", 200, {"Host": ours, "Origin": opening.PERFETTO}),
        ):
            client = http.client.HTTPConnection(*address, timeout=30)
            client.request("GET", path, headers=headers)
            answer = client.getresponse()
            assert answer.status == status and (answer.read() == text) == (status == 200)
        serving.join(timeout=30)
        assert not serving.is_alive()


def test_nobody_who_fetches_in_time_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setattr(opening, "ADDRESS", free.getsockname())
    with pytest.raises(FxscopeError, match=r"nobody fetched t.json in 0.1 s"):
        opening.serve("t.json", io.BytesIO(b"{}"), browser=False, timeout_s=0.1)
    with pytest.raises(FxscopeError, match="cannot read"):
        opening.run(
            argparse.Namespace(trace=str(tmp_path / "none"), output=None, annotated=False, no_browser=True, timeout=1)
        )


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", fuzz_formats.FORMATS)
def test_damaged_files_of_every_format_are_one_line_or_an_answer(name: str, tmp_path: Path) -> None:
    for seed in range(12):
        fuzz_formats.trial(name, seed, tmp_path)


def test_what_is_no_wrapper_in_python_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(fuzz.DATA / "h200" / "mlp_eager" / "trace.json.gz")
    folder = fuzz.DATA / "cpp_wrapper"
    assert cli.main(["trace", trace, "--debug-dir", str(folder), "--json"]) == 0
    read = store.loads(capsys.readouterr().out)
    assert [(problem.where, problem.message) for problem in read.problems] == [
        (
            "0/0:inference:post_grad",
            "the output code is a wrapper in C++ (Inductor's cpp_wrapper), which is not read: no kernel calls",
        )
    ]
    assert not read.calls and any(node.name == "erf" for graph in read.graphs for node in graph.nodes)
    assert (
        output_code.parse("x = (").unread
        == "the output code is no Python ('(' was never closed, line 1): no kernel calls"
    )
    assert output_code.parse("").unread == "the output code has no function `call`: no kernel calls"
    (tmp_path / "torch_compile_debug" / "run" / "torchdynamo").mkdir(parents=True)
    assert cli.main(["trace", trace, "--debug-dir", str(tmp_path)]) == 2
    assert "Inductor compiled nothing in that run" in capsys.readouterr().err
    assert cli.main(["trace", trace, "--debug-dir", str(folder.parent / "sweep")]) == 2
    assert "is no debug folder" in capsys.readouterr().err


def test_a_gpu_that_nothing_can_be_computed_with_is_refused(tmp_path: Path) -> None:
    shipped = json.loads(gpus.text_of("h200"))
    path = tmp_path / "mine.json"
    for change, said in (
        ({"properties": {**shipped["properties"], "multi_processor_count": [0, "card"]}}, "multi_processor_count is 0"),
        ({"properties": {**shipped["properties"], "warp_size": ["many", "card"]}}, "warp_size is 'many'"),
        ({"bandwidths": [{"value": 0.0, "kind": "measured", "source": "x"}]}, "the rate of bandwidths is 0"),
        ({"times": {**shipped["times"], "dram_bytes_per_s": 0}}, "times: dram_bytes_per_s is 0"),
    ):
        path.write_text(json.dumps({**shipped, **change}))
        with pytest.raises(FxscopeError, match=f"mine.json describes no GPU: {said}"):
            gpus.load(str(path))
    del shipped["calibration"]["families"]["gemm"]["parameters"]["l2"]
    path.write_text(json.dumps(shipped))
    with pytest.raises(FxscopeError, match="the calibration of gemm: l2 is missing"):
        gpus.load(str(path))


@pytest.mark.parametrize(
    "verb",
    ["trace", "view", "why", "code", "explain", "diff", "redact", "check", "fleet", "sweep", "calibrate", "open"],
)
def test_a_name_that_no_file_can_have_is_one_line(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "x" * 300 + ".json"
    given = {
        "diff": [name, name],
        "redact": [name, "-o", "o.json"],
        "check": [name, "e.toml"],
        "sweep": ["--from", name],
    }
    options = given.get(verb, ["--from", name, "-o", "o.json"] if verb == "calibrate" else [name])
    (tmp_path / "e.toml").write_text("kernels = 4\n")
    assert cli.main([verb, *options]) == 2
    out, said = capsys.readouterr()
    assert out == "" and said.startswith(f"fxscope {verb}: ") and said.count("\n") == 1
    assert name[:200] in said and [item.name for item in tmp_path.iterdir()] == ["e.toml"]


def test_a_current_folder_that_is_gone_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert cli.main(["view", "recording.fxscope", "-o", "o.svg"]) == 2
    out, said = capsys.readouterr()
    assert (out, said) == ("", "fxscope view: the current folder does not exist any more. Change to one that does.\n")


def test_a_compile_log_that_ends_early_is_refused_and_damaged_entries_are_said(tmp_path: Path) -> None:
    text = gzip.decompress((fuzz.DATA / "h200" / "plans" / "geglu" / "real" / "torch_trace.log.gz").read_bytes())
    zstandard = pytest.importorskip("zstandard")
    packed = {"gz": gzip.compress(text), "zst": zstandard.ZstdCompressor().compress(text)}
    for suffix, data in packed.items():
        log = tmp_path / f"t.log.{suffix}"
        log.write_bytes(data)
        assert not compile_log.read_log(log).problems
        log.write_bytes(data[: len(data) - 9])
        with pytest.raises(TraceError, match="damaged or truncated"):
            compile_log.read_log(log)
    damaged = text.replace(b'{"inductor_output_code": {', b'{"inductor_output_code"; {')
    assert damaged != text
    log = tmp_path / "t.log"
    log.write_bytes(damaged)
    said = [problem.message for problem in compile_log.read_log(log).problems]
    assert "1 damaged entry could not be read: what they say is missing" in said


def test_ops_that_lie_in_each_other_without_end_cost_no_square_of_their_number(tmp_path: Path) -> None:
    event = {"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": 3}
    events = [
        {**event, "cat": kind, "name": f"aten::op{number}", "args": {"External id": number, "stream": 7, "device": 0}}
        for kind in ("cpu_op", "kernel")
        for number in range(1, 4001)
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": events}))
    chains = [launch.chain for launch in join.read_trace(path).launches]
    assert len(chains) == 4000 and max(map(len, chains)) == 100
    deepest = max(chains, key=lambda chain: int(chain[-1].removeprefix("aten::op")))
    assert deepest[:2] == ("aten::op1", "aten::op2") and deepest[50] == "…" and deepest[-1] == "aten::op4000"
    assert sum(map(len, chains)) < 400_000
