"""`make live`: code that runs in the page, tried in a browser, and closed to everyone else."""

import json
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request

import pytest
import websocket

from tests.book.live import Live
from tests.paths import HTML, ROOT

NODE = shutil.which("node")
REFUSED = (403, 404)
CHAPTER = "foundations/regularized_approximation.html"


@pytest.mark.skipif(NODE is None, reason="no node: the modules need one")
@pytest.mark.parametrize("modules", ["live/modules.test.mjs", "search/search.test.mjs"])
def test_the_modules_pass_their_own_tests(modules):
    done = subprocess.run(
        [NODE, "--test", str(ROOT / "tests" / modules)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "# fail 0" in done.stdout


def origin_of(address):
    return re.match(r"http://[^/]+", address).group()


def status(address, path, method="GET", body=None, **headers):
    """What the server answers to someone who is no browser of ours."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        origin_of(address) + path, data, headers=headers, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as refusal:
        return refusal.code


def handshake(address, kernel, **options):
    """What the server answers to someone who wants to talk to a kernel."""
    where = origin_of(address).replace("http", "ws") + f"{kernel}/channels"
    try:
        channel = websocket.create_connection(where, timeout=20, **options)
    except websocket.WebSocketBadStatusException as refusal:
        return refusal.status_code
    channel.close()
    return channel.getstatus()


# ------------------------------------------------------------------------------- closed to others


def test_it_listens_on_this_machine_only_and_needs_the_key(address):
    port = int(origin_of(address).rpartition(":")[2])
    assert origin_of(address).startswith("http://127.0.0.1:")
    others = {a[4][0] for a in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)}
    for other in others - {"127.0.0.1"}:
        with socket.socket() as probe:
            probe.settimeout(2)
            assert probe.connect_ex((other, port)) != 0, f"it listens on {other}, too"
    kernel = {"name": "python3"}
    assert status(address, "/static/book/index.html") == 200  # the pages are nobody's secret
    assert status(address, "/api/kernels") == 403
    assert status(address, "/api/kernels", "POST", kernel) == 403
    assert status(address, "/api/kernels", "POST", kernel, Authorization="token wrong") == 403
    assert status(address, "/api/contents/index.md") == 403
    assert status(address, "/static/book/index.html", Host="elsewhere.example") == 403


def test_pages_of_other_origins_are_refused(address, browser):
    """Even with the reader's cookies: the browser sends them, for ports make no site."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    cookies = "; ".join(f"{c['name']}={c['value']}" for c in context.cookies())
    xsrf = next(c["value"] for c in context.cookies() if c["name"] == "_xsrf")
    ours, theirs, kernel = origin_of(address), "http://127.0.0.1:1", {"name": "python3"}

    def post(**headers):
        return status(address, "/api/kernels", "POST", kernel, Cookie=cookies, **headers)

    assert post(Origin=ours) == 403  # without what only our own page can read
    assert post(Origin=theirs, X_XSRFToken=xsrf) in REFUSED
    assert status(address, "/api/kernels", Cookie=cookies, Origin=theirs) in REFUSED
    started = page.request.post(
        f"{ours}/api/kernels", data=kernel, headers={"Origin": ours, "X-XSRFToken": xsrf}
    )
    path = f"/api/kernels/{started.json()['id']}"
    assert handshake(address, path, origin=theirs, cookie=cookies) in REFUSED
    assert handshake(address, path, origin=ours) in REFUSED  # without the cookie
    assert handshake(address, path, origin=ours, cookie=cookies) == 101
    page.request.delete(ours + path, headers={"X-XSRFToken": xsrf})
    context.close()


# --------------------------------------------------------------------------------- in the browser


@pytest.fixture(scope="module")
def live(browser, address):
    page = browser.new_context(viewport={"width": 1300, "height": 900}).new_page()
    trouble = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda m: m.type == "error" and trouble.append(m.text))
    page.goto(address)
    assert page.url == f"{origin_of(address)}/static/book/index.html"  # the key is out of sight
    page.goto(page.url.replace("index.html", CHAPTER))
    yield Live(page)
    assert trouble == []
    page.context.close()


def test_nothing_runs_by_itself(live):
    kernels = live.page.evaluate("fetch('/api/kernels').then(a => a.json())")
    assert kernels == []
    assert live.page.locator(".kb-panel").is_hidden()
    assert live.cells.count() > 20


def test_a_cell_says_what_it_misses(live):
    live.press(1, "Run")
    live.says(1, "Use “Run all above”")
    assert "NameError" in live.shown(1).inner_text()


def test_a_changed_number_draws_a_new_figure(live):
    live.press(3, "Run all above")
    live.says(2, "computed on this page")
    stored = live.cells.nth(2).locator(".cell_output:not(.kb-output) pre").text_content()
    assert live.shown(2).inner_text().split() == stored.split()  # as in the book
    live.press(3, "Run")
    live.says(3, "computed on this page")
    picture = live.shown(3).locator("img")
    first = picture.get_attribute("src")
    live.write(3, live.cells.nth(3).locator("pre").first.text_content())
    live.write(3, live.code(3).replace("(-10, 15)", "(-100, 150)"))
    live.says(3, "changed, not run yet")
    live.cells.nth(3).locator("textarea").press("Control+Enter")
    live.says(3, "from changed code")
    assert picture.get_attribute("src") != first
    assert "Twelve points" in picture.get_attribute("alt")
    assert "A perfect fit" in live.shown(3).inner_text()  # the caption stays
    live.press(3, "Reset")
    assert live.shown(3).is_hidden()
    assert live.cells.nth(3).locator("img").first.is_visible()


def test_variables_survive_a_reload(live):
    live.page.reload()
    live.write(1, "print(m + 30)")
    live.press(1, "Run")
    live.says(1, "computed on this page")
    assert live.shown(1).inner_text().strip() == "42"


def test_a_cell_is_stopped(live):
    live.write(1, "print('on', flush=True)\nwhile True: pass")
    live.press(1, "Run")
    live.shown(1).get_by_text("on").wait_for()
    live.press(1, "Stop")
    live.says(1, "stopped")
    live.panel("Python is ready")


def test_a_kernel_that_dies_is_mourned_in_words(live):
    live.write(1, "import os; os.kill(os.getpid(), 9)")
    live.press(1, "Run")
    live.says(1, "The kernel died and was started again: its variables are gone")
    live.panel("The kernel died and was started again")
    live.write(1, "print('m' in globals())")
    live.press(1, "Run")
    live.says(1, "computed on this page")
    assert live.shown(1).inner_text().strip() == "False"
    live.page.locator(".kb-panel").get_by_role("button", name="Restart").click()
    live.panel("no cell has been run yet")
    live.says(1, "computed by a kernel that is gone")


# --------------------------------------------------------------------------------- from a folder


def test_a_page_that_is_a_file_names_the_command(browser):
    page = browser.new_context(viewport={"width": 390, "height": 800}).new_page()
    page.goto((HTML / "book" / CHAPTER).as_uri())
    run = page.get_by_role("button", name="Run", exact=True).first
    run.click()
    assert "make live" in page.locator(".kb-how").inner_text()
    assert run.get_attribute("aria-expanded") == "true"
    assert page.get_by_role("button", name="Edit").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    run.click()
    assert page.locator(".kb-how").count() == 0
    page.context.close()
