"""Check reports as text and Markdown, and as CI systems read them: JUnit XML, GitHub's workflow commands, SARIF."""

import json
from functools import partial
from urllib.parse import quote
from xml.etree import ElementTree

from fxscope.analysis.check.kinds import KINDS
from fxscope.analysis.findings import CheckReport, Outcome, Status
from fxscope.model import replace
from fxscope.render import grid
from fxscope.render.legible import legible
from fxscope.render.markdown import block

folded = partial(grid.folded, first="    ", rest="    ")
MARKS: dict[Status, str] = {"met": "✓", "not_met": "✗", "cannot_tell": "?"}


def check_text(report: CheckReport, *, width: int = 80) -> str:
    """One line per expectation, with the fact, and the reason where it is not met."""
    lines = [report.title, ""] if report.title else []
    several = len({outcome.subject for outcome in report.outcomes}) > 1
    for outcome in report.outcomes:
        subject = f"[{outcome.subject}] " if several and outcome.subject else ""
        lines.append(f"{MARKS[outcome.status]} {subject}{outcome.claim}")
        if outcome.status == "met":
            lines += folded(outcome.found, width)
            continue
        lines += folded(f"expected {outcome.expected}; found {outcome.found}", width)
        for label, line in (("because", outcome.reason), ("note", outcome.note)):
            if line:
                lines += folded(f"{label}: {line}", width)
    return "\n".join([*lines, "", summary(report)]) + "\n"


def summary(report: CheckReport) -> str:
    counts = {status: sum(o.status == status for o in report.outcomes) for status in MARKS}
    parts = [f"{counts['met']} of {len(report.outcomes)} hold"]
    if counts["not_met"]:
        parts.append(f"{counts['not_met']} do not")
    if counts["cannot_tell"]:
        parts.append(f"{counts['cannot_tell']} unknown")
    return ", ".join(parts)


def check_markdown(report: CheckReport) -> str:
    return block(report.title or "Expectations", check_text(replace(report, title=None), width=100))


def fact(outcome: Outcome) -> str:
    return legible(f"expected {outcome.expected}; found {outcome.found}")


def details(outcome: Outcome) -> str:
    return legible("\n".join(part for part in (outcome.reason, outcome.note) if part))


def junit(report: CheckReport) -> str:
    """JUnit XML: what is not met is a failure; what cannot be told is one too, because nobody checked it."""
    failed = sum(outcome.status != "met" for outcome in report.outcomes)
    counts = {"tests": len(report.outcomes), "failures": failed, "errors": 0, "skipped": 0}
    attributes = {key: str(value) for key, value in counts.items()}
    suite = ElementTree.Element("testsuite", {"name": legible(report.title or "fxscope check"), **attributes})
    for outcome in report.outcomes:
        name = legible(f"fxscope.{outcome.subject or 'recording'}.{outcome.kind}")
        case = ElementTree.SubElement(suite, "testcase", classname=name, name=legible(outcome.claim))
        if outcome.status == "met":
            ElementTree.SubElement(case, "system-out").text = legible(outcome.found)
        else:
            failure = ElementTree.SubElement(case, "failure", type=outcome.status, message=fact(outcome))
            failure.text = details(outcome)
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def github(report: CheckReport, *, where: str) -> str:
    """One workflow command, shown at the file `where`, for each expectation that does not hold; then the count."""
    lines = [
        f"::error file={_property(where)},title={_property(outcome.claim)}::"
        + _data("\n".join(filter(None, (fact(outcome), details(outcome)))))
        for outcome in report.outcomes
        if outcome.status != "met"
    ]
    return "\n".join([*lines, f"::notice title=fxscope check::{_data(summary(report))}"]) + "\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(legible(text)).replace(":", "%3A").replace(",", "%2C")


def sarif(report: CheckReport, *, where: str) -> str:
    """SARIF 2.1.0, one result for each expectation; what holds is a result of kind "pass".

    GitHub's code scanning needs a line of each result and descriptions of each rule, which the format itself does not.
    """
    place = {"physicalLocation": {"artifactLocation": {"uri": quote(where)}, "region": {"startLine": 1}}}
    results = [
        {
            "ruleId": outcome.kind,
            "kind": "pass" if outcome.status == "met" else "fail",
            "level": "none" if outcome.status == "met" else "error",
            "message": {"text": "\n".join(filter(None, (legible(outcome.claim), fact(outcome), details(outcome))))},
            "locations": [place],
        }
        for outcome in report.outcomes
    ]
    kinds = [(kind, {"text": KINDS[kind].help}) for kind in dict.fromkeys(outcome.kind for outcome in report.outcomes)]
    fields = ("shortDescription", "fullDescription", "help")
    rules = [{"id": kind, **dict.fromkeys(fields, text)} for kind, text in kinds]
    driver = {"name": "fxscope", "rules": rules}
    runs = [{"tool": {"driver": driver}, "results": results}]
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": runs}, indent=1, ensure_ascii=False) + "\n"
