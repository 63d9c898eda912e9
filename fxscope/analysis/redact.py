"""A copy of a recording without the program's text and names, for a bug report or a vendor.

Removed: source text (the program's lines, generated code, PTX), arguments of ops, guards, reasons of breaks,
recompiles and failures, scalar values, switches with text values, messages of problems, the platform. Replaced by made-up
names, equal names by the same one: files, functions, modules, title, annotations, all words that are not PyTorch's or fxscope's
(parameters, user-written kernels), and all numbers but torch's counters (`mul_3`). Kept: graphs, shapes, dtypes, launches,
times, decisions, line numbers, how often it breaks and recompiles, versions and the device's name.
"""

import itertools
import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from fxscope import gpus, op_names
from fxscope.index import COMPILING
from fxscope.model import Recording, plain

_NAME = re.compile(r"\w+")
_FIGURE = r"\b\d{1,3}(?:\.\d{1,3})? (?:[kMGT]?B|[µmn]?s|%)(?!\w)"
_NUMBERS = r"\b\d+(?:[^\w\n]{1,3}\d+)+(?!\w)"  # side by side, as the parts of a telephone number
_CHUNK = re.compile(rf"{_FIGURE}|{_NUMBERS}|\w+(?:[.-]\w+)*")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_MOST_DIGITS = 4  # of all counters of a name: arg12_1, mul_1234
_LIBRARY = re.compile(
    r"(?!.*\d{5})(?:nvjet_sm\d+_|ncclDevKernel_|Mem(?:cpy|set) [\w() >-]*$|"
    r"(?:volta|turing|ampere|sm\d\d)_\w+gemm_|cudnn_generated_)"
)
# A kernel of ATen may have functions of the program in its template arguments: those are in no namespace of a library.
_ATEN = re.compile(r"(?!.*\d{5})(?:void )?at::native::")
_PLACE = r"(?:\w+|\(anonymous namespace\))"
_QUALIFIED = re.compile(rf"(?:(?<![\w:])|(?<=[)}}>]::))(?!\d){_PLACE}(?:::{_PLACE})*")
_NAMESPACES = frozenset("at c10 std torch TrivialOffsetCalculator curandStatePhilox4_32_10 ulonglong2".split())
_NO_LAYER = re.compile(r"(?<![^.])(?!1?[0-9]{1,2}(?:\.|$))[^.]+")  # of a module's path: all but the 3 of layers.3
_OF_CLASS = re.compile(r"(?<![^.])[A-Z]\w*(?=_\d{1,3}(?:\.|$))")  # a profiler counts the modules of a class: Block_3
_COMMENTS = re.compile(r'"""(?s:.*?)"""|#.*')  # they name people and models
# By the name of the field: dropped (to None, or to nothing), and always the user's whatever the words.
_DROPPED = frozenset(
    "code arguments text cache_key cache_differs guards concrete_inputs raw_reason platform"
    " device_properties remedy sources decoded".split()
)
_FRAME = re.compile(r"\(\d+\): ")  # of Python, as a profiler names it: a.py(3): f
_ANNOTATIONS = frozenset({"user_annotation", "python_function"})
_SAY_NOTHING = frozenset({type(None), bool, int, float})
_THEIRS = frozenset({"file", "function", "title", "module"})


def redact(recording: Recording) -> Recording:
    """A recording of the same form that says nothing of its program's text and names."""
    tree = msgspec.to_builtins(recording, enc_hook=plain, str_keys=True)
    counters = 100 + sum(len(graph.nodes) for graph in recording.graphs) + len(recording.calls)  # 100: eliminated nodes
    redactor = _Redactor(counters, {op["name"] for op in tree["ops"] if op["category"] in _ANNOTATIONS})
    return msgspec.convert(redactor.item(tree), Recording)


# Annotations that torch makes itself: steps, compiles and calls of compiled code are found by them. (That
# autograd::engine::evaluate_function is torch's is known by its words standing here.)
_TORCHS = re.compile(
    rf"ProfilerStep#|{op_names.INDUCTOR_RUNS} |{op_names.COMPILED_REGION}|TorchDynamo Cache Lookup|Pregraph bytecode|"
    rf"enumerate\(DataLoader\)#|Optimizer\.(?:step|zero_grad)#|.*{re.escape(COMPILING)}$"
)


