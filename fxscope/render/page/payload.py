"""A recording as the page carries it: columns instead of records, indices instead of repeated names, then deflated.

The page shows these values and computes none of them. Characters that reorder or hide text (bidi controls and their
like) become visible escapes here, once, for every string that reaches the page.
"""

import base64
import itertools
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Any, cast

import msgspec

from fxscope import english
from fxscope.analysis.findings import Comparison
from fxscope.analysis.groups import collective_label, groups
from fxscope.columns import column
from fxscope.dtypes import short_tensor
from fxscope.index import index_of
from fxscope.model import EVIDENCE_BY_STRENGTH, EXTERN, Graph, Recording, Source
from fxscope.render import labels, legible, scene, tables, theme
from fxscope.render.page import overview
from fxscope.text import kernel_name, num_bytes, percent

MAX_EVENTS = 150_000  # CPU events and launches of one recording: whole steps beyond are left out, and the page says so
MAX_DETAILED = 10_000  # launches or ops: their arguments are most of a trace
_UNSEEN = re.compile(f"[{legible.UNSEEN}]")
_CONTROLS = re.compile(r"\\u00(0[0-8bcef]|1[0-9a-f]|7f)")


def packed(text: str) -> str:
    """base64 of deflated text: letters that mean nothing to an HTML parser."""
    return base64.b64encode(zlib.compress(text.encode("utf-8", errors="replace"), 6)).decode()


def to_json(data: Any) -> str:
    """JSON in which characters that cannot be seen are written out."""
    try:
        text = msgspec.json.encode(data).decode()
    except UnicodeEncodeError:  # lone surrogates
        text = json.dumps(data, ensure_ascii=False).replace("NaN", "null")
    text = _UNSEEN.sub(lambda found: legible.written(found).replace("\\", "\\\\"), text)
    return _CONTROLS.sub(lambda found: f"\\\\x{found[1]}", text)


def page(
    recordings: Sequence[Recording], comparison: Sequence[Comparison] | None, *, stage: str | None = None
) -> dict[str, Any]:
    return {
        "theme": look(),
        "evidence": EVIDENCE_BY_STRENGTH,
        "stages": english.STAGES,
        "stage": stage,
        "recordings": [Encoder(recording).data() for recording in recordings],
        "comparison": [overview.comparison(recordings, at, item) for at, item in enumerate(comparison or ())] or None,
        "overview": [overview.first_page(recording) for recording in recordings],
        "beside": overview.beside(recordings),
    }


def look() -> dict[str, Any]:
    """Labels and glyphs; colours for the canvas, which has no style sheet."""
    return {
        "kinds": {
            kind: style._asdict() | {"light": (style.fill, style.stroke), "dark": (style.dark_fill, style.dark_stroke)}
            for kind, style in theme.KINDS.items()
        },
        "calls": theme.CALLS,
        "extern": EXTERN,
        "verdicts": {verdict or "null": glyph for verdict, glyph in theme.VERDICTS.items()},
        "verdict_words": {verdict or "null": words for verdict, words in english.VERDICTS.items()},
        "light": theme.LIGHT,
        "dark": theme.DARK,
        "font": theme.FONT,
        "mono": theme.MONO,
    }


def differences(table: dict[str, Any], names: str) -> dict[str, Any]:
    """The table with some columns of whole numbers as differences from row to row: a third of the size when deflated."""
    known = {name: [0, *table[name]] for name in names.split() if name in table}
    steps = {name: [b - a for a, b in itertools.pairwise(values)] for name, values in known.items()}
    return table | steps | {"differences": list(steps)}


class Interned:
    """Distinct values in the order they came, and the index of each."""

    def __init__(self) -> None:
        self.values: dict[Any, int] = {}

    def add(self, value: Any) -> int:
        return -1 if value is None else self.values.setdefault(value, len(self.values))


def columns(rows: Iterable[Any], names: str = "", **fields: Callable[[Any], Any]) -> dict[str, Any]:
    """One list per field; a column in which nothing is known is left out. `names` are attributes of the rows."""
    rows = list(rows)
    getters = {name: attrgetter(name) for name in names.split()} | fields
    return filled(len(rows), **{name: list(map(get, rows)) for name, get in getters.items()})


def filled(number: int, **values: list[Any]) -> dict[str, Any]:
    """The columns in which something is known, and how long they are."""
    kept = {name: found for name, found in values.items() if any(v not in (None, -1, "", (), []) for v in found)}
    return {"n": number, **kept}


