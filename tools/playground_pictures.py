"""Draw the pictures that stand for the playgrounds where there is no JavaScript, and in the PDF.

Each is the playground itself at its start, without its controls, photographed in a browser: build
the book (`make book`), then run this.  The picture in the README is one of them with its buttons.
"""

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "_build" / "html" / "book" / "playgrounds"
PICTURES = ROOT / "book" / "_static" / "playgrounds"
README = ROOT / "book" / "_static" / "readme.png"
CONTROLS = ".pg-controls, .pg-numbers, .pg-note, .pg-chosen .pg-hit"
HIDE = f"{CONTROLS}, .pg-bar, .pg-field"


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
            page.add_style_tag(content=f"{HIDE} {{ display: none !important; }}")
            target = PICTURES / f"{place.get_attribute('data-playground')}.png"
            place.screenshot(path=target, animations="disabled")
            print(target.relative_to(ROOT))
        page.goto((PAGES / "classification.html").as_uri())
        place = page.locator(".playground[data-state=ready]")
        page.add_style_tag(
            content=f"{CONTROLS} {{ display: none !important; }}"
            ".bd-sidebar-secondary { display: none !important; }"
            ".playground { width: 46rem; padding: 10px; }"
        )
        page.wait_for_timeout(800)  # the plots follow their new width
        place.screenshot(path=README, animations="disabled")
        print(README.relative_to(ROOT))
        browser.close()


if __name__ == "__main__":
    main()
