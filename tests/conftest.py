"""Shared test set-up."""

import os
import shutil
import signal

import pytest
from hypothesis import settings

from tests.paths import HTML

BROWSER = os.environ.get("KERNELBOOK_BROWSER") or shutil.which("chromium")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing may come from the network
]

# Property tests: `make test` and CI give the same verdict on the same tree; whoever runs pytest
# searches on, with new examples each time.  What fails prints the line that brings it back.
settings.register_profile("gate", derandomize=True, database=None, print_blob=True)
settings.register_profile("search", print_blob=True)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("gate" if os.environ.get("CI") else "search")
)


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "interpreted: also run with NUMBA_DISABLE_JIT=1 (small sizes, jitted kernels)"
    )


@pytest.fixture(autouse=True)
def leaves_threads_as_they_were():
    """No test, and no loop of ours, may change where and on how many cores the next one runs."""
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")

    def threads():
        cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
        return cores, [os.environ.get(name) for name in names]

    before = threads()
    yield
    assert threads() == before


@pytest.fixture(scope="module")
def interruptible():
    """Ctrl-C raises KeyboardInterrupt here, and in the processes that a test starts.

    A shell without job control starts `make test &` with SIGINT ignored; so do cron and some CI
    runners.  Python then installs no handler, and child processes inherit the ignored signal.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def browser():
    """A real browser over the built book; without one the tests that want it are skipped."""
    if BROWSER is None:
        pytest.skip("no browser: install chromium, or name one in KERNELBOOK_BROWSER")
    if not (HTML / "index.html").exists():
        pytest.skip("no built book: `make book` or `make strict` first")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=BROWSER, args=QUIET)
        yield chromium
        chromium.close()
