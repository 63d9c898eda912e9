"""Compare a branch with its base: record or plan both, check expectations, write one Markdown comment.

    python action/compare.py --base SHA --record "fxscope run --target h200 model.py:factory -o {output}"
        [--expect perf.toml] [--gate decisions|expectations|none] [--name fxscope] [--link URL]

The command runs once in this checkout and once in a worktree of the base commit. Exit code 1 if an expectation is not met,
if the program fails and its base does not, or, with `decisions`, if it has more kernels, graphs or graph breaks than its
base, or a pair that the base fuses is not fused. Times are reported and gate nothing: another runner has other times.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

WORSE = ("kernels per step", "kernel calls in compiled code", "compiled graphs", "graph breaks")  # if there are more
WIDTH = 72  # characters of the longest strip
LONGEST = 60_000  # of a comment; GitHub takes 65,536 characters


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", required=True, help="the commit to compare with")
    parser.add_argument("--record", required=True, help="the command that records; {output} is its .fxscope file")
    parser.add_argument("--expect", default="", help="a .toml file of expectations")
    parser.add_argument("--gate", choices=("decisions", "expectations", "none"), default="decisions")
    parser.add_argument("--name", default="fxscope", help="of the comment; NAME-report is the folder of the files")
    parser.add_argument("--link", default="", help="where the page can be downloaded")
    arguments = parser.parse_args()
    if not re.fullmatch(r"\w[\w.-]*", arguments.name):
        sys.exit(f"--name {arguments.name!r} is not a name: letters, digits, '.', '-' and '_'.")
    folder = Path(f"{arguments.name}-report").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return compare(arguments, folder)
    except SystemExit as end:  # what keeps it from an answer replaces the comment of an earlier run, too
        title = "The comparison"
        text = comment([], [(title, fenced(str(end)))], [title], arguments.name, arguments.link)
        (folder / "comment.md").write_text(text, encoding="utf-8")
        print(text)
        raise


def compare(arguments: argparse.Namespace, folder: Path) -> int:
    base, head = folder / "base.fxscope", folder / "head.fxscope"
    code, said = record(arguments.record, head, Path.cwd())
    if not head.exists():
        sys.exit(said)
    with tempfile.TemporaryDirectory() as place:
        run("git", "worktree", "add", "--detach", place, arguments.base)
        try:
            base_code, failed = record(arguments.record, base, Path(place))
        finally:
            run("git", "worktree", "remove", "--force", place)
    failed = "" if base.exists() else failed
    recordings = [head] if failed else [base, head]
    fxscope("view", *recordings, "-o", folder / "page.html", "--force")
    tables: list[tuple[str, str, bool]] = []
    if code:  # it ended with an error after it was recorded, which may be how it always ends
        tables.append(("The program", fenced(said), code == base_code and not failed))
    if arguments.expect:
        tables.append(("Expectations", *check(head, Path(arguments.expect).resolve(), folder)))
    if failed:  # as in the pull request that adds the program
        tables.append(("Nothing to compare with", fenced(failed), True))
    else:
        for suffix in ("md", "json"):
            fxscope("diff", base, head, "-o", folder / f"diff.{suffix}", "--force")
    if arguments.gate == "decisions" and not failed:
        worse = worse_than_base(json.loads((folder / "diff.json").read_text(encoding="utf-8")))
        kept = "No more kernels, graphs or graph breaks; no fused pair is no longer fused."
        tables.append(("Comparison with the base branch", fenced("\n".join(worse)) if worse else kept, not worse))
    broken = [title for title, _, passed in tables if not passed]
    changes = "" if failed else (folder / "diff.md").read_text(encoding="utf-8").strip()
    drawn = strip(recordings, folder)
    text = comment(
        [changes, drawn], [(title, table) for title, table, _ in tables], broken, arguments.name, arguments.link
    )
    (folder / "comment.md").write_text(text, encoding="utf-8")
    print(text)
    return 1 if broken and arguments.gate != "none" else 0


def record(command: str, output: Path, checkout: Path) -> tuple[int, str]:
    """Run the recording command in a checkout; return its exit code and what it says of a failure."""
    output.unlink(missing_ok=True)
    try:
        words = [word.replace("{output}", str(output)) for word in shlex.split(command)]
        if words[:1] == ["fxscope"]:
            words[:1] = [sys.executable, "-m", "fxscope"]
        done = subprocess.run(words, cwd=checkout, capture_output=True, text=True, check=False)
    except (OSError, ValueError, IndexError) as error:  # such as a quote that is not closed
        sys.exit(f"--record {command!r} cannot be run: {error}. It is one program with its arguments.")
    ended = "ended" if output.exists() else "made no recording"
    said = f"{command} {ended} in {checkout} (exit code {done.returncode}):\n{done.stderr[-2000:].strip()}"
    return done.returncode, said


def fenced(text: str) -> str:
    quoted = text.replace("```", "'''")
    return f"```text\n{quoted}\n```"


def strip(recordings: list[Path], folder: Path) -> str:
    """The kernels of a step by their time, one line a recording, all to one scale."""
    steps: list[tuple[str, float, list[dict[str, Any]]]] = []
    for recording in recordings:
        answer = folder / f"{recording.stem}.json"
        fxscope("view", recording, "--format", "report", "-o", answer, "--force")
        report = json.loads(answer.read_text(encoding="utf-8"))
        rows = sorted((row for row in report["groups"] if row["time_us"]), key=lambda row: row["order"])
        steps.append((recording.stem, report["step"]["device_us"] or 0.0, rows))
    longest = max(total for _, total, _ in steps)
    lines: list[str] = []
    for name, total, rows in steps if longest else ():
        bars = [(row["label"], round(WIDTH * row["time_us"] / longest)) for row in rows]
        drawn = "".join("|" + label[: width - 1].center(width - 1, "-") for label, width in bars if width)
        lines.append(f"{name} {drawn}| {total:,.1f} µs")
    return fenced("\n".join(lines)) if longest else ""


def worse_than_base(diff: dict[str, Any]) -> list[str]:
    """What the base does better, one line each; fewer kernels, graphs or breaks are no fault."""
    totals = {item["subject"]: (item.get("a"), item.get("b")) for item in diff["totals"]}
    counts = [(subject, *totals.get(subject, (None, None))) for subject in WORSE]
    found = [f"{subject}: {a:g} → {b:g}" for subject, a, b in counts if a is not None and b is not None and b > a]
    return found + [
        f"{' + '.join(item['pair'])}: fused → not fused ({item['b_reason']})"
        for item in diff["decisions"]
        if item["a_verdict"] == "fused" and item["b_verdict"] != "fused"
    ]


def check(head: Path, expectations: Path, folder: Path) -> tuple[str, bool]:
    """Hold the recording against a file; its table, and whether everything is met."""
    table, junit = (folder / f"check-{expectations.stem}.{suffix}" for suffix in ("md", "xml"))
    codes = [fxscope("check", head, expectations, "-o", file, "--force", codes=(0, 1)) for file in (table, junit)]
    return table.read_text(encoding="utf-8"), codes == [0, 0]


def comment(parts: list[str], tables: list[tuple[str, str]], broken: list[str], name: str, link: str) -> str:
    """One comment: the verdict, what changed, the strip, the checks, the page."""
    verdict = f"❌ failed: {', '.join(broken)}" if broken else "✅ passed"
    page = f"[The page with both recordings]({link})" if link else ""
    parts = [f"<!-- {name} -->", f"## {name}: {verdict}", *filter(None, [page, *parts])]
    for title, table in tables:
        state = " open" if title in broken else ""
        parts.append(f"<details{state}><summary>{title}</summary>\n\n{table.strip()}\n\n</details>")
    text = "\n\n".join(parts)
    if len(text) > LONGEST:
        text = text[:LONGEST].rstrip()
        ends = (
            "\n```" if text.count("```") % 2 else "",
            "\n\n</details>" * (text.count("<details") - text.count("</details>")),
        )
        text += "".join(ends) + "\n\n… the rest is in the artefact"
    return text + "\n"


def fxscope(verb: str, *words: str | Path, codes: tuple[int, ...] = (0,)) -> int:
    return run(sys.executable, "-m", "fxscope", verb, *map(str, words), codes=codes)


def run(*words: str, codes: tuple[int, ...] = (0,)) -> int:
    """Run a program; leave with its message where it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        sys.exit(f"{shlex.join(words)} failed:\n{done.stderr[-2000:]}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
