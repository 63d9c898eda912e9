"""Steps of optimizers, and models of many ranks: planned in one process, without any other."""

from __future__ import annotations

import pytest
import torch

from fxscope import gpus
from fxscope._torch.target import child, distributed
from fxscope.errors import CaptureError
from tests.target import factories

if not torch.distributed.is_available():
    pytest.skip("this torch has no torch.distributed", allow_module_level=True)


def planned(factory: str, **options):
    """Plan in a copy of this process, which has torch already."""
    with distributed.fake_groups():
        model, inputs = getattr(factories, factory)()
        assert not torch.distributed.is_initialized() or torch.distributed.get_backend() == "fake"
    holder = getattr(model, "__self__", model)
    holder.cannot_be_pickled = lambda: None
    try:
        return child.record(model, *inputs, target="h200", **options)
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


def assumed(recording) -> dict[str, str]:
    return {item.subject: item.assumed for item in recording.assumptions}


@pytest.mark.slow
def test_step_of_an_optimizer_is_kernels_over_several_parameters() -> None:
    recording = planned("optimizer_step")
    assert {call.type for call in recording.calls} == {"triton_foreach"}
    assert "every parameter" in assumed(recording)["gradients"]
    shapes = {access.shape for call in recording.calls for access in call.reads or ()}
    assert (64, 64) in shapes
    assert (64,) in shapes


def test_step_that_needs_values_is_refused() -> None:
    with pytest.raises(CaptureError, match="the step of Counts cannot be planned: its first step"):
        planned("optimizer_that_asks_for_numbers")


@pytest.mark.slow
def test_graphs_of_ddp_are_cut_at_its_buckets() -> None:
    recording = planned("ddp", backward=True)
    graphs = [graph.id for graph in recording.graphs if graph.stage == "post_grad"]
    assert len(graphs) == 8, graphs  # four buckets of a weight's size, each with a forward and a backward
    assert "buckets of 1 MiB" in assumed(recording)["DDP"]


@pytest.mark.slow
def test_each_module_of_fsdp_has_whole_parameters_in_the_dtype_it_computes_in() -> None:
    recording = planned("fsdp", backward=True)
    assert "gathered" in assumed(recording)["FSDP"]
    products = [call for call in recording.calls if call.type == "extern"]
    assert products
    for call in products:
        tensors = {access.shape for access in (*(call.reads or ()), *(call.writes or ()))}
        assert {(8, 256), (256, 8)} & tensors
        assert call.workload is not None
        assert call.workload.dtype == "bfloat16"
    gradients = {access.shape for call in products if ":backward" in call.graph for access in call.writes or ()}
    assert {(256, 64), (64, 256)} <= gradients  # of whole weights, which FSDP scatters outside of the graph


def test_a_graph_that_two_modules_share_runs_twice() -> None:
    recording = planned("fsdp")
    (block,) = [item for item in recording.compiles if item.runs]
    assert block.runs == 2
    total = sum(call.estimated_us for call in recording.calls)
    assert recording.predicted.device_us == pytest.approx(2 * total * gpus.load("h200").calibration.step.middle)
    assert recording.predicted.num_calls == 2 * len(recording.calls)


def test_a_program_that_fails_leaves_no_group() -> None:
    with pytest.raises(ValueError, match="no weights here"), distributed.fake_groups():
        torch.distributed.init_process_group("nccl")
        raise ValueError("no weights here")
    assert not torch.distributed.is_initialized()
