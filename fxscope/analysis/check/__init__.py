"""Hold recordings against a file of expectations. A typo is an error that names the nearest known, never a pass."""

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from fxscope.analysis import select
from fxscope.analysis.check import quantity
from fxscope.analysis.check.context import Context, NotRecorded, Row, a_list, a_table
from fxscope.analysis.check.kernels import is_as_expected
from fxscope.analysis.check.kinds import KINDS, help_of_kinds
from fxscope.analysis.findings import CheckReport, Outcome, Status
from fxscope.errors import FOREIGN, PassError
from fxscope.model import Recording, Source, replace
from fxscope.text import shorten

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["KINDS", "check", "entries", "help_of_kinds", "lines_of", "parse", "words"]
MAX_SOURCES = 10  # of an outcome
_SAID = ("claim", "in", "note")
_TOP = ("title", "expect")


def parse(text: str, where: str) -> dict[str, Any]:
    """Parse a file of expectations. Raises PassError with the line of a syntax error."""
    try:
        data = tomllib.loads(text)
        json.dumps(data, default=str)  # Python does not print an integer of more than 4,300 digits, such as 0xf…
    except RecursionError:
        raise PassError(f"{where} is not valid TOML: it is nested too deeply.") from None
    except ValueError as error:
        raise PassError(f"{where} is not valid TOML: {str(error).split(';')[0]}.") from None
    return data


def lines_of(text: str) -> list[dict[str, int]]:
    """The line of each key: of those at the top, then of each `[[expect]]` table.

    The parser gives no lines. It is asked for longer and longer parts of a table: what is new in one begins there.
    """
    found, start, begin, first = [dict[str, int]()], 0, 0, 1
    lines = text.replace("\r\n", "\n").split("\n")
    for end, line in enumerate(lines, start=1):
        if begin == end - 1 and line.lstrip().startswith("[[expect]]"):
            start, first = begin, len(found)
        with contextlib.suppress(ValueError):  # a part ends within an array or a text
            data = tomllib.loads("\n".join(lines[start:end]))
            expected = data.pop("expect", [])
            found += ({} for _ in expected[len(found) - first :])
            for known, table in zip((found[0], *found[first:]), (data, *expected), strict=True):
                known.update((key, begin + 1) for key in table.keys() - known.keys())
            begin = end
    return found


