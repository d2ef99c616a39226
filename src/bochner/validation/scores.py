"""Scores: how far predictions lie from what was observed, and whether their spread is honest.

Every score is a pure function of arrays and returns one number, a mean over rows; `pit` returns one
number per row. Where a mean is taken, `sample_weight` weighs it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bochner.arrays import FloatArray, as_finite, as_rows
from bochner.exceptions import InputError
from bochner.validation import limits


def rmse(y: ArrayLike, mean: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    r"""Root mean squared error, in the unit of y; lower is better.

    .. math:: \sqrt{\tfrac1n \sum_i (y_i - \mu_i)^2}
    """
    y, mean = _aligned(y, mean=mean)
    return float(np.sqrt(row_mean((y - mean) ** 2, sample_weight)))


def mae(y: ArrayLike, mean: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    r"""Mean absolute error, in the unit of y; lower is better.

    .. math:: \tfrac1n \sum_i |y_i - \mu_i|
    """
    y, mean = _aligned(y, mean=mean)
    return row_mean(np.abs(y - mean), sample_weight)


def bias(y: ArrayLike, mean: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    r"""Mean of prediction minus observation, in the unit of y; positive is too high.

    .. math:: \tfrac1n \sum_i (\mu_i - y_i)
    """
    y, mean = _aligned(y, mean=mean)
    return row_mean(mean - y, sample_weight)


def crps(y: ArrayLike, mean: ArrayLike, sd: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    r"""Continuous ranked probability score of Gaussian predictions; lower is better.

    .. math:: \tfrac1n \sum_i \sigma_i \{ z_i (2 \Phi(z_i) - 1) + 2 \varphi(z_i) - 1/\sqrt\pi \},
        \quad z_i = (y_i - \mu_i) / \sigma_i

    In the unit of y. Where sd is 0 it is the absolute error, exactly.

    References
    ----------
    Gneiting and Raftery (2007), Strictly proper scoring rules, prediction, and estimation, equation 21.
    """
    y, mean, sd = _aligned(y, mean=mean, sd=sd)
    _need(sd >= 0, "sd", ">= 0")
    return row_mean(_expected_distance(y - mean, sd) - sd / np.sqrt(np.pi), sample_weight)


def crps_sample(y: ArrayLike, draws: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    r"""Continuous ranked probability score of draws, in its fair form; lower is better.

    .. math:: \frac1m \sum_k |x_k - y| - \frac{1}{2 m (m - 1)} \sum_{k, l} |x_k - x_l|

    Averaged over rows, in the unit of y. Fair: its expectation is the score of the distribution that the
    draws come from, however few they are; hence a single row can score below zero.

    Parameters
    ----------
    y : array-like of shape (n,)
        Observations.
    draws : array-like of shape (n_draws, n)
        At least two draws for every row. Cost O(n n_draws log n_draws), memory one copy of the draws.
    """
    (y,) = _aligned(y)
    draws = _components(draws, len(y), "draws")
    m = len(draws)
    if m < 2:
        raise InputError(f"draws holds {m} draw per row; needed are at least 2, better 100: draw more.")
    # Distances do not change when all is shifted by y, and the sums below cancel less.
    x = np.sort(draws - y, axis=0)
    # In sorted order x_k is the larger of k - 1 pairs and the smaller of m - k.
    pair_sum = (2.0 * np.arange(1, m + 1) - m - 1) @ x
    return row_mean(np.abs(x).mean(axis=0) - pair_sum / (m * (m - 1)), sample_weight)


def crps_mixture(
    y: ArrayLike, means: ArrayLike, sds: ArrayLike, mass: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    r"""Continuous ranked probability score of Gaussian mixtures; lower is better.

    .. math:: \sum_k p_k A(y - \mu_k, \sigma_k)
        - \tfrac12 \sum_{k, l} p_k p_l A(\mu_k - \mu_l, \sqrt{\sigma_k^2 + \sigma_l^2}),
        \quad A(\mu, \sigma) = \mu (2 \Phi(\mu/\sigma) - 1) + 2 \sigma \varphi(\mu/\sigma)

    Averaged over rows, in the unit of y. Cost O(n components^2), memory O(n components).

    Parameters
    ----------
    y : array-like of shape (n,)
        Observations.
    means, sds : array-like of shape (components, n)
        Mean and standard deviation of every component in every row.
    mass : array-like of shape (components,)
        Probabilities of the components, summing to one.

    References
    ----------
    Grimit, Gneiting, Berrocal and Johnson (2006), The continuous ranked probability score for circular
    variables and its application to mesoscale forecast ensemble verification, equation 5.
    """
    return row_mean(crps_mixture_rows(y, means, sds, mass), sample_weight)


def crps_mixture_rows(y: ArrayLike, means: ArrayLike, sds: ArrayLike, mass: ArrayLike) -> FloatArray:
    """What `crps_mixture` is the mean of: one score per row, (n,)."""
    (y,) = _aligned(y)
    means, sds = _components(means, len(y), "means"), _components(sds, len(y), "sds")
    if means.shape != sds.shape:
        raise InputError(f"means has {len(means)} components and sds {len(sds)}; needed are as many in both.")
    _need(sds >= 0, "sds", ">= 0")
    mass = _mixture_mass(mass, len(means))
    score: FloatArray = mass @ _expected_distance(y - means, sds)
    for p, mean, sd in zip(mass, means, sds, strict=True):
        score -= 0.5 * p * (mass @ _expected_distance(means - mean, np.hypot(sds, sd)))
    return score


def crps_widened_rows(
    y: FloatArray, means: FloatArray, variances: FloatArray, mass: FloatArray, noise: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """The same of mixtures whose components are all widened by one noise, a mixture about zero: its variances, masses.

    Two components differ by the noise of both, whose variances are put on a grid of their logarithm: of c components
    and m parts of the noise c^2 m is what a row costs, and not (c m)^2. Good to 1e-6 of the score.
    """
    at, share = noise
    score = np.zeros(len(y))
    for p, mean, variance in zip(mass, means, variances, strict=True):
        score += p * (share @ _expected_distance(y - mean, np.sqrt(variance + at[:, None])))
    both, weight = _sum_of_two(at, share)
    for i, j in zip(*np.triu_indices(len(mass)), strict=True):
        sd = np.sqrt(variances[i] + variances[j] + both[:, None])
        twice = 0.5 if i == j else 1.0
        score -= twice * mass[i] * mass[j] * (weight @ _expected_distance(means[i] - means[j], sd))
    return score


def _sum_of_two(values: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Law of the sum of two draws of a positive law, on a grid of its log: cubic weights keep sums of smooth functions.

    Some of them may be negative.
    """
    if len(values) == 1:
        return 2 * values, share
    total, product = np.add.outer(values, values).ravel(), np.multiply.outer(share, share).ravel()
    log_total = np.log(total)
    step = float(np.ptp(np.log(values))) / (limits.GRID_OF_SUMS * (len(values) - 1))
    first = float(log_total.min()) - 2 * step
    place = (log_total - first) / step
    node = np.floor(place).astype(np.intp)
    t = place - node
    cubic = (
        (-1, -t * (t - 1) * (t - 2) / 6),
        (0, (t + 1) * (t - 1) * (t - 2) / 2),
        (1, -(t + 1) * t * (t - 2) / 2),
        (2, (t + 1) * t * (t - 1) / 6),
    )
    n = int(node.max()) + 3
    weight = sum(np.bincount(node + k, product * c, n) for k, c in cubic)
    return np.exp(first + step * np.arange(n)), np.asarray(weight)


