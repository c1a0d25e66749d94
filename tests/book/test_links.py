"""README, CONTRIBUTING and the pages without code: what they link to and name is there."""

import os
import re
from urllib.parse import unquote, urlsplit

import numpy as np
import pandas as pd
import pytest

from tests.paths import ROOT

TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "book").rglob("*.md"))]
FRONT = TEXTS[:2]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def name(path):
    return path.relative_to(ROOT).as_posix()


def prose(path):
    """The text without fenced code, in which brackets mean other things."""
    text = re.sub(
        r"^```(?:python|sh|bash|text)?\n.*?^```$", "", path.read_text(), flags=re.M | re.S
    )
    return re.sub(r"`+[^`]*`+", "", text)


def slug(heading):
    """The anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def broken_links(path, text):
    """The relative links of a text that lead nowhere."""
    links = re.findall(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)", text)
    links += re.findall(r"^\[[^\]]+\]:\s*(\S+)", text, re.MULTILINE)
    links += re.findall(r"(?:href|src)=\"([^\"]+)\"", text)
    broken = []
    for link in links:
        parts = urlsplit(link)
        if parts.scheme or link.startswith("//"):
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not target.exists():
            broken.append(link)
        elif parts.fragment and target.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            labels = re.findall(r"^\(([\w-]+)\)=$", target.read_text(), re.MULTILINE)
            if parts.fragment not in [*map(slug, headings), *labels]:
                broken.append(link)
    return broken


@pytest.mark.parametrize("path", TEXTS, ids=name)
def test_relative_links_lead_somewhere(path):
    assert not broken_links(path, prose(path))


def test_a_broken_link_is_seen():
    text = "[a](no/such/file.md) ![b](gone.png) [c](#no-such-heading) [d](LICENSE) [e](https://x.y)"
    assert broken_links(ROOT / "README.md", text) == [
        "no/such/file.md",
        "gone.png",
        "#no-such-heading",
    ]


def test_the_front_page_has_links_and_a_picture():
    assert "](LICENSE)" in prose(ROOT / "README.md")
    assert re.search(r"!\[[^\]]{40,}\]\(book/_static/", prose(ROOT / "README.md"))


@pytest.mark.parametrize("path", FRONT, ids=name)
def test_files_and_targets_that_are_named_exist(path):
    text = path.read_text()
    for target in re.findall(r"`make ([a-z-]+)[^`]*`", text) + re.findall(
        r"^make ([a-z-]+)", text, re.MULTILINE
    ):
        assert target in TARGETS, f"make {target}"
    named = re.findall(r"`((?:book|kernelbook|tests|tools|assignments|benchmarks)/[\w./-]+)`", text)
    assert named
    for file in named:
        assert os.path.exists(ROOT / file), file


def test_the_code_of_the_front_page_runs(tmp_path, monkeypatch):
    readme = (ROOT / "README.md").read_text()
    table, code = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    rng = np.random.default_rng(0)
    mud = pd.DataFrame(rng.uniform(0, 3000, (60, 2)), columns=["x", "y"])
    mud["dist"], mud["soil"] = rng.uniform(0, 1, 60), rng.integers(1, 4, 60)
    mud["zinc"] = np.exp(6 - mud["dist"] + np.sin(mud["x"] / 500) + 0.2 * rng.normal(size=60))
    mud.to_csv(tmp_path / "samples.csv", index=False)
    mud[:5].drop(columns="zinc").to_csv(tmp_path / "grid.csv", index=False)
    monkeypatch.chdir(tmp_path)
    scope = {}
    exec(compile(table, "README.md", "exec"), scope)
    assert (scope["low"] < scope["high"]).all()
    assert scope["f"].shape == (5,)
    X = rng.uniform(-1, 1, (30, 2))
    labels = np.where(X[:, 0] + 0.3 * rng.normal(size=30) > 0, 1, -1)
    scope = {"X": X, "y": X[:, 0] + np.sin(3 * X[:, 1]), "X_new": X[:5], "labels": labels}
    exec(compile(code, "README.md", "exec"), scope)
    assert scope["mean"].shape == scope["std"].shape == (5,)
    assert scope["model"].certificate_.gap < 1e-8
    assert set(scope["machine"].predict(X)) <= {-1, 1}


def test_every_source_is_cited():
    """The bibliography lists all of `references.bib`: nothing that no page speaks of."""
    sources = re.findall(r"^@\w+\{(\w+),", (ROOT / "book" / "references.bib").read_text(), re.M)
    assert len(sources) == len(set(sources)) > 50
    pages = [*(ROOT / "book").rglob("*.md"), *(ROOT / "book").rglob("*.ipynb")]
    cited = {
        key.strip()
        for page in pages
        for keys in re.findall(r"\{cite(?::\w+)?\}`([^`]*)`", page.read_text(encoding="utf-8"))
        for key in keys.split(",")
    }
    assert set(sources) == cited
