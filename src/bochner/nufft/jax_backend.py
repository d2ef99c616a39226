"""FINUFFT through JAX, used only where jax and jax-finufft are already installed.

Everything runs on the CPU and NumPy arrays go in and out. JAX compiles once per shape of its input, and its interface
has no plan: the points are sorted again in every call.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.nufft.contract import Array, RealType

takes_real = False
adds_in_any_order = False
float32_phase_error = 3.2e-8


class JaxPlan:
    """Columns of the coordinates, held on JAX's CPU device."""

    def __init__(self, coords: FloatArray, shape: tuple[int, ...], eps: float, dtype: RealType, n_jobs: int) -> None:
        with _on_cpu():
            self._axes = _columns(coords, dtype)
        self._shape = shape
        self._options = _options(eps, n_jobs)

    def type1(self, strengths: Array, sign: int) -> Array:
        from jax_finufft import nufft1

        with _on_cpu():
            return np.array(nufft1(self._shape, strengths, *self._axes, iflag=sign, **self._options))

    def type2(self, modes: Array, sign: int) -> Array:
        from jax_finufft import nufft2

        with _on_cpu():
            return np.array(nufft2(modes, *self._axes, iflag=sign, **self._options))


plan = JaxPlan


def type3(coords: FloatArray, strengths: Array, targets: FloatArray, eps: float, sign: int, n_jobs: int) -> Array:
    """Type 3 in one go."""
    from jax_finufft import nufft3

    real = strengths.real.dtype
    with _on_cpu():
        axes = [*_columns(coords, real), *_columns(targets, real)]
        return np.array(nufft3(strengths, *axes, iflag=sign, **_options(eps, n_jobs)))


def _columns(coords: FloatArray, dtype: Any) -> list[Any]:
    import jax.numpy as jnp

    # A leading axis of one says that all vectors share the points.
    return [jnp.asarray(column[None], dtype) for column in coords.T]


def _options(eps: float, n_jobs: int) -> dict[str, Any]:
    from jax_finufft.options import Opts

    return {"eps": eps, "opts": Opts(modeord=False, nthreads=n_jobs)}


def _on_cpu() -> AbstractContextManager[Any]:
    """Double precision on the CPU for the calls inside; the user's settings of JAX stay as they are."""
    import jax

    if hasattr(jax, "enable_x64"):
        double = jax.enable_x64(True)
    else:  # jax before 0.8
        from jax.experimental import enable_x64

        double = enable_x64()
    stack = ExitStack()
    stack.enter_context(double)
    stack.enter_context(jax.default_device(jax.devices("cpu")[0]))
    return stack
