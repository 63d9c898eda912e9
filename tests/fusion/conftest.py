"""Recordings that the tests of this folder share: each program is compiled once per run."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # compiling takes its threads from here, and the programs are tiny

HERE = Path(__file__).parent


@functools.cache
def module():
    """Import programs.py by its path: the tests are not a package."""
    spec = importlib.util.spec_from_file_location("fusion_programs", HERE / "programs.py")
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


def programs():
    return module().PROGRAMS


def on_a_gpu():
    return module().ON_A_GPU


@functools.cache
def compiled(name):
    """Compile a program on the CPU and return what capture and the passes make of it; it is not profiled."""
    import torch

    from fxscope._torch.inductor import InductorCapture
    from fxscope.model import Environment, Recording
    from fxscope.passes import run

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
    return run(
        Recording(
            title=name,
            environment=Environment(device="cpu"),
            graphs=facts.graphs,
            calls=facts.calls,
            links=facts.links,
            sources=facts.sources,
            schedules=facts.schedules,
            compiles=facts.compiles,
            problems=facts.problems,
        )
    )


@functools.cache
def planned(name):
    """Plan a program for an H200, which need not be here."""
    import torch

    import fxscope

    make, inputs, train = {**programs(), **on_a_gpu()}[name]
    torch.manual_seed(0)
    return fxscope.record(make(), *inputs(), compile=True, backward=train, target="h200")


@pytest.fixture(scope="session")
def recording_of():
    """Return a function: name of a program → its recording."""
    return compiled


@pytest.fixture(scope="session")
def plan_of():
    """Return a function: name of a program → what Inductor writes for it on an H200."""
    return planned
