"""The pytest fixture: what it asserts, what a failure shows, and that collecting is free."""

from pathlib import Path

import pytest

from fxscope.assertions import Recorded
from fxscope.errors import PassError
from tests import build
from tests.processes import run_python


def test_what_holds_passes() -> None:
    r = Recorded(build.gelu_mul_compiled())
    r.assert_fused("gelu", "mul")
    r.check(not_fused=["mm", "gelu"])
    r.assert_kernels(2)
    r.assert_kernels("<= 3")
    r.check(graph_breaks=0)
    r.check(gemms=1, kernel_calls=2)
    Recorded(build.gelu_mul_eager()).check(launches_none=["aten::t"])
    r.check(others={"other": build.gelu_mul_eager()}, same_kernel=["recorded:aten::mm", "other:aten::mm"])
    assert r.title == "compiled" and len(r.calls) == 2


@pytest.mark.parametrize(
    "fails",
    [
        lambda r: r.assert_fused("mm", "gelu"),
        lambda r: r.check(not_fused=["gelu", "mul"]),
        lambda r: r.assert_kernels(5),
        lambda r: r.check(launches_none=["mm"]),
        lambda r: Recorded(build.gelu_mul_recompiled()).check(graph_breaks=0),
        lambda r: r.check(same_kernel=["recorded:mm", "recorded:gelu"]),
    ],
)
def test_what_does_not_hold_fails(fails) -> None:
    with pytest.raises(AssertionError):
        fails(Recorded(build.gelu_mul_compiled()))


def test_a_failure_shows_the_kernels_and_the_reason() -> None:
    with pytest.raises(AssertionError) as caught:
        Recorded(build.gelu_mul_compiled()).assert_fused("mm", "gelu")
    text = str(caught.value)
    assert "expected mm and gelu in one kernel" in text
    assert "because: mm and gelu: extern kernel: opaque to the scheduler" in text
    assert "extern_kernels.mm  [extern]\n    mm = aten.mm.default" in text
    assert "triton_poi_fused_gelu_mul_0  [triton_pointwise]\n    tanh = aten.tanh.default" in text


def test_a_typo_is_no_failed_assertion_but_an_error() -> None:
    with pytest.raises(PassError, match="Did you mean gelu"):
        Recorded(build.gelu_mul_compiled()).assert_fused("gelo", "mul")


def test_collecting_imports_no_torch(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text(
        "import sys\n"
        "def test_it(fxscope):\n"
        "    heavy = {'torch', 'triton', 'networkx', 'numpy', 'rich'} & set(sys.modules)\n"
        "    assert not heavy, heavy\n"
    )
    done = run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_an_error_of_fxscopes_is_shown_at_the_line_of_the_test(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "from tests import build\nfrom fxscope.assertions import Recorded\n"
        "def test_typo(fxscope):\n    Recorded(build.gelu_mul_compiled()).assert_fused('gelo', 'mul')\n"
        "def test_file(fxscope):\n    fxscope.load('missing.fxscope')\n"
    )
    options = ("-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path / "test_it.py")
    said = run_python("-m", "pytest", *map(str, options), cwd=Path(__file__).parents[2]).stdout
    assert "2 failed" in said and "Did you mean gelu" in said and "cannot read missing.fxscope" in said
    assert "test_it.py:4: PassError" in said and "test_it.py:6: " in said and len(said.splitlines()) < 30, said


def test_a_live_program(fxscope) -> None:
    torch = pytest.importorskip("torch")

    def program(x, w):
        return torch.nn.functional.gelu(x @ w) * 2

    r = fxscope.record(program, torch.randn(16, 16), torch.randn(16, 16), compile=True, steps=1)
    r.assert_fused("gelu", "mul")
    r.check(not_fused=["mm", "gelu"])
    r.check(graph_breaks=0)


@pytest.mark.slow
def test_a_plan_for_a_gpu_that_is_not_here(fxscope) -> None:
    torch = pytest.importorskip("torch")
    from fxscope._torch.programs import geglu

    model, inputs = geglu.make(batch=2, sequence=8, dim=64, hidden=128, dtype=torch.bfloat16)
    r = fxscope.record(model, *inputs, target="h200")
    r.assert_fused("gelu", "mul")
    r.check(not_fused=["mm", "gelu"])
    r.assert_kernels(4)
    assert r.environment.target and not r.launches
    with pytest.raises(AssertionError, match="opaque"):
        r.assert_fused("mm", "gelu")
