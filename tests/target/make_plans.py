"""Plan some programs of `tests/gpu/plan_models.py` for an H200 and print them as JSON; needs torch and Triton alone.

python tests/target/make_plans.py NAME …
"""

import json
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "gpu")]
warnings.simplefilter("ignore")

import torch  # noqa: E402
from plan_models import MODELS  # noqa: E402

from fxscope import gpus  # noqa: E402
from fxscope._torch.target import simulate  # noqa: E402


def main() -> None:
    target = gpus.load("h200")
    plans = {}
    for name in sys.argv[1:]:
        torch._dynamo.reset()
        model = MODELS[name]
        module, inputs = model.make("cpu")
        if model.train:
            inputs = tuple(x.requires_grad_() if x.is_floating_point() else x for x in inputs)
        with simulate.planning(target) as plan:
            simulate.compile_for_target(module, inputs, plan, train=model.train, compile_options=model.compile)
        plans[name] = {"codes": plan.codes, "assumptions": plan.assumptions}
    print(json.dumps({"torch": torch.__version__, "plans": plans}))


if __name__ == "__main__":
    main()
