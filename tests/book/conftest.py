"""What tests of the built book share."""

import re
import signal
import subprocess
import sys

import pytest

from tests.paths import HTML, ROOT


@pytest.fixture(scope="module")
def address(interruptible):
    """The address that `make live` prints."""
    if not (HTML / "_static" / "live.js").exists():
        pytest.skip("no built book: `make book` or `make strict` first")
    server = subprocess.Popen(
        [sys.executable, str(ROOT / "tools" / "live_book.py"), "--no-browser", "--port=18890"],
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in server.stdout:
        if found := re.search(r"http://\S+", line):
            break
    else:
        pytest.fail("the server ended before it printed an address")
    yield found.group()
    server.send_signal(signal.SIGINT)
    assert server.wait(timeout=30) == 0
    server.stdout.close()
