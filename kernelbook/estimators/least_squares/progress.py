"""Progress bars of the G-RLS learners (verbose=1), and what an interruption says."""

import time
from contextlib import contextmanager
from typing import Any

import numpy as np
from tqdm import tqdm

from kernelbook.numeric.tiles import silent

__all__ = ["counting_bar", "rows_bar", "solving_bar", "tuning_bar"]


@contextmanager
def rows_bar(verbose: int, passes: int, m: int) -> Any:
    """A function to call as rows go by; an interruption says that the fit has kept nothing."""
    start = time.perf_counter()
    try:
        if not verbose:
            yield silent
            return
        with tqdm(total=passes * m, unit=" rows", unit_scale=True, desc="fit") as bar:

            def tick(rows):
                if bar.n + rows > bar.total:  # one more pass than was foreseen
                    bar.total += m
                bar.update(rows)

            yield tick
            bar.total = bar.n
            bar.refresh()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"fit was interrupted after {time.perf_counter() - start:.0f} s and has kept nothing. "
            "A larger tol, or fewer centres, make it shorter."
        ) from None


@contextmanager
def counting_bar(verbose: int, total: int | None = None, unit: str = " rows") -> Any:
    """A function to call with the number of rows, or chunks, that have been summed."""
    if not verbose:
        yield silent
        return
    with tqdm(total=total, unit=unit, unit_scale=True, desc="statistics") as bar:
        yield bar.update


@contextmanager
def tuning_bar(verbose: int, expected: int) -> Any:
    """A function to call with the rows of each evaluation of a criterion, whose work is rows³.

    `expected` is how much work is foreseen; where more comes up, the bar grows.
    """
    if not verbose:
        yield silent
        return
    form = "{l_bar}{bar}| {postfix} {elapsed}<{remaining}"
    with tqdm(total=float(expected), desc="tune", bar_format=form) as bar:
        count = 0

        def tick(rows):
            nonlocal count
            count += 1
            work = float(rows) ** 3
            bar.total = max(bar.total, 1.1 * (bar.n + work))
            bar.set_postfix_str(f"{count} evaluations", refresh=False)
            bar.update(work)

        yield tick
        bar.total = bar.n
        bar.refresh()


@contextmanager
def solving_bar(verbose: int) -> Any:
    """A function to call with the residual in units of the tolerance, or None: the bar shows what
    part of the decades down to the tolerance is done.
    """
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
