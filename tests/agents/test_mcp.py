"""`fxscope mcp` over stdio, asked by the SDK's own client: every tool, its size, and the folders that it keeps to."""

import asyncio
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the MCP SDK: pip install mcp")
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from fxscope.commands.mcp import Tools
from fxscope.errors import FxscopeError

ROOT = Path(__file__).parents[2]
H200 = ROOT / "fxscope/data/h200"


def client_of(folder: Path) -> Client:
    server = StdioServerParameters(command=sys.executable, args=["-m", "fxscope", "mcp", str(folder)], cwd=str(ROOT))
    return Client(stdio_client(server))


def ask(folder: Path, *calls: tuple[str, dict[str, Any]]) -> list[tuple[bool, str]]:
    """Call tools; (whether it failed, text) of each."""

    async def talk() -> list[tuple[bool, str]]:
        async with client_of(folder) as client:
            answers = [await client.call_tool(name, arguments) for name, arguments in calls]
            return [(bool(answer.is_error), answer.content[0].text) for answer in answers]

    return asyncio.run(talk())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("mlp_eager", "mlp_compiled"):
        shutil.copy(H200 / f"{name}.fxscope", tmp_path)
    (tmp_path / "expect.toml").write_text("kernels = 4\n")
    shutil.copy(ROOT / "tests/data/h200/linear_eager/trace.json.gz", tmp_path)
    return tmp_path


def test_every_tool_answers_within_its_budget(folder: Path) -> None:
    compiled = {"recording": "mlp_compiled.fxscope"}
    asked: dict[str, tuple[dict[str, Any], str]] = {
        "read": ({"trace": "trace.json.gz"}, "nvjet"),
        "overview": (compiled, "gelu"),
        "missed_fusions": (compiled, "mm"),
        "why": ({**compiled, "a": "mul", "b": "mm#3"}, "opaque to Inductor"),
        "code": ({**compiled, "name": "mul"}, "tl.store"),
        "diff": ({"a": "mlp_eager.fxscope", "b": "mlp_compiled.fxscope"}, "triton_poi_fused"),
        "check": ({"recordings": ["mlp_compiled.fxscope"], "expectations": "expect.toml"}, "kernels"),
    }
    no_data_flow = ("missed_fusions", {"recording": "trace.json.gz"})
    *answers, unknown = ask(folder, *((name, arguments) for name, (arguments, _) in asked.items()), no_data_flow)
    assert "missed fusions unknown" in unknown[1], unknown  # not the same as none
    for (name, (_, expected)), (failed, text) in zip(asked.items(), answers, strict=True):
        assert not failed and len(text.encode()) <= 4096 and expected in text, (name, text)
        assert json.loads(text), name
    for row in json.loads(answers[2][1])["missed"]:  # a row's id is a name
        failed, text = ask(folder, ("why", {**compiled, "a": row["id"]}))[0]
        assert not failed and row["reason"] in text, text


