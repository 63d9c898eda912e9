"""Write the JSON Schema of a recording (`fxscope/data/recording.schema.json`) from the types in `fxscope.model`."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from fxscope import model

PATH = Path(__file__).resolve().parent.parent / "fxscope" / "data" / "recording.schema.json"


def schema() -> str:
    """Return the JSON Schema as text, stable from run to run."""
    found = msgspec.json.schema(model.Recording)
    found = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A recording, {model.SCHEMA}",
        **found,
    }
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    PATH.write_text(schema())
    print(f"wrote {PATH.name}")
