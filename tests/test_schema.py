"""The JSON contract: the shipped schema is the one of the types, and recordings keep it."""

import json
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from fxscope import store
from fxscope.errors import FxscopeError
from fxscope.model import Link, Recording
from tests import build
from tools import make_bundled_recordings, make_schema

ROOT = Path(__file__).parent.parent
SCHEMA = json.loads((resources.files("fxscope") / "data" / "recording.schema.json").read_text())


def test_the_shipped_schema_is_up_to_date() -> None:
    assert json.loads(make_schema.schema()) == SCHEMA, "run tools/make_schema.py"
    assert make_schema.document() == (ROOT / "docs" / "schema.md").read_text(), "run tools/make_schema.py"


@pytest.mark.parametrize("recording", [build.mlp_compiled(), build.linear_eager(), Recording()])
def test_recordings_validate(recording: Recording) -> None:
    jsonschema.validate(json.loads(recording.to_json()), SCHEMA)


@pytest.mark.parametrize("path", sorted((ROOT / "fxscope" / "data").rglob("*.fxscope")), ids=lambda path: path.stem)
def test_bundled_recordings_validate_and_are_what_the_captures_give_now(path: Path) -> None:
    recording = store.load(path)
    data = json.loads(recording.to_json())
    jsonschema.validate(data, SCHEMA)
    read = make_bundled_recordings.read(ROOT / "tests" / "data" / "h200" / path.stem, recording.title)
    assert json.loads(read.to_json()) == data, "run tools/make_bundled_recordings.py tests/data/h200"


def test_a_recording_with_fields_that_are_gone_opens(tmp_path: Path) -> None:
    data = json.loads(build.mlp_compiled().to_json())
    data["calls"][0]["counters"] = {"launches": 1, "dram_bytes_read": 5, "stalls": [["barrier", 0.3]]}
    data["graphs"][0]["nodes"][0]["counters"] = {"launches": 1}
    (tmp_path / "old.json").write_text(json.dumps(data))
    assert store.load(tmp_path / "old.json") == build.mlp_compiled()


def test_a_broken_recording_does_not_validate() -> None:
    data = json.loads(build.mlp_compiled().to_json())
    data["graphs"][0]["nodes"][0]["kind"] = "nonsense"
    with pytest.raises(jsonschema.ValidationError, match="nonsense"):
        jsonschema.validate(data, SCHEMA)


def test_a_link_is_spelled_from_and_to() -> None:
    link = Link(
        from_=("0/0:pre_grad", "h"), to=("0/0:inference:post_grad", "tanh"), relation="lowered_to", evidence="from_node"
    )
    data = json.loads(Recording(links=(link,)).to_json())["links"][0]
    assert data["from"] == ["0/0:pre_grad", "h"] and data["to"] == ["0/0:inference:post_grad", "tanh"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not json", "is not a recording"),
        (b'{"traceEvents": []}', "is not a recording"),
        (b'{"schema": "fxscope/1"}', "has schema 'fxscope/1', this fxscope reads 'fxscope/2'"),
        (b'{"schema": "fxscope/2", "graphs": 3}', "not a valid recording"),
        (b"\x1f\x8b\x08\x00broken", "damaged or truncated gzip"),
        (b"\xff\xfe{}", "is text in UTF-16"),
    ],
)
def test_what_is_no_recording_is_one_clear_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.fxscope"
    path.write_bytes(content)
    with pytest.raises(FxscopeError, match=message) as caught:
        store.load(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(FxscopeError, match="cannot read"):
        store.load(tmp_path / "missing.fxscope")


def test_what_only_the_time_model_needs_is_not_public() -> None:
    text = json.dumps(SCHEMA)
    assert "orkload" not in text and "orkload" not in (ROOT / "docs" / "schema.md").read_text()
