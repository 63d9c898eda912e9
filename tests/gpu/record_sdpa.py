"""Asks a GPU which attention kernel it takes for random calls: the truth behind `fxscope/_torch/target/sdpa.py`.

    python3 tests/gpu/record_sdpa.py OUT.json.xz        # needs a GPU; a few seconds

For each call: query, key, value and mask as positions in `tensors` (shape, stride, dtype, requires_grad, offset), dropout,
causal, grouped heads, gradient mode; whether cuDNN, flash and memory-efficient attention can be used ("x..": cuDNN
only), and what the dispatcher chooses. Nothing is computed.
"""

import json
import lzma
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch.nn.attention import SDPBackend

CALLS = 4000
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "f64": torch.float64}
LAYOUTS = ["plain"] * 5 + ["bshd"] * 5 + ["packed", "packed", "last", "padded", "expanded"]
MASKS = "full 2d row b1 one lastexp rowexp last1 sliced t 3d grad pad8".split()
NAMES = {"MATH": "math", "FLASH_ATTENTION": "flash", "EFFICIENT_ATTENTION": "efficient", "CUDNN_ATTENTION": "cudnn"}


def empty(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="cuda")


def laid_out(shape: tuple[int, int, int, int], dtype: torch.dtype, layout: str, grad: bool) -> torch.Tensor:
    b, h, s, d = shape
    made = {
        "plain": lambda: empty(*shape, dtype=dtype),
        "bshd": lambda: empty(b, s, h, d, dtype=dtype).transpose(1, 2),
        "packed": lambda: empty(b, s, 3 * h * d, dtype=dtype)[:, :, : h * d].view(b, s, h, d).transpose(1, 2),
        "last": lambda: empty(b, h, d, s, dtype=dtype).transpose(2, 3),
        "padded": lambda: empty(b, h, s, d + 3, dtype=dtype)[..., :d],
        "expanded": lambda: empty(b, 1, s, d, dtype=dtype).expand(shape),
    }[layout]()
    return made.detach().requires_grad_(grad)


def mask_of(form: str, dtype: torch.dtype, b: int, h: int, queries: int, keys: int) -> torch.Tensor:
    """Return a mask in one of the forms that programs pass."""

    def new(*shape: int) -> torch.Tensor:
        return empty(*shape, dtype=dtype)

    return {
        "full": lambda: new(b, h, queries, keys),
        "2d": lambda: new(queries, keys),
        "row": lambda: new(b, 1, 1, keys),
        "b1": lambda: new(b, 1, queries, keys),
        "one": lambda: new(1, 1, queries, keys),
        "lastexp": lambda: new(b, 1, queries, 1).expand(b, h, queries, keys),
        "rowexp": lambda: new(b, 1, 1, keys).expand(b, h, queries, keys),
        "last1": lambda: new(b, 1, queries, 1),
        "sliced": lambda: new(b, 1, queries, keys + 5)[..., :keys],
        "t": lambda: new(b, h, keys, queries).transpose(2, 3),
        "3d": lambda: new(h, queries, keys),
        "grad": lambda: new(b, h, queries, keys).requires_grad_(dtype != torch.bool),
        "pad8": lambda: new(b, 1, queries, (keys + 7) // 8 * 8)[..., :keys],
    }[form]()


def call(pick: random.Random, number: int) -> tuple[list[Any], float, bool, bool]:
    """Return ([query, key, value, mask], dropout, causal, grouped heads) of one random call."""
    dtype = DTYPES[pick.choice(["bf16"] * 5 + ["f16"] * 3 + ["f32"] * 3 + ["f64"])]
    b = pick.choice([1, 1, 2, 3, 0] if number % 10 == 0 else [1, 2, 4])
    h = pick.choice([1, 2, 4, 8, 12])
    gqa = pick.random() < 0.2
    fewer = gqa or pick.random() < 0.05
    heads = pick.choice([n for n in (1, 2, 4, 8, 12) if h % n == 0]) if fewer else h
    gqa = gqa or pick.random() < 0.05
    queries = pick.choice([1, 1, 2, 7, 64, 128, 197, 512, 1024])
    keys = queries if pick.random() < 0.7 else pick.choice([0, 1, 8, 64, 77, 100, 512])
    d = pick.choice([8, 16, 32, 40, 64, 64, 64, 80, 96, 128, 128, 160, 192, 256, 257, 288, 30, 12, 5, 72, 512])
    value = d if pick.random() < 0.9 else pick.choice([32, 64, 128])
    grad = pick.choice(["no"] * 4 + ["all"] * 3 + ["q", "v"])
    layout = pick.choice(LAYOUTS)
    other = layout if pick.random() < 0.7 else pick.choice(LAYOUTS)
    tensors: list[Any] = [
        laid_out((b, h, queries, d), dtype, layout, grad in ("all", "q")),
        laid_out((b, heads, keys, d), dtype, other, grad == "all"),
        laid_out(
            (b, heads, keys, value), dtype if pick.random() > 0.02 else torch.float32, other, grad in ("all", "v")
        ),
    ]
    if b and pick.random() < 0.03:
        tensors = [tensor[0] for tensor in tensors]
    mask = None
    if pick.random() > 0.45:
        mask = mask_of(pick.choice(MASKS), pick.choice([torch.bool, dtype, torch.float32]), b, h, queries, keys)
    return [*tensors, mask], pick.choice([0.0] * 3 + [0.1]), pick.random() < 0.25, gqa


def main(out: Path) -> None:
    pick = random.Random(7)
    backends = {int(member.value): name for name, member in SDPBackend.__members__.items()}
    places: dict[str, int] = {}
    rows: list[list[Any]] = []
    for number in range(CALLS):
        tensors, dropout, causal, gqa = call(pick, number)
        with torch.set_grad_enabled(pick.random() < 0.85):
            params = torch.backends.cuda.SDPAParams(*tensors, dropout, causal, gqa)
            asked = (
                getattr(torch.backends.cuda, f"can_use_{name}_attention") for name in ("cudnn", "flash", "efficient")
            )
            usable = "".join(".x"[bool(ask(params, False))] for ask in asked)
            chosen = torch._fused_sdp_choice(*tensors, dropout, causal, scale=None, enable_gqa=gqa)
            described = [
                None
                if x is None
                else [list(x.shape), list(x.stride()), str(x.dtype)[6:], x.requires_grad, x.storage_offset()]
                for x in tensors
            ]
            positions = [None if x is None else places.setdefault(json.dumps(x), len(places)) for x in described]
            mode = torch.is_grad_enabled()
            rows.append([*positions, dropout, causal, gqa, mode, usable, NAMES[backends[int(chosen)]]])
    known = {
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(),
        "cudnn": torch.backends.cudnn.version(),
    }
    text = json.dumps({**known, "tensors": [json.loads(item) for item in places], "calls": rows}, separators=(",", ":"))
    out.write_bytes(lzma.compress(text.encode(), preset=9))
    print(Counter(row[-1] for row in rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
