"""Files and clients that mean harm: one line, bounded work, nobody else served."""

import contextlib
import gzip
import http.client
import io
import json
import os
import shutil
import socket
import struct
import sys
import threading
import time
import tracemalloc
import urllib.parse
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec
import pytest

from fxscope import cli, gpus, kernel_names, store
from fxscope.commands import open as opening
from fxscope.errors import FxscopeError, TraceError
from fxscope.model import Op, Recording, replace
from fxscope.readers import compile_log, eager_graph, graph_text, join, output_code, schedule_text, trace
from tests import build
from tests.processes import run_python
from tools import fuzz, fuzz_formats


@contextlib.contextmanager
def takes_less_than(most: int) -> Iterator[None]:
    """Assert that no more bytes are allocated at once."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def test_a_recording_that_unpacks_too_far_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_BYTES", 1 << 20)
    path = tmp_path / "bomb.fxscope"
    path.write_bytes(gzip.compress(b" " * (8 << 20)))
    with pytest.raises(FxscopeError, match="unpacks to more than 1 MiB"):
        store.load(path)
    monkeypatch.setattr(store, "MAX_BYTES", 48 << 20)
    path.write_bytes(gzip.compress(b" " * (64 << 20), 1))
    with takes_less_than(56 << 20), pytest.raises(FxscopeError, match="unpacks to more than 48 MiB"):
        store.load(path)
    path.write_bytes(b"".join(gzip.compress(part) for part in (b'{"schema":', b"1}")) + b"\0" * 40_000)
    assert store.contents(path) == b'{"schema":1}'
    path.write_bytes(gzip.compress(b" " * 1000)[:-9])
    with pytest.raises(FxscopeError, match="damaged or truncated"):
        store.load(path)


def archive(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_that_has_more_than_it_says_is_not_unpacked(method: int, tmp_path: Path) -> None:
    path = archive(tmp_path / "lie.fxscope", {"recording.json": b" " * (64 << 20)}, method)
    data = bytearray(path.read_bytes())
    size = data.rindex(b"PK\x01\x02") + 24
    data[size : size + 4] = (1000).to_bytes(4, "little")
    path.write_bytes(data)
    with takes_less_than(8 << 20), pytest.raises(FxscopeError, match="damaged recording"):
        store.load(path)


@pytest.mark.parametrize("count", [0, 3, -1, 2**40, 2**63])
@pytest.mark.parametrize(
    "columns", [{}, dict.fromkeys(("id", "name", "category", "start_ns", "duration_ns"), "numbers")]
)
def test_columns_that_are_absent_or_of_another_type_are_refused(count: int, columns: dict, tmp_path: Path) -> None:
    about = json.dumps({"count": count, "columns": columns, "order": "little"}).encode()
    members = {"recording.json": b'{"schema":"fxscope/2"}', "ops.json": about, "launches.json": about}
    members |= {f"{kind}/{field}": bytes(24) for kind in ("ops", "launches") for field in columns}
    path = archive(tmp_path / "r.fxscope", members)
    with pytest.raises(FxscopeError, match="damaged recording"):
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
        ["view", str(made["json.gz"])],
        ["view", trace, "--compile-log", str(made["log.gz"])],
        ["view", trace, "--debug-dir", str(tmp_path / "debug"), "--max-size", "30M"],
        ["view", trace, "--steps", "0:999999999"],
        ["view", str(made["fxscope"])],
        ["view", str(made["zip"])],
        ["view", str(made["sparse"])],
        ["check", whole, str(tmp_path / "expect.toml")],
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
        done = run_python("-c", code, *command)
        said = done.stderr.strip().splitlines()
        is_refused = done.returncode == 2 and len(said) <= 3 and "Traceback" not in done.stderr
        assert is_refused, (command, done.stderr[-2000:])


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
    later = replace(made, ops=(replace(first, parent=2), replace(second, parent=None)))
    for number, recording in enumerate((made, later)):  # a parent may stand behind
        assert store.load(store.write(tmp_path / f"{number}.fxscope", store.encode(recording))) == recording


@pytest.mark.parametrize(
    ("head", "tail", "words"),
    [
        ('{"schema":"fxscope/2","title":', "}", "view PATH"),
        ('{"gpu":', "}", "run nowhere.py:make --target PATH"),
        ('{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":1,"args":{"a":', "}}]}", "view PATH"),
    ],
)
def test_brackets_in_brackets_are_told_with_the_name_of_their_file(head, tail, words, tmp_path: Path, command) -> None:
    path = tmp_path / "a.json"
    path.write_text(f"{head}{'[' * 100_000}{']' * 100_000}{tail}")
    said = command(*words.replace("PATH", str(path)).split(), status=2).err
    assert said.count("\n") == 1 and str(path) in said, said


def test_signs_before_signs_are_no_python_and_no_want_of_memory(tmp_path: Path, command) -> None:
    text = "-" * 90_000 + "a"
    (node,) = graph_text.parse(f"def forward(self, a):\n    x = {text}\n    return x\n")[0]
    assert node.name == "x"
    path = tmp_path / "s.py"
    path.write_text(text)
    assert command("run", path, status=2).err.startswith(f"fxscope run: {path} cannot be read as Python: ")


@pytest.mark.usefixtures("here")
def test_names_that_are_not_utf_8_are_read_and_written(monkeypatch: pytest.MonkeyPatch, command) -> None:
    name = "t\udcff"
    try:
        Path(f"{name}.json.gz").write_bytes((fuzz.DATA / "h200" / "mlp_eager" / "trace.json.gz").read_bytes())
    except OSError:
        pytest.skip("this file system takes no such names")
    store.write("r.json", build.mlp_compiled().to_json())
    command("view", f"{name}.json.gz", "-o", f"{name}.fxscope", "-o", f"{name}.html")
    assert store.load(f"{name}.fxscope").title == "t\\udcff"
    monkeypatch.setattr(store, "MANY", 0)
    command("view", f"{name}.json.gz", "-o", f"{name}2.fxscope")
    assert store.load(f"{name}2.fxscope").title == "t\\udcff"
    assert json.loads(command("diff", f"{name}.json.gz", "r.json", "--json").out)
    monkeypatch.setattr(opening, "ADDRESS", ("127.0.0.1", 0))  # another test may have the one port
    for words in (["open", "--no-browser", "--timeout", "0.1"], ["fleet"]):
        assert ".json.gz" in command(*words, f"{name}.json.gz", status=2).err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX's")
@pytest.mark.parametrize("kind", ["a pipe", "a socket", "a device"])
def test_what_is_not_a_file_on_disk_is_refused_before_any_of_it_is_read(
    kind: str, tmp_path: Path, command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(fuzz.DATA.parents[1] / "fxscope/data/h200/linear_eager.fxscope", "r.fxscope")
    shutil.copy(fuzz.DATA / "h200/linear_eager/trace.json.gz", "t.json.gz")
    for name in ("x.json", "x.fxscope", "x.toml", "x.py"):
        with socket.socket(socket.AF_UNIX) as unnamed:
            {"a pipe": os.mkfifo, "a socket": unnamed.bind}.get(kind, partial(os.symlink, "/dev/zero"))(name)
    for words in (
        "view x.json|view x.fxscope|why x.fxscope gelu|diff r.fxscope x.fxscope|redact x.fxscope -o y.fxscope|run x.py|"
        "run x.py:f|open x.json|check r.fxscope x.toml|view t.json.gz --compile-log x.json|run r.py:factory --target x.json"
    ).split("|"):
        assert f" is {kind}: write its data to a file" in command(*words.split(), status=2).err, words
    assert "- is a pipe" in command("view", "-", status=2).err


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
        assert schedule_text.schedule("g", (), ir + text, None)
    assert graph_text.parse("def forward(self):\n    a = f(" + " " * 20_000 + "b = " * 5000)[0]
    names = eager_graph._Names()
    assert len({names.new(f"a_{i}") for i in range(30_000)} | {names.new("a") for _ in range(30_000)}) == 60_000


def test_a_title_holds_no_control_character() -> None:
    title = "a\nb\x1b]0;c\x07\u202egnp.exe\x85"
    made, later = Recording(title=title), replace(Recording(), title=title)
    read = store.loads(Recording(title="HERE").to_json().replace("HERE", json.dumps(title)[1:-1]))
    assert {made.title, later.title, read.title} == {"a b ]0;c gnp.exe"}


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    """A free port in place of the one that Perfetto's page fetches from."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setattr(opening, "ADDRESS", free.getsockname())
    return opening.ADDRESS


