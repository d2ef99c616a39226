"""Non-uniform FFT: the one adapter over ducc0, finufft, jax-finufft and a built-in one.

The contract, whatever the back end:

========  ====================================================  =========================================
type 1    f[j] = sum over i of c_i exp(sign 1j j.x_i)           scattered places to a box of modes
type 2    c_i = sum over j of f[j] exp(sign 1j j.x_i)           a box of modes to scattered places
type 3    f_k = sum over i of c_i exp(sign 1j s_k.x_i)          scattered places to scattered frequencies
========  ====================================================  =========================================

- **Coordinates** have shape (n, dim), dim 1 to 3, and are in radians per axis. In types 1 and 2 any real value is
  allowed: they are wrapped by 2 pi, in float64. In type 3 coords and targets are any numbers whose product is an angle;
  both are centred in float64 first, so a large offset costs neither memory nor accuracy.
- **Modes** have shape (N_1, ..., N_dim). Axis k belongs to column k of the coordinates, and its indices j are
  -(N_k // 2), ..., (N_k - 1) // 2 in increasing order: zero is in the middle.
- **Many vectors** at once are a leading axis: strengths (n_vectors, n), modes (n_vectors, N_1, ..., N_dim).
  The result has that axis if the input has it.
- **Precision** is that of the strengths or modes: float32 and complex64 give complex64, all else complex128.
  Where float32 coordinates could not reach eps (many modes, or a small eps) the work is done in float64.
- **eps** is the relative error that the back end aims at, in the Euclidean norm, between 1e-6 (float32) or 1e-12
  (float64) and 0.1. In random trials ducc0 and the built-in one stayed below 2 eps, finufft and jax-finufft below 5.
  It is a mean over the modes: the outermost ones may err several times more.
- **Real strengths** are welcome; the result is complex and Hermitian. The built-in back end then spreads one number
  instead of two; the others transform complex numbers only, so real ones save nothing there.
- **n_jobs** is a number of threads; None means as many as may compute here (`bochner.resources`), or one for few places
  and modes, which take less time than threads take to meet. A `Plan` of the built-in one, of ducc0 or of finufft gives
  the same bits again with as many threads, and twelve digits with others: type 1 is summed over runs of places, each by
  one thread, in their order. With jax-finufft, and in type 3, results change within eps, because it takes part in
  choosing the grid.

Types 1 and 2 with opposite signs are adjoint: <type1(c), f> = <c, type2(f)>. Type 1 is a sum over places, so chunks
add. The cost is O(n log(1/eps)^dim + N log N). `backend` tells which back end runs and why; the argument ``backend=``
and the environment variable ``BOCHNER_NUFFT`` force one. No back end is imported before it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from bochner.arrays import FloatArray
from bochner.nufft import limits
from bochner.nufft.backends import BackendChoice, backend, load
from bochner.nufft.checks import (
    as_places,
    as_precision,
    as_shape,
    as_sign,
    as_tolerance,
    as_vectors,
    check_grid,
    precision_of,
    wrapped,
)
from bochner.nufft.contract import Array, Backend, ModesPlan, RealType, complex_type
from bochner.resources import as_threads, in_threads

__all__ = ["BackendChoice", "Plan", "backend", "type1", "type2", "type3"]


def type1(
    coords: ArrayLike,
    strengths: ArrayLike,
    shape: int | Sequence[int],
    *,
    eps: float,
    sign: int = -1,
    n_jobs: int | None = None,
    backend: str | None = None,
) -> Array:
    """Modes of scattered strengths: f[j] = sum_i c_i exp(sign 1j j.x_i).

    Parameters
    ----------
    coords : array (n, dim)
        Places, in radians.
    strengths : array (n,) or (n_vectors, n)
        Real or complex.
    shape : int or sequence of int
        Number of modes on each axis.

    Returns
    -------
    array (*shape) or (n_vectors, *shape)
        Complex modes, index increasing on each axis, zero in the middle.
    """
    plan = Plan(coords, shape, eps=eps, dtype=precision_of(strengths), n_jobs=n_jobs, backend=backend)
    return plan.type1(strengths, sign=sign)


def type2(
    coords: ArrayLike,
    modes: ArrayLike,
    *,
    eps: float,
    sign: int = 1,
    n_jobs: int | None = None,
    backend: str | None = None,
) -> Array:
    """Fourier series at scattered places: c_i = sum_j f[j] exp(sign 1j j.x_i).

    Parameters
    ----------
    coords : array (n, dim)
        Places, in radians.
    modes : array (N_1, ..., N_dim) or (n_vectors, N_1, ..., N_dim)
        Coefficients, index increasing on each axis, zero in the middle.

    Returns
    -------
    array (n,) or (n_vectors, n)
        Complex values.
    """
    dtype, places = precision_of(modes), as_places(coords)
    shape = as_shape(np.shape(modes)[-places.shape[1] :], places.shape[1])
    plan = Plan.trusting(places, shape, eps=eps, dtype=dtype, n_jobs=n_jobs, backend=backend)
    return plan.type2(modes, sign=sign)


def type3(
    coords: ArrayLike,
    strengths: ArrayLike,
    targets: ArrayLike,
    *,
    eps: float,
    sign: int = -1,
    n_jobs: int | None = None,
    backend: str | None = None,
) -> Array:
    """Spectrum of scattered strengths at any frequencies: f_k = sum_i c_i exp(sign 1j s_k.x_i).

    Memory grows with the product over axes of (range of coords) x (range of targets): the number of waves between them.

    Parameters
    ----------
    coords : array (n, dim)
        Places x.
    strengths : array (n,) or (n_vectors, n)
        Real or complex.
    targets : array (m, dim)
        Angular frequencies s, in radians per unit of coords.

    Returns
    -------
    array (m,) or (n_vectors, m)
        Complex values.
    """
    coords = as_places(coords)
    targets = as_places(targets, coords.shape[1], "targets")
    dtype, sign = precision_of(strengths), as_sign(sign)
    vectors = as_vectors(strengths, (len(coords),), dtype, "strengths")
    eps, n_jobs = as_tolerance(eps, dtype), as_threads(n_jobs)
    _, module = load(backend, len(coords) + len(targets))
    if vectors.size == 0 or len(targets) == 0:
        result = np.zeros((len(vectors), len(targets)), complex_type(dtype))
    else:
        result = _centred_type3(module, coords, vectors, targets, eps, sign, n_jobs)
    return result if np.ndim(strengths) == 2 else result[0]


class Plan:
    """Types 1 and 2 between one set of coordinates and one box of modes.

    Points are sorted once, and many vectors can then be transformed (jax-finufft has no plans: it sorts in every
    call). A plan may be shared between threads, one transform running at a time. It cannot be pickled.

    Parameters
    ----------
    coords : array (n, dim)
        Places, in radians.
    shape : int or sequence of int
        Number of modes on each axis.
    eps : float
        Relative error.
    dtype : {float32, float64}
        Real type of the transforms; strengths and modes are cast to it.
    n_jobs : int, optional
        Threads; None means as many as may compute here.
    backend : str, optional
        Forces a back end; see `bochner.nufft.backend`.

    Attributes
    ----------
    shape, dtype, eps, n_samples
        As given.
    backend : str
        Name of the back end that runs.
    """

    def __init__(
        self,
        coords: ArrayLike,
        shape: int | Sequence[int],
        *,
        eps: float,
        dtype: DTypeLike = np.float64,
        n_jobs: int | None = None,
        backend: str | None = None,
    ) -> None:
        places = as_places(coords)
        self._prepare(places, as_shape(shape, places.shape[1]), eps, dtype, n_jobs, backend)

    @classmethod
    def trusting(
        cls,
        coords: FloatArray,
        shape: tuple[int, ...],
        *,
        eps: float,
        dtype: DTypeLike = np.float64,
        n_jobs: int | None = None,
        backend: str | None = None,
    ) -> Self:
        """The same for finite float64 coordinates (n, dim) and a number of modes per axis, which are not checked."""
        plan = cls.__new__(cls)
        plan._prepare(coords, shape, eps, dtype, n_jobs, backend)
        return plan

    def _prepare(
        self,
        coords: FloatArray,
        shape: tuple[int, ...],
        eps: float,
        dtype: DTypeLike,
        n_jobs: int | None,
        backend: str | None,
    ) -> None:
        self.shape = shape
        self.dtype = as_precision(dtype)
        self.eps = as_tolerance(eps, self.dtype)
        check_grid(2 * n for n in self.shape)
        self.n_samples = len(coords)
        self.backend, module = load(backend, len(coords))
        self._takes_real = module.takes_real
        self._working = _working(module, self.dtype, self.eps, np.pi * np.asarray(self.shape) / 2)
        self._lock = Lock()
        if self.n_samples:
            small = n_jobs is None and len(coords) + np.prod(self.shape) < limits.FEW_PLACES
            threads = 1 if small else as_threads(n_jobs)
            self._threads, self._module, self._places = threads, module, wrapped(coords)

    @cached_property
    def _evaluator(self) -> ModesPlan:
        """The plan for type 2."""
        return self._module.plan(self._places, self.shape, self.eps, self._working, self._threads)

    @cached_property
    def _adders(self) -> list[tuple[slice, ModesPlan]]:
        """Runs of places, and the plan of each for type 1: with one thread, where several would add in any order."""
        runs = self._runs() if self._module.adds_in_any_order else [slice(None)]
        if len(runs) == 1 and (self._threads == 1 or not self._module.adds_in_any_order):
            return [(runs[0], self._evaluator)]
        return [(run, self._module.plan(self._places[run], self.shape, self.eps, self._working, 1)) for run in runs]

    def _runs(self) -> list[slice]:
        """Runs of places that one thread adds up; whatever the threads, they are the same."""
        size = int(max(limits.ADDED_AT_ONCE, limits.ADDED_PER_MODE * np.prod(self.shape, dtype=float)))
        return [slice(start, start + size) for start in range(0, self.n_samples, size)]

    def type1(self, strengths: ArrayLike, *, sign: int = -1) -> Array:
        """Modes ``(n_vectors?, *shape)`` of strengths ``(n_vectors?, n)``."""
        vectors, sign = as_vectors(strengths, (self.n_samples,), self.dtype, "strengths"), as_sign(sign)
        if vectors.size == 0:
            result = np.zeros((len(vectors), *self.shape), complex_type(self.dtype))
        else:
            with self._lock:
                result = self._added(_cast(vectors, self._working, self._takes_real), sign)
        return self._finished(result, np.ndim(strengths) == 2)

    def type2(self, modes: ArrayLike, *, sign: int = 1) -> Array:
        """Values ``(n_vectors?, n)`` of modes ``(n_vectors?, *shape)``."""
        vectors, sign = as_vectors(modes, self.shape, self.dtype, "modes"), as_sign(sign)
        if vectors.size == 0 or self.n_samples == 0:
            result = np.zeros((len(vectors), self.n_samples), complex_type(self.dtype))
        else:
            with self._lock:
                result = self._evaluator.type2(_cast(vectors, self._working, False), sign)
        return self._finished(result, np.ndim(modes) > len(self.shape))

    def _added(self, vectors: Array, sign: int) -> Array:
        """Type 1, run after run of the places."""
        adders = self._adders
        if len(adders) == 1:
            return adders[0][1].type1(vectors, sign)
        total = np.zeros((len(vectors), *self.shape), complex_type(self._working))
        each = map if self._threads == 1 else in_threads
        for part in each(lambda run: run[1].type1(np.ascontiguousarray(vectors[:, run[0]]), sign), adders):
            total += part
        return total

    def _finished(self, result: Array, batched: bool) -> Array:
        result = result.astype(complex_type(self.dtype), copy=False)
        return result if batched else result[0]


def _centred_type3(
    module: Backend, coords: FloatArray, vectors: Array, targets: FloatArray, eps: float, sign: int, n_jobs: int
) -> Array:
    # x = x0 + x', s = s0 + s':  s.x = s'.x' + s0.x' + s.x0; only s'.x' is left to the transform
    given = complex_type(vectors.real.dtype)
    x0, s0 = _centre(coords), _centre(targets)
    x, s = coords - x0, targets - s0
    phase = np.abs(x).max(axis=0) * np.abs(s).max(axis=0)
    check_grid(np.maximum(1, 8 * phase / np.pi))  # refined twofold twice: at spreading, and in the type 2 inside
    working = _working(module, vectors.real.dtype, eps, 2 * phase)  # x and s are both rounded
    if s0.any():
        vectors = vectors * np.exp(sign * 1j * (x @ s0))
    result = module.type3(x, _cast(vectors, working, module.takes_real), s, eps, sign, n_jobs)
    if x0.any():
        result = result * np.exp(sign * 1j * (targets @ x0))
    return result.astype(given, copy=False)


def _centre(places: FloatArray) -> FloatArray:
    """Middle of the range per axis, or 0 where it is near enough to spare the phase."""
    low, high = places.min(axis=0), places.max(axis=0)
    centre = (low + high) / 2
    return np.where(np.abs(centre) <= 0.05 * (high - low), 0.0, centre)


def _working(module: Backend, dtype: RealType, eps: float, phase: FloatArray) -> RealType:
    """Precision to work in: float64 where float32 coordinates would spoil eps."""
    spoiled = module.float32_phase_error * float(np.linalg.norm(phase)) > eps / 2
    return np.dtype(np.float64) if spoiled else dtype


def _cast(vectors: Array, dtype: RealType, real_is_fine: bool) -> Array:
    kind = dtype if real_is_fine and np.isrealobj(vectors) else complex_type(dtype)
    return np.ascontiguousarray(vectors, kind)
