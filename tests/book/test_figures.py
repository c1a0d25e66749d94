"""Figures can be read on light pages, on dark pages and on paper."""

import json
import re
import sys
from functools import cache

import numpy as np
import pytest
from PIL import Image

from kernelbook.plotting import COLORS
from tests.paths import HTML, ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))
from inks import INKS, PAGES, ink_for_paper, inked

IMG = re.compile(r'<img [^>]*?src="[^"]*_images/([^"]+)"[^>]*>')
built = pytest.mark.skipif(not (HTML / "_images").exists(), reason="no built book: `make strict`")


def luminance(color):
    value = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(a, b):
    """WCAG 2.2, by its definition."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_definition():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("theme", INKS)
def test_every_ink_has_the_contrast_of_text(theme):
    assert INKS[theme].keys() == vars(COLORS).keys()
    for name, color in INKS[theme].items():
        for page in PAGES[theme]:
            assert contrast(color, page) >= 4.5, (name, page)


def test_the_stored_colours_can_be_seen_on_both():
    """JupyterLab and the EPUB show them as they are stored."""
    for color in vars(COLORS).values():
        for theme in PAGES:
            assert contrast(color, PAGES[theme][0]) >= 3


def test_only_the_colours_change_and_only_where_they_are():
    pixels = np.zeros((2, 3, 4), dtype=np.uint8)
    pixels[0, 0] = (0x7A, 0x7A, 0x7A, 40)  # a letter's edge
    pixels[0, 1] = (0x2F, 0x7F, 0xBF, 255)
    pixels[0, 2] = (0x7A, 0x7A, 0x7B, 255)  # no ink: a colour map
    pixels[1, 0] = (0x7A, 0x7A, 0x7A, 0)  # nothing is seen here
    found = np.array(inked(Image.fromarray(pixels), "dark"))
    assert found[0, 0].tolist() == [0xA3, 0xA3, 0xA3, 40]
    assert found[0, 1].tolist() == [0x4A, 0x96, 0xD2, 255]
    assert (found[0, 2] == pixels[0, 2]).all()
    assert (found[1] == pixels[1]).all()
    assert inked(Image.fromarray(pixels[:1, 2:]), "light") is None
    assert inked(Image.new("RGB", (2, 2), "#7a7a7a"), "light") is None


def test_paper_gets_the_inks_of_the_light_page(tmp_path):
    Image.new("RGBA", (3, 2), "#7a7a7aff").save(tmp_path / "a.png")
    Image.new("RGB", (3, 2), "#7a7a7a").save(tmp_path / "b.png")
    before = (tmp_path / "b.png").read_bytes()
    ink_for_paper(tmp_path)
    with Image.open(tmp_path / "a.png") as image:
        assert image.getpixel((0, 0)) == (0x62, 0x62, 0x62, 255)
    assert (tmp_path / "b.png").read_bytes() == before


@cache
def pictures():
    """The pictures that pages show, by page: [(file, element)]."""
    pages = [p for p in HTML.rglob("*.html") if "_static" not in p.relative_to(HTML).parts]
    found = {p: p.read_text(encoding="utf-8") for p in pages}
    return {p: [(m[1], m[0]) for m in IMG.finditer(text)] for p, text in found.items()}


@built
def test_every_figure_comes_for_light_and_for_dark():
    names = set()
    for path, found in pictures().items():
        light = [f for f, element in found if "only-light" in element]
        dark = [f for f, element in found if "only-dark" in element]
        assert len(light) + len(dark) == len(found), path.name
        for one, other in zip(light, dark, strict=True):
            assert (
                one.replace("-light.", ".").partition(".")[0]
                == (other.replace("-dark.", ".").partition(".")[0])
            )
        names |= set(light) | set(dark)
    notebooks = [p for p in (ROOT / "book").rglob("*.ipynb") if "checkpoint" not in p.name]
    drawn = sum(
        "image/png" in output.get("data", {})
        for path in notebooks
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        for output in cell.get("outputs", [])
    )
    assert len(names) >= 2 * drawn  # those of the chapters, and a few shown again by name
    wrong = [int(color[1:], 16) for color in vars(COLORS).values()]
    for name in sorted(names):
        with Image.open(HTML / "_images" / name) as image:
            pixels = np.array(image)
        visible = pixels[pixels[..., 3] > 0]
        packed = visible[:, :3].astype(np.int32) @ (65536, 256, 1)
        assert not np.isin(packed, wrong).any(), name
        grey = INKS["light" if "-light." in name else "dark"]["grey"]
        assert (packed == int(grey[1:], 16)).any(), name  # the text


@built
@pytest.mark.parametrize("theme", INKS)
def test_a_page_shows_and_loads_the_figures_of_its_theme(browser, theme):
    context = browser.new_context(viewport={"width": 1300, "height": 900}, color_scheme=theme)
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.goto((HTML / "book/free/svmgb.html").as_uri())
    captions = page.locator("figure figcaption")
    assert captions.count() >= 5
    for media in ("screen", "print"):
        page.emulate_media(media=media, color_scheme=theme)
        assert all(caption.is_visible() for caption in captions.all()), media
    page.emulate_media(media="screen", color_scheme=theme)
    shown = page.locator("main img:visible[src*='_images']")
    shown.first.scroll_into_view_if_needed()
    page.wait_for_function(
        "e => e.complete && e.naturalWidth > 0", arg=shown.first.element_handle()
    )
    other = {"light": "dark", "dark": "light"}[theme]
    assert {f"only-{theme}"} == {e.get_attribute("class") for e in shown.all()}
    assert shown.count() == page.locator(f"main img.only-{other}").count()
    assert not [name for name in asked if f"-{other}." in name]
    # Where the page is narrower than the figure, it keeps its shape.
    shape = "e => (e.width / e.height) / (e.naturalWidth / e.naturalHeight)"
    assert abs(shown.first.evaluate(shape) - 1) < 0.01
    # What the contrast is measured against is what the figures stand on.
    grounds = shown.evaluate_all(
        """images => images.map(e => {
          for (; e; e = e.parentElement) {
            const color = getComputedStyle(e).backgroundColor;
            if (color !== 'rgba(0, 0, 0, 0)') return color;
          }
        })"""
    )
    for ground in set(grounds):
        red, green, blue = map(int, re.findall(r"\d+", ground)[:3])
        color = f"#{red:02x}{green:02x}{blue:02x}"
        assert all(contrast(ink, color) >= 4.5 for ink in INKS[theme].values()), ground
    context.close()
