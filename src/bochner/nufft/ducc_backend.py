"""ducc0 (GPL-2.0-or-later, hence an extra), the first choice where it is installed: faster than FINUFFT."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray
from bochner.nufft import limits
from bochner.nufft.contract import Array, RealType

takes_real = False
adds_in_any_order = True
float32_phase_error = 9e-9


class DuccPlan:
    """ducc0 plan, which wants coordinates of the same precision as the values."""

    def __init__(self, coords: FloatArray, shape: tuple[int, ...], eps: float, dtype: RealType, n_jobs: int) -> None:
        import ducc0

        # One plan serves both directions; nu2u only tunes the balance between gridding and FFT.
        self._plan = ducc0.nufft.plan(
            nu2u=True,
            coord=np.ascontiguousarray(coords, dtype),
            grid_shape=shape,
            epsilon=eps,
            nthreads=n_jobs,
            periodicity=2 * np.pi,
            fft_order=False,
        )

    def type1(self, strengths: Array, sign: int) -> Array:
        result: Array = self._plan.nu2u(points=strengths, forward=sign < 0)
        return result

    def type2(self, modes: Array, sign: int) -> Array:
        result: Array = self._plan.u2nu(grid=modes, forward=sign < 0)
        return result


plan = DuccPlan


def type3(coords: FloatArray, strengths: Array, targets: FloatArray, eps: float, sign: int, n_jobs: int) -> Array:
    """Type 3 in one go (ducc0 calls it experimental), with float64 coordinates in either precision."""
    import ducc0

    if eps < limits.SINGLE_TYPE3:
        strengths = strengths.astype(np.complex128, copy=False)
    result: Array = ducc0.nufft.experimental.nu2nu(
        points_in=strengths,
        coord_in=np.ascontiguousarray(coords),
        coord_out=np.ascontiguousarray(targets),
        forward=sign < 0,
        epsilon=min(eps, limits.COARSEST_TYPE3),
        nthreads=n_jobs,
    )
    return result
