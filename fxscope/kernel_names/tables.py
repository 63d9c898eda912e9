"""The words of kernel names: `data/kernel_names.json`. Rules are tried in order; the first pattern found decides."""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from importlib import resources
from typing import Any


@lru_cache(maxsize=1)
def tables() -> dict[str, Any]:
    return json.loads(resources.files("fxscope").joinpath("data/kernel_names.json").read_text(encoding="utf-8"))


@cache
def rules(table: str, name: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the compiled rules of `tables()[table][name]`: (pattern, value)."""
    return tuple((re.compile(pattern), value) for pattern, value in tables()[table][name])


def first(table: str, name: str, text: str) -> str | None:
    return next((value for pattern, value in rules(table, name) if pattern.search(text)), None)


def role(name: str, text: str) -> str | None:
    return first("roles", name, text)


def direction(name: str, text: str) -> dict[str, str]:
    """Return `{"direction": …}`, empty where no rule is met."""
    found = first("directions", name, text)
    return {"direction": found} if found else {}


def family(name: str, text: str) -> str | None:
    """Return the first family whose word (`vllm::`) is in the text."""
    return next((word.rstrip(":") for word in tables()["families"][name] if word in text), None)
