"""Traces: what json takes is read whole and alike by both readers; damage costs the damaged events, and is counted.

The mutants come from tools/fuzz.py, with fixed seeds; run that for longer budgets.
"""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from fxscope import store
from fxscope.readers import trace
from fxscope.readers.join import read_trace
from fxscope.readers.trace import reader
from tools import fuzz

EAGER = json.loads(gzip.decompress((fuzz.DATA / "h200" / "mlp_eager" / "trace.json.gz").read_bytes()))
BOTH = [True, False] if reader.native is not None else [False]


def lost(problems: list[str]) -> int:
    return sum(int(message.split()[0]) for message in problems if "could not be read" in message)


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "t.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_strange_documents_read_as_json_reads_them(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 50):
        fuzz.valid(seed, tmp_path)


@pytest.mark.parametrize("first", range(0, 160, 40))
def test_damage_costs_the_damaged_events_and_both_readers_agree(first: int, tmp_path: Path) -> None:
    traces = fuzz.Traces()
    for seed in range(first, first + 40):
        fuzz.damaged(seed, tmp_path, traces)


def test_values_of_other_types_are_read_and_what_is_read_can_be_saved(tmp_path: Path) -> None:
    documents = fuzz.values_documents()
    for seed in range(24):
        fuzz.values(seed, tmp_path, documents)


@pytest.mark.parametrize(
    ("of", "key", "value"),
    [
        ("header", "name", ["NVIDIA H200"]),
        ("header", "id", {"0": 0}),
        ("header", None, 7),
        ("args", "Input Dims", [0, [[2], 3], {}, [4, 8]]),
        ("args", "Input Strides", [2**70, [1], "x", [8, 1]]),
    ],
)
def test_a_header_and_shapes_of_other_types_say_nothing(
    of: str, key: str | None, value: object, tmp_path: Path
) -> None:
    document = json.loads(json.dumps(EAGER))
    device = document["deviceProperties"][0]
    mm = next(event for event in document["traceEvents"] if event.get("name") == "aten::mm")
    if key is None:
        document["deviceProperties"] = value
    else:
        (device if of == "header" else mm["args"])[key] = value
    recording = read_trace(write(tmp_path, json.dumps(document)))
    if key == "name":
        assert recording.environment.device is None
    if key == "Input Dims":
        assert next(op for op in recording.ops if op.name == "aten::mm").shapes == ((), ((2,), ()), (), (4, 8))
    assert store.load(store.write(tmp_path / "t.fxscope", store.encode(recording))).to_json() == recording.to_json()


@pytest.mark.skipif(reader.native is None, reason="the native scanner was not built here")
def test_the_scanner_takes_only_what_json_takes_and_stays_in_its_data() -> None:
    pieces = fuzz.scanner_pieces(0)
    assert sum(fuzz.scanner(seed, pieces) for seed in range(8)) == 8000


@pytest.mark.skipif(reader.native is None, reason="the native scanner was not built here")
def test_the_scanner_checks_its_arguments() -> None:
    for arguments in ((b"x", 2, False), (b"x", -1, False)):
        with pytest.raises(ValueError, match="outside the data"):
            reader.native.scan(*arguments)
    eight = bytes(8)
    for columns in (
        (b"\1" + bytes(7), eight, eight, eight),
        (b"\xff" * 8, eight, eight, eight),
        (eight, eight, eight, b""),
        (eight, *[b"1234567"] * 3),
    ):
        with pytest.raises(ValueError, match="rows of them"):
            reader.native.nest(*columns)
    with pytest.raises(TypeError):
        reader.native.nest("text", eight, eight, eight)
    spans = np.array([1, 0, 3]), np.array([2, 1, 0])
    assert reader.native.gather(b"abc", *spans) == b"bca"
    for start, length in ((4, 0), (3, 1), (-1, 1), (0, -1), (0, 2**63 - 1), (2**63 - 1, 1)):
        with pytest.raises(ValueError, match="spans of the data"):
            reader.native.gather(b"abc", np.array([0, start]), np.array([2, length]))
    with pytest.raises(ValueError, match="spans of the data"):
        reader.native.gather(b"abc", eight, b"1234567")


