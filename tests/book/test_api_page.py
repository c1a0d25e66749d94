"""The API reference holds every public name, and each leads to its source."""

import html
import re

import pytest

import kernelbook
from tests.paths import HTML

PAGE = HTML / "book" / "back" / "api.html"
NAMES = [name for name in kernelbook.__all__ if not name.startswith("__")]

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="no built book: `make strict` first")


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_documented_with_its_source(name):
    page = PAGE.read_text(encoding="utf-8")
    entry = re.search(rf'<dt class="sig[^>]* id="kernelbook\.{name}">(.*?)</dt>', page, re.DOTALL)
    assert entry, f"{name} is missing in book/back/api.md"
    source = re.search(r'href="(?:\.\./)*(_modules/[^"#]+)#', entry.group(1))
    assert source
    assert (HTML / source.group(1)).exists()


def test_no_markup_is_left_raw():
    page = PAGE.read_text(encoding="utf-8")
    body = page.split("<article", 1)[1].split("</article>", 1)[0]
    text = re.sub(r"<pre>.*?</pre>|<[^>]+>", "", body, flags=re.DOTALL)
    for raw in ("``", "Parameters\n---", ":param", ":ivar", "\\*", "\\|"):
        assert raw not in text, raw


@pytest.mark.parametrize("kind", [int, float, bool, str, tuple, dict, property, object, type])
def test_no_text_of_another_object(kind):
    """Autodoc shows the docstring of a value's type where a property or attribute has none."""
    page = html.unescape(re.sub(r"<[^>]+>", "", PAGE.read_text(encoding="utf-8")))
    assert kind.__doc__.split("\n")[0] not in page
