"""A small book, built by Sphinx in this process with the extensions of the book."""

import io
import sys

from tests.paths import ROOT


def build(folder, builder, settings):
    """Build the pages in `folder` into `folder / "out"`; returns that, and Sphinx's warnings."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace

    said, extensions = io.StringIO(), str(ROOT / "book" / "_ext")
    places = [folder, None, folder / "out", folder / "trees"]
    settings = {
        "project": "A book",
        "author": "Somebody",
        "myst_enable_extensions": ["amsmath", "dollarmath"],
        **settings,
    }
    sys.path.insert(0, extensions)
    try:
        with docutils_namespace():  # what is registered belongs to this build
            Sphinx(*places, builder, confoverrides=settings, status=None, warning=said).build()
    finally:
        sys.path.remove(extensions)
    return folder / "out", said.getvalue()
