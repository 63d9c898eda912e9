"""Check reports as text and Markdown, and as CI systems read them: JUnit XML, GitHub's workflow commands, SARIF."""

import json
from functools import partial
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

from fxscope.analysis.check.kinds import KINDS
from fxscope.analysis.findings import CheckReport, Outcome, Status
from fxscope.analysis.select import place
from fxscope.render import grid
from fxscope.render.legible import legible

folded = partial(grid.folded, first="    ", rest="    ")
MAX_ANNOTATIONS = 10  # errors of a step that GitHub shows
MARKS: dict[Status, str] = {"met": "✓", "not_met": "✗", "cannot_tell": "?"}


def check_text(report: CheckReport, *, width: int = 80) -> str:
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
    others = ((counts["not_met"], "do not"), (counts["cannot_tell"], "unknown"))
    parts = [f"{number} {words}" for number, words in others if number]
    return ", ".join([f"{counts['met']} of {len(report.outcomes)} hold", *parts])


def fact(outcome: Outcome) -> str:
    return legible(f"expected {outcome.expected}; found {outcome.found}")


def details(outcome: Outcome) -> str:
    return legible("\n".join(part for part in (outcome.reason, outcome.note) if part))


def junit(report: CheckReport) -> str:
    """JUnit XML: what is not met is a failure; what cannot be told is one too, because nobody checked it."""
    failed = sum(outcome.status != "met" for outcome in report.outcomes)
    counts = {"tests": str(len(report.outcomes)), "failures": str(failed), "errors": "0", "skipped": "0"}
    suite = ElementTree.Element("testsuite", {"name": legible(report.title or "fxscope check"), **counts})
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


def github(report: CheckReport, *, where: str, root: Path) -> str:
    """One workflow command for each expectation that does not hold, at its line of the file `where`; then the count."""
    failed = [outcome for outcome in report.outcomes if outcome.status != "met"]
    file, lines = _property(str(_in_repository(where, root))), list[str]()
    for outcome in failed:
        sources = (f"source: {place(source)}" for source in outcome.sources)
        said = "\n".join(filter(None, (fact(outcome), details(outcome), *sources)))
        lines.append(f"::error file={file},line={outcome.line or 1},title={_property(outcome.claim)}::{_data(said)}")
    rest = f"; GitHub shows {MAX_ANNOTATIONS} of a step, the log has all" if len(failed) > MAX_ANNOTATIONS else ""
    return "\n".join([*lines, f"::notice title=fxscope check::{_data(summary(report) + rest)}"]) + "\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(legible(text)).replace(":", "%3A").replace(",", "%2C")


def _in_repository(file: str, root: Path) -> Path:
    """The path from the root of the repository to a file in it; of another file the whole path."""
    path = root / file
    return path.relative_to(root) if path.is_relative_to(root) else path


def _location(file: str, line: int | None, root: Path) -> dict[str, object]:
    path = _in_repository(file, root)
    inside = {"uri": quote(path.as_posix()), "uriBaseId": "%SRCROOT%"}
    artifact = {"uri": path.as_uri()} if path.is_absolute() else inside
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": line or 1}}}


def sarif(report: CheckReport, *, where: str, root: Path, version: str) -> str:
    """SARIF 2.1.0, one result for each expectation that does not hold: GitHub makes an alert of every result.

    GitHub's code scanning needs a line of each result and descriptions of each rule, which the format itself does not. It
    shows related locations that the message links to.
    """
    results: list[dict[str, object]] = []
    for outcome in (item for item in report.outcomes if item.status != "met"):
        said, related = [legible(outcome.claim), fact(outcome), details(outcome)], list[dict[str, object]]()
        for number, source in enumerate(outcome.sources, start=1):
            said.append(f"source: [{place(source)}]({number})")
            related.append({"id": number, **_location(source.file or "", source.line, root)})
        result = {"ruleId": outcome.kind, "level": "error", "message": {"text": "\n".join(filter(None, said))}}
        results.append({**result, "locations": [_location(where, outcome.line, root)], "relatedLocations": related})
    kinds = [(kind, {"text": KINDS[kind].help}) for kind in dict.fromkeys(outcome.kind for outcome in report.outcomes)]
    fields = ("shortDescription", "fullDescription", "help")
    rules = [{"id": kind, **dict.fromkeys(fields, text)} for kind, text in kinds]
    driver = {"name": "fxscope", "version": version, "rules": rules}
    runs = [{"tool": {"driver": driver}, "results": results}]
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": runs}, indent=1, ensure_ascii=False) + "\n"
