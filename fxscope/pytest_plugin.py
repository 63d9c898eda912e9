"""The pytest plugin: a fixture `fxscope` that records and asserts. Importing it imports pytest and nothing slow.

    def test_mlp(fxscope):
        r = fxscope.record(mlp, x, compile=True)
        r.assert_fused("gelu", "mul")
        r.assert_kernels(4)

With `target="h200"` no GPU is needed: the plan is what Inductor would write for that device.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fxscope.errors import FxscopeError

if TYPE_CHECKING:
    from fxscope.assertions import Recorded


@contextlib.contextmanager
def without_trace_log() -> Generator[None]:
    """Keep pytest from capturing torch's trace log, which would bury the message of a failed assertion."""
    log = logging.getLogger("torch.__trace")
    captures = [handler for handler in log.handlers if type(handler).__module__.startswith("_pytest.")]
    for handler in captures:
        log.removeHandler(handler)
    try:
        yield
    finally:
        for handler in captures:
            log.addHandler(handler)


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Show an FxscopeError at the line of the test; with `--full-trace`, at the line that raised it."""
    info = None if item.config.getoption("fulltrace") else call.excinfo
    if info is not None and isinstance(info.value, FxscopeError):
        own, at = Path(__file__).parent, info.tb
        while at.tb_next is not None and own not in Path(at.tb_next.tb_frame.f_code.co_filename).parents:
            at = at.tb_next
        at.tb_next = None


class Fixture:
    def record(self, model_or_callable: Any, *inputs: Any, **options: Any) -> Recorded:
        """Record a program, as `fxscope.record` does, and return it with assertions."""
        from fxscope.assertions import Recorded
        from fxscope.capture import record

        with without_trace_log():
            return Recorded(record(model_or_callable, *inputs, **options))

    def load(self, path: str | Path) -> Recorded:
        """Load a recording, and return it with assertions."""
        from fxscope.assertions import Recorded
        from fxscope.store import load

        return Recorded(load(path))


@pytest.fixture
def fxscope() -> Fixture:
    """Record programs and assert what became of them; see `fxscope.assertions.Recorded`."""
    return Fixture()