def test_open_answers_perfettos_page_alone_whatever_other_clients_do(
    address: tuple[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    text = bytes(range(256)) * 80_000  # more than the sockets hold: who went away at once has not got all of it
    server = opening.listen()
    arguments = (server, "trace (1)+#&%'é.json", io.BytesIO(text))
    serving = threading.Thread(target=opening.serve, args=arguments, kwargs={"browser": False, "timeout_s": 60})
    serving.start()
    printed = ""
    while not printed.endswith("\n"):
        printed += capsys.readouterr().out
    assert printed.startswith(f"{opening.PERFETTO}/#!/?url=")
    query = urllib.parse.urlsplit(printed.strip().replace("#!", "")).query  # as Perfetto's router reads it
    path = urllib.parse.urlsplit(urllib.parse.parse_qs(query)["url"][0]).path
    ours = {"Host": f"127.0.0.1:{address[1]}", "Origin": opening.PERFETTO}
    whole = f"GET {path} HTTP/1.1\r\nHost: {ours['Host']}\r\nOrigin: {ours['Origin']}\r\n\r\n"
    for sent in (b"", whole.encode()):  # who goes away at once
        with socket.create_connection(address) as hasty:
            hasty.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            hasty.sendall(sent)

    def send_slowly() -> None:  # never as long as the server waits for the next byte
        while serving.is_alive():
            slow.sendall(b"x")
            time.sleep(1)

    with socket.create_connection(address) as slow:
        sending = threading.Thread(target=send_slowly)
        sending.start()
        for method, asked, status, headers in (
            ("GET", path, 403, {**ours, "Host": "evil.example:9001"}),
            ("GET", path, 403, {**ours, "Origin": "https://evil.example"}),
            ("GET", path, 403, {"Host": ours["Host"]}),  # a navigation, a picture, another program
            ("GET", f"/{path.split('/')[2]}", 403, ours),
            ("GET", path.replace("/", "/another", 1), 403, ours),
            ("GET", f"{path}/../{path.split('/')[2]}", 403, ours),
            *((method, path, 501, ours) for method in ("HEAD", "OPTIONS", "POST")),
        ):
            client = http.client.HTTPConnection(*address, timeout=30)
            client.request(method, asked, headers=headers)
            assert client.getresponse().status == status
        both = [http.client.HTTPConnection(*address, timeout=30) for _ in range(2)]
        for client in both:
            client.request("GET", path, headers=ours)
        with ThreadPoolExecutor() as pool:  # the first to be answered is the only one
            answers = list(pool.map(lambda client: client.getresponse().read(), both))
        assert answers.count(text) == 1 and sum(b"403" in answer for answer in answers if answer != text) == 1
        serving.join(timeout=30)
        assert not serving.is_alive()
        sending.join()
    server.server_close()
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("address")
def test_a_trace_that_no_browser_fetches_is_reported_and_no_command_line_holds_its_address(
    tmp_path: Path, command, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[Path, str, int]] = []

    def browser(address: str) -> bool:
        page = Path(address.removeprefix("file://"))
        opened.append((page, page.read_text(), page.parent.stat().st_mode & 0o077))
        return True

    monkeypatch.setattr(opening.webbrowser, "open", browser)
    (tmp_path / "t.json").write_text("{}")
    said = command("open", tmp_path / "t.json", "--timeout", "0.1", status=2).err
    assert "no browser fetched t.json in 0.1 s" in said and opening.PERFETTO not in said  # its address is closed
    ((page, text, others),) = opened
    assert opening.PERFETTO in text and "127.0.0.1" not in str(page) and others == 0 and not page.exists()
    with opening.listen():
        said = command("open", tmp_path / "t.json", "--no-browser", status=2).err
        assert "in use" in said and "End what listens there" in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fleet", "job", "-o", ""], "an argument is empty (output)"),
        (["view", "r", "-o", ""], "an argument is empty (output)"),
        (["view", ""], "an argument is empty (recordings)"),
        (["fleet", ""], "is empty"),
        (["run", ""], "an argument is empty (program)"),
        (["run", "m.py:f", "--target", ""], "an argument is empty (target)"),
        (["run", "--title", "", "m.py"], "an argument is empty (title)"),
        (["view", "r", "--format", ""], "an argument is empty (format)"),
        (["view", "t.json", "--debug-dir", ""], "an argument is empty (debug-dir)"),
        (["open", "none.json", "--no-browser", "--timeout", "1"], "cannot read none.json"),
        *((["open", "t.json", f"--timeout={word}"], "--timeout must be above 0") for word in ("nan", "-1", "0")),
        (["check", "a=", "e.toml"], "e.toml: No such file"),
        (["diff", "a=", "b="], "cannot read a=: No such file"),
        (["view", "t", "--steps", f"0:{10**20}"], "is not a range of steps"),
    ],
)
def test_names_that_are_empty_and_numbers_beyond_all_are_refused(words: list[str], said: str, command) -> None:
    assert said in command(*words, status=2).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("view r.fxscope -o here.md -o sub/../here.md --force", "is named twice"),
        ("check r.fxscope e.toml -o e.toml --force", "-o e.toml is a file that is read here"),
        ("check r.fxscope e.toml -o link --format md --force", "-o link is a file that is read here"),
        ("view r.fxscope -o a.md -o ./a.md", "-o ./a.md is named twice"),
        ("view r.fxscope -o r.fxscope --force", "is a file that is read here"),
        ("redact r.fxscope -o link --force", "is a file that is read here"),
        ("run -o s.py --format json --force s.py", "is a file that is read here"),
        ("run -o a.md -o a.md s.py", "is named twice"),
        ("run s.py:f -o s.py --format json --force", "is a file that is read here"),
    ],
)
def test_of_two_outputs_in_one_file_and_of_one_over_an_input_nothing_is_written(words, said, here, command) -> None:
    (here / "sub").mkdir()
    files = ("r.fxscope", "e.toml", "here.md", "s.py")
    for name in files:
        (here / name).write_text("1 / 0")
    (here / "link").symlink_to("r.fxscope")
    before = sorted(here.iterdir())
    error = command(*words.split(), status=2).err
    assert said in error and error.count("\n") == 1, error
    assert sorted(here.iterdir()) == before and {(here / name).read_text() for name in files} == {"1 / 0"}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("output", ["-o view --force", "-o md --force", "-o /dev/null -o /dev/null"])
