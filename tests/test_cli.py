"""The command line's frame: verbs, exit codes, what goes to stdout, and that mistakes are one line."""

import gzip
import json
import os
import sys
from functools import partial
from pathlib import Path

import pytest

from fxscope import cli, store
from tests import build
from tests.processes import run_program, run_python

ROOT = Path(__file__).parent.parent
fxscope = partial(run_python, "-m", "fxscope")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return build.mlp_compiled().save(tmp_path / "mlp.fxscope")


@pytest.mark.parametrize("verb", cli.VERBS | cli.MORE_VERBS)
def test_every_verb_explains_itself(verb: str, command) -> None:
    usage, *_ = command(verb, "--help").out.splitlines()
    assert usage.startswith(f"usage: fxscope {verb}") and callable(cli.module(verb).run)
    subparsers = next(action for action in cli.build_parser(verb)._actions if action.dest == "verb")
    required = [action.metavar or action.dest for action in subparsers.choices[verb]._actions if action.required]
    assert not [word for word in required if f"[{word}" in usage and f" {word}" not in usage]


def test_view_prints_the_recording_and_nothing_else_on_stdout(saved: Path) -> None:
    done = fxscope("view", saved)
    assert done.returncode == 0 and done.stderr == ""
    assert "gelu·mul" in done.stdout and "\x1b[" not in done.stdout
    assert "triton_poi_fuse" in fxscope("view", saved, "--all").stdout
    assert done.stdout.startswith("mlp_compiled")


def test_json_goes_to_stdout_alone(saved: Path) -> None:
    for arguments, schema in ((("--json",), "fxscope-report/1"), (("--format", "json"), "fxscope/2")):
        done = fxscope("view", saved, *arguments)
        assert json.loads(done.stdout)["schema"] == schema and done.stderr == ""


def test_output_files_by_suffix_several_at_once(saved: Path, tmp_path: Path) -> None:
    done = fxscope("view", saved, "-o", tmp_path / "x.dot", "-o", tmp_path / "x.md", "-o", tmp_path / "x.json")
    assert done.returncode == 0 and done.stdout == ""
    assert (tmp_path / "x.dot").read_text().startswith("digraph")
    assert "\nKernels, 222.4 µs of device time" in (tmp_path / "x.md").read_text()
    assert store.load(tmp_path / "x.json") == build.mlp_compiled()


