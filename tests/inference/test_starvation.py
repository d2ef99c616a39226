"""Variance starvation: the ratio is one where nothing is missing, and falls short where waves are few."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bochner.features import FourierMap, Rows
from bochner.frequencies import QuasiMonteCarlo
from bochner.inference import Observations
from bochner.inference.fit_checks import _probes, starvation
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.linear import LinearEngine
from bochner.inference.observed.task import scale_of
from bochner.kernels import Matern

KERNEL, NOISE = Matern(0.1, nu=0.5), 0.01


def observed(n: int = 150) -> Observations:
    rng = np.random.default_rng(0)
    coords = rng.uniform(size=(n, 2))
    return Observations(Rows(coords, np.ones((n, 1))), rng.normal(size=n), np.ones(n), np.zeros(n), np.zeros(n))


def waves(n: int) -> LinearEngine:
    return LinearEngine(FourierMap(QuasiMonteCarlo().draw(KERNEL, n, 2, np.random.default_rng(0))), NOISE)


def test_the_exact_kernel_is_its_own_reference():
    obs = observed()
    assert starvation(ExactEngine(KERNEL, NOISE).fit(obs), KERNEL, obs, scale_of(obs), 0) == pytest.approx(1.0)


def test_few_waves_are_too_sure():
    """20 waves have 40 coefficients for 150 rows of a rough field: nearly nothing is left unknown."""
    obs = observed()
    few, many = (starvation(waves(n).fit(obs), KERNEL, obs, scale_of(obs), 0) for n in (20, 2_000))
    assert few < 0.4 < 0.95 < many < 1.05


@pytest.mark.parametrize("enough", [0.0, 2.0], ids=["neighbours suffice", "a part of the rows"])
def test_many_rows_are_judged_alike(enough):
    """Beyond 1,000 rows the reference is kriging from neighbours, or from a part of the rows."""
    obs = observed(300)
    whole = starvation(waves(40).fit(obs), KERNEL, obs, scale_of(obs), 0)
    part = starvation(waves(40).fit(obs), KERNEL, obs, scale_of(obs), 0, most=200, enough=enough)
    assert part == pytest.approx(whole, rel=0.2)


def test_without_noise_nothing_is_said():
    obs = observed()
    assert starvation(ExactEngine(KERNEL, 0.0).fit(obs), KERNEL, obs, scale_of(obs), 0) is None


def test_half_of_the_probes_lie_beside_rows():
    """Within some tenths of the spacing along each axis, whatever its unit; the others anywhere in the box."""
    obs = observed()
    far = replace(obs, rows=Rows(obs.rows.coords * [1000.0, 0.01], obs.rows.trend))
    extent, spacing = np.ptp(far.rows.coords, axis=0), scale_of(far).spacing
    probes = _probes(far, scale_of(far), 0).coords
    half = len(probes) // 2
    off = np.abs(probes[half:, None] - far.rows.coords[None]) / (extent * spacing)
    nearest = np.min(np.max(off, axis=2), axis=1)
    assert nearest.max() < 0.6 and 0.03 < np.median(nearest) < 0.2  # 0.1 of a normal law
    anywhere = (probes[:half] - far.rows.coords.min(axis=0)) / extent
    assert np.all((anywhere >= 0) & (anywhere <= 1)) and np.all(np.abs(anywhere.mean(axis=0) - 0.5) < 0.2)
