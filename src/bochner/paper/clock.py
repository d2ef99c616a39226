"""Timing: the best of a few runs, on one thread, so that sizes can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np


def seconds(work: Callable[[], Any], repeats: int = 2) -> float:
    """Shortest wall time of some runs."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Exponent of a power law y ~ x^slope, by least squares on logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
