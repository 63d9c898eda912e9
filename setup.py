"""The native scanner, which reads traces at memory speed. Without it the same columns come from msgspec, slower.

FXSCOPE_SCANNER=none leaves it out (a wheel for every platform); =required fails where it cannot be compiled.

FXSCOPE_ADDRESS, which the release workflow sets, is the repository that [project.urls] point to.
"""

import os

from setuptools import Extension, setup

WANTED = os.environ.get("FXSCOPE_SCANNER", "optional")
SCANNER = Extension("fxscope.readers.trace._scan", ["fxscope/readers/trace/_scan.c"], optional=WANTED != "required")
ADDRESS = os.environ.get("FXSCOPE_ADDRESS")
PAGES = {"Source": ADDRESS, "Issues": f"{ADDRESS}/issues", "Changelog": f"{ADDRESS}/blob/main/CHANGELOG.md"}
setup(ext_modules=[] if WANTED == "none" else [SCANNER], project_urls=PAGES if ADDRESS else {})
