"""`fxscope open TRACE`: show a trace in Perfetto's UI, served once from this machine; or write it annotated."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
import time
import urllib.parse
import webbrowser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from fxscope.errors import FxscopeError

if TYPE_CHECKING:
    import argparse

PERFETTO = "https://ui.perfetto.dev"
# Perfetto's own content-security policy lets its page fetch from this address and port, and from no other.
ADDRESS = ("127.0.0.1", 9001)
PIECE_BYTES = 1 << 20


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", help="a Kineto trace, .json or .json.gz")
    parser.add_argument(
        "--annotated", action="store_true", help="each kernel carries its nodes, source line and fusion group"
    )
    parser.add_argument(
        "--debug-dir", metavar="FOLDER", help="with --annotated: the compile's TORCH_COMPILE_DEBUG folder"
    )
    parser.add_argument("--compile-log", metavar="LOG", help="with --annotated: the compile's TORCH_TRACE log")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="with --annotated: write the trace here (.json.gz), open nothing"
    )
    parser.add_argument("--force", action="store_true", help="overwrite FILE")
    parser.add_argument("--no-browser", action="store_true", help="print the address instead of opening a browser")
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="give up if nobody fetches it (120)")


def run(arguments: argparse.Namespace) -> int:
    """Write the annotated trace, or serve the trace until it was fetched once."""
    path = Path(arguments.trace)
    if arguments.output:
        if not arguments.annotated:
            raise FxscopeError("-o needs --annotated: without it the trace is the file that you have.")
        from fxscope.store import write

        print(f"wrote {write(arguments.output, annotated(arguments), force=arguments.force)}", file=sys.stderr)
        return 0
    try:
        with io.BytesIO(annotated(arguments)) if arguments.annotated else path.open("rb") as data:
            packed = data.read(2) == b"\x1f\x8b"
            name = path.name if path.name.endswith(".gz") == packed else path.name + ".gz"
            return serve(name, data, browser=not arguments.no_browser, timeout_s=arguments.timeout)
    except OSError as error:
        raise FxscopeError(f"cannot read {path}: {error.strerror or error}.") from None


def annotated(arguments: argparse.Namespace) -> bytes:
    """Join the trace with what is known of it, and return it annotated."""
    from fxscope.readers.join import read_trace
    from fxscope.readers.trace import annotate

    recording = read_trace(arguments.trace, debug_dir=arguments.debug_dir, compile_log=arguments.compile_log)
    return annotate(arguments.trace, recording)


def serve(name: str, data: BinaryIO, *, browser: bool, timeout_s: float) -> int:
    """Serve one file, once, to Perfetto's page and nobody else, piece by piece; return when it was fetched."""
    where = "/" + urllib.parse.quote(os.fsencode(name))
    size = data.seek(0, io.SEEK_END)
    reading = threading.Lock()  # several clients have one place in the file
    fetched = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        """Answers one path."""

        timeout = 10  # of one client that says nothing

        def do_GET(self) -> None:
            if self.headers.get("Host") != f"{ADDRESS[0]}:{ADDRESS[1]}":
                self.send_error(421)  # a page that had its own name resolve to this machine
                return
            if self.headers.get("Origin", PERFETTO) != PERFETTO:
                self.send_error(403)  # another page may not read it, and is not to use up the one time
                return
            if self.path != where:
                self.send_error(404)
                return
            self.answer(200)
            with contextlib.suppress(OSError):  # a client that goes away was not served
                for start in range(0, size, PIECE_BYTES):
                    with reading:
                        data.seek(start)
                        piece = data.read(min(PIECE_BYTES, size - start))
                    self.wfile.write(piece)
                fetched.set()

        def do_OPTIONS(self) -> None:
            self.answer(204)

        def answer(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Access-Control-Allow-Origin", PERFETTO)
            self.send_header("Cache-Control", "no-store")
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(size if status == 200 else 0))
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing: the terminal is the user's."""

    class Server(ThreadingHTTPServer):
        """Answers each client in a thread of its own: a slow one holds up nobody."""

        daemon_threads = True
        block_on_close = False

    try:
        server = Server(ADDRESS, Handler)
    except OSError as error:
        raise FxscopeError(
            f"cannot listen on {ADDRESS[0]}:{ADDRESS[1]} ({error.strerror}): another trace is being served there. "
            "Perfetto's page fetches from no other port; stop that one first."
        ) from None
    url = f"{PERFETTO}/#!/?url=http://{ADDRESS[0]}:{ADDRESS[1]}{where}"
    with server:
        server.timeout = 0.5
        if not browser or not webbrowser.open(url):
            print(url, flush=True)
        end = time.monotonic() + timeout_s
        while not fetched.is_set() and time.monotonic() < end:
            server.handle_request()
    if not fetched.is_set():
        raise FxscopeError(f"nobody fetched {name} in {timeout_s:g} s. Open {url} in a browser on this machine.")
    return 0
