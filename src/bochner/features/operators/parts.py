"""A sum of fields that see some of the axes each: every part on its own axes, where many rows may share a place.

What lasts at a place and what changes everywhere at once are no functions of one distance: waves of all axes would
follow neither. Along its own axes each is a field in fewer dimensions, and of few places where rows repeat them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.features import limits
from bochner.features.operators.base import Box, CovarianceOperator, first_faithful
from bochner.features.operators.dense import DenseOperator
from bochner.features.operators.split import SplitOperator
from bochner.features.operators.turned import TurnedOperator
from bochner.features.operators.unavailable import UnavailableOperator
from bochner.kernels import Kernel, OnAxes, Sum

KINDS: tuple[type[CovarianceOperator], ...] = (TurnedOperator, SplitOperator, DenseOperator, UnavailableOperator)


@dataclass(frozen=True, eq=False)
class PartsOperator(CovarianceOperator):
    """Sum of the operators of the parts, each between the distinct places of its axes."""

    @classmethod
    def offered(cls, kernel: Kernel, coords: FloatArray, box: Box) -> Self | None:
        dim = coords.shape[1]
        return None if list(_by_axes(kernel, dim)) == [tuple(range(dim))] else cls(kernel, coords, box)

    @cached_property
    def parts(self) -> list[_Part]:
        """One for all terms that see the same axes."""
        kernels = _by_axes(self.kernel, self.coords.shape[1])
        return [_Part.of(kernel, list(axes), self.coords, self.box) for axes, kernel in kernels.items()]

    @property
    def how(self) -> str:
        return "part by part: " + ", ".join(dict.fromkeys(part.operator.how for part in self.parts))

    @property
    def reason(self) -> str:
        wrong = [part.operator.reason for part in self.parts if not part.operator.faithful]
        return wrong[0] if wrong else "the parts of the sum see different axes"

    @property
    def faithful(self) -> bool:
        return all(part.operator.faithful for part in self.parts)

    @property
    def product_error(self) -> float:
        return max(part.operator.product_error for part in self.parts)

    def products(self, columns: FloatArray) -> FloatArray:
        return np.asarray(sum(part.spread(part.operator.products(part.gathered(columns))) for part in self.parts))

    def cross_products(self, targets: FloatArray, columns: FloatArray) -> FloatArray:
        return self.prepared(columns)(targets)

    def prepared(self, columns: FloatArray) -> Callable[[FloatArray], FloatArray]:
        towards = [(part.axes, part.operator.prepared(part.gathered(columns))) for part in self.parts]
        return lambda targets: np.asarray(sum(of(targets[:, axes]) for axes, of in towards))


@dataclass(frozen=True)
class _Part:
    """The operator of one part, between distinct places, and the place of every row."""

    axes: list[int]
    operator: CovarianceOperator
    place: IntArray

    @classmethod
    def of(cls, kernel: Kernel, axes: list[int], coords: FloatArray, box: Box) -> _Part:
        places, place = np.unique(coords[:, axes], axis=0, return_inverse=True)
        here = box[0][axes], box[1][axes]
        few = len(places) <= limits.DENSE_PLACES
        operator = DenseOperator(kernel, places, here) if few else first_faithful(KINDS, kernel, places, here)
        return cls(axes, operator, place.ravel())

    def gathered(self, columns: FloatArray) -> FloatArray:
        """Sums of columns (n, k) over the rows at each place."""
        return np.stack([np.bincount(self.place, c, self.operator.n_rows) for c in columns.T], axis=1)

    def spread(self, values: FloatArray) -> FloatArray:
        """Values of the places, for every row."""
        return values[self.place]


def _by_axes(kernel: Kernel, dim: int) -> dict[tuple[int, ...], Kernel]:
    """Terms of a sum, added up by the axes that they see; as kernels of those."""
    found: dict[tuple[int, ...], Kernel] = {}
    for term in _terms(kernel):
        axes, own = (term.seen_axes(dim), term.kernel) if isinstance(term, OnAxes) else (tuple(range(dim)), term)
        found[axes] = Sum(found[axes], own) if axes in found else own
    return found


def _terms(kernel: Kernel) -> list[Kernel]:
    return [*_terms(kernel.k1), *_terms(kernel.k2)] if isinstance(kernel, Sum) else [kernel]
