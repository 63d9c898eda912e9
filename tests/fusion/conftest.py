"""Recordings that the tests of this folder share: each program is compiled once per run."""

import functools
import os

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # compiling takes its threads from here, and the programs are tiny


@functools.cache
def compiled(name):
    import torch

    from tests.fusion.compiling import on_the_cpu
    from tests.fusion.programs import PROGRAMS

    make, inputs, train = PROGRAMS[name]
    torch.manual_seed(0)
    return on_the_cpu(make(), *inputs(), train=train, title=name)


@functools.cache
def planned(name):
    import torch

    import fxscope
    from tests.fusion.programs import ON_A_GPU, PROGRAMS

    make, inputs, train = {**PROGRAMS, **ON_A_GPU}[name]
    torch.manual_seed(0)
    return fxscope.record(make(), *inputs(), compile=True, backward=train, target="h200")


@pytest.fixture(scope="session")
def recording_of():
    return compiled


@pytest.fixture(scope="session")
def plan_of():
    """Return a function: name of a program → what Inductor writes for it on an H200."""
    return planned