class Encoder:
    """Writes one recording as columns; what occurs often (names, places) stands once and is referred to by position."""

    def __init__(self, recording: Recording) -> None:
        self.recording, self.ends = recording, labels.end_names(recording)
        self.names: Interned = Interned()
        self.places: Interned = Interned()
        self.calls: dict[str, int] = {call.id: position for position, call in enumerate(recording.calls)}
        self.graphs: dict[str, int] = {graph.id: position for position, graph in enumerate(recording.graphs)}
        self.nodes = [{name: i for i, name in enumerate(column(graph.nodes, "name"))} for graph in recording.graphs]
        self.rows, self.left_out = rows_of(recording)
        starts = (self.read(kind, "start_ns") for kind in ("ops", "launches"))
        self.base: int = min((min(times) for times in starts if times), default=0)
        self.op_index: dict[int, int] = {op: position for position, op in enumerate(self.read("ops", "id"))}

    def read(self, kind: str, field: str) -> list[Any]:
        values = column(getattr(self.recording, kind), field)
        return values if self.rows is None else [values[row] for row in self.rows[kind]]

    def inside(self, graph_id: str | None, wanted: Iterable[str]) -> list[int]:
        """The positions of nodes in their graph; those it does not have are left out."""
        known = self.nodes[self.graphs[graph_id]] if graph_id in self.graphs else {}
        return [known[name] for name in wanted if name in known]

    def node_at(self, graph_id: str | None, name: str | None) -> int:
        return self.nodes[self.graphs[graph_id]].get(name or "", -1) if graph_id in self.graphs else -1

    def place(self, source: Source | None) -> int:
        fields = source and (source.file, source.line, source.code, source.function, source.module, source.module_type)
        return self.places.add(fields)

    def data(self) -> dict[str, Any]:
        recording = self.recording
        environment = msgspec.to_builtins(recording.environment)
        names = {*column(recording.launches, "name"), *(call.kernel for call in recording.calls)}
        stage = labels.default_stage(recording)  # the page opens with its largest graph
        sizes = [(len(g.nodes) if g.stage == stage else -1, -i) for i, g in enumerate(recording.graphs)]
        data: dict[str, Any] = {
            "title": recording.title or "recording",
            "environment": {k: v for k, v in environment.items() if v and k != "device_properties"},
            "graphs": [self.graph_data(graph) for graph in recording.graphs],
            "default": -max(sizes)[1] if sizes else -1,
            "left_out": self.left_out,
            "short": {name: short for name in sorted(names) if (short := kernel_name(name)) != name},
            "calls": self.call_columns(),
            "launches": differences(self.launch_columns(), "start id op"),
            "ops": differences(self.op_columns(), "start parent node"),
            "steps": [[s.index, s.name, s.start_ns - self.base, s.duration_ns] for s in recording.steps],
            "links": columns(
                [x for x in recording.links if self.node_at(*x.from_) >= 0 and self.node_at(*x.to) >= 0],
                "relation evidence",
                a=lambda x: self.graphs[x.from_[0]],
                an=lambda x: self.node_at(*x.from_),
                b=lambda x: self.graphs[x.to[0]],
                bn=lambda x: self.node_at(*x.to),
            ),
            "decisions": self.decision_columns(),
            "codes": [
                {"id": s.id, "kind": s.kind, "graph": self.graphs.get(s.graph or "", -1), "text": s.text}
                for s in recording.sources
                if s.kind != "user"
            ],
            "tables": tables.tables(recording),
        }
        data["places"], data["names"] = [list(p) for p in self.places.values], list(self.names.values)
        data["files"] = files(recording, self.places)
        return data

    def graph_data(self, graph: Graph) -> dict[str, Any]:
        shown = scene.Scene(self.recording, graph)
        drawn = shown.columns()
        nodes = columns(
            shown.graph.nodes,
            "name op target kind nature reason aliases",
            shape=scene.tensor_of,
            stride=lambda n: n.outputs[0].stride if n.outputs else None,
            aten=lambda n: n.original_aten,
            passes=lambda n: n.replaced_by,
            place=lambda n: self.place(n.source),
            median=lambda n: n.timing.median_us if n.timing else None,
            parent=lambda n: self.node_at(graph.id, n.parent),
        )
        return {
            "id": graph.id,
            "stage": graph.stage,
            "compile": graph.compile_id,
            "direction": graph.direction,
            "nodes": differences(nodes, "parent"),
            **differences(drawn, "call home own opens"),
            "groups": differences(filled(len(drawn["groups"]["parent"]), **drawn["groups"]), "parent ref"),
        }

    def call_columns(self) -> dict[str, list[Any]]:
        known = index_of(self.recording).nodes
        in_step = {call: labels.in_step(group) for group in groups(self.recording) for call in group.calls}
        return columns(
            self.recording.calls,
            "id handle kernel type flops",
            title=lambda c: labels.ops_words(labels.ops_of(c, known.get(c.graph, {}))),
            graph=lambda c: self.graphs.get(c.graph, -1),
            nodes=lambda c: self.inside(c.graph, c.nodes),
            folded=lambda c: self.inside(c.graph, c.folded),
            named=lambda c: self.inside(c.graph, [name for name in c.named_only if name not in c.biases]),
            biases=lambda c: self.inside(c.graph, c.biases),
            evidence=lambda c: c.nodes_evidence,
            step=lambda c: in_step.get(c.id),
            read=lambda c: c.bytes_read,
            written=lambda c: c.bytes_written,
            timing=lambda c: (t := c.timing) and [t.count, t.median_us, t.min_us, t.max_us],
            estimated=lambda c: [labels.planned_words(c), labels.planned_basis(c)] if c.estimated_basis else None,
            roof=lambda c: c.roof and msgspec.to_builtins(c.roof),
            kernel_lines=lambda c: c.code.kernel,
            call_lines=lambda c: c.code.call,
            places=lambda c: [self.place(source) for source in c.sources],
        )

    def launch_columns(self) -> dict[str, Any]:
        """Return what ran on a device; times from the first event on."""
        read = partial(self.read, "launches")
        evidence, inside, names = read("evidence"), cache(self.inside), read("name")
        decoded = dict(zip(names, read("decoded"), strict=True))
        return filled(
            len(names),
            id=read("id"),
            name=self.listed(names),
            category=self.listed(read("category")),
            step=read("step"),
            start=[start - self.base for start in read("start_ns")],
            duration=read("duration_ns"),
            stream=read("stream"),
            device=read("device"),
            op=[self.op_index.get(op, -1) for op in read("op_id")],
            opname=self.listed(
                [op and (collective_label(c, (op,)) or op) for op, c in zip(read("op"), read("chain"), strict=True)]
            ),
            launched=[None if at is None else at - self.base for at in read("launched_ns")],
            call=[self.calls.get(call or "", -1) for call in read("call")],
            graph=[self.graphs.get(graph or "", -1) for graph in read("graph")],
            nodes=[
                inside(graph, nodes) if nodes else () for graph, nodes in zip(read("graph"), read("nodes"), strict=True)
            ],
            bytes=read("bytes") if len(names) <= MAX_DETAILED else [],
            e_op=[item.op for item in evidence],
            e_call=[item.call for item in evidence],
            chain=self.listed(read("chain"), " › ".join),
            runtime=self.listed(read("runtime"), ", ".join),
            config=self.in_words("launches", launch_config, "grid", "block", "registers", "shared_bytes", "occupancy"),
            decoded=self.listed(names, lambda name: decoded_words(decoded[name] or {})),
        )

    def op_columns(self) -> dict[str, Any]:
        """The CPU's events; times from the first event on."""
        read = partial(self.read, "ops")
        graphs, nodes, sources = read("graph"), read("node"), read("source")
        places = {id(source): self.place(source) for source in sources}
        return filled(
            len(graphs),
            name=self.listed(read("name")),
            category=self.listed(read("category")),
            step=read("step"),
            thread=read("thread"),
            start=[start - self.base for start in read("start_ns")],
            duration=read("duration_ns"),
            parent=[self.op_index.get(parent, -1) for parent in read("parent")],
            shapes=self.in_words("ops", shape_words, "shapes", "dtypes"),
            graph=[self.graphs.get(graph or "", -1) for graph in graphs],
            node=list(map(self.node_at, graphs, nodes)),
            place=[places[id(source)] for source in sources],
        )

    def in_words(self, kind: str, words: Callable[..., str | None], *fields: str) -> list[int]:
        """Return the words on some fields of each op or launch; nothing where there are many."""
        if len(self.read(kind, "id")) > MAX_DETAILED:
            return []
        return [self.names.add(words(*row)) for row in zip(*(self.read(kind, field) for field in fields), strict=True)]

    def listed(self, values: Sequence[Any], words: Callable[[Any], str | None] = lambda name: name) -> list[int]:
        """The position of the words on each value; equal values are put into words once."""
        known = {value: self.names.add(words(value) or None) for value in dict.fromkeys(values)}
        return [known[value] for value in values]

    def decision_columns(self) -> dict[str, list[Any]]:
        return columns(
            self.recording.decisions,
            "verdict how reason hint config evidence",
            graph=lambda d: self.graphs.get(d.graph, -1),
            a=lambda d: self.inside(d.graph, d.a),
            b=lambda d: self.inside(d.other_graph or d.graph, d.b),
            other=lambda d: self.graphs.get(d.other_graph or "", -1),
            a_call=lambda d: self.calls.get(d.a_call or "", -1),
            b_call=lambda d: self.calls.get(d.b_call or "", -1),
            raw=lambda d: d.raw_reason if d.reason_code != "torch_says" else None,
            bytes=lambda d: d.saved_bytes,
            launches=lambda d: d.saved_launches,
            title=lambda d: " → ".join(self.ends(d)),
            price=lambda d: labels.price(d, self.recording) if d.verdict != "fused" and d.saved_bytes else None,
        )


