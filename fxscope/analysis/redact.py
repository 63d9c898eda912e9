"""A copy of a recording without the program's text and names, for a bug report or a vendor.

Removed: source text (the program's lines, generated code, PTX), arguments of ops, guards, reasons of breaks,
recompiles and failures, scalar values, switches with text values, messages of problems, the platform. Replaced by made-up
names, equal names by the same one: files, functions, modules, title, annotations, all names that are not made of PyTorch's ops
and words of its compiler (parameters, user-written kernels), and all numbers but torch's counters (`mul_3`). Kept: graphs,
shapes, dtypes, launches, times, decisions, fxscope's codes and sentences, line numbers, how often it breaks and recompiles,
versions, the device.
"""

import re
from functools import cache
from importlib.machinery import SourceFileLoader
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from fxscope import gpus, op_names
from fxscope.columns import Chosen, Items, Numbers, ordered, rows_of, uncollected
from fxscope.data import read_table
from fxscope.dtypes import ITEM_BYTES
from fxscope.english import hints_in
from fxscope.index import COMPILING
from fxscope.model import Item, LaunchEvidence, Recording

_WORDS = {key.partition(",")[0]: frozenset(" ".join(words).split()) for key, words in read_table("redact.json").items()}
_DROPPED, _CODES, _THEIRS, _LIBRARIES = (_WORDS[key] for key in ("dropped", "codes", "theirs", "libraries"))
_FIGURE = r"\b\d{1,3}(?:\.\d{1,3})? (?:[kMGT]?B|[µmn]?s|%)(?!\w)"
_NUMBERS = r"\b\d+(?:[^\w\n]{1,3}\d+)+(?!\w)"  # side by side, as the parts of a telephone number
_CHUNK = re.compile(rf"{_FIGURE}|{_NUMBERS}|\w+(?:[.-]\w+)*")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # NllLoss, TBackward
_COUNTED = re.compile(  # mul_3, arg12_1, op0_op1, 0/0
    r"(?:graph_\d+_)?(?P<words>(?:_*[^\W\d]\w*?)?)(?P<counters>_?\d+(?:_(?:op)?\d+)*)?_*", re.ASCII
)
# Of a library's names, a long number is the shape of a tensor core's instruction: `s16816gemm`.
_NO_NUMBER = r"(?!(?s:.*)\d{5}(?!\d?(?:gemm|fprop|[dw]grad|cudnn)))"
_LIBRARY = re.compile(
    rf"{_NO_NUMBER}(?:(?:nvjet_sm\d+_|nccl(?:Dev)?Kernel_|cudnn_(?:generated|infer|train)_|cutlass_(?:\d\d|tensorop)_|Cijk_A|"
    r"(?:volta|turing|ampere|sm\d\d)_\w+(?:gemm|cudnn)_)\w*(?:::Params|\([\w<>*, ]*\))?|Mem(?:cpy|set) [\w() >-]*)\Z"
)
# A kernel of a library in C++ may have functions of the program in its template arguments: those are in other namespaces.
_IN_LIBRARY = re.compile(rf"{_NO_NUMBER}(?:void )?(?:{'|'.join(sorted(_LIBRARIES))})(?:::|$)")
_PLACE = r"(?:\w+|\(anonymous namespace\))"
_QUALIFIED = re.compile(rf"(?:(?<![\w:])|(?<=[)}}>]::))(?!\d){_PLACE}(?:::{_PLACE})*")
_NO_LAYER = re.compile(r"(?<![^.])(?!1?[0-9]{1,2}(?:\.|$))[^.]+")  # of a module's path: all but the 3 of layers.3
_OF_CLASS = re.compile(r"(?<![^.])[A-Z]\w*(?=_\d{1,3}(?:\.|$))")  # a profiler counts the modules of a class: Block_3
_IN_PYTHON = re.compile(r"\(\d+\): ")  # a.py(3): f
_WORD, _DIGITS = re.compile(r"\w+"), re.compile(r"\d+")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')  # of a JSON file
_FILE = re.compile(r"(?s)(?:(.*)/)?(.*?)(:\d{1,5})?")
_CATEGORIES = {"user_annotation", "python_function"}, {"runtime"}  # whose names are the program's, or a driver's
_SAY_NOTHING = frozenset({type(None), bool, int, float, LaunchEvidence})


