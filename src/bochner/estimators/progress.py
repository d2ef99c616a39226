"""Progress of a fit, shown when `verbose` is set."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def progress_logging(verbose: int) -> Iterator[None]:
    """Within: what the library logs is written to standard error, if `verbose` is positive."""
    if not verbose:
        yield
        return
    logger = logging.getLogger("bochner")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("bochner: %(message)s"))
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if verbose > 1 else logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