def rows_of(recording: Recording) -> tuple[dict[str, list[int]] | None, str | None]:
    """The rows of ops and launches in whole steps up to the limit, `None` for all; what was left out in words."""
    steps = {kind: column(getattr(recording, kind), "step") for kind in ("ops", "launches")}
    if sum(map(len, steps.values())) <= MAX_EVENTS:
        return None, None
    sizes = Counter(step for found in steps.values() for step in found)
    order = sorted(sizes, key=lambda step: (step < 0, step))  # what is outside the steps comes last
    totals = zip(order, itertools.accumulate(sizes[step] for step in order), strict=True)
    kept = [step for place, (step, total) in enumerate(totals) if not place or total <= MAX_EVENTS]
    shown, number = [step for step in kept if step >= 0], sum(step >= 0 for step in order)
    words = f"steps {shown[0]}–{shown[-1]} of {number}" if len(shown) > 1 else f"step {kept[0]} of {number}"
    rows = {kind: [row for row, step in enumerate(found) if step in kept] for kind, found in steps.items()}
    return rows, f"{words}: the rest is in the recording"


def launch_config(grid: Any, block: Any, registers: Any, shared_bytes: Any, occupancy: Any) -> str | None:
    sizes = (("grid", grid), ("block", block))
    parts = [f"{label} {'×'.join(map(str, value))}" for label, value in sizes if value]
    parts += [f"{registers} registers"] if registers else []
    parts += [f"{num_bytes(shared_bytes)} shared"] if shared_bytes else []
    parts += [f"occupancy {percent(occupancy)}"] if occupancy else []
    return ", ".join(parts) or None