def log_score(y: ArrayLike, mean: ArrayLike, sd: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    r"""Mean log predictive density of Gaussian predictions; HIGHER is better.

    .. math:: -\tfrac1n \sum_i \{ \tfrac12 \log(2 \pi \sigma_i^2) + \tfrac12 z_i^2 \},
        \quad z_i = (y_i - \mu_i) / \sigma_i

    In nats per row. A change of the unit of y shifts it, so compare it only on the same y.
    """
    y, mean, sd = _aligned(y, mean=mean, sd=sd)
    _need(sd > 0, "sd", "> 0: a density needs spread, score certain predictions with mae or crps")
    z = (y - mean) / sd
    return row_mean(-0.5 * np.log(2 * np.pi) - np.log(sd) - 0.5 * z**2, sample_weight)


def interval_score(
    y: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    level: float = 0.95,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Width of central intervals plus a fine for what they miss; lower is better.

    .. math:: \tfrac1n \sum_i (u_i - l_i) + \tfrac2\alpha (l_i - y_i)_+ + \tfrac2\alpha (y_i - u_i)_+,
        \quad \alpha = 1 - \mathrm{level}

    In the unit of y.

    References
    ----------
    Gneiting and Raftery (2007), Strictly proper scoring rules, prediction, and estimation, equation 43.
    """
    y, lower, upper = _interval(y, lower, upper)
    miss = np.maximum(lower - y, 0) + np.maximum(y - upper, 0)
    return row_mean((upper - lower) + 2 / (1 - as_level(level)) * miss, sample_weight)


def coverage(y: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    r"""Share of observations inside their interval; best at the interval's level.

    .. math:: \tfrac1n \sum_i 1\{l_i \le y_i \le u_i\}
    """
    y, lower, upper = _interval(y, lower, upper)
    return row_mean(((lower <= y) & (y <= upper)).astype(np.float64), sample_weight)


def brier(
    y: ArrayLike, probability: ArrayLike, *, trials: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    r"""Mean squared error of probabilities, from 0 to 1; lower is better.

    .. math:: \tfrac1n \sum_i (p_i - y_i)^2, \quad y_i \in \{0, 1\}

    Parameters
    ----------
    y : array-like of shape (n,)
        0 or 1; positives, where `trials` are given.
    probability : array-like of shape (n,)
        Predicted probability, or prevalence.
    trials : array-like of shape (n,), optional
        Trials of each row: the score is then the mean over all single trials.
    """
    y, probability = _aligned(y, probability=probability)
    _need((probability >= 0) & (probability <= 1), "probability", "between 0 and 1")
    if trials is None:
        _need((y == 0) | (y == 1), "y", "0 or 1 (for positives out of trials, pass trials)")
        return row_mean((probability - y) ** 2, sample_weight)
    n = _column(trials, len(y), "trials")
    _need(n > 0, "trials", "> 0")
    _need((y >= 0) & (y <= n), "y", "between 0 and trials")
    weight = _column(1.0 if sample_weight is None else sample_weight, len(y), "sample_weight")
    share = y / n
    return row_mean(share * (1 - probability) ** 2 + (1 - share) * probability**2, weight * n)


def pit(y: ArrayLike, mean: ArrayLike, sd: ArrayLike) -> FloatArray:
    r"""Probability integral transform of Gaussian predictions, one value per row.

    .. math:: \Phi((y_i - \mu_i) / \sigma_i)

    Uniform on (0, 1) when predictions are calibrated: a U-shaped histogram means sd too small, a hump sd
    too large, a slope bias. Where sd is 0 it is 0, 1/2 or 1: y below, at or above the mean.

    Returns
    -------
    ndarray of shape (n,)
    """
    y, mean, sd = _aligned(y, mean=mean, sd=sd)
    _need(sd >= 0, "sd", ">= 0")
    transform: FloatArray = special.ndtr(_standardised(y - mean, sd))
    return transform


def as_level(level: float) -> float:
    """Probability of an interval, strictly between 0 and 1."""
    if not 0 < level < 1:
        raise InputError(f"level is {level!r}; needed is a probability between 0 and 1, such as 0.95.")
    return float(level)


def _expected_distance(difference: FloatArray, sd: FloatArray) -> FloatArray:
    """E|N(difference, sd^2)|; its limit at sd = 0 is |difference|."""
    z = _standardised(difference, sd)
    with np.errstate(over="ignore", under="ignore"):
        density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    distance: FloatArray = difference * special.erf(z / np.sqrt(2)) + 2 * sd * density
    return distance


def _standardised(difference: FloatArray, sd: FloatArray) -> FloatArray:
    """Difference over sd; at sd = 0 infinite with the sign of the difference, or 0."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return np.where(difference == 0, 0.0, difference / sd)


def _aligned(y: ArrayLike, **columns: ArrayLike) -> list[FloatArray]:
    """Observations, then every column with one finite value per observation."""
    observed = as_finite(y, "y")
    if observed.ndim == 2 and observed.shape[1] == 1:
        observed = observed[:, 0]
    if observed.ndim != 1 or not len(observed):
        raise InputError(f"y has shape {np.shape(y)}; needed is one observation per row, at least one.")
    return [observed, *(_column(values, len(observed), name) for name, values in columns.items())]


def _interval(y: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> list[FloatArray]:
    """Observations and the two ends of their intervals, in order."""
    rows = _aligned(y, lower=lower, upper=upper)
    _need(rows[1] <= rows[2], "lower", "at most upper: swap the two")
    return rows


def _column(values: ArrayLike, n: int, name: str) -> FloatArray:
    rows = as_rows(values, n, name)
    if rows is None:
        raise InputError(f"{name} is None; needed is one value per row, ({n},).")
    return rows


def _components(values: ArrayLike, n: int, name: str) -> FloatArray:
    """Finite array: a line per draw or component, a column per row of y."""
    array = as_finite(values, name)
    if array.ndim != 2 or array.shape[1] != n or not len(array):
        hint = f" Transpose it: {name}.T." if array.ndim == 2 and array.shape[0] == n else ""
        raise InputError(f"{name} has shape {array.shape}; needed is (any number, {n}), a column per row of y.{hint}")
    return array


def _mixture_mass(mass: ArrayLike, n_components: int) -> FloatArray:
    array = as_finite(mass, "mass")
    if array.shape != (n_components,):
        raise InputError(f"mass has shape {array.shape}; needed is one probability per component, ({n_components},).")
    _need(array >= 0, "mass", ">= 0")
    if abs(array.sum() - 1) > 1e-6:
        raise InputError(f"mass sums to {array.sum():.6g}; needed is 1: divide it by its sum.")
    return array


def _need(holds: np.ndarray, name: str, needed: str) -> None:
    if not holds.all():
        where = int(np.flatnonzero(~holds.ravel())[0])
        raise InputError(f"{name} breaks its bound {(~holds).sum()} time(s), first at {where}; needed is {needed}.")


def row_mean(values: FloatArray, sample_weight: ArrayLike | None) -> float:
    """Weighted mean over rows."""
    weight = as_rows(sample_weight, len(values), "sample_weight", default=1.0)
    assert weight is not None
    _need(weight >= 0, "sample_weight", ">= 0")
    if not weight.sum() > 0:
        raise InputError("sample_weight is zero everywhere; needed is at least one row that counts.")
    return float(np.average(values, weights=weight))