def entries(data: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    """The expectations of a parsed file, in tables or at the top. Raises PassError: an unknown key, or nothing is expected."""
    tables: Any = data.get("expect", [])
    if not isinstance(tables, list) or not all(isinstance(item, dict) for item in tables):
        raise PassError(f"{where}: write [[expect]] with two brackets for each expectation.")
    top = {key: value for key, value in data.items() if key not in _TOP}
    found = [top, *tables] if top else tables
    for number, item in enumerate(found, start=1):
        for key in item:
            if key not in KINDS and key not in _SAID:
                nearest = select.nearest(key, (*KINDS, *_SAID, *_TOP))
                raise PassError(f"{where}: unknown key {key!r} in expectation {number}. {nearest}")
        for key in ("claim", "note"):
            if not isinstance(item.get(key, ""), str):
                raise PassError(f"{where}: {key} of expectation {number} is not a text.")
        if not KINDS.keys() & item:
            said = f"nothing is expected in expectation {number}{claim_of(item)}"
            raise PassError(f"{where}: {said}. Add a kind such as kernels = 4.")
    if not found:
        raise PassError(f"{where}: the file expects nothing. Add kernels = 4, or [[expect]] tables.")
    return found


def claim_of(item: Mapping[str, Any]) -> str:
    return f' ("{item["claim"]}")' if item.get("claim") else ""


def check(
    recordings: Mapping[str, Recording],
    data: Mapping[str, Any],
    *,
    where: str = "the expectations",
    lines: Sequence[Mapping[str, int]] = (),
) -> CheckReport:
    """Hold every expectation against its recordings, in the file's order; `lines` are those of `lines_of`.

    Raises PassError: an unknown key, name or value, each with the nearest known one.
    """
    outcomes: list[Outcome] = []
    items = entries(data, where)
    for number, item in enumerate(items, start=1):
        keys = lines[number - len(items) - 1] if lines else {}
        for name in [key for key in item if key in KINDS]:
            try:
                chosen = a_list(item["in"], "in") if "in" in item else list(recordings) or [""]
                if unknown := [here for here in chosen if here not in recordings and "in" in item]:
                    near = select.nearest(unknown[0], recordings)
                    raise PassError(f"there is no recording {unknown[0]!r}. {near}")
                for here in chosen[:1] if KINDS[name].across else chosen:
                    outcome = hold(name, Context(recordings, here), item[name])
                    subject = "all" if KINDS[name].across and "in" not in item else here
                    claim, note = item.get("claim") or outcome.claim, item.get("note")
                    outcomes.append(replace(outcome, subject=subject, claim=claim, note=note, line=keys.get(name)))
            except (PassError, *FOREIGN) as error:
                wrong = f"{item[name]!r:.80} is not a valid value ({error})."
                why = error if isinstance(error, PassError) else wrong
                raise PassError(f"{where}: expectation {number}{claim_of(item)}, {name}: {why}") from None
    return CheckReport(title=data.get("title"), outcomes=tuple(outcomes))


def hold(name: str, context: Context, value: object) -> Outcome:
    """Hold one expectation against its recording; of several parts that are not met, only those are shown."""
    status: Status = "cannot_tell"
    try:
        rows = list(rows_of(name, context, value))
    except NotRecorded as error:
        expected, found, reason = error.expected or words(value), error.found, str(error)
    except select.UnknownNameError as error:  # not a typo: another recording has it
        status, expected, found, reason = "not_met", words(value), str(error), None
    else:
        wrong = [row for row in rows if not row.holds]
        status = "not_met" if wrong else "met"
        parts = [list(dict.fromkeys(part for row in wrong or rows if (part := row[at]))) for at in (1, 2, 3)]
        expected, found, reason = ("; ".join(map(str, part)) for part in parts)
        reason = reason if wrong and reason else None
    sources = {(item.file, item.line): item for item in (sources_of(context, value) if status != "met" else ())}
    return Outcome(
        claim=f"{name} {expected}",
        kind=name,
        subject=context.here,
        status=status,
        expected=expected,
        found=found,
        reason=reason,
        sources=tuple(sources.values())[:MAX_SOURCES],
    )


def sources_of(context: Context, value: object) -> Iterator[Source]:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from sources_of(context, item)
    for part in value.split(" + ") if isinstance(value, str) else ():
        with contextlib.suppress(PassError):  # a word that names no place
            where, name = context.place(part.strip())
            nodes = select.nodes_named(context.recordings[where], name) if name else ()
            yield from (node.source for _, node in nodes if node.source and node.source.file and node.source.line)


def rows_of(name: str, context: Context, value: object) -> Iterator[Row]:
    kind = KINDS[name]
    if kind.takes == "own":
        yield from kind.read(context, value)
        return
    if kind.takes == "names":
        wanted = dict.fromkeys(a_list(value, name), kind.of_each)
    elif kind.takes == "number" or (kind.takes == "number or table" and not isinstance(value, dict)):
        wanted = {"" if kind.takes == "number" else "*": value}
    else:
        wanted = a_table(value, name, kind.example)
    for place, expected in wanted.items():
        for fact, shown, *reason in kind.read(context, place):
            is_number = isinstance(fact, (int, float)) and not isinstance(fact, bool)
            text = quantity.parse(expected).text if is_number else words(expected)
            text = kind.expected.format(place=place, wanted=text).strip()
            yield Row(is_as_expected(fact, expected), text, shown, *reason)


def words(value: object) -> str:
    """An expected value as a file has it: "gelu, mul", "aten::mm 3"."""
    if isinstance(value, dict):
        value = [f"{key} {item}" for key, item in cast("dict[str, Any]", value).items()]
    return shorten(", ".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else str(value), 400)
