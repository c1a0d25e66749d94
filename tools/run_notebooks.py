"""Execute notebooks in place, leaving no trace but the outputs.

A notebook that prints and draws what it did before is left as it is, to the byte: no timestamps,
no execution metadata, and a figure whose pixels did not visibly change keeps its old bytes (another
font renderer differs in the last bit).  So after `make run` an empty `git diff` means that nothing
changed.

    make run                                  all notebooks
    make run NB=book/foundations/kernels.ipynb     one of them
"""

import base64
import io
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import numpy as np
from matplotlib.image import imread
from nbclient import NotebookClient
from tqdm import tqdm
from traitlets.config import Config

ROOT = Path(__file__).resolve().parents[1]
SAME_PIXELS = 2 / 255  # a mean difference per channel nobody can see


def notebooks():
    """Every notebook of the book and every assignment's master, in order."""
    found = [p for folder in ("book", "assignments") for p in (ROOT / folder).rglob("*.ipynb")]
    return sorted(p for p in found if not any(part.startswith(".") for part in p.parts))


def same_picture(old, new):
    """Do two base64 PNGs look the same?"""
    old, new = (imread(io.BytesIO(base64.b64decode(png)), format="png") for png in (old, new))
    return old.shape == new.shape and float(np.abs(old - new).mean()) < SAME_PIXELS


def keep_old_pictures(before, after):
    """Where a cell drew what it drew before, take the old bytes."""
    for old_cell, new_cell in zip(before.cells, after.cells, strict=True):
        olds, news = old_cell.get("outputs", []), new_cell.get("outputs", [])
        for old, new in zip(olds, news, strict=False):
            a, b = old.get("data", {}).get("image/png"), new.get("data", {}).get("image/png")
            if a and b and same_picture(a, b):
                new["data"]["image/png"] = a


def tidy(notebook):
    """Only what a reader needs: the language, not the machine that ran it."""
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in notebook.cells:
        for key in ("execution", "collapsed"):
            cell.metadata.pop(key, None)
        # Streams come in pieces that depend on timing; one piece a stream does not.
        merged = []
        for output in cell.get("outputs", []):
            last = merged[-1] if merged else None
            if (
                last
                and output.output_type == "stream" == last.output_type
                and output.name == last.name
            ):
                last.text += output.text
            else:
                merged.append(output)
        if "outputs" in cell:
            cell.outputs = merged


def execute(path):
    before = nbformat.read(path, as_version=4)
    after = nbformat.read(path, as_version=4)
    # A local socket: nothing on the machine's network, and no warning about that.  Its address
    # is absolute, because the kernel runs in the notebook's folder and we may not.
    with TemporaryDirectory() as folder:
        socket = {"transport": "ipc", "ip": f"{folder}/kernel"}
        client = NotebookClient(
            after,
            timeout=600,
            kernel_name="python3",
            record_timing=False,
            config=Config({"KernelManager": socket}),
            resources={"metadata": {"path": str(path.parent)}},
        )
        client.execute()
    keep_old_pictures(before, after)
    tidy(after)
    text = nbformat.writes(after) + "\n"
    if text != path.read_text(encoding="utf-8"):
        path.write_text(text, encoding="utf-8")
        return True
    return False


def main():
    # The committed outputs do not depend on the number of threads; run with the usual one.
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    paths = [Path(a).resolve() for a in sys.argv[1:]] or notebooks()
    for path in paths:
        if not path.is_file():
            sys.exit(f"{path} is not a file; name a notebook: make run NB=book/part/chapter.ipynb")
    changed = []
    for path in (bar := tqdm(paths, unit="notebook", disable=None)):
        bar.set_description(path.stem)
        if execute(path):
            changed.append(path.relative_to(ROOT))
    print(f"{len(paths)} executed, {len(changed)} changed", *changed, sep="\n  ")


if __name__ == "__main__":
    main()