class _Redactor:
    """Gives each word that is not public a number. Counters are below `counters`."""

    def __init__(self, counters: int, annotations: set[str]) -> None:
        self._tokens: dict[tuple[str, str], str] = {}
        self.counters, self.annotations = counters, annotations
        self.words = cache(self._words)  # a recording has few texts, each of them many times

    def item(self, value: Any, key: str = "") -> Any:
        if type(value) in _SAY_NOTHING:
            return value
        if isinstance(value, dict):
            if key in ("config", "limits"):  # switches: numbers say nothing of the program
                return {name: item for name, item in value.items() if isinstance(item, (bool, int, float))}
            if key == "environment":
                kept = {name: item for name, item in value.items() if name not in _DROPPED}
                target = kept["target"]
                return kept if target in (None, *gpus.names()) else {**kept, "target": self.token("gpu", target)}
            return {
                self.words(name) if key in ("renames", "kwargs") else name: item
                if type(item) in _SAY_NOTHING
                else self.field(name, item)
                for name, item in value.items()
                if name not in _DROPPED or (name == "code" and "pattern" in value)  # of a near miss: torch's word
            }
        if isinstance(value, (list, tuple)):
            return [self.item(item, key) for item in value]
        return self.words(value) if isinstance(value, str) else value

    def field(self, name: str, value: Any) -> Any:
        if name in ("message", "failure", "break_reason", "recompile_reason"):
            return value and "removed"
        if name == "cudagraph_skip":  # behind torch's reason, the program's line
            value = value.partition("Found from")[0]
        return self.theirs(name, value) if isinstance(value, str) and name in _THEIRS else self.item(value, name)

    def theirs(self, kind: str, text: str) -> str:
        """Replace a user's name; the parts of a module's path one by one, numbers of layers and modules kept."""
        if kind == "module":
            part = _OF_CLASS if len(_OF_CLASS.findall(text)) == text.count(".") + 1 else _NO_LAYER
            return part.sub(lambda found: self.token(kind, found[0]), text)
        return self.token(kind, text) + (".py" if kind == "file" else "")

    def _words(self, text: str) -> str:
        if (text in self.annotations and not _TORCHS.match(text)) or _FRAME.search(text):
            return self.token("annotation", text)
        if _ATEN.match(text):
            return _QUALIFIED.sub(lambda x: x[0] if x[0].partition("::")[0] in _NAMESPACES else self._parts(x[0]), text)
        return text if _LIBRARY.match(text) else _CHUNK.sub(self._chunk, text)

    def _chunk(self, found: re.Match[str]) -> str:
        """A dotted name; where it is not public, those of its parts that have no number may be."""
        is_figure = " " in found[0] and not found[0][-1].isdigit()
        if is_figure or public(re.sub(r"\W+", "_", found[0]), self.counters):
            return found[0]
        return self._parts(found[0])

    def _parts(self, name: str) -> str:
        return _NAME.sub(lambda part: part[0] if public(part[0]) else self.token("name", part[0]), name)

    def token(self, kind: str, text: str) -> str:
        return self._tokens.setdefault((kind, text), f"{kind}{len(self._tokens)}")


def public(name: str, counters: int = 0) -> bool:
    """Return whether every word of a name is one of PyTorch's ops or of fxscope itself, and its numbers are counters."""
    known = _vocabulary()
    tokens: list[str] = []
    for part in re.split(r"[ _.-]+", name):
        words = [part] if part.lower() in known else _PARTS.findall(part)  # bfloat16, conv2d; AddmmBackward0
        are_known = all(word.isdigit() or len(word) == 1 or word.lower() in known for word in words)
        if "".join(words) != part or not are_known:
            return False
        tokens += words
    end = list(itertools.dropwhile(lambda token: not token.isdigit(), tokens))  # counters are there, or op0_op1
    numbers = [token for token in end if token.isdigit()]
    are_counters = all(number == str(int(number)) and int(number) < counters for number in numbers)
    return are_counters and sum(map(len, numbers)) <= _MOST_DIGITS and not any(t.isalpha() and t[2:] for t in end)


@cache
def _vocabulary() -> frozenset[str]:
    """The words of the op table, of fxscope's code (not its comments), and of its sentences, torch's reasons among them."""
    package = Path(__file__).parents[1]
    texts = [path.read_text(encoding="utf-8") for path in (*package.rglob("*.py"), package / "data" / "english.json")]
    every = re.compile(r"[^\W\d_]+[0-9]{0,2}").findall
    return frozenset(word for text in (*texts, *op_names.table()) for word in every(_COMMENTS.sub("", text).lower()))
