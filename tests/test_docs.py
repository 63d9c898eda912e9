"""The documentation site builds without a warning, and the commands of its pages run as they stand there."""

import argparse
import os
import re
import sys
import textwrap
from pathlib import Path

import pytest

from fxscope.cli import VERBS, build_parser
from tests.processes import run_program, run_python

ROOT = Path(__file__).parent.parent
PATHS = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])

TRAIN = """
import torch
def step(x, y):
    return torch.nn.functional.gelu(x) * y
for _ in range(4):
    step(torch.ones(64, 64), torch.ones(64, 64))
"""
MODEL = "import torch\ndef factory(): return torch.nn.Linear(4, 4), (torch.ones(2, 4),)\n"
LOG = 'V0804 12:34:15.353000 1 torch/_x.py:1] {"dynamo_start": {"stack": []}, "frame_id": 0, "frame_compile_id": 0}\n'
RANKS, MLP = "tests/data/fleet/ddp_slow_gpu", "tests/data/h200/mlp_compiled"
# What the pages call the files that a reader has: a text, or the path of one in this repository.
TEXTS = {"train.py": TRAIN, "model.py": MODEL}
TEXTS |= {f"LOGS/dedicated_log_torch_trace_rank_{rank}_x.log": LOG for rank in (0, 1)}
FILES = {name: name for name in ("fxscope", "tests")}
FILES |= {name: f"{MLP}/{name}" for name in ("trace.json.gz", "torch_trace.log.gz")}
FILES |= {"torch_compile_debug/…": f"{MLP}/inductor", "eager.fxscope": "fxscope/data/h200/mlp_eager.fxscope"}
FILES |= {"FOLDER": RANKS, "rank0.json.gz": f"{RANKS}/rank0.json.gz", "rank7.json.gz": f"{RANKS}/rank3.json.gz"}
FILES |= {f"profile_traces/iteration_20/rank{rank}.json.gz": f"{RANKS}/rank{rank}.json.gz" for rank in (0, 1)}
# Commands that do not run here: where they run, or why they cannot.
ELSEWHERE = {
    "fxscope check tests/data/h200/{": "tests/checks/test_article.py",
    "fxscope fleet FOLDER --on ray": "tests/fleet/test_cluster.py",
    "fxscope mcp .": "tests/agents/test_mcp.py",
    "pip ": "tests/test_wheel.py",
    "make ": ".ci/run",
    "tools/bare.sh ": ".ci/run",
    "python action/compare.py ": "tests/agents/test_action.py",
    "python benchmarks/": "measures: minutes of an idle machine, a GPU, or other tools",
    "python3 tools/zoo.py ": "plans 77 programs: minutes of 16 cores",
    "tools/test_with_torch.sh ": "installs another torch",
}
MODELS = "from fxscope._torch.programs import geglu\nmodel, (x,) = geglu.make()\nmlp = model\n"
PYTHON = f"from fxscope.model import Recording\n{MODELS}"


def blocks(page: Path, language: str) -> list[str]:
    found = re.findall(r"^ *```(.*?)\n(.*?)^ *```$", page.read_text(), re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(text) for name, text in found if name == language]


def commands(page: Path) -> list[str]:
    """The commands of a page's blocks without a language; what stands after `$ ` with its output has its own tests."""
    found = [line.strip() for block in blocks(page, "") for line in block.splitlines()]
    found += re.findall(r"^    (\S.*)", page.read_text(), re.MULTILINE)
    return [line for line in found if line.startswith(("fxscope ", "printf ", "python", "tools/", *ELSEWHERE))]


