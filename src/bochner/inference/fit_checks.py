"""Checks of a fit: extremes that doubles do not hold, rows that are far off, and features that are too sure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from scipy import special
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray
from bochner.exceptions import ConvergenceError, KernelError
from bochner.features import Rows
from bochner.inference.fits.base import GaussianFit
from bochner.inference.fits.exact import ExactEngine
from bochner.inference.fits.folds import residual_beside
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel, Scale, axis_units, measured, total_variance
from bochner.neighbours import close_pairs, left_out, local_kriging
from bochner.posterior import Posterior
from bochner.random import generator
from bochner.resources import n_searchers


def check_extremes(kernel: Kernel, scale: Scale, *, gaussian: bool) -> None:
    """Refuse a kernel whose ranges or variances are out of all proportion to the data."""
    for parameter, theta in zip(kernel.hyperparameters, kernel.theta, strict=True):
        role = parameter.role
        sides = scale.extent[scale.extent > 0]
        if role.power_of_length and len(sides):
            log_ratio = float(theta) - role.power_of_length * float(np.log(sides.max()))
            if abs(log_ratio) > np.log(1e50):  # it overflows in powers up to the dimension
                raise _extreme(kernel, parameter.name, theta, f"coordinates extend over {sides.max():.3g}")
        if role.is_variance and gaussian and scale.variance > 0:
            log_ratio = float(theta) - float(np.log(scale.variance))
            if abs(log_ratio) > np.log(1e100):
                raise _extreme(kernel, parameter.name, theta, f"responses have the variance {scale.variance:.3g}")


@contextmanager
def overflow_told() -> Iterator[None]:
    """Errors of linear algebra that met infinities, as one of ours."""
    try:
        yield
    except ConvergenceError:
        raise
    except (np.linalg.LinAlgError, ZeroDivisionError, FloatingPointError, OverflowError) as error:
        raise _overflow(str(error)) from error
    except ValueError as error:
        if "infs or NaNs" not in str(error):  # of scipy, which checks what it is given
            raise
        raise _overflow(str(error)) from error


def check_finite(posterior: Posterior) -> None:
    """Refuse a fit that ended in something else than numbers."""
    row_coef = posterior.row_coef
    parts = (posterior.trend_coef, posterior.feature_coef, np.zeros(0) if row_coef is None else row_coef)
    if not all(np.isfinite(part).all() for part in parts):
        raise _overflow("its coefficients are no numbers")


def _extreme(kernel: Kernel, name: str, theta: float, data: str) -> KernelError:
    with np.errstate(over="ignore"):
        value = np.exp(theta)
    return KernelError(
        f"{type(kernel).__name__}: {name} is {value:.3g}, and the {data}; no double holds what a fit makes of the two. "
        f"Give a value nearer to the data, or let it be learned."
    )


def _overflow(told: str) -> ConvergenceError:
    return ConvergenceError(
        f"the fit cannot be computed in double precision ({told}); give coordinates, responses, kernel and noise "
        f"variance in units in which they are neither huge nor tiny, or let kernel and noise be learned."
    )


def outliers(kernel: Kernel, noise_variance: float, obs: Observations, seed: int) -> IntArray:
    """Rows that lie far from what their nearest others predict, in a unit that outliers do not widen.

    The unit is local: along a front, or in mountains, where all rows are badly predicted, none is an outlier.
    A row beside an outlier is badly predicted too; so suspects are predicted again, from rows that are none. None are
    found of kernels to which near rows are no nearer than others, and no row that alone tells an effect of the trend.
    """
    n, rows = len(obs), np.flatnonzero(~obs.alone)
    if len(rows) < 50 or obs.rows.has_areas or not kernel.stationary:
        return np.empty(0, dtype=np.intp)
    if len(rows) > 100_000:  # of more, a sample: so many take 2 s
        rows = np.sort(generator(seed, "checked rows").choice(rows, 100_000, replace=False))
    residual = residual_beside(kernel, noise_variance, obs)
    z = _standardised(kernel, noise_variance, obs, residual, rows, np.arange(n))
    far = _far(kernel, obs, rows, np.abs(z))
    bad = np.abs(z) > far
    suspects, far = rows[bad], far[bad]
    innocent = np.setdiff1d(np.arange(n), suspects)
    if not len(suspects) or len(innocent) < 2:
        return suspects
    again = _standardised(kernel, noise_variance, obs, residual, suspects, innocent)
    return suspects[np.abs(again) > far]


def _far(kernel: Kernel, obs: Observations, rows: IntArray, off: FloatArray) -> FloatArray:
    """How far off a row must be, (n,), in sds of its prediction.

    Six robust sds of all rows, and three of the model's own, which outliers have widened. Five of the 40 rows around
    it, which it spoils: along fronts all are far off.
    """
    normal = float(special.ndtri(0.75))
    typical = min(1.0, float(np.median(off)) / normal)
    far = np.full(len(rows), max(6.0 * typical, 3.0))
    doubted = np.flatnonzero(off > far)  # of the others it makes no difference what lies around
    if not len(doubted):
        return far
    coords = obs.rows.coords[rows]
    units = axis_units(kernel, np.ptp(coords, axis=0))
    places = measured(coords, units)
    n_around = min(1 + 40, len(rows))
    around = cKDTree(places).query(places[doubted], n_around, workers=n_searchers(len(doubted)))[1][:, 1:]
    local = np.median(off[around], axis=1) / normal
    far[doubted] = np.maximum(far[doubted], 5.0 * local)
    return far


def pair_scatter(kernel: Kernel, noise_variance: float, obs: Observations) -> float | None:
    """Scatter of close pairs relative to what the noise and the field let expect, as a ratio of sds; about 1.

    By a quantile, so that outliers make no difference; exact copies of a row are left out. None of few pairs.
    """
    if obs.rows.has_areas or not kernel.stationary:
        return None
    units = axis_units(kernel, np.ptp(obs.rows.coords, axis=0))
    first, second = close_pairs(measured(obs.rows.coords, units)).T
    coords, error = obs.rows.coords, obs.copy_variance(noise_variance) / obs.weight
    residual = residual_beside(kernel, noise_variance, obs)
    told = (residual[first] != residual[second]) | np.any(coords[first] != coords[second], axis=1)
    first, second = first[told], second[told]
    if len(first) < 30:
        return None
    fallen = total_variance(kernel) - kernel.lag_covariance(coords[first] - coords[second])
    expected = error[first] + error[second] + 2 * np.maximum(fallen, 0.0)
    off = np.abs(residual[first] - residual[second]) / np.sqrt(np.maximum(expected, 1e-300))
    share = 0.9  # of the pairs: the others may hold an outlier
    ratio = float(np.quantile(off, share) / special.ndtri((1 + share) / 2))
    by_noise = float(np.median(2 * noise_variance / np.maximum(expected, 1e-300)))
    # known errors, or a field that changes between the two, may be what did not show: that says nothing of the noise
    return None if ratio < 1 and by_noise < 0.5 else ratio


def _standardised(
    kernel: Kernel, noise_variance: float, obs: Observations, residual: FloatArray, rows: IntArray, others: IntArray
) -> FloatArray:
    """How far rows lie from what 12 others predict, in sds of that."""
    coords, error = obs.rows.coords, obs.copy_variance(noise_variance)
    units = axis_units(kernel, np.ptp(coords, axis=0))
    k = min(12, len(others) - 1)
    mean, variance = left_out(kernel, error / obs.weight, coords, residual, rows, others, k, units)
    return np.asarray((residual[rows] - mean) / np.sqrt(np.maximum(variance + error[rows], 1e-300)))


def starvation(
    fit: GaussianFit,
    kernel: Kernel,
    obs: Observations,
    scale: Scale,
    seed: int,
    most: int = 1_000,
    enough: float = 0.95,
) -> float | None:
    """Median ratio of the features' sd to kriging's, at places within the data's box; about 1 when they suffice.

    A finite set of waves is too sure of itself where the data could support more of them. The reference is kriging from
    all rows, up to `most`; else from 100 neighbours, where their sds are at least `enough` times those of 40; else from
    a part of the rows. None without noise, and for least squares, which has no prior to fall short of.
    """
    posterior, noise_variance = fit.posterior, fit.noise_variance
    if noise_variance <= 0 or not np.isfinite(fit.log_evidence):
        return None
    obs = obs.with_weight()
    probes = _probes(obs, scale, seed)
    if len(obs) <= most:
        kriging = ExactEngine(kernel, noise_variance).fit(obs).posterior
        return _ratio(posterior.variance(probes), kriging.variance(probes))
    coords, noise = obs.rows.coords, obs.copy_variance(noise_variance) / obs.weight
    units = axis_units(kernel, np.ptp(coords, axis=0))
    few, many = (
        local_kriging(kernel, noise, coords, np.zeros(len(coords)), probes.coords, k, units)[1] for k in (40, 100)
    )
    if _ratio(many, few) > enough:
        return _ratio(posterior.variance(probes), many)
    # A smooth field listens to rows farther off: both are asked what they would say of fewer rows.
    part = obs[generator(seed, "rows").choice(len(obs), most, replace=False)]
    own = fit.engine.fit(part).posterior.variance(probes)
    return _ratio(own, ExactEngine(kernel, noise_variance).fit(part).posterior.variance(probes))


def _probes(obs: Observations, scale: Scale, seed: int) -> Rows:
    """100 anywhere in the box and 100 near data, with the trend of the nearest row."""
    coords, rng = obs.rows.coords, generator(seed, "probes")
    low, high = coords.min(axis=0), coords.max(axis=0)
    anywhere = rng.uniform(low, high, size=(100, coords.shape[1]))
    near = coords[rng.integers(len(coords), size=100)]
    near = near + 0.1 * scale.spacing * (high - low) * rng.normal(size=near.shape)
    probes = np.concatenate([anywhere, near])
    return Rows(probes, obs.rows.trend[cKDTree(coords).query(probes)[1]])


def _ratio(variance: FloatArray, reference: FloatArray) -> float:
    return float(np.median(np.sqrt(variance / np.maximum(reference, 1e-12 * np.max(reference)))))
