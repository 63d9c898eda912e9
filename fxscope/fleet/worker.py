"""A process that digests traces: settings on the first line of standard input, a source a line; a digest a line back."""

from __future__ import annotations

import os
import signal
import sys

import msgspec

from fxscope.fleet.run import Settings, work
from fxscope.fleet.sources import Source


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is the parent's to answer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that a library prints gets between the answers
    settings = msgspec.json.decode(sys.stdin.buffer.readline(), type=Settings)
    for line in sys.stdin.buffer:
        answers.write(work(msgspec.json.decode(line, type=Source), settings) + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
