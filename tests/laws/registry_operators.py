"""What the laws of covariance operators are tested on: a new one is one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bochner.features.operators import (
    CovarianceOperator,
    DenseOperator,
    GridOperator,
    PartsOperator,
    SplitOperator,
    TurnedOperator,
)
from bochner.kernels import Kernel, Laplacian, Matern, OnAxes, SquaredExponential, own_axes


@dataclass(frozen=True)
class Case:
    """An operator, and targets inside its box."""

    operator: CovarianceOperator
    targets: np.ndarray


def scattered(kind: type[CovarianceOperator], kernel: Kernel, dim: int, n: int = 400) -> Case:
    """Rows and targets anywhere in the unit cube."""
    rng = np.random.default_rng(dim)
    coords, box = rng.uniform(size=(n, dim)), (np.zeros(dim), np.ones(dim))
    return Case(kind(kernel, coords, box), rng.uniform(size=(30, dim)))


def ridges(dim: int, n: int = 400) -> Case:
    """A field that reaches six times as far along a diagonal as across it; along a line there is none."""
    rng = np.random.default_rng(dim)
    coords, box = rng.uniform(size=(n, dim)), (np.zeros(dim), np.ones(dim))
    kernel = Matern((0.1, 0.6, 0.25)[:dim], 2.0, rotation=0.7 if dim == 2 else (0.4, -0.3, 0.6))
    own = own_axes(kernel, dim)
    assert own is not None
    return Case(TurnedOperator(kernel, coords, box, own), rng.uniform(size=(30, dim)))


def in_parts(dim: int, n: int = 400) -> Case:
    """A level that all rows at one of thirty times share, and a field of all axes; in one dimension, two fields."""
    rng = np.random.default_rng(dim)
    coords, box = rng.uniform(size=(n, dim)), (np.zeros(dim), np.ones(dim))
    coords[:, -1] = np.rint(30 * coords[:, -1]) / 30
    kernel = OnAxes(Matern(0.2, nu=0.5), -1) + Matern(0.3, 2.0) + OnAxes(Matern(0.5), 0)
    return Case(PartsOperator(kernel, coords, box), rng.uniform(size=(30, dim)))


def gridded(kernel: Kernel, dim: int, n_missing: int, *, off: bool = False) -> Case:
    """Rows on a grid with unlike steps and with gaps; targets on its nodes, or off them."""
    rng, shape = np.random.default_rng(dim), (40, 12, 6)[:dim]
    step = np.array([0.05, 0.08, 0.15])[:dim]
    nodes = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1).reshape(-1, dim) * step
    box = (nodes.min(axis=0), nodes.max(axis=0))
    kept = rng.permutation(len(nodes))[n_missing:]
    targets = rng.uniform(*box, size=(30, dim)) if off else nodes[:30]
    return Case(GridOperator(kernel, nodes[kept], box), targets)


OPERATORS: dict[str, Callable[[int], Case]] = {
    "grid": lambda dim: gridded(Matern(0.4, 1.7, nu=0.5), dim, 0),
    "grid-with-gaps": lambda dim: gridded(Laplacian(0.3), dim, 9),
    "grid-asked-off-its-nodes": lambda dim: gridded(Matern(0.4, 1.7), dim, 3, off=True),
    "split": lambda dim: scattered(SplitOperator, Matern(0.3, 2.0), dim),
    "split-rough": lambda dim: scattered(SplitOperator, Matern(0.1, nu=0.5), dim),
    "split-long-and-short": lambda dim: scattered(SplitOperator, Matern(3.0, 5.0) + Matern(0.1, nu=0.5), dim),
    "split-smooth": lambda dim: scattered(SplitOperator, SquaredExponential(0.2), dim),
    "turned": lambda dim: ridges(dim),
    "parts": lambda dim: in_parts(dim),
    "dense": lambda dim: scattered(DenseOperator, Matern(0.3, nu=0.5), dim),
    "dense-kinked": lambda dim: scattered(DenseOperator, Laplacian(0.3), dim),
}
