"""What every test shares."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--accept`: rewrite golden files instead of comparing with them."""
    parser.addoption("--accept", action="store_true", help="rewrite golden files; read the diff before you commit it")
