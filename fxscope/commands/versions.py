"""`fxscope doctor --versions`: versions, devices and hooks of this torch; `--dump-gpu` describes a GPU."""

from __future__ import annotations

import json
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fxscope import __version__, store
from fxscope.errors import CaptureError

if TYPE_CHECKING:
    import argparse

_OTHERS = ("msgspec", "networkx", "rich", "numpy", "isal", "kernels", "liger_kernel")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--versions", action="store_true", help="versions, devices and hooks, for bug reports")
    parser.add_argument(
        "--dump-gpu",
        metavar="FILE",
        nargs="?",
        const="-",
        default=None,
        help="describe the GPU of this machine as gpus/NAME.json does; to stdout without FILE",
    )
    parser.add_argument("--force", action="store_true", help="overwrite FILE")


def run(arguments: argparse.Namespace) -> int:
    if arguments.dump_gpu is not None:
        return _dump_gpu(arguments)
    facts = collect()
    if arguments.json:
        print(json.dumps(facts, indent=2))
        return 0
    for key in ("fxscope", "python", "platform", "torch", "cuda", "triton", "scanner"):
        print(f"{key:<14}{facts[key] if facts[key] is not None else 'not found'}")
    print(f"{'packages':<14}{', '.join(f'{name} {version}' for name, version in facts['packages'].items())}")
    if facts["torch_error"]:
        print(f"\ntorch cannot be used here: {facts['torch_error']}")
        return 0
    print("\ndevices")
    for device in facts["devices"]:
        rest = ", ".join(f"{key} {value}" for key, value in device.items() if key not in ("device", "name"))
        print(f"  {device['device']:<10}{device['name']}  ({rest})")
    print(f"\nhooks: {sum(hook['found'] for hook in facts['hooks'])} of {len(facts['hooks'])}")
    for hook in facts["hooks"]:
        print(f"  {'yes' if hook['found'] else 'NO ':<5}{hook['name']}\n       {hook['purpose']}")
    return 0


def collect() -> dict[str, Any]:
    """Everything that `fxscope doctor --versions` prints. Works without torch."""
    from fxscope.readers.trace import reader

    facts: dict[str, Any] = {
        "fxscope": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform}-{platform.machine()}",
        "torch": _version("torch"),
        "cuda": None,
        "triton": _version("triton"),
        "scanner": "compiled" if reader.native is not None else "not compiled: traces are read more slowly",
        "packages": {name: version for name in _OTHERS if (version := _version(name)) is not None},
        "torch_error": None,
        "devices": [],
        "hooks": [],
    }
    try:
        from fxscope._torch import probe
        from fxscope._torch.environment import environment
    except Exception as error:
        facts["torch_error"] = f"{type(error).__name__}: {error}"
        return facts
    here = environment()
    facts["cuda"] = here.cuda
    facts["torch"] = here.torch  # says more than the package's metadata: "2.13.0+cpu"
    facts["devices"] = probe.devices()
    facts["hooks"] = [{"name": name, "found": found, "purpose": purpose} for name, found, purpose in probe.probe()]
    return facts


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _dump_gpu(arguments: argparse.Namespace) -> int:
    from fxscope._torch import gpu_dump

    try:
        text = json.dumps(gpu_dump.dump(), indent=2) + "\n"
    except RuntimeError as error:
        raise CaptureError(str(error)) from None
    if arguments.dump_gpu == "-":
        print(text, end="")
        return 0
    print(f"wrote {store.write(Path(arguments.dump_gpu), text, force=arguments.force)}", file=sys.stderr)
    return 0
