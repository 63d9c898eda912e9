"""`fxscope guess FILE.py:FACTORY`: compare a guess with a recording."""

import argparse
import sys
from typing import NamedTuple

from fxscope.analysis.findings import CheckReport, Outcome
from fxscope.commands import common
from fxscope.data import read_table
from fxscope.errors import FxscopeError, PassError
from fxscope.model import Recording, replace


class Question(NamedTuple):
    """One question, the kind of expectation its answer is, and which recording it is about."""

    text: str
    kind: str
    about: str  # "eager" or "compiled"
    is_list: bool = False


QUESTIONS = tuple(Question(*row) for row in read_table("questions.json"))


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("factory", metavar="FILE.py:FACTORY", help="a function that returns (module, inputs)")


def run(arguments: argparse.Namespace) -> int:
    """Load the factory, ask, record, compare. A wrong guess is not an error."""
    from fxscope.analysis.select import units
    from fxscope.factories import load_factory
    from fxscope.render.reports import check_text

    model, inputs, kwargs = load_factory(arguments.factory)
    from fxscope.capture import record  # now: a missing file is reported before torch is imported

    if not (guesses := ask(QUESTIONS)):
        raise FxscopeError("no guess was made. Answer at least one question; an empty line leaves one out.")
    recordings = {
        name: record(model, *inputs, kwargs=kwargs, title=name, compile=name == "compiled")
        for name in sorted({question.about for question, _ in guesses}, reverse=True)
    }
    outcomes = tuple(confront(question, answer, recordings) for question, answer in guesses)
    report = CheckReport(title=f"Your guess about {arguments.factory}", outcomes=outcomes)
    sys.stdout.write(check_text(report, width=common.screen_width()))
    for name, recording in recordings.items():
        kernels = (f"{unit.kernel}  [{', '.join(unit.ops) or unit.category}]" for unit in units(recording))
        print(f"\n{name}:", *kernels, sep="\n  ")
    return 0


def ask(questions: tuple[Question, ...]) -> list[tuple[Question, str]]:
    """Ask on stderr, read stdin, a line each; an empty line is no guess."""
    found: list[tuple[Question, str]] = []
    for question in questions:
        print(question.text, end=" " if sys.stdin.isatty() else "\n", file=sys.stderr, flush=True)
        if line := sys.stdin.readline().strip():
            found.append((question, line))
    return found


def confront(question: Question, answer: str, recordings: dict[str, Recording]) -> Outcome:
    """Compare one guess with its recording. An answer that cannot be checked is wrong, and the reason is given."""
    from fxscope.analysis.check import hold
    from fxscope.analysis.check.context import Context

    names = [part.strip() for part in answer.replace("+", ",").split(",") if part.strip()]
    try:
        outcome = hold(question.kind, Context(recordings, question.about), names if question.is_list else answer)
    except PassError as error:
        text, kind, about, _ = question
        return Outcome(claim=text, kind=kind, subject=about, status="not_met", expected=answer, found=str(error))
    found = f"right: {outcome.found}" if outcome.status == "met" else outcome.found
    return replace(outcome, claim=question.text, found=found)
