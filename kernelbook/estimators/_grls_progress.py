"""Bars for the Fourier solver (verbose=1): the pass over the rows, then conjugate gradients."""

from contextlib import contextmanager

import numpy as np
from tqdm import tqdm

__all__ = ["solving_bar", "statistics_bar"]


@contextmanager
def statistics_bar(verbose, total=None, unit=" rows"):
    """A bar of rows, or chunks, that are done; None where nobody wants it."""
    if not verbose:
        yield None
        return
    with tqdm(total=total, unit=unit, unit_scale=True, desc="statistics") as bar:
        yield bar


@contextmanager
def solving_bar(verbose):
    """A bar for conjugate gradients: what part of the decades down to the tolerance is done."""
    if not verbose:
        yield None
        return
    form = "{l_bar}{bar}| {elapsed}<{remaining}"
    with tqdm(total=100.0, desc="solve", bar_format=form) as bar:
        first = []

        def progress(ratio):
            first.append(max(ratio, 1.0 + 1e-9))
            done = 1.0 - np.log(max(ratio, 1.0)) / np.log(max(first[0], ratio, 1.0 + 1e-9))
            bar.update(max(100.0 * done - bar.n, 0.0))

        yield progress
