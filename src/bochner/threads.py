"""Threads: how many of them the linear algebra may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

SMALL = 600  # below this size a matrix is faster on one thread, and far faster on a busy machine


@contextmanager
def threads_for(size: int, n_jobs: int | None = None) -> Iterator[None]:
    """Within: one thread for matrices of a small `size`, else `n_jobs` (None: as many as the library likes)."""
    limit = 1 if size <= SMALL else n_jobs
    if limit is None or limit == -1:
        yield
        return
    with threadpool_limits(limit):
        yield
