"""Buttons that run code where it stands: the script, on notebooks' pages.

The modules are in `book/_live`; `tools/live_book.py` serves the pages beside
kernels.  On a page that is opened as a file the same script says which command
makes it live.
"""

from pathlib import Path

from bundling import bundle

MODULES = Path(__file__).resolve().parents[1] / "_live"
SCRIPT = "live.js"


def write_script(app):
    if app.builder.format == "html":
        target = Path(app.outdir) / "_static" / SCRIPT
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(bundle(MODULES), encoding="utf-8")


def load_where_needed(app, pagename, templatename, context, doctree):
    found = pagename in app.env.found_docs
    if found and str(app.env.doc2path(pagename)).endswith(".ipynb"):
        app.add_js_file(SCRIPT, loading_method="defer")


def setup(app):
    # Before the pages are written: each names its scripts by their checksums.
    app.connect("builder-inited", write_script)
    app.connect("html-page-context", load_where_needed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