def test_a_stage_is_for_the_outputs_that_draw_one(saved: Path, tmp_path: Path) -> None:
    whole, picture = tmp_path / "x.fxscope", tmp_path / "x.dot"
    assert cli.main(["view", str(saved), "--stage", "post_grad", "-o", str(whole), "-o", str(picture)]) == 0
    assert store.load(whole) == store.load(saved) and "post_grad" in picture.read_text()


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
        (["view", "{saved}", "--stage", "foo"], "the recording has no stage 'foo'. It has"),
        (["view", "{saved}", "--stage", "joint"], "no stage 'joint'. It has"),
        (["view", "{saved}", "--stage", "0/9:forward"], "no stage '0/9:forward'. It has"),
        (["view", "{text}"], "is not JSON. fxscope reads what"),
        (["view", "{saved}", "{saved}", "--format", "dot"], "several recordings go into one page or picture"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(saved: Path, here: Path, arguments: list[str], message: str, command) -> None:
    (here / "notes.txt").write_text("hello")
    done = command(*[part.format(saved=saved, text="notes.txt") for part in arguments], status=2)
    assert message in done.err and done.err.count("\n") == 1 and done.out == ""


@pytest.mark.parametrize("words", (Path(__file__).parent / "useless_options.txt").read_text().splitlines())
def test_an_option_that_would_do_nothing_is_refused(words: str, command, here: Path) -> None:
    Path("x.py").write_text("raise SystemExit('it ran')\n")
    before = dict(os.environ)
    error = command(*words.split(), status=2).err
    assert {**os.environ, "KINETO_LOG_LEVEL": "6"} == {**before, "KINETO_LOG_LEVEL": "6"}
    said, *usage = error.splitlines()
    assert "means nothing here: " in said, error
    assert all(line.startswith(f"usage: fxscope {words.split()[0]} ") for line in usage) and len(usage) <= 1
    assert [path.name for path in here.iterdir()] == ["x.py"]


@pytest.mark.parametrize("words", (Path(__file__).parent / "wrong_calls.txt").read_text().splitlines())
def test_a_wrong_call_prints_the_usage_of_the_verb(words: str, command) -> None:
    lines = command(*words.split(), status=2).err.splitlines()
    usage = f"usage: fxscope {words.split()[0]} "
    assert len(lines) == 2 and sum(line.startswith(usage) for line in lines) == 1, lines


def test_an_unknown_verb_lists_those_there_are() -> None:
    done = fxscope("paint")
    assert done.returncode == 2 and "invalid choice: 'paint'" in done.stderr and "view" in done.stderr


def test_a_reader_that_goes_away_is_no_error(saved: Path) -> None:
    command = f"{sys.executable} -m fxscope view {saved} --format json | head -c 10"
    done = run_program("bash", "-o", "pipefail", "-c", command)
    assert done.stdout == '{\n "schema'[:10] and "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


@pytest.mark.parametrize("verb", ["demo -o pictures", "run script.py", "dispatch add", "calibrate -o gpu.json"])
@pytest.mark.parametrize(
    "broken", ["raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')", "import _torch_c"]
)
def test_without_a_torch_that_can_be_imported_there_is_one_line(verb: str, broken: str, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(broken + "\n")
    (tmp_path / "script.py").write_text("print('ran')\n")
    done = fxscope(*verb.split(), cwd=tmp_path, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert done.returncode == 2, done.stderr
    assert "this needs torch, which cannot be imported (" in done.stderr and "fxscope doctor" in done.stderr
    assert done.stderr.count("\n") == 1 and done.stdout == ""
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == {"torch.py", "script.py"}  # nothing written


@pytest.mark.parametrize(("where", "code"), [("torch._logging._internal", 2), ("program", None)])
def test_a_variable_that_torch_cannot_read_is_one_line(where: str, code: int | None, command, monkeypatch) -> None:
    """What `TORCH_LOGS=nonsense` raises while torch is loaded; the same of a program's own is no message of ours."""

    def load(_: str) -> None:
        exec(compile("raise ValueError('Invalid log settings')", where, "exec"), {"__name__": where})

    parser = cli.build_parser("doctor")
    monkeypatch.setattr(cli, "build_parser", lambda _: parser)
    monkeypatch.setattr(cli, "module", load)
    if code is None:
        with pytest.raises(ValueError, match="Invalid"):
            cli.main(["doctor"])
        return
    said = command("doctor", status=code).err
    assert "cannot be imported (ValueError: Invalid log settings)" in said and said.count("\n") == 1


def test_another_import_that_fails_keeps_its_traceback(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "resvg_py.py").write_text("import nothing_of_this_name\n")
    done = fxscope("view", saved, "--format", "png", cwd=tmp_path, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert done.returncode == 1
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'nothing_of_this_name'\n")


def test_a_packed_recording_is_read_by_every_verb(tmp_path: Path, command) -> None:
    path = tmp_path / "packed.json.gz"
    path.write_bytes(gzip.compress(build.mlp_compiled().to_json().encode()))
    for words in (["view", path], ["why", path], ["diff", path, path]):
        command(*words)
    (tmp_path / "packed.fxscope").write_bytes(path.read_bytes()[:60])
    assert "damaged or truncated gzip" in command("why", tmp_path / "packed.fxscope", status=2).err


def test_a_folder_is_an_input_or_its_files_are_named(tmp_path: Path, command) -> None:
    assert "holds no trace, recording, compile log or debug folder" in command("view", tmp_path, status=2).err
    (tmp_path / "version_0").mkdir()
    (tmp_path / "config.json").write_text('{"lr": 1}')
    for number in (1, 2):  # as `tensorboard_trace_handler` names them
        name = f"a-host-of-a-long-name_41{number}.17743535365{number}9013415.pt.trace.json"
        build.write_trace(tmp_path / "version_0" / name, [build.event("cpu_op", "aten::mm", 1, 9)])
    (tmp_path / "version_0" / "trainer_state.json").write_text("{}")
    assert f"its folders with such files: {tmp_path / 'version_0'}" in command("view", tmp_path, status=2).err
    assert len({line.split()[0] for line in command("view", tmp_path / "version_0").out.splitlines()[1:3]}) == 2
    build.write_trace(tmp_path / "own.json", [build.event("cpu_op", "aten::mm", 1, 9)], deviceProperties=["x" * 9000])
    assert "aten::mm" in command("why", tmp_path, "mm").out  # and not the configuration beside it
    ranks = str(ROOT / "tests" / "data" / "fleet" / "ddp_slow_gpu")
    assert [line.split()[0] for line in command("view", ranks).out.splitlines()[1:5]] == [f"rank{i}" for i in range(4)]
    for verb in ("why", "code"):
        said = command(verb, ranks, status=2).err
        assert "holds 4 files (rank0.json.gz, rank1.json.gz, rank2.json.gz and rank3.json.gz)" in said


@pytest.mark.parametrize("below", ["", "inductor", "inductor/model__0_inference_0.0"])
def test_a_debug_folder_is_an_input(below: str, command) -> None:
    folder = ROOT / "tests" / "data" / "h200" / "mlp_compiled" / below
    assert "mm → gelu·mul" in command("view", folder).out
    assert "mm → gelu·mul" in command("why", folder, "mm", "gelu").out


def test_a_dash_is_no_file(saved: Path, here: Path, command):
    assert "--format NAME goes to stdout" in command("view", saved, "-o", "-", "--format", "json", status=2).err
    assert [path.name for path in here.iterdir()] == [saved.name]


@pytest.mark.parametrize("verb", ["view", "why", "code"])
def test_every_verb_takes_every_input_and_the_same_options(verb: str, command) -> None:
    folder = ROOT / "tests" / "data" / "h200" / "mlp_compiled"
    trace, log, debug = (str(folder / name) for name in ("trace.json.gz", "torch_trace.log.gz", "inductor"))
    inputs = [[str(folder)], [trace, "--debug-dir", debug], [trace, "--compile-log", log, "--steps", "1"], [log]]
    for given in inputs:
        lines = command(verb, *given).out.splitlines()
        assert lines and len(lines) <= 40, (given, len(lines))
    recording = str(ROOT / "fxscope" / "data" / "h200" / "mlp_compiled.fxscope")
    assert "--steps is for traces" in command(verb, recording, "--steps", "1", status=2).err


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("trace t.json -o a.html", "view t.json -o a.html"),
        ("env --json", "doctor --json"),
        ("explain r --all", "view r --all"),
        ("explain r gelu", "why r gelu"),
    ],
)
def test_old_spellings_work_and_name_the_new_one(old: str, new: str) -> None:
    assert cli.modernized(old.split()) == (new.split(), f"fxscope {new}")
    assert cli.modernized(new.split()) == (new.split(), None)
