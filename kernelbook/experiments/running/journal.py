"""Finished cells on disk, and the fingerprint of the cells and the code they come from."""

import ast
import hashlib
import json
import os
import time
from importlib import import_module
from pathlib import Path

__all__ = ["Journal", "code", "fingerprint"]


class Journal:
    """Finished cells on disk: a first line that says of what, then a line a cell."""

    def __init__(self, path, fingerprint):
        self.path, self.done, self.seconds = path, {}, {}
        if path.exists() and not self._read(fingerprint):
            path.rename(path.with_suffix(f".journal-{time.time_ns()}"))
            self.done, self.seconds = {}, {}
        if not path.exists():
            self._line({"fingerprint": fingerprint})

    def _read(self, fingerprint):
        lines = self.path.read_text(encoding="utf-8").split("\n")
        if not lines[0] or json.loads(lines[0]) != {"fingerprint": fingerprint}:
            return False
        for line in lines[1:-1]:  # what follows the last newline was cut off by the interruption
            entry = json.loads(line)
            self.done[entry["cell"]] = entry["rows"]
            self.seconds[entry["cell"]] = entry["seconds"]
        if lines[-1]:
            with self.path.open("rb+") as file:
                file.truncate(len("\n".join([*lines[:-1], ""]).encode()))
        return True

    def _line(self, entry):
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def add(self, cell, rows, seconds):
        self._line({"cell": cell, "rows": rows, "seconds": round(seconds, 3)})
        self.done[cell], self.seconds[cell] = rows, seconds

    def remove(self):
        """For when the table is written and no cell is left to run."""
        self.path.unlink()


def fingerprint(experiment, cells):
    """What the rows depend on: the cells, and the code that runs them."""
    h = hashlib.sha256(json.dumps(cells, sort_keys=True).encode())
    for name in (experiment.run.__module__, *experiment.modules):
        h.update(code(Path(import_module(name).__file__).read_text(encoding="utf-8")).encode())
    return h.hexdigest()


def code(source):
    """A module without what cannot change its numbers: comments, docstrings, imports, layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if hasattr(node, "body") and isinstance(node.body, list):
            node.body = [
                part
                for part in node.body
                if not isinstance(part, ast.Import | ast.ImportFrom)
                and not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
            ]
    return ast.unparse(tree)
