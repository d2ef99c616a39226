"""FINUFFT (Apache-2.0), which comes with the core wherever it has a wheel."""

from __future__ import annotations

import re
from functools import cache
from math import prod
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.nufft import limits
from bochner.nufft.contract import Array, RealType, complex_type

takes_real = False
adds_in_any_order = True
float32_phase_error = 3.2e-8


class FinufftPlan:
    """FINUFFT plans for one set of coordinates, made when first needed."""

    def __init__(self, coords: FloatArray, shape: tuple[int, ...], eps: float, dtype: RealType, n_jobs: int) -> None:
        self._axes = _columns(coords, dtype)
        self._shape = shape
        self._options = _options(eps, complex_type(dtype), n_jobs)
        self._plans: dict[tuple[int, int, int], Any] = {}

    def type1(self, strengths: Array, sign: int) -> Array:
        return _execute(self._plan(1, sign, len(strengths)), strengths)

    def type2(self, modes: Array, sign: int) -> Array:
        return _execute(self._plan(2, sign, len(modes)), modes)

    def _plan(self, kind: int, sign: int, n_vectors: int) -> Any:
        import finufft

        key = (kind, sign, n_vectors)
        if key not in self._plans:
            while len(self._plans) >= limits.KEPT_PLANS:
                self._plans.pop(next(iter(self._plans)))
            # modeord=0: modes increase along each axis; FINUFFT's default, stated because it is our contract
            # a refinement of the grid that is left to FINUFFT depends on the threads, and so would results
            options = {**self._options, "upsampfac": self._refinement}
            made = finufft.Plan(kind, self._shape, n_vectors, isign=sign, modeord=0, **options)
            made.setpts(*self._axes)
            self._plans[key] = made
        return self._plans[key]

    @property
    def _refinement(self) -> float:
        """Of the grid of the modes: a coarse one where its FFT takes longer than the places do."""
        few_places = prod(self._shape) >= limits.MODES_PER_PLACE * len(self._axes[0])
        return 1.5 if few_places and self._options["eps"] >= limits.FINEST_COARSE and _refines_by_any() else 2.0


plan = FinufftPlan


def type3(coords: FloatArray, strengths: Array, targets: FloatArray, eps: float, sign: int, n_jobs: int) -> Array:
    """Type 3 in one go."""
    import finufft

    dim, real = coords.shape[1], strengths.real.dtype
    made = finufft.Plan(3, dim, len(strengths), isign=sign, **_options(eps, strengths.dtype, n_jobs))
    x, s = _columns(coords, real), _columns(targets, real)
    made.setpts(*x, *[None] * (3 - dim), *s)
    return _execute(made, strengths)


@cache
def _refines_by_any() -> bool:
    """Whether this version is fast with refinements other than 2 and 1.25."""
    import finufft

    return tuple(int(part) for part in re.findall(r"\d+", finufft.__version__)[:2]) >= (2, 5)


def _options(eps: float, dtype: np.dtype[Any], n_jobs: int) -> dict[str, Any]:
    # FINUFFT would warn on stderr, not through Python, when it narrows its kernel for float32
    return {"eps": eps, "dtype": dtype.name, "nthreads": n_jobs, "showwarn": 0}


def _columns(coords: FloatArray, dtype: Any) -> list[Array]:
    return [np.ascontiguousarray(column, dtype) for column in coords.T]


def _execute(made: Any, vectors: Array) -> Array:
    # A plan for one vector wants no leading axis.
    result: Array = made.execute(vectors) if len(vectors) > 1 else made.execute(vectors[0])[None]
    return result