@uncollected()
def redact(recording: Recording) -> Recording:
    """A recording of the same form that says nothing of its program's text and names."""
    counters = 100 + sum(len(graph.nodes) for graph in recording.graphs) + len(recording.calls)  # 100: eliminated nodes
    used = {*rows_of(recording.ops, "name", "category")}
    annotations, runtime = ({name for name, category in used if category in kinds} for kinds in _CATEGORIES)
    return _Redactor(counters, annotations, runtime).item(recording)


# Annotations that torch makes itself: steps, compiles and calls of compiled code are found by them.
_TORCHS = re.compile(
    rf"ProfilerStep#|{op_names.INDUCTOR_RUNS} |{op_names.COMPILED_REGION}|TorchDynamo Cache Lookup|Pregraph bytecode|"
    rf"AOTDispatcher Runtime Wrapper|enumerate\(DataLoader\)#|Optimizer\.(?:step|zero_grad)#|.*{re.escape(COMPILING)}$"
)


class _Redactor:
    """Gives each word that is not public a number. Counters are below `counters`."""

    def __init__(self, counters: int, annotations: set[str], runtime: set[str]) -> None:
        self._tokens: dict[tuple[str, str], str] = {}
        self.counters, self.annotations, self.runtime = counters, annotations, runtime - annotations
        self.words = cache(self._words)  # a recording has few texts, each of them many times

    def item(self, value: Any, key: str = "") -> Any:
        if isinstance(value, str):
            return value if key in _CODES and value in _constants() else self.words(value)
        if isinstance(value, Items):
            return self.items(value)
        if isinstance(value, Item):
            return type(value)(**self.item(msgspec.structs.asdict(value), key))
        if isinstance(value, dict):
            if key in ("config", "limits"):  # switches: numbers say nothing of the program
                return {name: item for name, item in value.items() if isinstance(item, (bool, int, float))}
            if key == "environment":
                kept = {name: item for name, item in value.items() if name not in _DROPPED}
                target = kept["target"]
                return kept if target in (None, *gpus.names()) else {**kept, "target": self.token("gpu", target)}
            return {
                self.words(name) if key in ("renames", "kwargs") else name: self.field(name, item)
                for name, item in value.items()
                if name not in _DROPPED or (name == "code" and "pattern" in value)  # of a near miss: torch's word
            }
        return type(value)(self.item(item, key) for item in value) if isinstance(value, (list, tuple)) else value

    def items(self, items: Items[Any]) -> Items[Any]:
        """Redact each different value of a field once, in the order in which the items have them; numbers stay."""
        kept = (name for name in items.kind.__struct_fields__ if name in items.columns and name not in _DROPPED)
        columns = {name: items.columns[name] for name in kept}
        coded = {name: ordered(items, name) for name, found in columns.items() if not isinstance(found, Numbers)}
        tables: dict[str, list[Any]] = {name: [] for name in coded}
        firsts = {name: np.unique(codes, return_index=True)[1].tolist() for name, (codes, _) in coded.items()}
        order = ((row, name, value) for name in coded for row, value in zip(firsts[name], coded[name][1], strict=True))
        for _, name, value in sorted(order, key=itemgetter(0)):  # stable: fields of one item in their order
            tables[name].append(self.field(name, value))
        columns |= {name: Chosen(codes, tables[name]) for name, (codes, _) in coded.items()}
        return type(items)(items.kind, len(items), columns)

    def field(self, name: str, value: Any) -> Any:
        if type(value) in _SAY_NOTHING:
            return value
        if name in ("message", "failure", "break_reason", "recompile_reason", "why"):
            return value and ("removed\nHint: removed" if hints_in(value) else "removed")
        if name == "cudagraph_skip":  # behind torch's reason, the program's line
            value = value.partition("Found from")[0]
        return self.theirs(name, value) if isinstance(value, str) and name in _THEIRS else self.item(value, name)

    def theirs(self, kind: str, text: str) -> str:
        """Replace a user's name; the parts of a module's path one by one, numbers of layers and modules kept."""
        if kind == "module":
            part = _OF_CLASS if len(_OF_CLASS.findall(text)) == text.count(".") + 1 else _NO_LAYER
            return part.sub(lambda found: self.token(kind, found[0]), text)
        if kind == "file" and (found := _FILE.fullmatch(text)):  # `model.py:17` and `a/model.py` are the same file
            folder = self.token("folder", found[1]) + "/" if found[1] else ""
            return f"{folder}{self.token(kind, found[2])}.py{found[3] or ''}"
        return self.token(kind, text)

    def _words(self, text: str) -> str:
        if (text in self.annotations and not _TORCHS.match(text)) or _IN_PYTHON.search(text):
            return self.token("annotation", text)
        if public(text, self.counters):
            return text
        if _IN_LIBRARY.match(text):
            return _QUALIFIED.sub(self._qualified, text)
        if _LIBRARY.match(text) or text in self.runtime:
            return text
        if _WORD.fullmatch(text):  # as most names of a trace's nodes: those of more than 4 digits
            return self.token("name", text)
        said = [re.escape(piece) for piece in _sentences() if piece in text] if re.search(r"\s", text) else []
        pieces = re.split(rf"((?:\b|(?=\W))(?:{'|'.join(said)})(?:\b|(?<=\W)))", text) if said else [text]
        return "".join(piece if i % 2 else _CHUNK.sub(self._chunk, piece) for i, piece in enumerate(pieces))

    def _chunk(self, found: re.Match[str]) -> str:
        """A dotted name; where it is not public, those of its parts that have no number may be."""
        is_figure = " " in found[0] and not found[0][-1].isdigit()
        op = op_names.parse(found[0])
        is_op = op.namespace in ("aten", "prims") and op.name.rstrip("_") in op_names.table()  # whatever its overload
        if is_figure or is_op or public(re.sub(r"\W+", "_", found[0]), self.counters):
            return found[0]
        return self._parts(found[0])

    def _qualified(self, found: re.Match[str]) -> str:
        return found[0] if _IN_LIBRARY.match(found[0]) or _LIBRARY.match(found[0]) else self._parts(found[0])

    def _parts(self, name: str) -> str:
        return _WORD.sub(lambda part: part[0] if public(part[0]) else self.token("name", part[0]), name)

    def token(self, kind: str, text: str) -> str:
        return self._tokens.setdefault((kind, text), f"{kind}{len(self._tokens)}")


