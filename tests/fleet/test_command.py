"""`fxscope fleet`: outputs, resumption, expectations; a rank that takes its process down costs itself only."""

import gzip
import json
import os
import shutil
import signal
from importlib import resources
from pathlib import Path

import jsonschema
import msgspec
import pytest

from fxscope import cli
from fxscope.fleet import run, sources
from fxscope.fleet.model import FLEET_SCHEMA, Fleet, ranges
from tools import make_schema
from tools.make_fleet import make

JOBS = Path(__file__).parent.parent / "data" / "fleet"
SLOW = str(JOBS / "ddp_slow_gpu")


def test_the_terminal_says_who_and_why_within_80_columns(command) -> None:
    out = command("fleet", SLOW).out
    assert out.splitlines()[1].startswith("Rank 2 is late: more device work") and out.count("ank 2 is late") == 1
    assert "4 → 44" in out and max(map(len, out.splitlines())) <= 80


LOGS = """V0804 12:34:15.353000 1 torch/_x.py:1] {"dynamo_start": {"stack": []}, "frame_id": 0, "frame_compile_id": 0}
V0804 12:34:15.353000 1 torch/_x.py:1] {"artifact": {"name": "fx_graph_cache_%s"}, "frame_id": 0, "frame_compile_id": 0}
V0804 12:34:15.353000 1 torch/_x.py:1] {"artifact": {"name": "recompile_reasons", "encoding": "string"}, \
"frame_id": 0, "frame_compile_id": 0, "attempt": 0, "has_payload": "x"}
\t0/0: tensor 'L['the_only_argument']' size mismatch at index 0. expected %d, actual 5
V0804 12:34:15.353000 1 torch/_x.py:1] {"artifact": {"name": "inductor_collective_schedule", "encoding": "json"}, \
"frame_id": 0, "frame_compile_id": 0, "attempt": 0, "has_payload": "x"}
\t%s
V0804 12:34:15.353000 1 torch/_x.py:1] {"artifact": {"name": "inductor_runtime_and_tensor_meta", "encoding": "json"}, \
"frame_id": 0, "frame_compile_id": 0, "attempt": 0, "has_payload": "x"}
\t{"ops": [{"name": "mm", "estimated_runtime_ns": %d}]}
"""


def test_compile_logs_without_traces_say_which_ranks_differ_and_where(tmp_path: Path, command) -> None:
    both, one = '["torch.ops.c.reduce", "torch.ops.c.wait"]', '["torch.ops.c.reduce"]'
    for rank, (cache, calls, ns) in enumerate((("hit", both, 1000), ("miss", one, 9000), ("hit", both, 1000))):
        folder = tmp_path / f"rank_{rank}" if rank else tmp_path
        folder.mkdir(exist_ok=True)
        (folder / f"dedicated_log_torch_trace_rank_{rank}_x.log").write_text(LOGS % (cache, ns, calls, ns))
    lines = command("fleet", tmp_path).out.splitlines()
    assert "Recompiles, collectives, cache hits and misses and estimated runtimes differ" in lines and len(lines) <= 40
    assert "9000, actual 5 (others: …ted 1000, actual 5)" in lines[lines.index("Recompiles") + 2]
    firsts = ["nothing (others: c.wait)", "miss (others: hit)", "9.00 µs (others: 1.00 µs)"]
    assert [line.partition(" in 0/0: ")[2] for line in lines if "rank 1: 1; first" in line][1:] == firsts
    shutil.rmtree(tmp_path / "rank_1")
    assert json.loads(command("fleet", tmp_path, "--json").out).get("differences", []) == []
    shutil.rmtree(tmp_path / "rank_2")
    given = (tmp_path, *tmp_path.glob("*.log"))
    assert all("holds the log of one rank: " in command("fleet", place, status=2).err for place in given)


@pytest.mark.parametrize("job", ["ddp_even", "fsdp_even", "ddp_slow_gpu", "ddp_other_plan"])
def test_a_job_fits_a_screen(job: str, command) -> None:
    lines = command("fleet", JOBS / job).out.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    assert any("No rank stands out among 4" in line for line in lines) == job.endswith("_even")
    assert "majority" not in command("fleet", JOBS / job, "--all").out


