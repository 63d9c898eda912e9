"""`fxscope guess FILE.py:FACTORY`: compare a guess with a recording."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from fxscope.commands import common
from fxscope.errors import FxscopeError

if TYPE_CHECKING:
    from fxscope.analysis.findings import Outcome
    from fxscope.model import Recording


class Question(NamedTuple):
    """One question, the kind of expectation its answer is, and which recording it is about."""

    text: str
    kind: str
    about: str  # "eager" or "compiled"
    read: Callable[[str], Any]


def number(answer: str) -> str:
    """Check that an answer is a number (or "<= 5"). Raises FxscopeError."""
    from fxscope.analysis.check.quantity import parse

    parse(answer)
    return answer


def names_of(answer: str) -> list[str]:
    """A list of names separated by commas or "+"."""
    return [part.strip() for part in answer.replace("+", ",").split(",") if part.strip()]


def at_least_two(answer: str) -> list[str]:
    """Two or more names. Raises FxscopeError."""
    found = names_of(answer)
    if len(found) < 2:
        raise FxscopeError(f"{answer!r} is one op: say at least two, separated by commas, or nothing.")
    return found


QUESTIONS = (
    Question("How many kernels does a call run in eager mode?", "kernels", "eager", number),
    Question("Which ops launch nothing (such as aten::t, aten::view)?", "launches_none", "eager", names_of),
    Question("How many kernels when compiled?", "kernels", "compiled", number),
    Question("How many of those are GEMMs?", "gemms", "compiled", number),
    Question("Which ops end up in one kernel together (such as gelu, mul)?", "fused", "compiled", at_least_two),
    Question("How many graph breaks?", "graph_breaks", "compiled", number),
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("factory", metavar="FILE.py:FACTORY", help="a function that returns (module, inputs)")
    parser.add_argument("--target", metavar="GPU", help="guess only what Inductor writes for this GPU (h200, …)")


def run(arguments: argparse.Namespace) -> int:
    """Load the factory, ask, record, compare. A wrong guess is not an error."""
    from fxscope.analysis.findings import CheckReport
    from fxscope.assertions import plan
    from fxscope.factories import load_factory
    from fxscope.render.reports import check_text

    model, inputs, kwargs = load_factory(arguments.factory)
    questions = [q for q in QUESTIONS if q.about == "compiled" or not arguments.target]
    guesses = ask(questions)
    if not guesses:
        raise FxscopeError("no guess was made. Answer at least one question; an empty line leaves one out.")
    recordings = record_both(model, inputs, kwargs, arguments, {question.about for question, _ in guesses})
    outcomes = [confront(question, answer, recordings) for question, answer in guesses]
    report = CheckReport(title=f"Your guess about {arguments.factory}", outcomes=tuple(outcomes))
    sys.stdout.write(check_text(report, width=common.width()))
    for name, recording in recordings.items():
        print(f"\n{name}:", *plan(recording).splitlines(), sep="\n  ")
    return 0


def ask(questions: list[Question]) -> list[tuple[Question, Any]]:
    """Ask on stderr, read stdin, a line each; an empty line is no guess.

    After a line that is no answer the question comes again at a terminal; in a pipe it is left out.
    """
    found: list[tuple[Question, Any]] = []
    interactive, waiting = sys.stdin.isatty(), list(questions)
    while waiting:
        question = waiting[0]
        print(f"{question.text} ", end="" if interactive else "\n", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            break
        try:
            if line.strip():
                found.append((question, question.read(line.strip())))
        except FxscopeError as error:
            print(f"  {error}" + ("" if interactive else " Left out."), file=sys.stderr)
            if interactive:
                continue
        waiting.pop(0)
    return found


def record_both(
    model: Any, inputs: Any, kwargs: Any, arguments: argparse.Namespace, wanted: set[str]
) -> dict[str, Recording]:
    from fxscope.capture import record

    options: dict[str, dict[str, Any]] = {"eager": {}, "compiled": {"compile": True, "target": arguments.target}}
    return {
        name: record(model, *inputs, kwargs=kwargs, title=name, **more)
        for name, more in options.items()
        if name in wanted
    }


def confront(question: Question, answer: Any, recordings: dict[str, Recording]) -> Outcome:
    """Hold one guess against its recording; an op that does not occur is a wrong guess, and the nearest is named."""
    from fxscope.analysis.check import check, words
    from fxscope.analysis.findings import Outcome
    from fxscope.errors import PassError
    from fxscope.model import replace

    item = {"claim": question.text, "in": question.about, question.kind: answer}
    try:
        outcome = check(recordings, {"expect": [item]}).outcomes[0]
    except PassError as error:
        return Outcome(
            claim=question.text,
            kind=question.kind,
            subject=question.about,
            status="not_met",
            expected=words(answer),
            found=str(error).split(f"{question.kind}: ", 1)[-1],
        )
    return replace(outcome, found=f"right: {outcome.found}") if outcome.status == "met" else outcome
