"""Hostile files: notebooks that were edited, broken, or written for somebody else's browser."""

import base64
import json
import struct


def tag_points(made):
    for cell in made["cells"]:
        tag = cell["metadata"]["nbgrader"]
        if tag["grade"]:
            tag["points"] = 10**6
    return made


def swap_tags(made):
    for cell in made["cells"]:
        tag = cell["metadata"]["nbgrader"]
        tag["grade_id"] = {"double": "double-check", "double-check": "double"}.get(
            tag["grade_id"], tag["grade_id"]
        )
        tag["solution"], tag["grade"] = tag["grade"], tag["solution"]
        tag["locked"] = False
    return made


def edit_checks(made):
    for cell in made["cells"]:
        if cell["metadata"]["nbgrader"]["grade_id"].endswith("-check"):
            cell["source"] = "print('all tests passed')"
    return made


def delete_checks(made):
    made["cells"] = [
        c for c in made["cells"] if not c["metadata"]["nbgrader"]["grade_id"].endswith("-check")
    ]
    return made


def duplicate(made):
    made["cells"] += made["cells"]
    return made


def strange_tags(made):
    for k, cell in enumerate(made["cells"]):
        cell["metadata"] = [None, 3, {"nbgrader": 1}, {"nbgrader": {"grade_id": ["x"]}}][k % 4]
    return made


SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)><svg/onload=alert(3)>"


def injected(made):
    """Scripts wherever a student can write."""
    html = {"text/html": SCRIPT, "application/javascript": "alert(4)", "text/plain": SCRIPT}
    for cell in made["cells"]:
        if cell["metadata"]["nbgrader"]["grade_id"] == "essay":
            cell["source"] = SCRIPT + "[x](javascript:alert(5)) <a href='data:text/html,x'>y</a>"
        if cell["cell_type"] == "code":
            cell["outputs"] = [
                {"output_type": "display_data", "data": html, "metadata": {}},
                {"output_type": "display_data", "data": {"image/svg+xml": SCRIPT}, "metadata": {}},
                {"output_type": "display_data", "data": {"image/png": f'"{SCRIPT}'}},
                {"output_type": "stream", "name": "stdout", "text": [SCRIPT]},
                {"output_type": "error", "ename": SCRIPT, "evalue": SCRIPT, "traceback": [SCRIPT]},
                "not an output",
                {"data": 3, "text": {"a": 1}},
            ]
    first = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    made["cells"].insert(1, first | {"source": f"print({SCRIPT!r})\nraise ValueError({SCRIPT!r})"})
    return made


def widgets(made):
    made["metadata"]["widgets"] = {
        "application/vnd.jupyter.widget-state+json": {"state": {"x": {"model_module": SCRIPT}}}
    }
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}}
    made["cells"][0]["cell_type"] = "code"
    made["cells"][0]["outputs"] = [{"output_type": "display_data", "data": view, "metadata": {}}]
    return made


def flooded(made):
    """Nineteen megabytes of outputs: much text, and pictures."""
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 10, 10)
    image = {"image/png": base64.b64encode(head + bytes(600_000)).decode()}
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [
                *({"output_type": "stream", "name": "stdout", "text": "<&" * 250_000},) * 4,
                *({"output_type": "display_data", "data": image, "metadata": {}},) * 2,
            ]
            cell["outputs"] += [{"output_type": "stream", "text": ["[1, 2]\n"] * 10_000}]
    made["metadata"]["rest"] = "x" * (20_200_000 - len(json.dumps(made)))
    return made


NOTEBOOKS = {
    "points-in-metadata": tag_points,
    "swapped-tags": swap_tags,
    "edited-checks": edit_checks,
    "deleted-checks": delete_checks,
    "duplicated-cells": duplicate,
    "strange-tags": strange_tags,
    "injection": injected,
    "widgets": widgets,
    "broken-json": lambda made: json.dumps(made)[:-40],
    "not-a-notebook": lambda made: "[1, 2, 3]",
    "no-cells": lambda made: '{"cells": null}',
    "cells-of-numbers": lambda made: '{"cells": [1, {"cell_type": "code", "source": [1]}]}',
    "bottomless-json": lambda made: "[" * 300_000,
    "huge-number-json": lambda made: '{"cells": ' + "9" * 100_000 + "}",
    "empty-file": lambda made: "",
    "surrogates": lambda made: json.dumps(
        made | {"cells": [{"cell_type": "code", "metadata": {}, "source": "x = '\ud800'"}]}
    ),
}
