"""A figure of a chapter, shown on another page: the stored picture, by name.

    ```{chapter-figure} book/free/svmgb svmgb-parts
    ```

The picture and its alternative text are those of the notebook's cell whose
metadata name the figure, so that they change with the chapter.
"""

import base64
import json
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

FOLDER = "_build/chapter_figures"  # under the root, where images are looked for


def find(notebook, name):
    """The PNG and the alternative text of the figure `name`."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        settings = cell["metadata"].get("mystnb", {})
        if settings.get("figure", {}).get("name") != name:
            continue
        for output in cell["outputs"]:
            if png := output.get("data", {}).get("image/png"):
                return base64.b64decode("".join(png)), settings["image"]["alt"]
    return None


class ChapterFigure(SphinxDirective):
    required_arguments = 2

    def run(self):
        chapter, name = self.arguments
        root = Path(self.env.srcdir)
        notebook = root / f"{chapter}.ipynb"
        self.env.note_dependency(str(notebook))
        found = find(notebook, name) if notebook.exists() else None
        if found is None:
            where = f"{chapter}.ipynb has no figure named {name}"
            return [
                self.state.document.reporter.warning(where, line=self.lineno)
            ]
        picture, alt = found
        target = root / FOLDER / f"{name}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(picture)
        return [nodes.image(uri=f"/{FOLDER}/{name}.png", alt=alt)]


def setup(app):
    app.add_directive("chapter-figure", ChapterFigure)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
