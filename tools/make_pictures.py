# /// script
# dependencies = ["fxscope", "playwright"]
# ///
"""Write the pictures of `docs/images/`: the first screens of five pages, in headless Chromium, and README's graph.

    python tools/make_pictures.py [--chromium PATH] [--into FOLDER]

Four pages are of recordings and captures in the repository; the 12-layer transformer is compiled for this machine's CPU
here (about a minute). With ImageMagick's `convert` on PATH the pictures are packed to 96 colours.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
H200 = ROOT / "fxscope" / "data" / "h200"
SIZE, SCALE = {"width": 1440, "height": 900}, 0.764
ARGUMENTS = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-sync"]


def twelve_layers():
    """Compile and measure a small transformer of twelve layers."""
    import torch
    from torch import nn
    from torch.nn import functional

    import fxscope

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = nn.Linear(128, 384), nn.Linear(128, 128)

        def forward(self, x):
            heads = self.qkv(x).unflatten(-1, (3, 4, 32)).permute(2, 0, 3, 1, 4)
            return self.out(functional.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(2))

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2, self.attention = nn.LayerNorm(128), nn.LayerNorm(128), Attention()
            self.mlp = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128))

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.norm, self.head = nn.Embedding(512, 128), nn.LayerNorm(128), nn.Linear(128, 512)
            self.layers = nn.Sequential(*(Layer() for _ in range(12)))

        def forward(self, tokens):
            return self.head(self.norm(self.layers(self.embedding(tokens))))

    return fxscope.record(Transformer().eval(), torch.randint(0, 512, (4, 64)), compile=True)


def pages() -> dict[str, str]:
    """Return each picture's name and the page that it shows."""
    from fxscope import store
    from fxscope.analysis.compare import compare
    from fxscope.commands import common
    from fxscope.model import replace
    from fxscope.render.page import html

    eager, compiled, liger = (
        replace(store.load(H200 / f"{name}.fxscope"), title=title)
        for name, title in (
            ("mlp_eager", "GeGLU MLP, eager"),
            ("mlp_compiled", "GeGLU MLP, compiled"),
            ("mlp_liger", "GeGLU MLP, Liger"),
        )
    )
    training = common.read(str(ROOT / "tests" / "data" / "h200" / "mlp_train_compiled"))
    both = (compare(eager, compiled), compare(eager, liger))
    return {
        "page_mlp": html.render(compiled),
        "page_eager": html.render(eager),
        "page_training": html.render(replace(training, title="GeGLU MLP, training, compiled")),
        "page_comparison": html.render(eager, others=(compiled, liger), comparison=both),
        "page_twelve_layers": html.render(replace(twelve_layers(), title="12-layer transformer, compiled")),
    }


def main() -> int:
    """Write the pictures, and say how large they are."""
    from playwright.sync_api import sync_playwright

    from fxscope import store
    from fxscope.render import svg

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    parser.add_argument("--chromium", default=found, help="the browser to drive")
    parser.add_argument("--into", metavar="FOLDER", type=Path, default=ROOT / "docs" / "images")
    arguments = parser.parse_args()
    if not arguments.chromium:
        print("no Chromium on PATH: give --chromium PATH", file=sys.stderr)
        return 2
    arguments.into.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=ARGUMENTS)
        for name, text in pages().items():
            path = Path(folder) / f"{name}.html"
            path.write_text(text, encoding="utf-8")
            page = browser.new_page(viewport=SIZE, device_scale_factor=SCALE)
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready=yes]")
            page.wait_for_timeout(500)  # until a first layout stands still
            target = arguments.into / f"{name}.png"
            page.screenshot(path=target)
            page.close()
            if shutil.which("convert"):
                subprocess.run(["convert", target, "-colors", "96", f"PNG8:{target}"], check=True)
            print(f"{target}  {target.stat().st_size / 1e3:.0f} kB")
        browser.close()
    target = arguments.into / "geglu_h200.svg"
    target.write_text(svg.render(store.load(H200 / "mlp_compiled.fxscope")), encoding="utf-8")
    print(f"{target}  {target.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
