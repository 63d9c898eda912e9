"""`fxscope what-if FILE.py:FACTORY --set NAME=VALUE`: record twice, with an Inductor switch changed, and compare."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING, Any

from fxscope.commands import common
from fxscope.errors import CaptureError, FxscopeError, one_line

if TYPE_CHECKING:
    import argparse

    from fxscope.model import Recording

# Switches whose effect is decided by running candidates: without the GPU there is nothing to run them on.
NEED_BENCHMARKS = (
    "coordinate_descent_tuning",
    "benchmark_combo_kernel",
    "triton.multi_kernel",
    "autotune",
    "combo_kernels_autotune",
    "combo_kernel_autotune",
    "triton.autotune",
    "cutedsl_enable_autotuning",
    "distributed_max_autotune",
    "pipeline_max_autotune",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="FILE.py:FACTORY", help="a function that returns (module, inputs)")
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="settings",
        help="an Inductor switch to change; repeatable: all are changed at once",
    )
    parser.add_argument("--mode", metavar="MODE", help="a mode of torch.compile to change to, instead of switches")
    parser.add_argument(
        "--base", metavar="NAME=VALUE", action="append", default=[], help="a switch that is set before and after"
    )
    parser.add_argument("--backward", action="store_true", help="run the backward pass as well")
    parser.add_argument("--dynamic", action="store_true", help="compile with dynamic shapes")
    parser.add_argument("--target", metavar="GPU", help="plan for this GPU; switches that need benchmarks are refused")
    parser.add_argument("--steps", type=int, default=10, metavar="N", help="profiled calls of each (default 10)")
    parser.add_argument("--save", nargs=2, metavar=("BEFORE", "AFTER"), help="also write the two recordings")
    parser.add_argument(
        "--whole-sources", action="store_true", help="with --save: embed the program's files as a whole"
    )
    parser.add_argument("--all", action="store_true", help="every change, and what did not change")
    parser.add_argument("--json", action="store_true", help="the comparison as JSON")
    parser.add_argument("--force", action="store_true", help="overwrite files that exist")


def run(arguments: argparse.Namespace) -> int:
    from fxscope import store
    from fxscope.analysis.compare import compare
    from fxscope.factories import load_factory, parse_setting
    from fxscope.render import check_target
    from fxscope.render.diff import SAME, diff_text, is_same

    changed = dict(parse_setting(text) for text in arguments.settings)
    base = dict(parse_setting(text) for text in arguments.base)
    check(arguments, changed)
    for name in arguments.save or ():
        check_target(name, format="fxscope", force=arguments.force)
    known = switches()
    for name in (*changed, *base):
        check_switch(name, known)
    same = [name for name, value in changed.items() if base.get(name, known[name]) == value]
    model, inputs, kwargs = load_factory(arguments.program)
    asked = options({**base, **changed}, arguments.mode, arguments)
    with common.whole_sources(arguments.whole_sources):
        before = recorded(arguments, model, inputs, kwargs, options(base, None, arguments), "before")
        after = recorded(arguments, model, inputs, kwargs, asked, title(arguments))
    comparison = compare(before, after)
    for name, recording in zip(arguments.save or (), (before, after), strict=False):
        store.write(name, store.encode(recording), force=arguments.force)
    if arguments.json:
        print(comparison.to_json())
        return 0
    for name in same:
        print(f"note: {name} is {changed[name]!r} already: nothing is changed by it", file=sys.stderr)
    if is_same(comparison, by_design=True):
        print(f"{title(arguments)}: {SAME[0].lower()}{SAME[1:]}")
    else:
        sys.stdout.write(diff_text(comparison, width=common.width(), every=arguments.all))
    return 0


def check(arguments: argparse.Namespace, changed: dict[str, Any]) -> None:
    """Raise FxscopeError for a question that makes no sense, or that only a real GPU can answer."""
    if not changed and not arguments.mode:
        raise FxscopeError("say what to change: --set NAME=VALUE (such as --set max_autotune=true), or --mode MODE.")
    if arguments.steps < 2:
        raise FxscopeError("--steps must be at least 2: one repeat has no interval.")
    if not arguments.save:
        common.refuse(arguments, "it is for the recordings that --save writes", "whole_sources")
    if arguments.target is None:
        return
    common.refuse(arguments, "--target plans, and nothing is run", "steps")
    refused = [name for name in changed if name.replace("-", "_").startswith(NEED_BENCHMARKS)]
    if refused:
        raise FxscopeError(
            f"{refused[0]} lets Inductor decide by benchmarks, and with --target {arguments.target} there is no GPU to "
            "run them on. Record on the GPU itself, or change a switch that is decided by rules."
        )


def switches() -> dict[str, Any]:
    """Every switch of torch._inductor.config with its value here."""
    from fxscope._torch.running import inductor_switches

    return inductor_switches()


def check_switch(name: str, known: dict[str, Any]) -> None:
    """Raise CaptureError with the nearest names for a switch that Inductor does not have."""
    if name in known:
        return
    near = difflib.get_close_matches(name, known, n=3) or [key for key in known if name in key][:3]
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise CaptureError(f"torch._inductor.config has no switch {name!r}.{hint}")


def options(settings: dict[str, Any], mode: str | None, arguments: argparse.Namespace) -> dict[str, Any]:
    """The keyword arguments of torch.compile."""
    found: dict[str, Any] = {}
    if settings:
        found["options"] = settings
    if mode:
        found["mode"] = mode
    if arguments.dynamic:
        found["dynamic"] = True
    return found


def title(arguments: argparse.Namespace) -> str:
    """Return what was changed, in words."""
    return ", ".join([*arguments.settings, *([f"mode={arguments.mode}"] if arguments.mode else [])])


def recorded(
    arguments: argparse.Namespace,
    model: Any,
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any],
    compile_options: dict[str, Any],
    name: str,
) -> Recording:
    from fxscope.capture import record

    common.say(f"recording: {name}")
    try:
        return record(
            model,
            *inputs,
            kwargs=kwargs,
            compile=compile_options or True,
            backward=arguments.backward,
            target=arguments.target,
            steps=arguments.steps,
            warmup=10,
            title=name,
        )
    except FxscopeError:
        raise
    except (Exception, SystemExit) as error:
        raise CaptureError(f"{arguments.program} with {name} raised {one_line(error)}") from None
