"""Run Python as somebody without rights, for tests that root starts."""

import contextlib
import os
import subprocess
import sys
from functools import cache

import pytest

STRANGER = 12345


def as_stranger(python, text, home, *arguments, cwd="/"):
    """Run a piece of code as an ordinary user; what came of it."""
    return subprocess.run(
        [python, "-c", text, *map(str, arguments)],
        user=STRANGER,
        group=STRANGER,
        extra_groups=(),
        env={"PYTHONPATH": ":".join(sys.path), "HOME": str(home), "PATH": os.defpath},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


@cache
def python():
    """A Python that an ordinary user can start: this one may lie in root's own folder."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for found in (os.path.realpath(sys.executable), f"/usr/bin/{version}"):
        with contextlib.suppress(OSError):
            if as_stranger(found, "import kernelbook, numpy", "/").returncode == 0:
                return found
    pytest.skip(f"an ordinary user cannot start {found}, or cannot read this environment")


__all__ = ["STRANGER", "as_stranger", "python"]
