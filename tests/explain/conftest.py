"""Real recordings, read once."""

from functools import lru_cache
from pathlib import Path

import pytest

from fxscope.commands import common

H200 = Path(__file__).parents[1] / "data" / "h200"


@lru_cache(maxsize=16)
def _read(name: str):
    return common.read(str(H200 / name))


@pytest.fixture
def read():
    """Return the recording of one of the H200's captures."""
    return _read
