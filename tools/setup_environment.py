"""Make the environment: a virtual environment with fxscope, the extras that are asked for, and a torch.

A torch that the base Python already has is used as it is (the environment sees the system's packages then) and never
replaced; where there is none, the pinned build is installed. Runs on a bare Python 3.10 with pip; needs nothing else.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The Triton that each torch was released with. torch's CUDA builds ask for theirs; its CPU builds ask for none, and
# Inductor's generated code and another Triton need not fit.
TRITON: dict[str, str] = json.loads((ROOT / "fxscope/data/triton_versions.json").read_text())
STARTED = time.monotonic()


def main() -> None:
    """Create or complete the environment. Exits with pip's code where pip fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv")
    parser.add_argument("--torch", required=True, help="the requirement to install where there is no torch")
    parser.add_argument("--extras", default="", help="fxscope's extras to install, with commas")
    parser.add_argument("--isolated", action="store_true", help="install a torch even where the base Python has one")
    arguments = parser.parse_args()
    if sys.version_info < (3, 10):  # noqa: UP036 - this file is what an older Python meets first
        sys.exit(f"fxscope needs Python 3.10 or newer; this is {sys.version.split()[0]}. Run make PYTHON=python3.11 …")
    inherited = None if arguments.isolated else version_of(sys.executable, "torch")
    python = arguments.venv / "bin" / "python"
    if not python.exists():
        where = f"with the installed torch {inherited}" if inherited else "new"
        say(f"creating {arguments.venv.name} ({where})")
        venv.create(arguments.venv, with_pip=True, system_site_packages=inherited is not None)
    torch = version_of(python, "torch")
    if torch is None:
        say(f"installing {arguments.torch}: no torch is here yet")
        pip(python, arguments.torch)
        torch = version_of(python, "torch")
    extras = f"[{arguments.extras}]" if arguments.extras else ""
    say(f"installing fxscope{extras} beside torch {torch}")
    # The exact installed versions are constraints, so that no dependency can move them.
    constraint = arguments.venv / "constraints.txt"
    triton = version_of(python, "triton")
    if triton is None and release(torch) in TRITON:
        triton = f"{TRITON[release(torch)]}.*"
    constraint.write_text(f"torch=={torch}\n" + (f"triton=={triton}\n" if triton else ""))
    wanted = ["--editable", f"{ROOT}{extras}"]
    if sys.platform == "linux":
        wanted.append("triton")  # for plans of a GPU that is not here
    pip(python, "--constraint", str(constraint), *wanted)
    # kernels (Hugging Face) is what one example loads; nothing else needs it, so failing to get it is no failure.
    if "test" in arguments.extras.split(",") and version_of(python, "kernels") is None:
        optional(python, "--constraint", str(constraint), "kernels>=0.15")
    say(f"ready after {time.monotonic() - STARTED:.0f} s")


def release(version: str | None) -> str:
    """Return the first two numbers of a version: "2.13.0+cpu" → "2.13"."""
    return ".".join(str(version).split(".")[:2])


def version_of(python: str | Path, package: str) -> str | None:
    """Return the installed version of a package, without importing it; `None` where it is not installed."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    found = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else None


def pip(python: Path, *arguments: str) -> None:
    """Install, with a line for each large download; exit with pip's own message and code where it fails."""
    command = install_command(python, *arguments)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            download = re.match(r"\s*Downloading (\S+) \((\d+(?:\.\d+)? MB)\)", line)
            if download and float(download[2].split()[0]) > 5:
                say(f"  downloading {download[1].rpartition('/')[2]} ({download[2]})")
            elif line.startswith("Installing collected packages"):
                say(f"  unpacking {line.count(',') + 1} packages")
    if process.returncode:
        print("".join(said[-20:]), file=sys.stderr)
        sys.exit(f"setup: pip could not install {' '.join(arguments)}; its message is above.")


def optional(python: Path, *arguments: str) -> None:
    """Install something that may be missing, and say so where it is."""
    done = subprocess.run(install_command(python, *arguments), cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        say(f"{arguments[-1]} could not be installed: the example that loads a kernel from a hub will say so")


def install_command(python: Path, *arguments: str) -> list[str]:
    """Return the pip command line."""
    return [str(python), "-m", "pip", "install", "--progress-bar", "off", "--disable-pip-version-check", *arguments]


def say(message: str) -> None:
    """Print progress on stderr: stdout belongs to results."""
    print(f"setup: {time.monotonic() - STARTED:4.0f} s  {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
