"""Ends verbs by SIGINT, SIGTERM and SIGHUP at seeded moments: what they write is whole or absent, and nothing else is left.

    python tools/interrupt.py [trace|view|fleet|run …] [--count 25] [--seed 0]

A finding is printed with its seed and ends the run with exit code 1.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
sys.path.insert(0, str(ROOT))

from fxscope import store  # noqa: E402
from tools.fuzz_formats import Finding  # noqa: E402

PLAN = DATA / "h200" / "plans" / "geglu" / "real"
PROGRAM = """import time, torch
f = torch.compile(lambda x: x.sin() + 1, backend="eager")
for _ in range(40):
    f(torch.ones(8)).sum()
    time.sleep(0.02)
"""
VERBS = {
    "trace": f"view {PLAN / 'trace.json.gz'} --debug-dir {PLAN / 'inductor'} -o out.fxscope -o out.html -o out.svg",
    "view": "view in.fxscope -o out.json -o out.html -o out.svg -o out.md",
    "fleet": f"fleet {DATA / 'fleet' / 'ddp_even'} --jobs 2 -o out.html -o out.json",
    "run": "run -o out.fxscope program.py",
}
ENDS = {
    signal.SIGINT: {0, 130, -signal.SIGINT},
    signal.SIGTERM: {0, -signal.SIGTERM},
    signal.SIGHUP: {0, -signal.SIGHUP},
}
# Of programs that were called with fxscope: Inductor's and Triton's caches.
THEIRS = ("torchinductor_", "tmp", "pymp-", "torch-")


class Harness:
    """One verb, run to its end once: how long it takes, and what it writes."""

    def __init__(self, verb: str, folder: Path) -> None:
        self.verb, self.folder = verb, folder
        self.begin = time.monotonic()
        self.start("whole").communicate()
        self.takes_s = time.monotonic() - self.begin
        self.whole = self.outputs("whole")
        if not self.whole:
            raise Finding(f"{verb} wrote nothing")

    def start(self, name: str) -> subprocess.Popen[str]:
        """Start the verb in a folder of its own."""
        for part in ("work", "temporary"):
            (self.folder / name / part).mkdir(parents=True)
        work = self.folder / name / "work"
        (work / "program.py").write_text(PROGRAM)
        (work / "in.fxscope").write_bytes((DATA / "checks" / "linear_live.fxscope").read_bytes())
        environment = {**os.environ, "TMPDIR": str(self.folder / name / "temporary"), "PYTHONPATH": str(ROOT)}
        environment["PYTHONFAULTHANDLER"] = "1"
        command = [sys.executable, "-m", "fxscope", *VERBS[self.verb].split()]
        # A group of its own: ctrl-C of a terminal goes to the children, too.
        return subprocess.Popen(
            command,
            cwd=work,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # What a shell starts in the background ignores ctrl-C, and so would what it starts; `dot` does not ignore it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def ended(self, process: subprocess.Popen[str]) -> str:
        """Return what it says to the end. Raises Finding, with the stacks of its threads, where it does not end."""
        try:
            return process.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # faulthandler says where it is
            raise Finding(f"{self.verb} goes on a minute after a signal: {process.communicate()[1][-4000:]}") from None

    def outputs(self, name: str) -> dict[str, bytes]:
        """Return what lies in the folder after a run. Raises Finding where anything is not meant to."""
        given = {"program.py", "in.fxscope"}
        work = self.folder / name / "work"
        found = {str(path.relative_to(work)): path for path in work.rglob("*") if path.is_file()}
        strange = [
            item for item in found if not item.startswith("out.") and item not in given and "__pycache__" not in item
        ]
        left = [p.name for p in (self.folder / name / "temporary").iterdir() if not p.name.startswith(THEIRS)]
        if strange or left:
            raise Finding(f"files that stay: {strange} {left}")
        return {item: path.read_bytes() for item, path in found.items() if item.startswith("out.")}

    def trial(self, seed: int) -> None:
        """End it at a moment. Raises Finding."""
        chance = random.Random(f"{self.verb} {seed}")
        # SIGTERM and SIGHUP end a script that is recorded at once.
        number = chance.choice([signal.SIGINT] if self.verb == "run" else list(ENDS))
        # Later moments more often: there the files are written.
        moment = self.takes_s * 1.05 * chance.random() ** 0.5
        name = str(seed)
        process = self.start(name)
        try:
            _, said = process.communicate(timeout=moment)
        except subprocess.TimeoutExpired:
            process.send_signal(number) if number == signal.SIGTERM else os.killpg(process.pid, number)
            said = self.ended(process)
        where = f"{self.verb}, seed {seed}, {number.name} after {moment:.2f} s"
        if process.returncode not in ENDS[number]:
            raise Finding(f"{where}: ends with {process.returncode}: {said[-2000:]}")
        try:
            found = self.outputs(name)
        except Finding as finding:
            raise Finding(f"{where}: {finding}") from None
        if process.returncode == 0 and set(found) != set(self.whole):
            raise Finding(f"{where}: ends well and wrote {sorted(found)}")
        for item, data in found.items():
            if self.verb == "run":
                store.load(self.folder / name / "work" / item)
            elif data != self.whole[item]:
                raise Finding(f"{where}: {item} is not what a whole run writes")


def main() -> int:
    """Run the chosen verbs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("verbs", nargs="*", default=list(VERBS))
    parser.add_argument("--count", type=int, default=25, help="for each")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for verb in arguments.verbs:
        with tempfile.TemporaryDirectory() as folder:
            try:
                harness = Harness(verb, Path(folder))
                for seed in range(arguments.seed, arguments.seed + arguments.count):
                    harness.trial(seed)
            except Finding as finding:
                print(f"{verb}: {finding}")
                return 1
        print(f"{verb}: ended {arguments.count} times, no finding (a whole run takes {harness.takes_s:.1f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
