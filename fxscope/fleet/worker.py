"""A process that digests traces: a source a line of standard input, a digest a line back."""

import os
import signal
import sys

import msgspec

from fxscope.fleet.run import work
from fxscope.fleet.sources import Source


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is the parent's to answer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that a library prints gets between the answers
    for line in sys.stdin.buffer:
        answers.write(work(msgspec.json.decode(line, type=Source)) + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
