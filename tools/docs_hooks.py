"""Pages of the documentation that are made when it is built: the verbs' help, the Python API, a page for a recording.

mkdocs calls these hooks; nothing that they make is committed.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
# A file of the repository that is no page: the site does not have it, so its name stands there without a link.
OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?!#)[^)]*\)")


def on_config(config: Any) -> Any:
    """Add each decision to the navigation."""
    decisions = sorted(path.name for path in (ROOT / "docs/decisions").glob("*.md"))
    config.nav[-1] = {"Decisions": [f"decisions/{name}" for name in decisions]}
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    pages = {"reference/verbs.md": verbs(), "reference/python.md": python(), "live.html": live()}
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def verbs() -> str:
    """The help of every verb."""
    from fxscope import cli

    os.environ["COLUMNS"] = "100"
    parser = cli.build_parser()
    (children,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    parts = ["# Verbs\n\n`fxscope VERB --help` prints these."]
    for name, child in children.choices.items():
        parts.append(f"## {name}\n\n```text\n{child.format_help().strip()}\n```")
    return "\n\n".join(parts) + "\n"


def python() -> str:
    """Signature and docstring of every public name."""
    import fxscope

    parts = ["# Python\n\nEverything here is `fxscope.NAME`, and is loaded when it is first used. The fields of a recording: "
             "[schema](../schema.md)."]  # fmt: skip
    for name in fxscope.__all__:
        value = getattr(fxscope, name)
        if not callable(value):
            continue
        parts.append(f"## {name}\n\n{described(name, value)}")
        for method, function in sorted(vars(value).items()) if inspect.isclass(value) else ():
            if inspect.isfunction(function) and function.__doc__ and not method.startswith("_"):
                parts.append(f"### {name}.{method}\n\n{described(method, function)}")
    return "\n\n".join(parts) + "\n"


def described(name: str, value: Any) -> str:
    """The signature and the docstring, as code: docstrings are written for `help()`."""
    try:
        signature = f"{name}{inspect.signature(value)}"
    except (TypeError, ValueError):
        signature = name
    if len(signature) > 2000 or " = <" in signature:  # a record's fields are in the schema
        signature = name
    return f"```python\n{signature}\n```\n\n```text\n{inspect.getdoc(value) or ''}\n```"


def live() -> str:
    """The page of the H200 recordings that come with fxscope."""
    import fxscope
    from fxscope.render import render

    recordings = [fxscope.load(ROOT / f"fxscope/data/h200/{name}.fxscope") for name in ("mlp_eager", "mlp_compiled")]
    return str(render(recordings[1], "html"))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Take links to files outside of docs/ away."""
    if page.file.src_uri.startswith("decisions/"):
        return re.sub(r"\[([^\]]+)\]\(\.\./\.\./[^)]*\)", r"`\1`", markdown)
    return OUTSIDE.sub(r"`\1`", markdown) if "/" not in page.file.src_uri else markdown
