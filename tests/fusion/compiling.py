"""What Inductor writes for the CPU, without a profiler."""

import torch

from fxscope._torch.inductor import InductorCapture
from fxscope.model import Environment, Recording, replace
from fxscope.passes import run


def on_the_cpu(model, *inputs, train=False, title="", functorch=None, **switches) -> Recording:
    torch._dynamo.reset()
    inductor = torch._inductor.config.patch(switches)
    with inductor, torch._functorch.config.patch(functorch or {}), InductorCapture() as capture:
        function = torch.compile(model)
        if train:
            function(*inputs).sum().backward()
        else:
            with torch.no_grad():
                function(*inputs)
    return run(replace(capture.facts(), title=title, environment=Environment(device="cpu")))
