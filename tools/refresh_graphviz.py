"""Fetch Graphviz as WebAssembly from npm for the page: `python tools/refresh_graphviz.py [VERSION]`. Needs `npm`.

Writes `assets/graphviz.zlib` (the script, deflated) and `assets/graphviz.txt` (version, checksum, licences).
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path

PACKAGE = "@viz-js/viz"
SCRIPT = "package/dist/viz-global.js"
ASSETS = Path(__file__).parents[1] / "fxscope" / "render" / "page" / "assets"
NOTE = """{package} {version}, {script} of the npm package, deflated by tools/refresh_graphviz.py.
sha256 of the script: {digest}

It holds, compiled to WebAssembly:
- Viz.js {version}, https://github.com/mdaines/viz-js, Copyright (c) Michael Daines, MIT licence
- Graphviz {graphviz}, https://graphviz.org, Copyright (c) AT&T Intellectual Property and others, Eclipse Public Licence;
  its source: https://gitlab.com/graphviz/graphviz/-/releases/{graphviz}
- Expat, https://libexpat.github.io, Copyright (c) the Expat maintainers, MIT licence
"""


def main() -> int:
    """Fetch, pack and note one version, the newest unless one is named."""
    wanted = f"{PACKAGE}@{sys.argv[1] if len(sys.argv) > 1 else 'latest'}"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["npm", "pack", "--json", wanted], cwd=folder, capture_output=True, text=True, check=True)
        name = json.loads(done.stdout)[0]["filename"]
        with tarfile.open(Path(folder) / Path(name).name) as archive:
            members = {member: read(archive, member) for member in (SCRIPT, "package/package.json")}
            metadata = read(archive, "package/lib/metadata.js").decode()
    script = members[SCRIPT]
    graphviz = re.search(r'graphvizVersion = "([\d.]+)"', metadata)
    version = json.loads(members["package/package.json"])["version"]
    (ASSETS / "graphviz.zlib").write_bytes(zlib.compress(script, 9))
    (ASSETS / "graphviz.txt").write_text(
        NOTE.format(
            package=PACKAGE,
            version=version,
            script=SCRIPT.removeprefix("package/"),
            digest=hashlib.sha256(script).hexdigest(),
            graphviz=graphviz[1] if graphviz else "(version unknown)",
        ),
        encoding="utf-8",
    )
    print(f"{wanted}: version {version}, {len(script):,} bytes")
    return 0


def read(archive: tarfile.TarFile, name: str) -> bytes:
    """Return a member of an archive."""
    member = archive.extractfile(name)
    assert member is not None, f"the package has no {name}"
    return member.read()


if __name__ == "__main__":
    sys.exit(main())
