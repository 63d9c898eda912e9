"""Make the environment: a virtual environment with fxscope, its tests' packages, and a torch.

A torch that the base Python already has is used as it is (the environment sees the system's packages then) and never
replaced; where there is none, the pinned build is installed. Runs on a bare Python 3.10 with pip; needs nothing else.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = "test"
# The Triton that each torch was released with. torch's CUDA builds ask for theirs; its CPU builds ask for none, and
# Inductor's generated code and another Triton need not fit.
TRITON = {"2.11": "3.6.*", "2.12": "3.7.*", "2.13": "3.7.*", "2.14": "3.8.*"}


def main() -> None:
    """Create or complete the environment. Exits with pip's code where pip fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv")
    parser.add_argument("--torch", required=True, help="the requirement to install where there is no torch")
    arguments = parser.parse_args()
    if sys.version_info < (3, 10):  # noqa: UP036 - this file is what an older Python meets first
        sys.exit(f"fxscope needs Python 3.10 or newer; this is {sys.version.split()[0]}. Run make PYTHON=python3.11 …")
    inherited = version_of(sys.executable, "torch")
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
    say(f"installing fxscope beside torch {torch}")
    # The exact installed versions are constraints, so that no dependency can move them.
    constraint = arguments.venv / "constraints.txt"
    triton = version_of(python, "triton")
    pins = [f"torch=={torch}", f"triton=={triton or TRITON.get('.'.join(str(torch).split('.')[:2]), '')}"]
    constraint.write_text("".join(f"{pin}\n" for pin in pins if not pin.endswith("==")))
    pip(python, "--constraint", str(constraint), "--editable", f"{ROOT}[{EXTRAS}]")
    # kernels (Hugging Face) is what one example loads; nothing else needs it, so failing to get it is no failure.
    if subprocess.run([python, "-c", "import kernels"], capture_output=True, check=False).returncode:
        optional(python, "--constraint", str(constraint), "kernels>=0.15")


def version_of(python: str | Path, package: str) -> str | None:
    """Return the installed version of a package, without importing it; `None` where it is not installed."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    found = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else None


def pip(python: Path, *arguments: str) -> None:
    """Install, quietly; exit with pip's own message and code where it fails."""
    done = subprocess.run(install_command(python, *arguments), cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(f"setup: pip could not install {' '.join(arguments)}; its message is above.")


def optional(python: Path, *arguments: str) -> None:
    """Install something that may be missing, and say so where it is."""
    done = subprocess.run(install_command(python, *arguments), cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        say(f"{arguments[-1]} could not be installed: the example that loads a kernel from a hub will say so")


def install_command(python: Path, *arguments: str) -> list[str]:
    """Return the pip command line."""
    return [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]


def say(message: str) -> None:
    """Print progress on stderr: stdout belongs to results."""
    print(f"setup: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
