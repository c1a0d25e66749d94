"""The search from `file://`: a line of text under each result.

Sphinx fetches every page that it found, for a line of its text around the word.
Browsers refuse that on `file://`, so the texts of all pages go into one script,
which only the search page loads.  A term of the glossary is listed by its name
instead of the name of the page.
"""

import json
import re
from html import unescape
from pathlib import Path

TEXTS, SCRIPT = "searchtexts.js", "offlinesearch.js"
BODY = re.compile(r"<article.*?</article>", re.DOTALL)
DROP = re.compile(
    r'<(script|style|noscript)\b.*?</\1>|<a class="headerlink".*?</a>|<[^>]*>',
    re.DOTALL,
)


def text_of(page):
    """The words of a page of HTML, without tags and signs of links."""
    body = BODY.search(page)
    words = DROP.sub(" ", body.group() if body else "")
    return " ".join(unescape(words).split())


def write_texts(app, exception):
    if exception is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    texts = {
        name: text_of((out / f"{name}.html").read_text(encoding="utf-8"))
        for name in sorted(app.env.found_docs)
        if (out / f"{name}.html").exists()
    }
    script = f"const SEARCH_TEXTS = {json.dumps(texts, ensure_ascii=False)};\n"
    (out / "_static" / TEXTS).write_text(script, encoding="utf-8")


def load_on_search(app, pagename, templatename, context, doctree):
    if pagename == "search":
        app.add_js_file(TEXTS, priority=300)
        app.add_js_file(SCRIPT, priority=301)


def setup(app):
    app.connect("html-page-context", load_on_search)
    app.connect("build-finished", write_texts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