def test_an_output_may_be_a_device_or_be_called_as_a_verb_or_a_format_is(output: str, command) -> None:
    Recording(title="r").save("r.fxscope")
    for _ in range(2):
        command("view", "r.fxscope", "--format", "md", *output.split())


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("words", ["kernel", "code r.fxscope", "why r.fxscope mm"])
def test_a_kernels_name_may_be_longer_than_that_of_a_file(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    Recording(title="r").save("r.fxscope")
    cli.main([*words.split(), f"void at::native::elementwise_kernel<{'4, ' * 2000}1>(int)"])
    assert "too long" not in capsys.readouterr().err


@pytest.mark.parametrize(("verb", "code"), [("view", "UTF-16"), ("fleet", "UTF-32"), ("diff a.json", "UTF-16")])
def test_text_in_another_code_and_a_value_alone_are_called_what_they_are(verb: str, code: str, here: Path, command):
    (here / "a.json").write_bytes('{"traceEvents": []}'.encode(code))
    (here / "b.json").write_text("null\n")
    assert f"is text in {code}: write it in UTF-8" in command(*verb.split(), "a.json", status=2).err
    assert "b.json is not JSON" not in command(*verb.split(), "b.json", status=2).err


@pytest.mark.parametrize("name", ["expectations", "recordings", "traces", "folders", "logs", "gpus"])
def test_a_mark_at_the_head_of_a_text_changes_nothing(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Windows' programs write one. In UTF-16 a text is refused, and said to be so."""
    form = fuzz_formats.FORMATS[name]
    seeds = form.seeds()
    seed = next((item for item in seeds if item.parent == Path(fuzz_formats.TRACE).parent), seeds[0])
    (shutil.copytree if seed.is_dir() else shutil.copyfile)(seed, seed.name)
    texts = [item for item in (here, *here.rglob("*")) if item.is_file()]
    made = {"PATH": seed.name, "TRACE": fuzz_formats.TRACE, "OUT.json": "made.json"}
    joined = fuzz_formats._made()["joined"]
    made |= {"compiled=WHOLE": f"compiled={joined}", "eager=EAGER": f"eager={joined}"}
    words = [made.get(word, word) for word in (form.reads or form.commands[0]).split()]

    def told() -> tuple[object, ...]:
        Path("made.json").unlink(missing_ok=True)
        status = fuzz_formats.plan(words[1]) if words[0] == "plan" else cli.main(words)
        return status, *capsys.readouterr()

    def write(begin: bytes, code: str) -> None:
        for path, data in whole.items():
            data = begin + data.decode().encode(code)
            path.write_bytes(gzip.compress(data, 1) if path.suffix == ".gz" else data)

    whole = {path: store.contents(path) for path in texts}
    before = told()
    assert before[0] in (0, 1), before
    write(b"\xef\xbb\xbf", "utf-8")
    assert told() == before
    write(b"", "utf-16")
    status, _, said = told()
    assert status == 2 and str(said).count("is text in UTF-16: write it in UTF-8.") == len(str(said).splitlines()) == 1


def test_a_log_of_many_short_lines_takes_no_more_than_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "lines.log"
    path.write_bytes(b'V0101 00:00:00.000000 1 x.py:1] {"artifact": 1}\n' + b"\tx\n" * 500_000)
    with takes_less_than(6 << 20), pytest.raises(TraceError, match="more than 1"):
        compile_log.read_log(path, max_bytes=1 << 20)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero here")
def test_pipes_and_devices_in_place_of_a_compiles_files_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_BYTES", 1 << 20)
    os.mkfifo(tmp_path / "pipe.log")
    with pytest.raises(FxscopeError, match="is a pipe"):
        compile_log.read_log(tmp_path / "pipe.log")
    with pytest.raises(TraceError, match="holds no"):
        compile_log.read_log(tmp_path)
    (tmp_path / "model__0_inference_0.0").mkdir()
    (tmp_path / "model__0_inference_0.0" / "output_code.py").symlink_to("/dev/zero")
    (read,) = compile_log.read_debug_dir(tmp_path).problems
    assert "0/0" in read.where


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", fuzz_formats.FORMATS)
def test_damaged_files_of_every_format_are_one_line_or_an_answer(name: str, tmp_path: Path) -> None:
    for seed in range(12):
        fuzz_formats.trial(name, seed, tmp_path)


def test_what_is_no_wrapper_in_python_is_said(tmp_path: Path, command) -> None:
    trace = str(fuzz.DATA / "h200" / "mlp_eager" / "trace.json.gz")
    folder = fuzz.DATA / "cpp_wrapper"
    assert output_code.parse(next(folder.rglob("output_code.py")).read_text()).unread is None
    read = store.loads(command("view", folder, "--format", "json").out)
    assert not read.problems and [call.type for call in read.calls].count("cpp") >= 1
    assert any(node.name == "erf" for graph in read.graphs for node in graph.nodes)
    unread = output_code.parse("x = (").unread
    assert unread == "the output code is no Python ('(' was never closed, line 1): no kernel calls"
    assert output_code.parse("").unread == "the output code has no function `call`: no kernel calls"
    (tmp_path / "torch_compile_debug" / "run" / "torchdynamo").mkdir(parents=True)
    assert "Inductor compiled nothing in that run" in command("view", trace, "--debug-dir", tmp_path, status=2).err
    assert "is not a debug folder" in command("view", trace, "--debug-dir", folder.parent / "sweep", status=2).err
    (tmp_path / "torch_compile_debug" / "run" / "torchdynamo" / "debug.log").write_text(
        "a log, but none of TORCH_TRACE"
    )
    shutil.copytree(folder, tmp_path / "torch_compile_debug" / "run" / "torchinductor")
    assert store.loads(command("view", tmp_path, "--format", "json").out).calls == read.calls


def test_a_gpu_that_nothing_can_be_computed_with_is_refused(tmp_path: Path) -> None:
    shipped = msgspec.to_builtins(gpus.load("h200"))
    path = tmp_path / "mine.json"
    for change, said in (
        ({"properties": {**shipped["properties"], "multi_processor_count": [0, "card"]}}, "multi_processor_count is 0"),
        ({"properties": {**shipped["properties"], "warp_size": ["many", "card"]}}, "warp_size is 'many'"),
        (
            {"properties": {**shipped["properties"], "L2_cache_size": [-1, "card"]}},
            r"Expected `int` >= 0 - at `\$.properties\[...\]\[0\]`",
        ),
        (
            {"bandwidths": [{"value": 0.0, "kind": "measured", "source": "x"}]},
            r"Expected `float` > 0.0 - at `\$.bandwidths\[0\].value`",
        ),
    ):
        path.write_text(json.dumps({**shipped, **change}))
        with pytest.raises(FxscopeError, match=f"mine.json describes no GPU: {said}"):
            gpus.load(str(path))
    shipped["calibration"]["families"]["gemm"]["parameters"]["l2"] = 0
    path.write_text(json.dumps(shipped))
    with pytest.raises(FxscopeError, match=r"Expected `float` > 0.0"):
        gpus.load(str(path))


@pytest.mark.parametrize("verb", ["view", "why", "code", "diff", "redact", "check", "fleet", "open"])
def test_a_name_that_no_file_can_have_is_one_line(verb: str, here: Path, command) -> None:
    name = "x" * 300 + ".json"
    given = {"diff": [name, name], "redact": [name, "-o", "o.json"], "check": [name, "e.toml"]}
    options = given.get(verb, [name])
    (here / "e.toml").write_text("kernels = 4\n")
    out, said = command(verb, *options, status=2)
    assert out == "" and said.startswith(f"fxscope {verb}: ") and said.count("\n") == 1
    assert name[:200] in said and [item.name for item in here.iterdir()] == ["e.toml"]


def test_a_current_folder_that_is_gone_is_one_line_or_does_no_harm(tmp_path: Path, monkeypatch, command) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    out, said = command("view", "recording.fxscope", "-o", "o.svg", status=2)
    assert (out, said) == ("", "fxscope view: the current folder does not exist any more. Change to one that does.\n")
    command("kernel", "triton_poi_fused_add_0")
    build.linear_eager().save(tmp_path / "r.fxscope")
    for words in ("view r", "view r -o o.md -o o.json", "why r", "redact r -o p.fxscope", "fleet no"):
        given = [str(tmp_path / word) if "." in word else word for word in words.replace(" r", " r.fxscope").split()]
        is_refused = given[0] == "fleet"
        said = command(*given, status=2 * is_refused).err
        assert "Traceback" not in said and (not is_refused or said.count("\n") == 1)
    assert (tmp_path / "o.md").exists() and (tmp_path / "p.fxscope").exists()


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
    log = tmp_path / "t.log"
    cut = text[: text.rindex(b"\n\t")]
    for content, said in ((damaged, "1 damaged entry could not be read"), (cut, "fails its checksum")):
        log.write_bytes(content)
        assert said in str(compile_log.read_log(log).problems)


def test_ops_that_lie_in_each_other_without_end_cost_no_square_of_their_number(tmp_path: Path) -> None:
    events = [
        build.event(kind, f"aten::op{number}", 5, 3, **{"External id": number})
        for kind in ("cpu_op", "kernel")
        for number in range(1, 4001)
    ]
    chains = [launch.chain for launch in join.read_trace(build.write_trace(tmp_path / "t.json", events)).launches]
    assert len(chains) == 4000 and max(map(len, chains)) == 100
    deepest = max(chains, key=lambda chain: int(chain[-1].removeprefix("aten::op")))
    assert deepest[:2] == ("aten::op1", "aten::op2") and deepest[50] == "…" and deepest[-1] == "aten::op4000"
    assert sum(map(len, chains)) < 400_000


def test_long_names_around_an_op_are_not_repeated_with_each_of_its_kernels(tmp_path: Path) -> None:
    names = [f"{number:02}{'x' * 3000}" for number in range(50)]
    ops = [build.event("cpu_op", name, 5, 3, **{"External id": number}) for number, name in enumerate(names, 1)]
    kernels = [build.event("kernel", "k", 9 + number, 0.5, **{"External id": 50}) for number in range(1000)]
    path = build.write_trace(tmp_path / "t.json", [*ops, *kernels])
    recording = join.read_trace(path)
    assert {launch.chain for launch in recording.launches} == {tuple(f"{name[:199]}…" for name in names)}
    assert len(recording.to_json()) < 60 * path.stat().st_size  # it was 500 times
