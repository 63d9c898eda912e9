"""Mutants of every kind of file that fxscope reads, held to what docs/promises.md says. The suite runs a few seconds of it.

    python tools/fuzz.py [valid|damaged|values|scanner|formats|FORMAT …] [--seconds 60] [--seed 0]

A finding is printed with its seed and ends the run with exit code 1; the same seed makes the same mutants.

valid     documents that `json.loads` takes: the native scanner, msgspec and json give the same rows, and no problem
damaged   real traces with one or a few bytes changed: both readers agree, and no event is lost but the damaged ones
values    real traces with a few values that are of other types: refused in one line, or read, saved and read back the same
scanner   the native scanner alone; tools/sanitize.sh does it with a build that has sanitizers
formats   every small format, each in turn; or one by its name (tools/fuzz_formats.py): through the verbs that read it, an
          answer or one line that says what and where
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import gzip
import importlib.util
import json
import random
import sys
import tempfile
import time
from array import array
from collections import Counter
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
sys.path.insert(0, str(ROOT))

from fxscope import store  # noqa: E402
from fxscope.errors import FxscopeError  # noqa: E402
from fxscope.readers import trace  # noqa: E402
from fxscope.readers.join import read_trace  # noqa: E402
from fxscope.readers.trace import reader, table  # noqa: E402
from tools import fuzz_formats  # noqa: E402
from tools.fuzz_formats import Finding  # noqa: E402

Row = tuple[int, str, str, int, int, int, int]


# ---- documents that are JSON ------------------------------------------------------------------------------------

NAMES = (
    "aten::mm", "naïve 🚀", 'a "quoted" name', "tab\there", "{", "}]", '"ph":', "\\", "\ud800", "a\udc00b", "",
    '"traceEvents": [',
)  # fmt: skip
SPACES = ("", "", " ", "\n", "\t\r\n  ")
NUMBERS = (
    *"0 -0 1 17 -5 1e3 1E+2 0.5 1.0005 2.00050 1.0015 3.14159265 123456789.1234 1693843210123456.789".split(),
    *"4611686018427387 4611686018427388 9223372036854775807 9223372036854775808 99999999999999999999999".split(),
    *"1e30 1e400 -1e400 1e-30 1e-400 0.0004999999999999999999999999 0.0005000000000000000000000001".split(),
    *("NaN", "Infinity", "-Infinity", "1" * 210, "0." + "3" * 300),
)

CATEGORIES = (*table.CATEGORIES, "ac2g", "Trace")


class Documents:
    """Makes the text of traces that are strange but valid."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def text(self) -> str:
        """Return one document."""
        chance = self.chance
        events = [chance.choice(("{}", '{"name": "x"}', *[self.event()] * 20)) for _ in range(chance.randrange(12))]
        members = [(self.string(chance.choice(NAMES) + "!"), self.value(3)) for _ in range(chance.randrange(4))]
        members.append(('"baseTimeNanoseconds"', "17"))
        chance.shuffle(members)
        members.insert(chance.randrange(len(members) + 1), ('"traceEvents"', self.list(events)))
        return self.space() + self.object(members) + self.space()

    def space(self) -> str:
        """Return white space."""
        return self.chance.choice(SPACES)

    def key(self, name: str) -> str:
        """Return a key, now and then with an escape."""
        if self.chance.random() < 0.05:
            at = self.chance.randrange(len(name))
            return f'"{name[:at]}\\u{ord(name[at]):04x}{name[at + 1 :]}"'
        return f'"{name}"'

    def string(self, value: str) -> str:
        """Return a string as JSON."""
        surrogates = any(0xD800 <= ord(char) < 0xE000 for char in value)
        return json.dumps(value, ensure_ascii=surrogates or self.chance.random() < 0.5)

    def value(self, depth: int) -> str:
        """Return any value."""
        kind = self.chance.randrange(8)
        if kind == 0 and depth:
            return self.list([self.value(depth - 1) for _ in range(self.chance.randrange(4))])
        if kind == 1 and depth:
            return self.object(
                [
                    (self.string(self.chance.choice(NAMES)), self.value(depth - 1))
                    for _ in range(self.chance.randrange(4))
                ]
            )
        if kind < 5:
            return self.chance.choice(NUMBERS)
        return self.string(self.chance.choice(NAMES)) if kind < 7 else self.chance.choice(("null", "true", "false"))

    def list(self, values: list[str]) -> str:
        """Return a list."""
        inner = ",".join(self.space() + value + self.space() for value in values)
        return f"[{inner or self.space()}]"

    def object(self, members: list[tuple[str, str]]) -> str:
        """Return an object."""
        parts = (f"{self.space()}{key}{self.space()}:{self.space()}{value}{self.space()}" for key, value in members)
        return "{" + (",".join(parts) or self.space()) + "}"

    def time(self) -> str:
        """Return a number that is a time in most cases."""
        if self.chance.random() < 0.1:
            return self.chance.choice([number for number in NUMBERS if time_ns(number) is not None])
        return f"{self.chance.randrange(10**6)}.{self.chance.randrange(10**6):0{self.chance.choice((3, 6, 6))}}"

    def event(self) -> str:
        """Return one event: most are complete ones of a category that is read."""
        chance = self.chance
        args = [
            (
                self.key(name),
                chance.choice(('"7"', "null", self.value(1), str(chance.randrange(9)), str(chance.randrange(9)))),
            )
            for name in ("External id", "external id", "correlation", "stream", "device", "Input Dims", "ph")
            if chance.random() < 0.4
        ]
        members = [
            (self.key("ph"), chance.choice(('"X"',) * 6 + ('"M"', '"\\u0058"', "5"))),
            (self.key("cat"), self.string(chance.choice(CATEGORIES)) if chance.random() < 0.95 else self.value(1)),
            (self.key("name"), self.string(chance.choice(NAMES)) if chance.random() < 0.9 else self.value(2)),
            (self.key("pid"), self.value(1)),
            (self.key("tid"), self.value(1)),
            (self.key("ts"), self.time()),
            (self.key("dur"), self.time()),
            (self.key("args"), self.object(args) if chance.random() < 0.9 else self.value(1)),
        ]  # fmt: off
        if chance.random() < 0.2:
            members += [(chance.choice(members)[0], chance.choice(members)[1])]  # twice, or of the wrong type
        if chance.random() < 0.1:
            members += [(self.string(chance.choice(NAMES)), self.value(3))]
        chance.shuffle(members)
        return self.object(members)