def test_paths_stay_inside_the_folders(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.fxscope"
    shutil.copy(H200 / "mlp_eager.fxscope", secret)
    (folder / "link.fxscope").symlink_to(secret)
    (folder / "loop").symlink_to("loop")
    (folder / "linked").mkdir()
    (folder / "fails.py").write_text("def f():\n    raise ValueError('x' * 9999)\n")
    os.mkfifo(folder / "pipe.fxscope")
    (folder / "a folder.fxscope").mkdir()
    (folder / "linked/trace.json.gz").symlink_to(secret)
    outside, trace = "outside of the folders", "trace.json.gz"
    asked: list[tuple[str, str, dict[str, Any]]] = [
        (outside, "overview", {"recording": str(secret)}),
        (outside, "overview", {"recording": "../" + secret.parent.name + "/secret.fxscope"}),
        (outside, "overview", {"recording": "link.fxscope"}),
        (outside, "read", {"trace": trace, "output": str(secret.with_name("new.fxscope"))}),
        ("ends in .fxscope", "read", {"trace": trace, "output": trace}),
        ("is an option", "why", {"recording": "mlp_eager.fxscope", "a": "--json"}),
        ("in linked is outside of the folders", "read", {"trace": "linked"}),
        ("../gpu.json is outside", "plan", {"factory": "model.py:f", "target": "../gpu.json"}),
        ("null byte", "overview", {"recording": "\0"}),
        ("loop", "overview", {"recording": "loop"}),
        ("the name of a file is empty", "overview", {"recording": ""}),
        ("pipe.fxscope is a pipe", "overview", {"recording": "pipe.fxscope"}),
        ("a folder.fxscope", "read", {"trace": trace, "output": "a folder.fxscope"}),
        ("is read here", "read", {"trace": "mlp_eager.fxscope", "output": "mlp_eager.fxscope"}),
        ("no script", "record", {"program": "none.py", "output": "mlp_compiled.fxscope"}),
        ("names no factory", "plan", {"factory": "model.py"}),
        ("fails.py:f raised ValueError: xx", "plan", {"factory": "fails.py:f"}),
    ]
    answers = ask(folder, *((name, arguments) for _, name, arguments in asked))
    for (failed, text), (message, _, _) in zip(answers, asked, strict=True):
        assert failed and message in text, text
    assert not secret.with_name("new.fxscope").exists()
    assert all((folder / f"mlp_{name}.fxscope").exists() for name in ("eager", "compiled"))  # nothing replaced them


def test_a_folder_outside_is_refused_before_it_is_walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "walk", lambda path: (pytest.fail(f"walked {path}") for _ in "x"))
    with pytest.raises(FxscopeError, match="outside of the folders"):
        Tools([tmp_path], 4096)._path("..")


@pytest.mark.slow
def test_a_program_is_recorded_or_planned_and_fails_with_its_own_message(folder: Path) -> None:
    leaves = "open('pid', 'w').write(str(subprocess.Popen(['sleep', '60']).pid))"  # a process that holds its stdout
    (folder / "good.py").write_text(f"import subprocess, sys, torch\ntorch.ones(int(sys.argv[1])).sin()\n{leaves}")
    (folder / "bad.py").write_text("raise SystemExit('no data')")
    (folder / "model.py").write_text("import torch\ndef factory(): return torch.nn.Linear(4, 4), (torch.ones(2, 4),)")
    programs = {"program": "good.py", "arguments": ["3"]}, {"program": "bad.py", "output": "bad.fxscope"}
    calls = [*(("record", program) for program in programs), ("plan", {"factory": "model.py:factory"})]
    (good, text), (bad, said), (failed, planned) = ask(folder, *calls)
    os.kill(int((folder / "pid").read_text()), signal.SIGKILL)  # the answers did not wait for it
    assert not good and "sin" in text and (folder / "recording.fxscope").exists()
    assert bad and "no data" in said, said
    assert not failed and "plan for h200" in planned and "addmm" in planned and len(planned.encode()) <= 4096, planned


@pytest.mark.slow
def test_a_call_that_is_cancelled_ends_its_program_and_no_other_call(folder: Path) -> None:
    (folder / "waits.py").write_text("import os, time\nopen('pid', 'w').write(f'{os.getpid()} ')\ntime.sleep(600)\n")

    async def talk() -> bool:
        async with client_of(folder) as client:
            call = asyncio.create_task(client.call_tool("record", {"program": "waits.py"}))
            while not (folder / "pid").exists() or not (folder / "pid").read_text():
                await asyncio.sleep(0.1)
            other = asyncio.create_task(client.call_tool("overview", {"recording": "mlp_eager.fxscope"}))
            call.cancel()
            with pytest.raises(ProcessLookupError):
                while True:
                    os.kill(int((folder / "pid").read_text()), 0)
                    await asyncio.sleep(0.1)
            return bool((await other).is_error)

    assert not asyncio.run(talk())
