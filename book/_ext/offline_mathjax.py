"""Serve MathJax from the book itself: pages load nothing from the network.

Sphinx links MathJax from a public server by default.  The package
`sphinx-mathjax-offline` carries it; we copy only its one-file SVG build: SVG
needs no font files, which browsers refuse to load from `file://` pages.
"""

from importlib.util import find_spec
from pathlib import Path

from sphinx.util.fileutil import copy_asset

SCRIPT = "tex-svg-full.js"


def copy_mathjax(app, exception):
    if exception is None and app.builder.format == "html":
        package = Path(find_spec("sphinx-mathjax-offline").origin).parent
        copy_asset(
            package / "static" / "mathjax" / SCRIPT,
            Path(app.outdir) / "_static",
        )


def setup(app):
    app.config.mathjax_path = SCRIPT
    app.config.mathjax_options = {"defer": "defer"}
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
