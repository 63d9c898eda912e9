"""Recordings that the tests of this folder share: each program is compiled once per run."""

from __future__ import annotations

import functools
import importlib.util
import os
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # compiling takes its threads from here, and the programs are tiny

HERE = Path(__file__).parent


@functools.cache
def programs():
    """Import programs.py by its path: the tests are not a package."""
    spec = importlib.util.spec_from_file_location("fusion_programs", HERE / "programs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PROGRAMS


@functools.cache
def compiled(name):
    """Compile a program on the CPU and return what capture and the passes make of it; it is not profiled."""
    import torch

    from fxscope._torch.inductor import InductorCapture
    from fxscope.model import Environment, Recording
    from fxscope.passes import cost, fusion

    make, inputs, train = programs()[name]
    torch.manual_seed(0)
    torch._dynamo.reset()
    model, given = make(), inputs()
    with InductorCapture() as capture:
        function = torch.compile(model)
        if train:
            function(*given).sum().backward()
        else:
            with torch.no_grad():
                function(*given)
    facts = capture.facts()
    return cost.cost(fusion.fusion(
        Recording(
            title=name, environment=Environment(device="cpu"), graphs=facts.graphs, calls=facts.calls,
            links=facts.links, sources=facts.sources, schedules=facts.schedules, compiles=facts.compiles,
            problems=facts.problems,
        )
    ))  # fmt: skip


@pytest.fixture(scope="session")
def recording_of():
    """Return a function: name of a program → its recording."""
    return compiled
