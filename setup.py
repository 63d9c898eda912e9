"""The native scanner, which reads traces at memory speed. Without it the same columns come from msgspec, slower.

FXSCOPE_SCANNER=none leaves it out (a wheel for every platform); =required fails where it cannot be compiled.
"""

import os

from setuptools import Extension, setup

WANTED = os.environ.get("FXSCOPE_SCANNER", "optional")
SCANNER = Extension("fxscope.readers.trace._scan", ["fxscope/readers/trace/_scan.c"], optional=WANTED != "required")
setup(ext_modules=[] if WANTED == "none" else [SCANNER])
