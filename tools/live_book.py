"""Serve the built book on this machine, with kernels that run its code cells.

Jupyter Server does all of it: the pages are static files of its, and kernels start on the same
origin.  It listens on 127.0.0.1 only.  The printed address carries a key; the browser gets a cookie
for it and is sent on to the book.  Pages of other origins are refused, and nothing runs by itself.
"""

import argparse
import json
import secrets
import shutil
import sys
import tempfile
import webbrowser
from pathlib import Path

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.serverapp import ServerApp
from tornado.web import authenticated

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
PAGES = "/static/book"  # the address of the folder `book`
IDLE = 3600  # seconds after which a kernel that nobody looks at is ended


class Door(JupyterHandler):
    """The printed address: it takes the key, gives the cookies and leads on to the book."""

    @authenticated
    def get(self):
        self.xsrf_token  # noqa: B018  (reading it sets the cookie that the page repeats)
        self.redirect(f"{PAGES}/index.html")


def settings(key, port, overlay):
    """As a command line, which no configuration file overrides."""
    return [
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        f"--ServerApp.root_dir={ROOT / 'book'}",
        f"--ServerApp.extra_static_paths={overlay}",
        f"--ServerApp.extra_static_paths={HTML}",
        f"--ServerApp.default_url={PAGES}/index.html",
        "--ServerApp.open_browser=False",
        "--ServerApp.answer_yes=True",
        "--ServerApp.allow_root=True",
        "--ServerApp.allow_origin=",
        "--ServerApp.log_level=ERROR",
        f"--IdentityProvider.token={key}",
        f"--MappingKernelManager.cull_idle_timeout={IDLE}",
    ]


def make_overlay(folder):
    """The script of the cells as it is on live pages: it knows where it is."""
    script = (HTML / "_static" / "live.js").read_text(encoding="utf-8")
    live = f"window.KERNELBOOK_LIVE = {json.dumps({'root': PAGES})};\n"
    (folder / "_static").mkdir()
    (folder / "_static" / "live.js").write_text(live + script, encoding="utf-8")


def announce(address, browser):
    print(f"\nThe book, with code that runs: {address}")
    print("Ctrl-C ends it, and the kernels with it.", flush=True)
    if browser:
        webbrowser.open(address)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=8890, help="the first port to try")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    arguments = parser.parse_args()
    if not (HTML / "_static" / "live.js").exists():
        sys.exit("There is no built book yet; run `make live`, which builds it first.")
    overlay, key = Path(tempfile.mkdtemp(prefix="kernelbook-live-")), secrets.token_urlsafe(24)
    try:
        make_overlay(overlay)
        server = ServerApp()
        server.initialize(settings(key, arguments.port, overlay), find_extensions=False)
        server.web_app.add_handlers(".*$", [("/open", Door)])
        address = f"http://127.0.0.1:{server.port}/open?token={key}"
        server.io_loop.add_callback(
            announce, address, not arguments.no_browser
        )  # it listens by then
        server.start()
    finally:
        shutil.rmtree(overlay, ignore_errors=True)


if __name__ == "__main__":
    main()
