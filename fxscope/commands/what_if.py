"""`fxscope what-if FILE.py:FACTORY --set NAME=VALUE`: record twice, with an Inductor switch changed, and compare."""

import argparse
import sys
from functools import partial

from fxscope.commands import common
from fxscope.errors import FxscopeError
from fxscope.model import Recording


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="FILE.py:FACTORY", help="a function that returns (module, inputs)")
    help = "an Inductor switch to change; repeatable, all at once"
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], dest="settings", help=help)
    parser.add_argument("--mode", metavar="MODE", help="change the mode of torch.compile instead of switches")
    parser.add_argument("--backward", action="store_true", help="run the backward pass as well")
    parser.add_argument("--target", metavar="GPU", help="plan for this GPU instead of running")
    common.add_output_options(parser, formats=common.TEXT_FORMATS)


def run(arguments: argparse.Namespace) -> int:
    from fxscope.analysis.compare import compare
    from fxscope.factories import explained_errors, load_factory, parse_setting
    from fxscope.render.diff import SAME, is_same

    format = common.text_format(arguments.output, arguments)
    changed = dict(parse_setting(text) for text in arguments.settings)
    if not changed and not arguments.mode:
        raise FxscopeError("say what to change: --set NAME=VALUE (such as --set max_autotune=true), or --mode MODE.")
    model, inputs, kwargs = load_factory(arguments.program)
    from fxscope._torch.running import compile_options  # now: a missing file is reported before torch is imported
    from fxscope.capture import record

    title = ", ".join([*arguments.settings, *([f"mode={arguments.mode}"] if arguments.mode else [])])
    asked = {name: value for name, value in (("options", changed), ("mode", arguments.mode)) if value}
    compile_options(asked)  # it raises CaptureError for what torch has not, before anything is recorded
    observe = partial(record, model, *inputs, kwargs=kwargs, steps=10, warmup=10)
    made: list[Recording] = []
    for name, how in (("before", True), (title, asked)):
        common.say(f"recording: {name}")
        with explained_errors(f"{arguments.program} with {name}"):
            made.append(observe(compile=how, backward=arguments.backward, target=arguments.target, title=name))
    before, after = made
    comparison = compare(before, after)
    for item in after.assumptions:
        if item not in before.assumptions:
            print(f"note: the plan assumes: {item.assumed}", file=sys.stderr)
    same = f"{title}: {SAME[0].lower()}{SAME[1:]}\n" if is_same(comparison, by_design=True) else ""
    return common.write_comparison(comparison, arguments, format, same)
