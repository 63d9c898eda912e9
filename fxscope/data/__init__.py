"""Read the files of this folder by name: tables, texts, and recordings of the demo."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent  # a plain path: `importlib.resources` costs each start 15 ms


def read_text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def read_table(name: str) -> Any:
    return json.loads(read_text(name))
