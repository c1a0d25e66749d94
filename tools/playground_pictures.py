"""Draw the pictures that stand for the playgrounds where there is no JavaScript, and in the PDF.

Each is the playground itself at its start, without its controls, photographed in a browser: build
the book (`make book`), then run this.  The README shows the first page and a chapter's figure.
"""

import base64
import json
import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "_build" / "html" / "book" / "playgrounds"
PICTURES = ROOT / "book" / "_static" / "playgrounds"
README = ROOT / "book" / "_static" / "readme.png"
FIT = ROOT / "book" / "_static" / "fit.png"
FORECAST = ROOT / "book" / "evidence" / "keep.ipynb", "keep-forecast"
CHOSEN = ".pg-chosen .pg-hit, .pg-key-mark-chosen"
HIDE = f".pg-controls, .pg-numbers, .pg-note, {CHOSEN}, .pg-bar, .pg-field"


def main():
    browser_path = os.environ.get("KERNELBOOK_BROWSER") or shutil.which("chromium")
    if not browser_path or not PAGES.exists():
        sys.exit("This needs Chromium and a built book (`make book`).")
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": 1300, "height": 1800}, color_scheme="light", device_scale_factor=1
        )
        for path in sorted(PAGES.glob("*.html")):
            page.goto(path.as_uri())
            place = page.locator(".playground[data-state=ready]")
            place.wait_for()
            page.wait_for_timeout(500)  # fonts and layout
            page.add_style_tag(
                content=f"{HIDE} {{ display: none !important; }}"
                ".pg-stage { grid-template-columns: minmax(0, 1fr) !important; }"
            )
            page.wait_for_timeout(500)  # the plots follow their width
            target = PICTURES / f"{place.get_attribute('data-playground')}.png"
            place.screenshot(path=target, animations="disabled")
            print(target.relative_to(ROOT))
        # A reader's first visit: the contents are not scrolled to where the last page was.
        page = browser.new_page(viewport={"width": 1100, "height": 760}, color_scheme="light")
        page.goto((PAGES.parent / "index.html").as_uri())
        page.locator(".playground[data-state=ready]").wait_for()
        page.wait_for_timeout(800)  # the plots follow their width
        page.screenshot(path=README, animations="disabled")
        print(README.relative_to(ROOT))
        browser.close()
    FIT.write_bytes(stored_figure(*FORECAST))
    print(FIT.relative_to(ROOT))


def stored_figure(notebook, name):
    """The picture of a chapter's figure, as the notebook stores it."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["metadata"].get("mystnb", {}).get("figure", {}).get("name") == name:
            pictures = [o["data"].get("image/png") for o in cell["outputs"] if "data" in o]
            return base64.b64decode("".join(next(filter(None, pictures))))
    sys.exit(f"{notebook.relative_to(ROOT)} has no figure named {name}")


if __name__ == "__main__":
    main()