def time_ns(text: str) -> int | None:
    """Return nanoseconds of microseconds, from the decimal text, by Python's own decimal arithmetic."""
    if text.lstrip("-") in ("NaN", "Infinity"):
        return None
    value = Decimal(text)
    if value.adjusted() > 18:
        return None
    if value.adjusted() < -20:
        return 0
    found = int(value.scaleb(3).quantize(Decimal(1), ROUND_HALF_EVEN)) if len(text) < 25 else exact(value)
    return found if abs(found) <= table.TIME_MAX else None


def exact(value: Decimal) -> int:
    """Round a long decimal by whole numbers alone."""
    numerator, denominator = value.as_integer_ratio()
    whole, rest = divmod(abs(numerator) * 1000, denominator)
    whole += 2 * rest > denominator or (2 * rest == denominator and whole % 2)
    return whole if numerator >= 0 else -whole


class Number(str):
    """A number as written."""


def reference(text: str) -> tuple[list[Row], int]:
    """Return the rows of a document by json alone, and how many problems its times are."""
    document = json.loads(text, parse_float=Number, parse_constant=Number, parse_int=Number)
    rows: list[Row] = []
    has_no_time = has_negative = False
    for event in document["traceEvents"]:
        category = table.CATEGORIES.get(event["cat"]) if type(event.get("cat")) is str else None
        if (
            event.get("ph") != "X" or isinstance(event["ph"], Number) or category in (None, table.MEMORY)
        ):  # those are "i"
            continue
        start, duration = (
            time_ns(value) if isinstance(value := event.get(key), Number) else None for key in ("ts", "dur")
        )
        if start is None or duration is None:
            has_no_time = True
            continue
        has_negative |= duration < 0
        args = event.get("args") if isinstance(event.get("args"), dict) else {}
        external = args.get("External id")
        external = identifier(external if external is not None else args.get("external id"))
        host = category < table.NUM_HOST
        first, second = event.get("pid"), event.get("tid")
        if not host:
            first = args["device"] if args.get("device") is not None else first
            second = args["stream"] if args.get("stream") is not None else second
        thread = (host, same(plain(first)), same(plain(second)))
        name = plain(event.get("name"))
        rows.append(
            (
                category,
                clean(str(name)),
                clean(repr(thread)),
                start,
                max(0, duration),
                identifier(args.get("correlation")),
                external,
            )
        )
    return rows, has_no_time + has_negative


