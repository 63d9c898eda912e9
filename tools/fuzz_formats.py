"""Mutants of each small format that fxscope reads, through the verbs that read it: an answer, or a line with what and where.

Part of `tools/fuzz.py`; a format is a row of FORMATS.
"""

from __future__ import annotations

import atexit
import contextlib
import copy
import functools
import gzip
import io
import json
import random
import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
PLANS = DATA / "h200" / "plans"
STRANGE = json.loads(r"""[null, true, 0, -1, 1, 0.5, 1e308, 2147483648, 9223372036854775807, 9223372036854775808,
  1000000000000000000000000000000, "", " ", "0/0", "aten::mm", "\u202e\u001b]0;x\u0007", "%s{}[]", "-1", "1e400", "nan",
  [], {}, [[]], [null], [0, "x"], {"x": null}, {"": {}}]""")
TOML_VALUES = r"""0
-1
1e400
nan
true
1979-05-27
0x7fffffffffffffffffffffff
""
'x'
"<= "
"1..2..3"
">= 5 XB"
"~ 0 %"
"[a-"
"compiled:"
":x"
"aten::mm#0"
"aten::mm#99999999999999999999"
[]
{}
[[]]
[1]
[3, 1]
[1, 2, 3]
["a"]
["", ""]
["a", "a"]
["gelu", 1]
{ a = 1 }
{ "*" = [] }
{ "aten::mm#1" = [[1]] }
{ "aten::mm#1" = 1 }
{ pair = ["a", "b"] }
{ pair = ["gelu", "mul"], verdict = "x", reason = 1 }
{ metric = "x" }
{ file = "/nowhere.json" }
{ file = "x", path = "a.b" }
{ of = [], than = [] }""".splitlines()


class Finding(Exception):
    """A promise that did not hold."""


class Format(NamedTuple):
    """What is damaged, how, and who reads it."""

    seeds: Callable[[], Sequence[Path]]  # a file, or a folder of which one file is damaged
    only: str  # a pattern of names: the files of a folder that are damaged
    ways: tuple[Callable[[bytes, random.Random], bytes], ...]
    commands: Sequence[str]  # PATH is what was damaged
    reads: str | None = None  # shows that what was damaged can be read: then what is said is of what is asked of it


# ---- ways to damage a file --------------------------------------------------------------------------------------


def by_bytes(data: bytes, chance: random.Random) -> bytes:
    """Change, insert or delete a few bytes; those of a grammar more often."""
    from tools.fuzz import mutate

    return mutate(data, chance, chance.choice((1, 1, 2, 5, 30)))


def by_lines(data: bytes, chance: random.Random) -> bytes:
    """Delete, double, move, join or cut lines."""
    lines = data.splitlines(keepends=True)
    for _ in range(chance.choice((1, 1, 2, 5))):
        if not lines:
            break
        at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
        how = chance.randrange(6)
        if how == 0:
            del lines[at : at + chance.choice((1, 1, 3, 10))]
        elif how == 1:
            lines.insert(to, lines[at])
        elif how == 2:
            lines[at], lines[to] = lines[to], lines[at]
        elif how == 3:
            lines[at] = lines[at].rstrip(b"\r\n")
        elif how == 4:
            lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)] + b"\n"
        else:
            lines[at] = b" " * chance.choice((1, 4)) + lines[at]
    return b"".join(lines)


