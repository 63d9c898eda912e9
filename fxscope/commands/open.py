"""`fxscope open TRACE`: show a trace in Perfetto's UI, served once from this machine."""

import argparse
import contextlib
import io
import os
import secrets
import shutil
import threading
import time
import urllib.parse
import webbrowser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO

from fxscope import store
from fxscope.commands import common
from fxscope.errors import FxscopeError, UsageError

PERFETTO = "https://ui.perfetto.dev"
# Perfetto's own content-security policy lets its page fetch from this address and port, and from no other.
ADDRESS = ("127.0.0.1", 9001)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", help="a Kineto trace, .json or .json.gz")
    parser.add_argument("--no-browser", action="store_true", help="print the address instead of opening a browser")
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="stop after S seconds (default: 120)")


def run(arguments: argparse.Namespace) -> int:
    path = Path(arguments.trace)
    if not arguments.timeout > 0:  # nan, too
        raise UsageError("--timeout must be above 0.")
    if path.is_dir() or (path.exists() and (".json" not in path.suffixes or common.is_recording(path))):
        raise FxscopeError(f"{path} is not a trace: Perfetto opens what `export_chrome_trace` writes (.json).")
    with store.opened(path) as data, listen() as server:
        return serve(server, path.name, data, browser=not arguments.no_browser, timeout_s=arguments.timeout)


class Server(ThreadingHTTPServer):
    """A thread per client: one that sends its request slowly, or never, delays no other."""

    timeout = 0.5
    request_queue_size = 128
    allow_reuse_address = os.name == "posix"  # on Windows it would let a second program listen on the same port

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing about a client that goes away."""


def listen() -> Server:
    """Return a server that answers nobody yet. Raises FxscopeError where the port is taken."""
    try:
        return Server(ADDRESS, BaseHTTPRequestHandler)
    except OSError as error:
        raise FxscopeError(
            f"cannot listen on {ADDRESS[0]}:{ADDRESS[1]} ({error.strerror}), and Perfetto's page fetches from nowhere else. "
            f"End what listens there (another `fxscope open`, trace_processor), or open the file in {PERFETTO} by hand."
        ) from None


def serve(server: Server, name: str, data: IO[bytes], *, browser: bool, timeout_s: float) -> int:
    """Serve one file, once, to Perfetto's page and nobody else; return when it was fetched."""
    # The token keeps out other users of this machine, who may have no right to the file.
    where = f"/{secrets.token_urlsafe(16)}/{urllib.parse.quote(os.fsencode(name))}"
    fetched = threading.Event()
    sending = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        timeout = 5  # seconds in which a client sends nothing, or accepts nothing

        def do_GET(self) -> None:
            # Only a script of Perfetto's page sends this origin: no other page, no navigation, no name that resolves here.
            asked = self.headers.get("Host"), self.headers.get("Origin")
            is_allowed = asked == (f"{ADDRESS[0]}:{ADDRESS[1]}", PERFETTO)
            is_allowed = is_allowed and secrets.compare_digest(self.path.encode(), where.encode())
            with sending if is_allowed else contextlib.nullcontext():
                if not is_allowed or fetched.is_set():  # by another client, while this one waited
                    self.send_error(403)
                else:
                    self.send_response(200)
                    self.send_header("Access-Control-Allow-Origin", PERFETTO)
                    self.send_header("Cache-Control", "no-store")
                    self.send_header("Content-Length", str(data.seek(0, io.SEEK_END)))
                    self.end_headers()
                    data.seek(0)
                    shutil.copyfileobj(data, self.wfile)
                    fetched.set()

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing: the terminal is the user's."""

    server.RequestHandlerClass = Handler
    # Quoted twice: Perfetto's page decodes the parameter once, and the file's name may contain "#", "&" or "%".
    url = f"{PERFETTO}/#!/?url={urllib.parse.quote(f'http://{ADDRESS[0]}:{ADDRESS[1]}{where}', safe=':/')}"
    with store.OwnFolder() as folder:  # others see the command line of a browser, but not what is in this folder
        page = Path(folder) / "open.html"
        page.write_text(f'<meta http-equiv="refresh" content="0;url={url}">')
        try:
            shown = browser and webbrowser.open(page.as_uri())
        except (webbrowser.Error, IndexError, ValueError):  # a BROWSER that is no command
            shown = False
        if not shown:
            print(url, flush=True)
        end = time.monotonic() + timeout_s
        while not fetched.is_set() and time.monotonic() < end:
            server.handle_request()
        with sending:  # a download that has begun ends first
            if not fetched.is_set():
                raise FxscopeError(f"no browser fetched {name} in {timeout_s:g} s: open what --no-browser prints.")
    return 0