def identifier(value: Any) -> int:
    """Return an id: a whole number above 0, or a string of digits."""
    digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 19
    found = int(value) if digits else -1
    return found if 0 < found < 2**63 else -1


def plain(value: Any) -> Any:
    """Return a value with its numbers as json makes them."""
    if isinstance(value, Number):
        if any(char in value for char in ".eENI"):
            return float(value)
        return int(value) if len(value) < 400 else float(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): plain(item) for key, item in value.items()}
    return clean(value) if isinstance(value, str) else value


def same(value: Any) -> str:
    """Return one text for values that are equal in Python, as 1, 1.0 and True are."""
    if isinstance(value, (bool, int, float)) and value == value and abs(value) < 1e300 and value == int(value):
        return f"number {int(value)}"
    kind = "float" if isinstance(value, float) else type(value).__name__
    return f"{'str' if isinstance(value, (list, dict)) or value != value else kind} {value}"


def clean(text: str) -> str:
    """Replace half surrogate pairs."""
    return "".join("\ufffd" if 0xD800 <= ord(char) < 0xE000 else char for char in text)


def rows_of(path: Path, *, native: bool) -> tuple[list[Row], list[str]]:
    """Return what a reader finds in a file: its rows and its problems."""
    kept = reader.native
    reader.native = kept if native else None
    try:
        found = trace.read(path)
    finally:
        reader.native = kept
    rows = []
    for row in range(len(found)):
        first, second = found.threads[found.thread[row]]
        host = bool(found.category[row] < table.NUM_HOST)
        if not host:
            first, second = first[1], second[1]
        thread = repr((host, same(first), same(second)))
        times = (int(found.start_ns[row]), int(found.duration_ns[row]))
        ids = (int(found.correlation[row]), int(found.external_id[row]))
        rows.append((int(found.category[row]), found.name_of(row), thread, *times, *ids))
    return rows, [problem.message for problem in found.problems]


def valid(seed: int, folder: Path) -> None:
    """Hold the readers to json on one document."""
    text = Documents(seed).text()
    path = folder / "valid.json"
    path.write_text(text, encoding="utf-8")
    rows, num_problems = reference(text)
    for native in (True, False) if reader.native is not None else (False,):
        found, problems = rows_of(path, native=native)
        if found != rows or len(problems) != num_problems:
            raise Finding(
                f"{'native' if native else 'msgspec'} differs from json: {first_difference(found, rows)}, {problems}: {text!r}"
            )


def first_difference(found: list[Row], wanted: list[Row]) -> str:
    """Return where two lists differ."""
    for index, (left, right) in enumerate(zip(found, wanted, strict=False)):
        if left != right:
            return f"row {index} is {left}, not {right}"
    return f"{len(found)} rows, not {len(wanted)}"


# ---- damaged traces ---------------------------------------------------------------------------------------------


class Traces:
    """Real traces of tests/data, in the three layouts that occur."""

    def __init__(self) -> None:
        self.documents: list[tuple[bytes, list[bytes], bytes, bytes]] = []
        for name in ("mlp_compiled", "mlp_eager_stack", "linear_eager"):
            data = json.loads(gzip.decompress((DATA / "h200" / name / "trace.json.gz").read_bytes()))
            for layout in ({"separators": (",", ":")}, {"indent": 1}, {"sort_keys": True}):
                events = [json.dumps(event, **layout).encode() for event in data["traceEvents"][:40]]
                head = json.dumps(
                    {key: value for key, value in data.items() if key != "traceEvents"}, **layout
                ).encode()
                self.documents.append(
                    (head[:-1].rstrip() + b',"traceEvents":[', events, b",\n", b'],"traceName":"t.json"}')
                )