def test_json_has_the_documented_form(command) -> None:
    text = command("fleet", SLOW, "--json").out
    found = json.loads(text)
    assert found["schema"] == FLEET_SCHEMA and found["even"] is False and len(found["ranks"]) == 4
    first = found["findings"][0]
    assert (first["kind"], first["ranks"], first["cause"]) == ("late", [2], "device_work") and first["cost_us"] > 2000
    costs = [item["cost_us"] or 0 for item in found["findings"]]
    assert costs == sorted(costs, reverse=True)
    assert msgspec.json.decode(text, type=Fleet).findings[0].ranks == (2,)


def test_jobs_keep_the_shipped_schema() -> None:
    from fxscope.fleet import findings

    text = (resources.files("fxscope") / "data" / "fleet.schema.json").read_text()
    assert text == make_schema.fleet_schema(), "run tools/make_schema.py"
    made = findings.examine(run.digests(sources.listed([SLOW])))
    jsonschema.validate(json.loads(msgspec.json.encode(made)), json.loads(text))


def test_files_of_every_kind_and_nothing_beside_them(tmp_path: Path, command) -> None:
    outputs = [tmp_path / f"fleet{suffix}" for suffix in (".html", ".md", ".json", ".txt", ".svg", ".png")]
    arguments = ["fleet", SLOW, *(word for path in outputs for word in ("-o", str(path)))]
    command(*arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in outputs)
    assert "rank 2" in outputs[1].read_text() and "fxscope fleet</title>" in outputs[0].read_text()
    assert "Rank 2 is late" in outputs[4].read_text() and outputs[5].read_bytes().startswith(b"\x89PNG")
    before = outputs[2].read_text()
    assert "exists" in command(*arguments, status=2).err
    command(*arguments, "--force")
    assert outputs[2].read_text() == before


def test_a_process_that_is_killed_costs_its_own_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (JOBS / "ddp_even").glob("*.json.gz"):
        shutil.copy(path, tmp_path)
    work = run.work

    def shot(source: sources.Source) -> bytes:
        """Be killed whenever rank 1's trace is read, as by the system when memory is short."""
        if "rank1" in source.name:
            os.kill(os.getpid(), signal.SIGKILL)
        return work(source)

    monkeypatch.setattr(run, "work", shot)
    made = run.digests(sources.listed([str(tmp_path)]), jobs=2)
    assert [item.num_events is not None for item in made] == [True, False, True, True]
    assert made[1].rank == 1 and "killed, twice" in made[1].problems[0].message


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "does not exist"),
        ([SLOW, "--on", "mars"], "write local, ray"),
        ([SLOW, "--pattern", "("], "not a regular expression"),
        ([SLOW, "-o", "fleet.pdf"], "names no format"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], said: str, command) -> None:
    error = command("fleet", *arguments, status=2).err
    assert said in error and error.count("\n") == 1 and "Traceback" not in error


def test_ranks_are_written_as_ranges() -> None:
    assert ranges([0, 1, 2, 3, 5, 7, 8]) == "0–3, 5, 7, 8"
    assert ranges(range(0, 40, 2)).endswith("and more")


