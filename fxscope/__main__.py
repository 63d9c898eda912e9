"""`python -m fxscope` is the command `fxscope`."""

import sys

from fxscope.cli import main

sys.exit(main())
