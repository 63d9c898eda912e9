# /// script
# dependencies = ["fxscope", "playwright", "pillow"]
# ///
"""Write the pictures of `docs/images/`: the first screens of ten pages, in headless Chromium, and README's strip.

    python tools/make_pictures.py [--chromium PATH] [--into FOLDER] [--from NAME=FILE …] [--only NAME …]

Recordings and captures of the repository are shown as they are; the transformer of twelve layers, that of 32 layers of four
experts and the plan are recorded on this machine's CPU (some minutes). `--from` shows another
recording or trace instead (`page_twelve_layers=t12.fxscope`); that of `page_gpt2`, a trace of GPT-2's training, is not in
the repository. Each picture is packed to 128 colours.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
H200 = ROOT / "fxscope" / "data" / "h200"
SIZE, SCALE = {"width": 1440, "height": 900}, 0.764
ARGUMENTS = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-sync"]


def transformer(layers: int, width: int = 128, experts: int = 0):
    """A small transformer and its input; with experts, each layer weighs the outputs of all of them."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x):
            heads = self.qkv(x).unflatten(-1, (3, 4, width // 4)).permute(2, 0, 3, 1, 4)
            return self.out(functional.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(2))

    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.experts = nn.Linear(width, experts), nn.ModuleList(mlp() for _ in range(experts))

        def forward(self, x):
            weights = functional.softmax(self.gate(x), -1)
            return sum(weights[..., i : i + 1] * expert(x) for i, expert in enumerate(self.experts))

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2, self.attention = nn.LayerNorm(width), nn.LayerNorm(width), Attention()
            self.mlp = Experts() if experts else mlp()

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.norm, self.head = nn.Embedding(512, width), nn.LayerNorm(width), nn.Linear(width, 512)
            self.layers = nn.Sequential(*(Layer() for _ in range(layers)))

        def forward(self, tokens):
            return self.head(self.norm(self.layers(self.embedding(tokens))))

    def mlp():
        return nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    return Transformer().eval(), torch.randint(0, 512, (4, 64))


def recorded(layers: int, **options):
    """Record a transformer on this machine's CPU."""
    import fxscope

    model, tokens = transformer(layers, experts=options.pop("experts", 0))
    return fxscope.record(model, tokens, **options)


def planned():
    """Plan a training step of two layers of experts for an H200, which this machine does not have."""
    import fxscope

    model, tokens = transformer(2, width=256, experts=2)
    return fxscope.record(model, tokens, target="h200", backward=True)


def fleet_page() -> str:
    """The page of a job of four ranks, one of which is late."""
    from fxscope.fleet import findings
    from fxscope.fleet.digest import digest
    from fxscope.render import fleet_page

    traces = sorted((ROOT / "tests" / "data" / "fleet" / "ddp_slow_gpu").glob("rank*.json.gz"))
    digests = [digest(path) for path in traces]
    return fleet_page.render(findings.examine(digests, title="four ranks, DDP"), digests)


def pages(given: dict[str, str]) -> dict[str, Callable[[], str]]:
    """Return each picture's name and what makes the page that it shows."""
    from fxscope import store
    from fxscope.analysis.compare import compare
    from fxscope.commands import common
    from fxscope.model import replace
    from fxscope.render.page import html

    def page(recording, title: str) -> str:
        return html.render(replace(recording, title=title))

    def comparison() -> str:
        return html.render(
            eager, others=(compiled, liger), comparison=(compare(eager, compiled), compare(eager, liger))
        )

    eager, compiled, liger = (
        replace(store.load(H200 / f"{name}.fxscope"), title=title)
        for name, title in (
            ("mlp_eager", "GeGLU MLP, eager"),
            ("mlp_compiled", "GeGLU MLP, compiled"),
            ("mlp_liger", "GeGLU MLP, Liger"),
        )
    )
    data = ROOT / "tests" / "data"
    capture, replay = (str(data / "vendors" / f"vllm_{name}.json.gz") for name in ("capture", "replay"))
    found = {
        "page_mlp": lambda: html.render(compiled),
        "page_eager": lambda: html.render(eager),
        "page_training": lambda: page(
            common.read(str(data / "h200" / "mlp_train_compiled")), "GeGLU MLP, training, compiled"
        ),
        "page_comparison": comparison,
        "page_twelve_layers": lambda: page(recorded(12, compile=True), "12-layer transformer, compiled"),
        "page_experts": lambda: page(recorded(32, experts=4), "32 layers of four experts, eager"),
        "page_serving": lambda: page(
            common.read(replay, argparse.Namespace(capture=capture)), "vLLM decode, CUDA graph"
        ),
        "page_plan": lambda: page(planned(), "two layers of experts, training, planned"),
        "page_fleet": fleet_page,
    }
    titles = {
        "page_gpt2": "GPT-2, training, eager",
        "page_twelve_layers": "12-layer transformer, compiled",
        "page_experts": "32 layers of four experts, eager",
        "page_plan": "two layers of experts, training, planned",
    }
    for name, file in given.items():
        found[name] = partial(lambda name, file: page(common.read(file), titles.get(name, Path(file).stem)), name, file)
    return found


def main() -> int:
    """Write the pictures, and say how large they are."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    from fxscope import store
    from fxscope.render import strip

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    parser.add_argument("--chromium", default=found, help="the browser to drive")
    parser.add_argument("--into", metavar="FOLDER", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--from", dest="given", metavar="NAME=FILE", nargs="+", default=[], help="show another input")
    parser.add_argument("--only", metavar="NAME", nargs="+", help="the pictures to make")
    arguments = parser.parse_args()
    if not arguments.chromium:
        print("no Chromium on PATH: give --chromium PATH", file=sys.stderr)
        return 2
    arguments.into.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=ARGUMENTS)
        for name, make in pages(dict(item.split("=", 1) for item in arguments.given)).items():
            if arguments.only and name not in arguments.only:
                continue
            path = Path(folder) / f"{name}.html"
            path.write_text(make(), encoding="utf-8")
            page = browser.new_page(viewport=SIZE, device_scale_factor=SCALE)
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready=yes], #heat")
            page.wait_for_timeout(500)  # until a first layout stands still
            target = arguments.into / f"{name}.png"
            page.screenshot(path=target)
            page.close()
            with Image.open(target) as picture:
                packed = picture.convert("RGB").quantize(128, dither=Image.Dither.NONE)
            packed.save(target, optimize=True)
            print(f"{target}  {target.stat().st_size / 1e3:.0f} kB")
        browser.close()
    target = arguments.into / "geglu_h200.svg"
    target.write_text(strip.render(store.load(H200 / "mlp_compiled.fxscope")), encoding="utf-8")
    print(f"{target}  {target.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