@pytest.mark.skipif(reader.native is None, reason="the native scanner is not built here")
def test_the_scanner_refuses_what_is_no_argument() -> None:
    released, eight = memoryview(bytearray(64)), bytes(8)
    released.release()
    gaps = memoryview(bytes(64))[::2]
    whole = {"scan": (b"[]", 0, False), "nest": (eight, eight, eight, eight), "gather": (b"abc", eight, eight)}
    for name, arguments in whole.items():
        function = getattr(reader.native, name)
        function(*arguments)
        with pytest.raises(TypeError):
            function()
        for position in range(len(arguments)):
            with pytest.raises(TypeError):
                function(*arguments[:position])
            for wrong in (None, "text", 1.5, [], {}, object()):
                if (name, position) == ("scan", 2):
                    continue  # any object is true or false
                with pytest.raises(TypeError):
                    function(*arguments[:position], wrong, *arguments[position + 1 :])
        with pytest.raises(TypeError):
            function(*arguments, 1)
        with pytest.raises(TypeError):
            function(*arguments, unknown=1)
        with pytest.raises(ValueError, match="released"):
            function(released, *arguments[1:])
        with pytest.raises((BufferError, ValueError)):
            function(gaps, *arguments[1:])
    for huge in (2**63, -(2**63) - 1, 2**200):
        with pytest.raises(OverflowError):
            reader.native.scan(b"[]", huge, False)
    held = bytearray(b'{"ph":"X"}')
    reader.native.scan(held, 0, False)
    held += b"x"  # a buffer that was not given back could not grow


@pytest.mark.parametrize("native", BOTH)
@pytest.mark.parametrize("chunk", [64, 2 << 20])
def test_sorted_keys_and_an_emoji_lose_nothing(
    native: bool, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "CHUNK_BYTES", chunk)
    data = {**EAGER, "traceEvents": [{**event, "note": "🚀"} for event in EAGER["traceEvents"]]}
    for text in (json.dumps(data, sort_keys=True), "\ufeff" + json.dumps(data, ensure_ascii=False, indent=1)):
        path = write(tmp_path, text)
        found, problems = fuzz.rows_of(path, native=native)
        assert found == fuzz.reference(text.lstrip("\ufeff"))[0] and len(found) > 100 and not problems


@pytest.mark.parametrize("native", BOTH)
class TestWhatIsNotOneDocument:
    EVENT = '{"ph":"X","cat":"cpu_op","name":"op%d","pid":1,"tid":1,"ts":%d,"dur":1,"args":{"n":[{"a":1},{"b":2}]}}'

    def read(self, text: str, native: bool, folder: Path) -> tuple[list[str], list[str]]:
        rows, problems = fuzz.rows_of(write(folder, text), native=native)
        assert problems
        return [row[1] for row in rows], problems

    def document(self, *numbers: int) -> str:
        return '{"traceEvents":[' + self.events(*numbers) + "]}"

    def events(self, *numbers: int) -> str:
        return ",".join(self.EVENT % (number, number) for number in numbers)

    def test_two_lists(self, native: bool, tmp_path: Path) -> None:
        text = self.document(1, 2)[:-1] + ',"x":1,' + self.document(3)[1:]
        names, problems = self.read(text, native, tmp_path)
        assert names == ["op1", "op2"] and len(problems) == 1 and "the first was read" in problems[0]

    def test_two_documents(self, native: bool, tmp_path: Path) -> None:
        text = self.document(1, 2)
        names, problems = self.read(text + text, native, tmp_path)
        assert names == ["op1", "op2"] and len(problems) == 1 and "the first was read" in problems[0]

    @pytest.mark.parametrize("rest", ["garbage", "{", "\0" * 100])
    def test_what_follows(self, rest: str, native: bool, tmp_path: Path) -> None:
        names, problems = self.read(self.document(1, 2) + rest, native, tmp_path)
        assert names == ["op1", "op2"] and len(problems) == 1 and "follow" in problems[0]

    @pytest.mark.parametrize("between", ["],", "]}", "]},", ",[", ", ,", "", ", 5 x"])
    def test_a_stray_bracket_between_events(self, between: str, native: bool, tmp_path: Path) -> None:
        text = self.document(1, 2)[:-2] + between + self.events(3, 4) + '],"traceName":"x"}'
        names, problems = self.read(text, native, tmp_path)
        assert names == ["op1", "op2", "op3", "op4"] and not lost(problems)

    def test_a_damaged_head_and_foot(self, native: bool, tmp_path: Path) -> None:
        text = '{"a":x,"baseTimeNanoseconds": 17,' + self.document(1, 2)[1:-1] + ',"traceName":x}'
        names, problems = self.read(text, native, tmp_path)
        assert names == ["op1", "op2"] and not lost(problems) and len(problems) == 1
        assert trace.recording(tmp_path / "t.json").base_time_ns == 17

    def test_the_number_lost_is_true(self, native: bool, tmp_path: Path) -> None:
        parts = [self.EVENT % (number, number) for number in range(100)]
        for number in range(0, 100, 3):
            parts[number] = parts[number].replace('"name":"', '"name":"a"b')
        names, problems = self.read('{"traceEvents":[' + ",\n".join(parts) + "]}", native, tmp_path)
        assert names == [f"op{number}" for number in range(100) if number % 3] and lost(problems) == 34

    def test_keys_within_strings_are_no_list(self, native: bool, tmp_path: Path) -> None:
        head = f'{{"note":{json.dumps(self.document(7))},'
        rows, problems = fuzz.rows_of(write(tmp_path, head + self.document(1)[1:]), native=native)
        assert [row[1] for row in rows] == ["op1"] and not problems