def public(name: str, counters: int = 0) -> bool:
    """Return whether a name is made of PyTorch's ops and words of its compiler, and its numbers are counters."""
    if not (found := _COUNTED.fullmatch(name)):
        return False
    numbers = _DIGITS.findall(found["counters"] or "")
    are_few = sum(map(len, numbers)) <= 4 and _CAMEL.sub("_", found["words"]).count("_") < 200
    are_counters = are_few and all(number == str(int(number)) and int(number) < counters for number in numbers)
    return (are_counters and _is_made(found["words"])) or name.strip("_").lower() in _made()


@cache
def _is_made(words: str) -> bool:
    words = re.sub("_+", "_", _CAMEL.sub("_", words)).lower().strip("_")
    ends = [*(found.start() for found in re.finditer("_", words)), len(words)]
    return not words or any((end == 1 or words[:end] in _made()) and _is_made(words[end + 1 :]) for end in ends)


@cache
def _made() -> frozenset[str]:
    """Ops, dtypes and C++ types, kernels of ATen and other names that are made, all without outer underscores."""
    kernels = read_table("kernel_names.json")
    types = (word for kind in ("cpp", "words") for name in kernels["dtypes"][kind] for word in name.split())
    atens = re.findall(r"\w+", "".join(kernels["patterns"]["at::native"]))
    names = (*op_names.table(), *ITEM_BYTES, *types, *atens, *_WORDS["made"])
    return frozenset(name.strip("_").lower() for name in names)


@cache
def _sentences() -> list[str]:
    """The parts between the placeholders of fxscope's sentences, the longest first."""
    pieces = {piece for text in _constants() for piece in re.split(r"\{[^}]*\}", text)}
    return sorted((piece for piece in pieces if re.search(r"[^\W\d]{2}\s|\s[^\W\d]{2}", piece)), key=len, reverse=True)


@cache
def _constants() -> frozenset[str]:
    """The texts in what writes a recording; of an f-string, the parts between its placeholders."""
    package = Path(__file__).parents[1]
    files = [file for name in _WORDS["writers"] for file in (package / name, *(package / name).glob("**/*.*"))]
    found = {text for file in files if file.suffix == ".json" for text in _STRING.findall(file.read_text("utf-8"))}
    waiting: list[Any] = [SourceFileLoader("", str(file)).get_code("") for file in files if file.suffix == ".py"]
    for item in waiting:  # Python keeps them compiled
        if isinstance(item, str):
            found.update((item, *re.findall(r"'(\w+)'", item)))  # in an annotation that is a text, too
        waiting += item if isinstance(item, (tuple, frozenset)) else getattr(item, "co_consts", ())
    return frozenset(found)
