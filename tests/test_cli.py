"""The command line's frame: verbs, exit codes, what goes to stdout, and that mistakes are one line."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fxscope import cli, store
from tests import build

ROOT = Path(__file__).parent.parent


def fxscope(*arguments: str | Path, **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fxscope", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **options)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return store.write(tmp_path / "mlp.fxscope", store.encode(build.mlp_compiled()))


def test_every_verb_has_a_module_with_the_two_functions() -> None:
    for verb in cli.VERBS:
        module = cli.module(verb)
        assert callable(module.configure) and callable(module.run), verb


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main([verb, "--help"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: fxscope {verb}")


def test_view_prints_the_recording_and_nothing_else_on_stdout(saved: Path) -> None:
    done = fxscope("view", saved)
    assert done.returncode == 0 and done.stderr == ""
    assert "triton_poi_fuse" in done.stdout and "\x1b[" not in done.stdout
    assert done.stdout.startswith("mlp_compiled")


def test_json_goes_to_stdout_alone(saved: Path) -> None:
    for arguments in (("--json",), ("--format", "json")):
        done = fxscope("view", saved, *arguments)
        assert json.loads(done.stdout)["schema"] == "fxscope/1" and done.stderr == ""


def test_output_files_by_suffix_several_at_once(saved: Path, tmp_path: Path) -> None:
    done = fxscope("view", saved, "-o", tmp_path / "x.dot", "-o", tmp_path / "x.md", "-o", tmp_path / "x.json")
    assert done.returncode == 0 and done.stdout == ""
    assert (tmp_path / "x.dot").read_text().startswith("digraph")
    assert "```mermaid" in (tmp_path / "x.md").read_text()
    assert store.load(tmp_path / "x.json") == build.mlp_compiled()


def test_an_existing_file_is_refused_before_anything_is_written(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text("mine")
    done = fxscope("view", saved, "-o", tmp_path / "x.dot", "-o", tmp_path / "x.md")
    assert done.returncode == 2 and "exists. Use --force" in done.stderr and done.stderr.count("\n") == 1
    assert (tmp_path / "x.md").read_text() == "mine" and not (tmp_path / "x.dot").exists()
    assert fxscope("view", saved, "-o", tmp_path / "x.md", "--force").returncode == 0
    assert (tmp_path / "x.md").read_text() != "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["view", "missing.fxscope"], "cannot read missing.fxscope"),
        (["view", "{saved}", "-o", "x.pdf"], "names no format"),
        (["view", "{saved}", "--format", "pdf"], "no format 'pdf'"),
        (["view", "{saved}", "--stage", "joint", "--format", "dot"], "no stage 'joint'"),
        (["view", "{saved}", "--stage", "foo"], "--stage foo: there is no such stage. Choose one of eager, pre_grad"),
        (["view", "{saved}", "--stage", "joint"], "no stage 'joint'. It has"),
        (["view", "{saved}", "--stage", "0/9:forward"], "no stage '0/9:forward'. It has"),
        (["view", "{text}"], "is not a recording"),
        (["view", "{saved}", "{saved}", "--format", "svg"], "several recordings go into one .html page"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(saved: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    done = fxscope(*[part.format(saved=saved, text=text) for part in arguments], cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr and "Traceback" not in done.stderr and done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_an_unknown_verb_lists_those_there_are() -> None:
    done = fxscope("paint")
    assert done.returncode == 2 and "invalid choice: 'paint'" in done.stderr and "trace" in done.stderr


def test_a_reader_that_goes_away_is_no_error(saved: Path) -> None:
    command = f"{sys.executable} -m fxscope view {saved} --format json | head -c 10"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout == '{\n "schema'[:10] and "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


@pytest.mark.parametrize("verb", ["demo -o pictures", "run script.py", "dispatch add", "env --dump-gpu gpu.json"])
@pytest.mark.parametrize(
    "broken", ["raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')", "import _torch_c"]
)
def test_without_a_torch_that_can_be_imported_there_is_one_line(verb: str, broken: str, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(broken + "\n")
    (tmp_path / "script.py").write_text("print('ran')\n")
    done = fxscope(*verb.split(), cwd=tmp_path, env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"})
    assert done.returncode == 2, done.stderr
    assert "this needs torch, which cannot be imported here" in done.stderr and "fxscope doctor" in done.stderr
    assert done.stderr.count("\n") == 1 and done.stdout == ""
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == {"torch.py", "script.py"}  # nothing written


def test_another_import_that_fails_keeps_its_traceback(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "rich.py").write_text("import nothing_of_this_name\n")
    done = fxscope("view", saved, cwd=tmp_path, env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"})
    assert done.returncode == 1 and done.stderr.endswith(
        "ModuleNotFoundError: No module named 'nothing_of_this_name'\n"
    )


def test_a_packed_recording_is_read_by_every_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "packed.json.gz"
    path.write_bytes(gzip.compress(build.mlp_compiled().to_json().encode()))
    for command in (["view", path], ["why", path], ["explain", path], ["diff", path, path]):
        assert cli.main([str(word) for word in command]) == 0, command
    (tmp_path / "packed.fxscope").write_bytes(path.read_bytes()[:60])
    assert cli.main(["why", str(tmp_path / "packed.fxscope")]) == 2
    assert "damaged or truncated gzip" in capsys.readouterr().err


def test_a_folder_is_no_trace_and_its_traces_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["trace", str(tmp_path)]) == 2
    assert "is a folder: name the trace, a .json or .json.gz file" in capsys.readouterr().err
    for name in ("rank1.json.gz", "rank0.json", "notes.txt"):
        (tmp_path / name).touch()
    for command in (["trace", str(tmp_path)], ["trace", str(tmp_path), "--tables"]):
        cli.main(command)
        said = capsys.readouterr().err
        assert "name the trace in it (rank0.json and rank1.json.gz)" in said and f"fxscope fleet {tmp_path}" in said


def test_a_dash_is_no_file(tmp_path, monkeypatch, capsys):
    recording = Path("fxscope/data/h200/linear_eager.fxscope").resolve()
    monkeypatch.chdir(tmp_path)
    assert cli.main(["view", str(recording), "-o", "-", "--format", "json"]) == 2
    assert "--format NAME goes to stdout" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
