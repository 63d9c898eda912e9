"""`fxscope run` as a user calls it."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch

from fxscope import cli, load
from fxscope.analysis.report import report
from fxscope.errors import CaptureError
from fxscope.factories import load_factory, parse_setting

PROGRAMS = Path(__file__).parent.parent / "data" / "programs"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copytree(PROGRAMS, tmp_path, dirs_exist_ok=True)
    (tmp_path / "no_torch.py").write_text("print('hello')\n")
    (tmp_path / "not_python.py").write_text("def (:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "world_size", "written"),
    [
        ("out.json", "2", "out.rank1.json"),
        ("out", "2", "out.rank1"),
        ("rank_1.json", "2", "rank_1.json"),
        ("out.json", "1", "out.json"),
    ],
)
def test_each_rank_of_a_job_has_a_file_of_its_own(name, world_size, written, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", world_size)
    (tmp_path / "script.py").write_text("import torch\ntorch.ones(2).sin()\n")
    assert cli.main(["run", "--format", "json", "-o", str(tmp_path / name), str(tmp_path / "script.py")]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"script.py", written}


def run(*words: str) -> int:
    return cli.main(["run", *words])


def test_a_script_runs_unchanged_with_its_own_arguments(folder, capfd) -> None:
    assert run("-o", "out.fxscope", "script.py", "--batch", "3", "--compile") == 0
    captured = capfd.readouterr()
    assert "argv ['--batch', '3', '--compile'] __main__" in captured.out
    recording = load("out.fxscope")
    post_grad = next(graph for graph in recording.graphs if graph.stage == "post_grad")
    addmm = next(node for node in post_grad.nodes if node.target == "aten.addmm.default")
    assert addmm.outputs[0].shape == (3, 4)
    # nn.Linear is torch's own code: the user's line is where it was called.
    assert addmm.source.file == str(folder / "script.py")
    assert addmm.source.code == "model(torch.randn(arguments.batch, 8))"
    assert recording.title == "script.py" and recording.coverage.unattributed == 0
    assert sys.modules["__main__"].__dict__.get("arguments") is None


@pytest.mark.parametrize(
    ("model", "contents", "advice", "why"),
    [
        (
            "Model()",
            "eager: every compile failed",
            "Let torch.compile compile script.py:8",
            "it is not compiled: Attempted to wrap RNN, GRU, or LSTM. Set torch._dynamo.config.allow_rnn=True",
        ),
        pytest.param(
            "Scaled()",
            "2 compiled graphs, none ran: recompile limit exceeded at script.py:13",
            "Stop the recompiles of script.py:13",
            "it is not compiled: recompile limit exceeded. tensor 'x' size mismatch at index 0. expected 4, actual 5",
            marks=pytest.mark.cpp,
        ),
        (
            "Unfaked()",
            "eager: every compile failed",
            "Let torch.compile compile script.py:19",  # not the line of torch's that calls the op
            "it is not compiled: TorchRuntimeError: RuntimeError when making fake tensor call",
        ),
    ],
)
def test_a_compile_without_a_graph_says_why(folder, model: str, contents: str, advice: str, why: str) -> None:
    (folder / "script.py").write_text((folder / "not_compiled.py").read_text().replace("{model}", model))
    with torch._dynamo.config.patch(recompile_limit=2, suppress_errors=True):
        assert run("-o", "out.fxscope", "script.py") == 0
    recording = load("out.fxscope")
    made = report(recording)
    assert made.contents == contents
    assert made.advice[0].text == advice and made.advice[0].why.startswith(why)
    missed = [recording.decisions[position] for row in made.missed for position in row.decisions]
    assert missed and {end.graph for decision in missed for end in decision.ends} == {"eager"}


def test_only_the_result_goes_to_stdout(folder, capfd) -> None:
    assert run("--json", "script.py") == 0
    captured = capfd.readouterr()
    recording = json.loads(captured.out)
    assert recording["contents"] == "eager"
    assert "argv []" in captured.err


def test_the_scripts_own_exit_code(folder, capfd) -> None:
    assert run("script.py", "--fail", "exit") == 7
    assert "ended with exit code 7; what ran until then is recorded" in capfd.readouterr().err
    assert run("-o", "out.json", "script.py", "--fail", "raise") == 1
    error = capfd.readouterr().err
    assert "ValueError: the script's own error" in error and "fxscope/commands" not in error
    assert (recording := load("out.json")).problems[
        0
    ].message == "script.py raised ValueError; what ran until then is recorded"
    assert "aten::addmm" in {node.target for node in recording.graph("eager").nodes}
    assert run("script.py", "--fail", "ctrl-c") == 130
    assert run("script.py", "--no-such-option") == 2


def test_a_program_without_torch_captures_nothing(folder, capfd) -> None:
    assert run("no_torch.py") == 3
    assert "no graph and no op was captured" in capfd.readouterr().err
    for call, words in (
        ("threading.Thread", "any ops in 1 thread"),
        ("multiprocessing.Process", "1 child process, not"),
    ):
        start = f"t = {call}(target=torch.ones, args=(3,))\nt.start()\nt.join()\n"
        Path("elsewhere.py").write_text(f"import multiprocessing, threading, torch\n{start}")
        assert run("elsewhere.py") == 3
        assert f"only one thread is recorded. Not recorded: {words}" in capfd.readouterr().err


def test_a_factory_with_its_options_after_it(folder) -> None:
    assert run("model_factories.py:good", "--compile", "--set", "epilogue_fusion=false", "-o", "out.json") == 0
    recording = load("out.json")
    assert recording.title == "model_factories.py:good" and len(recording.calls) == 1
    assert recording.compiles[0].config == {"epilogue_fusion": False}
    assert run("--backward", "model_factories.py:keywords", "-o", "eager.fxscope") == 0
    names = {node.target for node in load("eager.fxscope").graph("eager").nodes}
    assert "AddmmBackward0" in names
    for name, op in (("several", "aten::bilinear"), ("several_by_name", "aten::addmm")):
        assert run(f"model_factories.py:{name}", "-o", f"{name}.json") == 0
        assert op in {item.name for item in load(f"{name}.json").ops}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model_factories.py:nothing"], "must be a function of no arguments that returns (module, inputs)"),
        (["model_factories.py:numbers"], "it returned a tuple of int, int"),
        (["model_factories.py:no_name"], "it returned a tuple of Linear, dict"),
        (["model_factories.py:constant"], "it is a int"),
        (["model_factories.py:raises"], "raised ValueError: no such size (model_factories.py:10)"),
        (["model_factories.py:leaves"], "leaves raised SystemExit: 0"),
        (["model_factories.py:missing"], "has no missing. It has good"),
        (["model_factories.py:bad_shape"], "bad_shape raised RuntimeError"),
        (["model_factories.py:good", "--mode", "quick"], "no mode 'quick'"),
        (["model_factories.py:good", "--set", "epilogue_fuson=1"], "Did you mean epilogue_fusion"),
        (["model_factories.py:good", "--set", "nonsense"], "write NAME=VALUE"),
        (["model_factories.py:good", "-o", "out.docx"], "the suffix .docx names no format"),
        (["model_factories.py:good", "--json", "-o", "out.fxscope"], "would hold no recording"),
        (["no_such_file.py"], "there is no script no_such_file.py"),
        (["no_such_file.py:make"], "cannot read no_such_file.py: No such file"),
        (["model_factories.py:good:x"], "there is no script model_factories.py:good:x. To record a factory write"),
        (["no_such_module:make"], "there is no module no_such_module: write FILE.py:FACTORY"),
        (["not_python.py"], "not_python.py is not Python"),
        (["--compile", "script.py"], "--compile means nothing here: it is for factories"),
        (["--target", "h200", "script.py"], "--target means nothing here: it is for factories"),
        (["-m", "no_such_module"], "-m no_such_module: there is no such module here"),
    ],
)
def test_a_mistake_is_one_line(folder, capfd, words, message) -> None:
    assert run(*words) == 2
    error = capfd.readouterr().err
    *_, line = (line for line in error.splitlines() if not line.startswith("usage: "))
    assert message in line and line.startswith("fxscope run: ")
    assert "Traceback" not in error


def test_existing_files_are_not_overwritten_and_nothing_runs_before_that_is_known(folder, capfd) -> None:
    Path("out.json").write_text("mine")
    assert run("-o", "out.json", "script.py") == 2
    captured = capfd.readouterr()
    assert "out.json exists" in captured.err and "argv" not in captured.out
    assert Path("out.json").read_text() == "mine"
    assert run("-o", "out.json", "--force", "script.py") == 0
    assert load("out.json").title == "script.py"


@pytest.mark.parametrize("dashes", [[], ["--"]])
def test_what_comes_after_a_script_is_its_own(folder, capfd, dashes) -> None:
    assert run("script.py", *dashes, "--target", "h200", "-o", "x.docx") == 2
    assert "script.py: error: unrecognized arguments: --target h200 -o x.docx" in capfd.readouterr().err


def test_a_parameter_that_a_factory_lacks_is_named(folder) -> None:
    with pytest.raises(
        CaptureError, match=r"model_factories.py:good got an unexpected keyword argument 'dim'. It is good\(\)"
    ):
        load_factory("model_factories.py:good", dim=3)


def test_settings_are_typed() -> None:
    settings = ["a=true", "b=off", "c=3", "d=0.5", "e=ATEN,TRITON", "f='x'", "g=None"]
    assert [parse_setting(text)[1] for text in settings] == [True, False, 3, 0.5, "ATEN,TRITON", "x", None]
    with pytest.raises(CaptureError):
        parse_setting("=1")