def damaged(seed: int, folder: Path, traces: Traces) -> None:
    """Damage one event, or a few; compare what both readers find with what is left whole."""
    chance = random.Random(seed)
    head, events, between, tail = chance.choice(traces.documents)
    hit = sorted(set(chance.choices(range(len(events)), k=chance.choice((1, 1, 1, 2, 5)))))
    parts = list(events)
    for index in hit:
        parts[index] = mutate(parts[index], chance, 1)
    text = head + between.join(parts) + tail
    path = folder / "damaged.json"
    path.write_bytes(text)
    rows, problems = rows_of(path, native=False)
    if reader.native is not None:
        ours, our_problems = rows_of(path, native=True)
        if ours != rows or our_problems != problems:
            raise Finding(f"the readers disagree: {first_difference(ours, rows)}; {our_problems} and {problems}")
    whole = folder / "whole.json"
    whole.write_bytes(head + between.join(part for index, part in enumerate(events) if index not in hit) + tail)
    missing = Counter(rows_of(whole, native=True)[0]) - Counter(rows)
    if missing:
        raise Finding(
            f"{sum(missing.values())} whole events were lost beside {len(hit)} damaged ones: {next(iter(missing))} {problems}"
        )
    lost = sum(int(message.split()[0]) for message in problems if "could not be read" in message)
    # A mutant may have doubled the key that makes an object an event.
    broken = sum(max(1, parts[index].count(b'"ph"')) for index in hit if not is_json(parts[index]))
    if lost > broken:
        raise Finding(f"{lost} events are said to be lost, {broken} are damaged: {problems}")
    if not is_json(text) and not problems:
        raise Finding("no JSON, and no problem")


def is_json(text: bytes) -> bool:
    """Return whether json takes it."""
    try:
        json.loads(text.decode())
    except (ValueError, RecursionError):
        return False
    return True


def mutate(text: bytes, chance: random.Random, times: int) -> bytes:
    """Change, insert or delete bytes; those of JSON's grammar more often."""
    for _ in range(times):
        at = chance.randrange(len(text)) if text else 0
        byte = chance.choice((*b'{}[]",:\\ \n0n', chance.randrange(256)))
        how = chance.randrange(4)
        if how == 0:
            text = text[:at] + bytes([byte]) + text[at + 1 :]
        elif how == 1:
            text = text[:at] + bytes([byte]) + text[at:]
        elif how == 2:
            text = text[:at] + text[at + 1 + chance.choice((0, 0, 3, 40)) :]
        else:
            text = text[:at] + text[at : at + chance.randrange(60)] + text[at:]
    return text


# ---- values of other types ---------------------------------------------------------------------------------------

VALUES = (
    *(None, True, 0, -1, 7, 2**63, 2**70, 1e308, float("nan"), "", "x", "7", "\ud800", "\u202e", "[[1, 2], [3]]"),
    *([], {}, [1], [None], ["x"], [[1, 2]], [{}], {"a": 1}, {"name": []}, {"": None}),
)


def values(seed: int, folder: Path, documents: list[dict[str, Any]]) -> None:
    """Put values of other types into a header and into events; hold the recording to what is read back of it."""
    chance = random.Random(seed)
    document = chance.choice(documents)
    begin = chance.randrange(len(document["traceEvents"]))
    changed = json.loads(json.dumps({**document, "traceEvents": document["traceEvents"][begin : begin + 80]}))
    for _ in range(chance.choice((1, 1, 2, 6))):
        part = changed if chance.random() < 0.5 else chance.choice(changed["traceEvents"])
        keys = [key for key in part if key != "traceEvents"]
        key = chance.choice(keys)
        while isinstance(part[key], (dict, list)) and part[key] and chance.random() < 0.8:
            part = part[key]
            key = chance.choice(list(part) if isinstance(part, dict) else range(len(part)))
        part[key] = copy.deepcopy(chance.choice(VALUES))
    path = folder / "values.json"
    path.write_text(json.dumps(changed))
    try:
        recording = read_trace(path)
    except FxscopeError:
        return
    for written in (store.encode(recording), recording.to_json().encode()):
        saved = store.write(folder / "values.fxscope", written, force=True)
        if store.load(saved).to_json() != recording.to_json():
            raise Finding("a recording is not what was saved")


def values_documents() -> list[dict[str, Any]]:
    """Return real traces."""
    names = ("mlp_compiled", "linear_eager")
    return [json.loads(gzip.decompress((DATA / "h200" / name / "trace.json.gz").read_bytes())) for name in names]


# ---- the native scanner alone -----------------------------------------------------------------------------------