def decoded_words(decoded: dict[str, Any]) -> str:
    return "; ".join(f"{key}: {value}" for key, value in labels.decoded_words(decoded).items()) if decoded else ""


def shape_words(shapes: Any, dtypes: Any) -> str | None:
    """The input tensors of an op: "bf16[8192,768], bf16[768,3072]"."""
    if not shapes:
        return None
    names = list(dtypes or ())
    found: list[str] = []
    for position, item in enumerate(shapes):
        sizes = cast("list[Any]", item) if isinstance(item, (list, tuple)) else []
        if sizes and all(isinstance(size, (int, str)) for size in sizes):
            found.append(short_tensor(tuple(sizes), names[position] if position < len(names) else None))
    return ", ".join(found) or None


def files(recording: Recording, places: Interned) -> list[dict[str, Any]]:
    """The user's files: the text where it was kept, else the lines that are known."""
    texts = {source.file or source.id: source.text for source in recording.sources if source.kind == "user"}
    lines: dict[str, dict[int, str]] = {}
    for file, line, code, *_ in places.values:
        if file and line:
            known = lines.setdefault(file, {})
            if code or line not in known:
                known[line] = code or ""
    return [
        {"file": file, "text": texts.get(file), "lines": None if file in texts else sorted(lines[file].items())}
        for file in dict.fromkeys([*lines, *texts])
    ]