PAGES = [path for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")) if commands(path) or blocks(path, "python")]


@pytest.mark.slow
@pytest.mark.cpp
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_and_python_block_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    for name in (*TEXTS, *FILES):
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(TEXTS[name]) if name in TEXTS else place.symlink_to(ROOT / FILES[name])
    prelude = f"""fxscope() {{ '{sys.executable}' -m fxscope "$@"; }}\n"""
    for command in commands(page):
        if not command.startswith(tuple(ELSEWHERE)):
            done = run_program("bash", "-c", prelude + command, cwd=tmp_path, PYTHONPATH=PATHS)
            assert done.returncode == 0, (command, done.stderr)
    (tmp_path / "python").mkdir()
    for block in blocks(page, "python"):
        (tmp_path / "python/block.py").write_text(PYTHON + block)
        words = ("-m", "pytest", "-q", "block.py") if "def test_" in block else ("block.py",)
        done = run_python(*words, cwd=tmp_path / "python", PYTHONPATH=PATHS)
        assert done.returncode == 0, (block, done.stdout + done.stderr)


def test_every_page_and_every_command_that_is_left_to_others_is_found() -> None:
    found = {command for page in PAGES for command in commands(page)}
    assert all((ROOT / file).exists() for file in re.findall(r"(?:benchmarks|tools|action)/\w+\.\w+", "\n".join(found)))
    assert {"README", "SKILL", "agents", "fleet", "index", "target", "tutorial"} <= {page.stem for page in PAGES}
    for start, test in ELSEWHERE.items():
        assert any(command.startswith(start) for command in found) and ((ROOT / test).exists() or " " in test), start


def test_the_skill_has_what_a_client_reads() -> None:
    text = (ROOT / "SKILL.md").read_text()
    assert text.startswith("---\nname: fxscope\ndescription: ") and len(text.split("---")[1]) < 1024
    verbs = {command.split()[1] for command in commands(ROOT / "SKILL.md") if command.startswith("fxscope ")}
    assert verbs == {"run", "view", "why", "diff", "check"}


def test_every_file_and_verb_is_named_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    for name in re.findall(r"(?:docs|benchmarks|examples|fxscope/data)/[\w/.]+\.\w+", readme):
        assert (ROOT / name).exists(), name
    assert not [verb for verb in VERBS if f"`{verb}`" not in readme]


def test_no_text_installs_fxscope_from_an_index_that_does_not_have_it() -> None:
    places = ("docs/**/*.md", "docs/**/*.ipynb", "*.md", "action/*", "fxscope/**/*.py", "fxscope/data/*.json")
    places += ("packaging/**/*.yaml",)
    texts = {path: path.read_text() for place in places for path in ROOT.glob(place)}
    index = re.compile(r"(?:pip install|uvx|pipx run)(?: -\S+)* \\?['\"]?fxscope(?![\w/]|\[\w+\] @)")
    assert not [(path, found[0]) for path, text in texts.items() if (found := index.search(text))]


def test_every_command_in_any_text_has_a_verb_and_options_that_exist() -> None:
    (verbs,) = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    places = ("docs/**/*.md", "examples/**/*.md", ".github/**/*.yml", "*.md", "action/*")
    texts = {path: path.read_text() for place in places for path in ROOT.glob(place) if path.name != "CHANGELOG.md"}
    command = re.compile(
        r"(?:`|^\$ |\"|record: |^ *|\| )fxscope ([a-z][a-z-]*)(?=[ `])((?: [^`\n|]*)?)`?", re.MULTILINE
    )
    found = [(path, *match.groups()) for path, text in texts.items() for match in command.finditer(text)]
    found = [item for item in found if item[1] not in ("also", "records", "runs", "supports")]  # sentences
    assert len(found) > 100
    for path, verb, rest in found:
        assert verb in verbs.choices, (path, verb)
        known = {option for action in verbs.choices[verb]._actions for option in action.option_strings}
        own = re.split(r" #|\.py(?![:\w])", rest)[0]  # what follows a script is the script's
        assert known.issuperset(re.findall(r"(?<= )--[a-z][a-z-]*", own)), (path, verb, rest)


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="needs mkdocs-material")
    done = run_python("-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path, cwd=ROOT)
    assert done.returncode == 0 and "WARNING -" not in done.stderr, done.stderr
    verbs = (tmp_path / "reference/verbs/index.html").read_text()
    assert not [name for name in VERBS if f'<h2 id="{name}">' not in verbs]
    assert "numerics" in (tmp_path / "reference/python/index.html").read_text()
    assert "Content-Security-Policy" in (tmp_path / "live.html").read_text()
    links = re.findall(r'<a href="([^"#]+)" class="md-nav__link', (tmp_path / "index.html").read_text())
    assert len(links) > 15 and len(links) == len(set(links))


def test_the_changelog_has_one_short_line_for_each_change() -> None:
    text = (ROOT / "CHANGELOG.md").read_text().partition("## [0.2.0]")[2]
    lines = [line for line in text.splitlines()[1:] if line and not line.startswith("###")]
    assert len(lines) <= 60 and all(line.startswith("- ") and len(line) <= 160 for line in lines)