def scanner(seed: int, pieces: list[bytes]) -> int:
    """Let the scanner read a thousand mutants, from buffers that end where the text does; return how many."""
    chance = random.Random(seed)
    native = reader.native
    for _ in range(1000):
        text = mutate(chance.choice(pieces), chance, chance.randrange(1, 5))
        data = bytes(bytearray(text[: chance.randrange(len(text) + 1)] if chance.random() < 0.3 else text))
        start = chance.randrange(len(data) + 1) if chance.random() < 0.2 else 0
        position, status, _after, rows, strings, threads = native.scan(data, start, chance.random() < 0.1)
        if not start <= position <= len(data) or len(rows) % 80 or (rows and not (strings and threads)):
            raise Finding(f"scan({data!r}, {start}) gives {position}, {status}")
        order = array("q", (chance.randrange(-1, 9) for _ in range(chance.randrange(9)))).tobytes()
        times = [bytes(chance.randbytes(chance.choice((64, 64, 64, 63)))) for _ in range(3)]
        with contextlib.suppress(ValueError):
            native.nest(order, *times)
        with contextlib.suppress(ValueError):
            native.gather(data, order, bytes(reversed(order)))
            native.gather(data, order, order)
        try:
            json.loads(b"[" + data[start:position].strip(b", \t\r\n") + b"]")
        except (ValueError, RecursionError) as error:
            raise Finding(f"scan({data!r}, {start}) takes what json does not: {error}") from None
    return 1000


def scanner_pieces(seed: int) -> list[bytes]:
    """Return stretches of lists of events."""
    documents = Documents(seed)
    made = [",".join(documents.event() for _ in range(4)).encode("utf-8", "replace") + b"]" for _ in range(100)]
    for _head, events, between, _tail in Traces().documents:
        made += [between.join(events[at : at + 2]) + b"]" for at in range(0, len(events) - 1, 5)]
    return made


# ---- the command line -------------------------------------------------------------------------------------------


def main() -> int:
    """Run the chosen fuzzers for a while."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["valid", "damaged", "values", "scanner", "formats"])
    parser.add_argument("--seconds", type=float, default=60, help="for each")
    parser.add_argument("--mutants", type=int, default=10**12, help="at most, for each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scanner", type=Path, metavar="FILE", help="another build of the native scanner")
    arguments = parser.parse_args()
    failed = False
    if arguments.scanner:
        reader.native = load_scanner(arguments.scanner)
    with tempfile.TemporaryDirectory() as name:
        for what in arguments.what:
            failed |= run(what, one(what, Path(name), arguments.seed), arguments)
    return int(failed)


def load_scanner(path: Path) -> Any:
    """Import the extension module from a file."""
    spec = importlib.util.spec_from_file_location("_scan", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no extension module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def one(what: str, folder: Path, seed: int) -> Callable[[int], int | None]:
    """Return what makes and tries the mutant of a seed."""
    if what == "valid":
        return lambda at: valid(at, folder)
    if what == "damaged":
        traces = Traces()
        return lambda at: damaged(at, folder, traces)
    if what == "values":
        documents = values_documents()
        return lambda at: values(at, folder, documents)
    if what == "scanner":
        if reader.native is None:
            raise SystemExit("the native scanner is not built here")
        pieces = scanner_pieces(seed)
        return lambda at: scanner(at, pieces)
    if what == "formats":
        names = list(fuzz_formats.FORMATS)
        return lambda at: fuzz_formats.trial(names[at % len(names)], at, folder)
    if what in fuzz_formats.FORMATS:
        return lambda at: fuzz_formats.trial(what, at, folder)
    raise SystemExit(f"no fuzzer {what}")


def run(what: str, trial: Callable[[int], int | None], arguments: argparse.Namespace) -> bool:
    """Try mutant after mutant; return whether there was a finding."""
    end, seed, count = time.monotonic() + arguments.seconds, arguments.seed, 0
    while time.monotonic() < end and count < arguments.mutants:
        try:
            count += trial(seed) or 1
        except Finding as finding:
            print(f"{what}, seed {seed}: {finding}")
            return True
        except Exception:
            print(f"{what}, seed {seed}: raised")
            raise
        seed += 1
    print(f"{what}: {count:,} mutants, no finding")
    return False


if __name__ == "__main__":
    sys.exit(main())