def test_hostile_names_are_written_out_everywhere(tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    shutil.copy(f"{SLOW}/rank0.json.gz", job)
    for rank, name in ((1, "rank1\x1b[31m<script>\n.json.gz"), (2, "rank2|`x` \u202e[a](b).json.gz")):
        shutil.copy(f"{SLOW}/rank{rank}.json.gz", job / name)
    trace = json.loads(gzip.decompress((JOBS / "ddp_slow_gpu" / "rank3.json.gz").read_bytes()))
    trace["hostname"] = "\x1b[2J</script><img src=x>"
    for event in trace["traceEvents"]:
        if event["name"].startswith("nvjet"):
            event["name"] = "\x1b[31mevil<b>\u202e" + 5_000 * "x"
    (job / "rank3.json").write_text(json.dumps(trace))
    outputs = [tmp_path / f"fleet{suffix}" for suffix in (".html", ".md", ".txt", ".svg")]
    assert cli.main(["fleet", str(job), *(word for path in outputs for word in ("-o", str(path)))]) == 0
    for path in outputs:
        text = path.read_text()
        assert "\x1b" not in text and "\u202e" not in text and "<img" not in text and "<script>\n.json" not in text
    assert max(map(len, outputs[2].read_text().splitlines())) <= 80


def test_headers_that_say_impossible_things(tmp_path: Path) -> None:
    for path in (JOBS / "ddp_even").glob("*.json.gz"):
        shutil.copy(path, tmp_path)
    trace = json.loads(gzip.decompress((tmp_path / "rank0.json.gz").read_bytes()))
    for rank, header in ((4, {"rank": -3, "world_size": 10**18}), (5, [])):
        made = {**trace, "distributedInfo": header}
        if rank == 5:
            made["traceEvents"] = [
                event for event in trace["traceEvents"] if "correlation" not in event.get("args", {})
            ]
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(made))
    (tmp_path / "rank6.json").write_text("")
    (tmp_path / "rank7.json").write_text('{"traceEvents": []}')
    out = tmp_path / "fleet.json"
    assert cli.main(["fleet", str(tmp_path), "-o", str(out)]) == 0
    found = json.loads(out.read_text())
    assert found["even"] and [line["rank"] for line in found["ranks"]] == [0, 1, 2, 3, 4, 5, 7]
    said = " ".join(problem["message"] for problem in found["problems"])
    assert "different world sizes" in said and "ranks without a step to compare: 5 and 7" in said


def test_nothing_readable_is_a_mistake(tmp_path: Path, command) -> None:
    (tmp_path / "rank0.json.gz").write_bytes(b"\x1f\x8bnot gzip")
    said = command("fleet", tmp_path, status=2).err
    assert "no rank's trace holds a step that can be compared: rank0.json.gz" in said


def test_two_ranks_are_compared_without_what_they_wait(tmp_path: Path, command) -> None:
    """The collectives of a rank last as long as it waits: the late rank, with the least of that, is not the faster one."""
    job = JOBS / "ddp_slow_gpu"  # rank 2 runs 40 GEMMs more a step
    steps = ["--steps", "1:3"]  # in the cut data the first step has its collectives only
    for rank in (0, 2):
        command("view", job / f"rank{rank}.json.gz", *steps, "-o", tmp_path / f"rank{rank}.fxscope")
    found = json.loads(command("diff", tmp_path / "rank0.fxscope", tmp_path / "rank2.fxscope", "--json").out)
    totals = {item["subject"]: (item["a"], item["b"]) for item in found["totals"]}
    waiting = totals["collectives per step, with waiting"]
    everything = totals["device time per step"]
    assert waiting[0] > 10 * waiting[1] and everything[0] / everything[1] > 0.8
    assert found["without_collectives"] is True and found["step_time"]["ratio"] > 4
    assert found["step_time"]["a_us"] == pytest.approx(everything[0] - waiting[0], rel=0.02)
    alone = JOBS.parent / "h200" / "mlp_eager" / "trace.json.gz"
    found = json.loads(command("diff", alone, alone, "--json").out)
    assert not found.get("without_collectives") and not any(
        "collectives" in item["subject"] for item in found["totals"]
    )


@pytest.mark.slow
def test_ranks_of_other_lengths(tmp_path: Path) -> None:
    from fxscope.fleet import findings
    from fxscope.fleet.digest import digest

    long, short = tmp_path / "long", tmp_path / "short"
    make(JOBS / "ddp_even", long, ranks=4, steps=6, seed=3)
    make(JOBS / "ddp_even", short, ranks=4, steps=3, seed=3)
    made = [digest((short if rank == 2 else long) / f"rank{rank}.json.gz") for rank in range(4)]
    fleet = findings.examine(made)
    assert fleet.even and len(fleet.steps) == 5 and sum(value is not None for value in fleet.ranks[2].lateness_us) == 2
