"""Where cells run: in this process, in several, or on the workers of a Dask cluster."""

import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context

from threadpoolctl import threadpool_limits

__all__ = ["completed", "executor", "timed"]


@contextmanager
def executor(jobs, scheduler):
    """`submit(function, *arguments)` → future, or None to run in this process."""
    if scheduler is not None:
        from distributed import Client

        try:
            client = Client(scheduler)
        except OSError as silence:
            raise ValueError(
                f"scheduler={scheduler!r} does not answer ({silence}): start one with `dask "
                "scheduler`, which prints its address, and workers with `dask worker ADDRESS`."
            ) from None
        with client:
            yield client.get_executor().submit
    elif jobs == 1:
        yield None
    else:
        # Not fork: the parent may already run threads of BLAS.
        pool = ProcessPoolExecutor(jobs, mp_context=get_context("forkserver"))
        try:
            yield pool.submit
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def completed(experiment, cells, left, submit, jobs, scheduler):
    """Yield (k, rows, seconds) as cells finish; only a few wait in the queue at a time."""
    if submit is None:
        for k in left:
            yield k, *timed(experiment.run, cells[k], None)
        return
    queue, running = list(reversed(left)), {}
    while queue or running:
        while queue and len(running) < (4 * jobs if scheduler is None else 1000):
            k = queue.pop()
            running[submit(timed, experiment.run, cells[k], 1)] = k
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            yield running.pop(future), *future.result()


def timed(function, cell, threads):
    """The rows of a cell and the CPU seconds they took; beside others a cell gets one thread."""
    start = time.process_time()
    with threadpool_limits(threads):
        rows = function(cell)
    return rows, time.process_time() - start
