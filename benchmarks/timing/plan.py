"""Plan: sizes of a run, its clock, and the threads of everything that is timed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from bochner.resources import Resources

NOISE = 0.1


class Timed(NamedTuple):
    """Seconds of a fit with prediction, and its errors at held-out rows."""

    seconds: float
    errors: np.ndarray


@dataclass(frozen=True)
class Split:
    """Rows to learn from, and rows held out."""

    X: np.ndarray
    y: np.ndarray
    new: np.ndarray
    truth: np.ndarray

    @classmethod
    def at(cls, n: int, X: np.ndarray, y: np.ndarray) -> Split:
        """The first n rows, and the others."""
        return cls(X[:n], y[:n], X[n:], y[n:])


@dataclass(frozen=True)
class Plan:
    """How large, how often and on how many threads."""

    quick: bool = False
    repeats: int = 3
    threads: int | None = None
    data: Path | None = None
    rows: tuple[int, ...] = ()

    @property
    def clock(self) -> str:
        """With one thread the processor's, which other programs do not move."""
        return "processor" if self.threads == 1 else "clock"

    @property
    def seconds_of(self) -> str:
        return "of the processor" if self.threads == 1 else "on the clock"

    def now(self) -> float:
        return time.process_time() if self.threads == 1 else time.perf_counter()

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def goal(self, ratio: float) -> float | None:
        """A goal that is one of the full size."""
        return None if self.quick else ratio

    def repeated(self, repeats: int) -> Plan:
        return replace(self, repeats=repeats)

    @contextmanager
    def bound(self) -> Iterator[None]:
        """Within: every library that is loaded keeps to the threads of the plan, ours and those of peers."""
        with threadpool_limits(self.threads), Resources(n_jobs=self.threads).in_use():
            yield

    def seconds(self, work: Callable[[], Any]) -> float:
        """Seconds of the fastest of some repeats, after one that warms up."""
        self.once(work)
        return min(self.once(work) for _ in range(self.repeats))

    def once(self, work: Callable[[], Any]) -> float:
        with self.bound():
            start = self.now()
            work()
            return self.now() - start

    def timed(self, answer: Callable[[], np.ndarray], truth: np.ndarray) -> Timed:
        """Seconds of what predicts held-out rows, and its errors there."""
        found: list[np.ndarray] = []
        seconds = self.once(lambda: found.append(answer()))
        return Timed(seconds, found[0] - truth)

    def fastest(self, answer: Callable[[], Timed]) -> Timed:
        """The fastest of as many tries as the plan has."""
        return min((answer() for _ in range(self.repeats)), key=lambda each: each.seconds)


def fitted(plan: Plan, model: Any, split: Split, *, spread: bool = True) -> Timed:
    """A fit with prediction, with its sd if `spread`."""

    def answer() -> np.ndarray:
        model.fit(split.X, split.y)
        return model.predict(split.new, return_std=True)[0] if spread else model.predict(split.new)

    return plan.timed(answer, split.truth)


def places(n: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(size=(n, 2))


def field(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Places and a rough field with noise, by waves drawn at random."""
    rng = np.random.default_rng(0)
    coords = rng.uniform(size=(n, 2))
    omega = rng.standard_t(1, size=(2_000, 1)) * rng.normal(size=(2_000, 2)) / 0.2
    omega *= np.minimum(1, 2_000 / np.linalg.norm(omega, axis=1))[:, None]
    phase, y = rng.uniform(0, 2 * np.pi, 2_000), np.empty(n)
    for i in range(0, n, 5_000):
        y[i : i + 5_000] = np.sqrt(2 / 2_000) * np.cos(coords[i : i + 5_000] @ omega.T + phase).sum(axis=1)
    return coords, y + np.sqrt(NOISE) * rng.normal(size=n)


def installed(peer: str, extra: str = "peers") -> bool:
    if find_spec(peer) is None:
        print(f"{peer} is not installed: its row is left out; pip install 'bochner[{extra}]'", file=sys.stderr)
        return False
    return True
