"""Candidates for space and time: a product, and a lasting part where that is worth its parameters."""

from __future__ import annotations

import numpy as np
import pytest

from bochner.inference.tuning.search import tune
from bochner.inference.tuning.space_time import space_time_fields
from bochner.kernels import Kernel, Matern, Separable, Sum
from tests.inference.tuning.objectives import NOISE, search


def objective(lasting: float, smooth: float):
    """Highest at lengths and variances of one; some more for a part that lasts, and for smoothness 3/2."""

    def value(kernel: Kernel, noise_variance: float) -> tuple[float, np.ndarray]:
        theta, noise = kernel.theta, np.log(noise_variance / NOISE)
        more = lasting * isinstance(kernel, Sum) + smooth * ("nu=1.5" in repr(kernel))
        return float(-theta @ theta - noise**2 + more), np.r_[-2 * theta, -2 * noise]

    return value


@pytest.mark.parametrize(("lasting", "n_found"), [(0.0, 1), (100.0, 2)])
def test_a_lasting_part_is_a_candidate_where_it_gains(lasting, n_found):
    looked = search(objective(lasting, 1.0))
    found = space_time_fields(tune(looked, Matern((0.5, 0.5))), looked, looked)
    assert [name for name, _ in found] == [
        "a product of space and time",
        "a product of space and time and a field that lasts",
    ][:n_found]
    product = found[0][1].kernel
    assert isinstance(product, Separable) and "nu=1.5" in repr(product) and "nu=0.5" in repr(product)
    assert found[0][1].value == pytest.approx(1.0, abs=0.05)
    assert found[0][1].noise_variance == pytest.approx(NOISE, rel=0.05)