def by_words(data: bytes, chance: random.Random) -> bytes:
    """Replace words by words of the same file, or by numbers and brackets that are too large, too deep or none."""
    words = re.findall(rb"\w+|[^\w\s]+", data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        old = chance.choice(words) if words else b""
        new = chance.choice(
            (
                chance.choice(words) if words else b"",
                b"",
                b"0",
                b"-1",
                b"9" * 30,
                b"(" * 200,
                b"[" * 3000,
                b"None",
                b"nan",
                b"\xff",
                b"s0",
            )
        )
        places = [found.start() for found in re.finditer(re.escape(old), data)]
        if places:
            at = chance.choice(places)
            data = data[:at] + new + data[at + len(old) :]
    return data


def by_values(data: bytes, chance: random.Random) -> bytes:
    """Change values of a JSON document: to others of the same document, of other types, or to none."""
    document = json.loads(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        owner, key = _place(document, chance)
        if owner is None:
            break
        how = chance.randrange(6)
        if how < 3:
            owner[key] = copy.deepcopy(chance.choice(STRANGE))
        elif how == 3:
            other, there = _place(document, chance)
            owner[key] = copy.deepcopy(other[there])
        elif how == 4:
            del owner[key]
        elif isinstance(owner, list):
            owner.insert(key, copy.deepcopy(owner[chance.randrange(len(owner))]))
        else:
            owner[key + "x"] = owner.pop(key)
    return json.dumps(document).encode()


def _place(document: Any, chance: random.Random) -> tuple[Any, Any]:
    """Return a container within a document and a key of it; (None, None) in one that holds nothing."""
    owner, key = None, None
    current = document
    while isinstance(current, (dict, list)) and current and (owner is None or chance.random() < 0.85):
        owner = current
        key = chance.choice(list(current)) if isinstance(current, dict) else chance.randrange(len(current))
        current = current[key]
    return owner, key


def by_log_values(data: bytes, chance: random.Random) -> bytes:
    """Change values of one entry of a compile log, or of a payload that is JSON."""
    lines = data.split(b"\n")
    for _ in range(50):
        at = chance.randrange(len(lines))
        start = lines[at].find(b"{")
        if start >= 0:
            with contextlib.suppress(ValueError):
                lines[at] = lines[at][:start] + by_values(lines[at][start:], chance)
                break
    return b"\n".join(lines)


def by_toml_values(data: bytes, chance: random.Random) -> bytes:
    """Give keys other values, or give kinds the values of other kinds."""
    from fxscope.analysis.check import KINDS

    lines = data.decode().splitlines()
    places = [number for number, line in enumerate(lines) if re.match(r"\w+ = ", line)]
    for number in chance.sample(places, min(len(places), chance.choice((1, 1, 2)))):
        key, _, value = lines[number].partition(" = ")
        if chance.random() < 0.5:
            value = chance.choice(TOML_VALUES)
        else:
            key = chance.choice(tuple(KINDS))
        lines[number] = f"{key} = {value}"
    if chance.random() < 0.5:
        lines += ["[[expect]]", f"{chance.choice(tuple(KINDS))} = {chance.choice(TOML_VALUES)}"]
    return "\n".join(lines).encode()


def by_members(data: bytes, chance: random.Random) -> bytes:
    """Damage one member of an archive and pack it again, so that the damage is not the archive's own."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as copy:
        names = archive.namelist()
        hit = chance.choice(names)
        for name in names:
            text = archive.read(name)
            if name == hit:
                how = chance.randrange(4)
                if how == 0:
                    continue
                text = by_values(text, chance) if name.endswith(".json") and how < 3 else by_bytes(text, chance)
            copy.writestr(name, text)
    return out.getvalue()


# ---- what is damaged ----------------------------------------------------------------------------------------------


@functools.cache
def _made() -> dict[str, Path]:
    """Return files that are made for this run: small recordings, columns, expectations."""

    from fxscope import store
    from fxscope.commands import common
    from tests import build

    folder = Path(tempfile.mkdtemp(prefix="fxscope-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    joined = common.read(str(PLANS / "geglu" / "real"))
    made = {"compiled": build.mlp_compiled(), "eager": build.linear_eager(), "joined": joined}
    paths: dict[str, Path] = {}
    kept = store.MANY
    for name, recording in made.items():
        paths[name] = store.write(folder / f"{name}.json", recording.to_json())
        store.MANY = 0
        try:
            paths[f"{name}.columns"] = store.write(folder / f"{name}.fxscope", store.encode(recording))
        finally:
            store.MANY = kept
    paths["learned"] = store.write(folder / "learned.toml", EXPECTATIONS)
    shutil.copyfile(ROOT / "fxscope" / "gpus" / "h200.json", folder / "mine.json")
    paths["mine.json"] = folder / "mine.json"
    paths["answers"] = store.write(folder / "answers", "4\naten::t, aten::view\n<= 5\n3..4\ngelu, mul\n0\n")
    return paths


def _seeds(*names: str) -> Callable[[], Sequence[Path]]:
    return lambda: [_made()[name] for name in names]


def _plans() -> Sequence[Path]:
    return [PLANS / name / "real" / "inductor" for name in ("softmax", "linear", "geglu")]


def _fusion_logs() -> Sequence[Path]:
    folders = sorted(path.parent for path in (DATA / "h200").rglob("fusion.log"))
    return [folder for folder in folders if next(folder.rglob("output_code.py"), None)]


TRACE = str(PLANS / "softmax" / "real" / "trace.json.gz")
WITH_FOLDER = ("view TRACE --debug-dir PATH",)
TEXT = (by_bytes, by_lines, by_words)
OF_RECORDINGS = """view PATH
view PATH --format md
view PATH --format html
view PATH --format dot
view PATH --format svg
view PATH --json
view PATH
view PATH --all
diff EAGER PATH
why PATH
why PATH gelu
why PATH --json
code PATH
code PATH --json
diff PATH WHOLE
diff WHOLE PATH --all
check PATH LEARNED
redact PATH -o OUT.fxscope""".splitlines()
READS = "view PATH --json"
EXPECTATIONS = """kernels = 2
graphs = 1
launches_none = ["aten::view"]
kernel_counts = { "triton*" = 1 }
[[expect]]
claim = "gelu and mul run in one kernel"
fused = ["gelu", "mul"]
"""
FORMATS: dict[str, Format] = {
    "expectations": Format(
        lambda: [_made()["learned"], *sorted((ROOT / "examples").rglob("*.toml"))],
        "*",
        (by_toml_values, by_toml_values, *TEXT),
        ("check compiled=WHOLE eager=EAGER PATH",),
    ),
    "graphs": Format(_plans, "fx_graph_*.py", TEXT, WITH_FOLDER),
    "schedules": Format(_plans, "ir_*.txt", TEXT, WITH_FOLDER),
    "fusion_logs": Format(_fusion_logs, "fusion.log", TEXT, WITH_FOLDER),
    "code": Format(_plans, "output_code.py", TEXT, WITH_FOLDER),
    "mappings": Format(_plans, "*mappings.json", (by_values, by_bytes), WITH_FOLDER),
    "folders": Format(_plans, "*", (by_words, lambda *_: b""), WITH_FOLDER),
    "logs": Format(
        lambda: sorted(PLANS.rglob("torch_trace.log.gz")),
        "*",
        (by_log_values, by_log_values, *TEXT),
        ("view TRACE --compile-log PATH",),
    ),
    "traces": Format(
        lambda: [PLANS / name / "real" / "trace.json.gz" for name in ("softmax", "geglu")],
        "*",
        (by_values, by_values, by_bytes),
        ("view PATH", "view PATH --tables", "view PATH -o OUT.html"),
    ),
    "recordings": Format(
        _seeds("compiled", "eager", "joined"), "*", (by_values, by_values, by_bytes), OF_RECORDINGS, READS
    ),
    "columns": Format(
        _seeds("compiled.columns", "eager.columns", "joined.columns"),
        "*",
        (by_members, by_members, by_bytes),
        OF_RECORDINGS,
        READS,
    ),
    "gpus": Format(_seeds("mine.json"), "*", (by_values, by_values, by_bytes), ("plan PATH",)),
    "guesses": Format(_seeds("answers"), "*", TEXT, ("guess PATH",)),
}


# ---- one mutant ---------------------------------------------------------------------------------------------------


def trial(name: str, seed: int, folder: Path) -> None:
    """Damage one file of a format and let a verb read it. Raises Finding."""
    chance = random.Random(f"{name} {seed}")
    format = FORMATS[name]
    original = chance.choice(list(format.seeds()))
    path = folder / original.name
    if original.is_dir():
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(original, path)
        hit = chance.choice(sorted(item for item in path.rglob(format.only) if item.is_file()))
    else:
        shutil.copyfile(original, path)
        hit = path
    data = hit.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)  # a reader takes both; damage to the packing alone says little
    hit.write_bytes(chance.choice(format.ways)(data, chance))
    made = {"PATH": path, "TRACE": TRACE, "OUT": folder / "out"}
    made |= {"LEARNED": _made()["learned"], "WHOLE": _made()["joined"], "EAGER": _made()["eager"]}
    for output in folder.glob("out.*"):
        output.unlink()

    def run(command: str) -> tuple[int, list[str]]:
        return held([re.sub("[A-Z]{3,}", lambda word: str(made[word[0]]), word) for word in command.split()])

    command = chance.choice(format.commands)
    status, lines = run(command)
    named = status != 2 or any(name in lines[0] for name in (path.name, hit.name))
    if not named and (format.reads is None or run(format.reads)[0] == 2):
        raise Finding(f"{command} does not say where: {lines[0]}")


def guess(path: str) -> int:
    """Hold the answers of a file against recordings, as `fxscope guess` holds those of a pipe."""

    from fxscope import store
    from fxscope.commands import guess as verb
    from fxscope.errors import FxscopeError

    recordings = {"eager": store.load(_made()["eager"]), "compiled": store.load(_made()["joined"])}
    stdin = sys.stdin
    try:
        with (
            Path(path).open(encoding="utf-8", errors="replace") as sys.stdin,
            contextlib.redirect_stderr(io.StringIO()),
        ):
            guesses = verb.ask(list(verb.QUESTIONS))
        for question, answer in guesses:
            verb.confront(question, answer, recordings)
    except FxscopeError as error:
        print(f"fxscope guess: {path}: {error}", file=sys.stderr)
        return error.exit_code
    finally:
        sys.stdin = stdin
    return 0


def plan(path: str) -> int:
    """Price a recording for the GPU of a file: what `fxscope run --target` does when its plan is made."""
    from fxscope import gpus, passes, store
    from fxscope.errors import FxscopeError
    from fxscope.model import replace

    recording = store.load(_made()["joined"])
    try:
        gpu = gpus.load(path)
    except FxscopeError as error:
        print(f"fxscope plan: {error}", file=sys.stderr)
        return error.exit_code
    passes.run(replace(recording, environment=replace(recording.environment, target=gpu.name), launches=(), ops=()))
    return 0


def held(command: list[str]) -> tuple[int, list[str]]:
    """Run a command: it ends with 0 or 1, or with 2 and one line. Return both. Raises Finding."""
    from fxscope import cli

    out, said = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    shown = " ".join(command)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            own = {"plan": plan, "guess": guess}.get(command[0])  # whose verbs take minutes
            status = own(command[1]) if own else cli.main(command)
    except SystemExit:
        raise Finding(f"fxscope {shown}: a usage error: {said.getvalue()}") from None
    except Exception as error:
        if sys.version_info >= (3, 11):
            error.add_note(f"fxscope {shown}")
        raise
    lines = [line for line in said.getvalue().splitlines() if line != "fitting"]  # progress
    out.flush()
    if status not in (0, 1, 2) or (
        status == 2 and (len(lines) != 1 or not lines[0].startswith(f"fxscope {command[0]}: "))
    ):
        raise Finding(f"fxscope {shown} ends with {status}, and says {lines}")
    return status, lines
