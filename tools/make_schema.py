"""Write the JSON Schema of a recording and `docs/schema.md`, both from the types in `fxscope/model/`."""

from __future__ import annotations

import ast
import inspect
import json
import re
from pathlib import Path
from typing import get_args

import msgspec

from fxscope import model
from fxscope.model import base

PRIVATE = {"Workload"}  # of the time model: saved under a key with an underscore, and no part of the contract
ROOT = Path(__file__).resolve().parent.parent
PATH = ROOT / "fxscope" / "data" / "recording.schema.json"
DOCUMENT = ROOT / "docs" / "schema.md"
HEAD = """# The recording as JSON

`fxscope view X --format json` and `recording.to_json()` give this; a `.fxscope` file
is the same, gzipped. It is a public contract: keys keep their names and meaning, more may be added, and a breaking
change raises `schema` (`{schema}` now). A value that is not known is `null`: never 0, and never left out.
`fxscope/data/recording.schema.json` is the same as JSON Schema; both are written by `tools/make_schema.py`.

Ids: a compile id is Dynamo's (`0/0`). Graphs are `eager`, `0/0:pre_grad`, `0/0:inference` (AOT's graph),
`0/0:forward`, `0/0:backward`, `0/0:joint`, `0/0:inference:post_grad`. A kernel call is
`<compile id>:<inference|forward|backward>:<n-th call of that wrapper>`; a graph that ran twice in a step gives launches
with the same `call` and another `invocation`. Steps count from 0. Times
are nanoseconds on the trace's own clock (`base_time_ns` is its zero since the epoch).
"""


def of(kind: type, title: str) -> str:
    """The JSON Schema of a type as text, the same with every Python."""
    found = msgspec.json.schema(kind)
    for definition in found["$defs"].values():
        if "description" in definition:
            definition["description"] = inspect.cleandoc(definition["description"])  # as Python 3.13 does itself
    found["$defs"] = {name: item for name, item in found["$defs"].items() if name not in PRIVATE}
    for definition in found["$defs"].values():
        public = {name: item for name, item in definition.get("properties", {}).items() if not name.startswith("_")}
        definition |= {"properties": public} if public else {}
    found = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **found}
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


def schema() -> str:
    """The JSON Schema of a recording."""
    return of(model.Recording, f"A recording, {model.SCHEMA}")


def document() -> str:
    """Return `docs/schema.md`: each type with its fields, the meaning taken from the comment beside the field."""
    parts_of_model = ("base", "graphs", "calls", "ops", "decisions", "recording")
    text = "\n".join((ROOT / "fxscope" / "model" / f"{name}.py").read_text() for name in parts_of_model)
    lines = text.splitlines()
    parts = [HEAD.format(schema=model.SCHEMA)]
    for node in ast.parse(text).body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Subscript)
            and ast.unparse(node.value.value) == "Literal"
            and not (name := ast.unparse(node.targets[0])).startswith("_")  # a part of another
        ):
            words = ", ".join(f"`{item}`" for item in get_args(getattr(base, name)))
            parts.append(f"**{name}**: {words}\n")
        if (
            not isinstance(node, ast.ClassDef)
            or node.name in {"Item", "Printed", *PRIVATE}
            or ast.unparse(node.bases[0]) == "NamedTuple"
        ):
            continue  # what is no item is computed, not saved
        parts.append(f"## {node.name}\n\n{ast.get_docstring(node)}\n\n| key | type | meaning |\n|---|---|---|")
        renamed = {"from_": "from"}
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                if any(name in ast.unparse(field.annotation) for name in PRIVATE):
                    continue
                name = renamed.get(field.target.id, field.target.id)
                comment = re.search(r"#\s(?!type:|fmt:)(.*)$", lines[(field.end_lineno or field.lineno) - 1])
                kind = ast.unparse(field.annotation).replace("|", "or")
                meaning = comment[1].replace("|", "\\|") if comment else ""
                parts.append(f"| `{name}` | {kind} | {meaning} |")
        parts.append("")
    return "\n".join(parts)


def fleet_schema() -> str:
    """Return the JSON Schema of a job."""
    from fxscope.fleet.model import FLEET_SCHEMA, Fleet

    return of(Fleet, FLEET_SCHEMA)


if __name__ == "__main__":
    PATH.write_text(schema())
    PATH.with_name("fleet.schema.json").write_text(fleet_schema())
    DOCUMENT.write_text(document())
    print(f"wrote {PATH.name} and {DOCUMENT.name}")
