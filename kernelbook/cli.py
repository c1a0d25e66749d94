"""The `kernelbook` command."""

import click

from kernelbook import __version__

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="kernelbook")
def main():
    """Kernel learning in which some features go unpunished: the book's command."""


@main.command()
def info():
    """Show what this installation runs on: versions, threads, folders.

    Put its output into a report when something behaves differently on two machines.
    """
    import os
    import platform
    from importlib.metadata import version

    from kernelbook._jit import cache_folder, n_threads

    rows = [("kernelbook", __version__), ("python", platform.python_version())]
    rows += [(name, version(name)) for name in ("numpy", "scipy", "scikit-learn", "numba")]
    rows += [
        ("threads", n_threads()),
        ("compiled code", cache_folder() or "not kept: the cache folder cannot be written"),
        ("data", os.environ.get("KERNELBOOK_DATA", "KERNELBOOK_DATA is not set")),
    ]
    for name, value in rows:
        click.echo(f"{name:<14}{value}")
