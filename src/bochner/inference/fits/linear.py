"""Gaussian inference on a feature map: primal or Woodbury solve, evidence and its gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray
from bochner.features import FeatureMap, FourierMap
from bochner.frequencies import Frequencies
from bochner.inference.observed.observations import Observations
from bochner.moments import DenseMoments, moments_of
from bochner.posterior import CoefficientPosterior
from bochner.solvers import Factor, WoodburyFactor, cholesky_factor, woodbury_factor


@dataclass(frozen=True)
class LinearFit:
    """Posterior of a linear model with a Gaussian prior on its features, and how likely the data are."""

    posterior: CoefficientPosterior
    log_evidence: float
    log_likelihood: float
    reason: str


def fit_linear(features: FeatureMap, obs: Observations, noise_variance: float) -> LinearFit:
    """Posterior of the coefficients, in the smaller of the two spaces."""
    precision = row_precision(features, obs, noise_variance)
    p, n = features.n_columns, len(obs)
    if n < p:
        return fit_woodbury(
            features, obs, noise_variance, precision, f"{n} rows < {p} columns: solved in the rows (Woodbury)"
        )
    moments = moments_of(features, obs.rows, obs.y, precision)
    reason = f"{p} columns <= {n} rows: solved in the columns (primal)"
    return fit_moments(features, obs, noise_variance, precision, moments, reason)


def fit_moments(
    features: FeatureMap,
    obs: Observations,
    noise_variance: float,
    precision: FloatArray,
    moments: DenseMoments,
    reason: str,
) -> LinearFit:
    """Primal solve: (Phi'N Phi + I) c = Phi'N y; O(p^3 / 3) once the moments are there."""
    p = features.n_columns
    system = moments.gram.copy(order="F")
    system[np.arange(p), np.arange(p)] += 1.0
    factor = cholesky_factor(system, obs.n_trend)
    coef = factor.solve(moments.projection)
    misfit = float(moments.energy - moments.projection @ coef)
    return _finish(features, obs, noise_variance, precision, factor, coef, misfit, reason)


def fit_woodbury(
    features: FeatureMap, obs: Observations, noise_variance: float, precision: FloatArray, reason: str
) -> LinearFit:
    """Solve in the rows: O(n^2 p); for fewer rows than columns."""
    phi = np.asarray(features.block(obs.rows.coords), dtype=np.float64)
    factor = woodbury_factor(phi, obs.rows.trend, precision)
    # c = Phi'alpha and misfit = r'alpha: no difference of large numbers, so it holds for tiny noise too
    beta = factor.schur.solve(obs.rows.trend.T @ factor.rows.solve(obs.y))
    residual = obs.y - obs.rows.trend @ beta
    alpha = factor.rows.solve(residual)
    coef, misfit = np.r_[phi.T @ alpha, beta], float(residual @ alpha)
    return _finish(features, obs, noise_variance, precision, factor, coef, misfit, reason)


def row_precision(features: FeatureMap, obs: Observations, noise_variance: float) -> FloatArray:
    """Precision of each row about the carried surface: copies over noise, known error and missing variance."""
    missing = features.missing_variance(obs.rows.coords)
    floor = 1e-10 * float(np.mean(features.prior_variance(obs.rows.coords[:1])))
    # copies share the missing part of the field, so it does not shrink with their number
    return 1 / np.maximum(missing + obs.copy_variance(noise_variance) / obs.weight, floor)


def linear_objective(
    draw: Callable[[FloatArray], Frequencies],
    theta: FloatArray,
    obs: Observations,
    noise_variance: float,
    *,
    reml: bool,
) -> tuple[float, FloatArray]:
    """Log evidence of a Fourier model and its gradient in [theta, log noise variance].

    `draw(theta)` gives the frequencies, smoothly in theta. The gradient in omega and mass is
    closed form; the one of the cheap map from theta to them is taken by central differences.
    """
    features = FourierMap(draw(theta))
    fit = fit_linear(features, obs, noise_variance)
    slopes = chain_to_theta(draw, theta, *frequency_gradient(fit, obs, noise_variance, reml=reml))
    return fit.log_evidence if reml else fit.log_likelihood, slopes


def chain_to_theta(
    draw: Callable[[FloatArray], Frequencies],
    theta: FloatArray,
    by_omega: FloatArray,
    by_log_mass: FloatArray,
    by_log_noise: float,
) -> FloatArray:
    """Gradient in [theta, log noise variance] from the one in omega and log mass."""
    slopes = []
    for j in range(len(theta)):
        step = np.zeros(len(theta))
        step[j] = 1e-5
        up, down = draw(theta + step), draw(theta - step)
        omega_slope = (up.omega - down.omega) / 2e-5
        mass_slope = (np.log(up.mass) - np.log(down.mass)) / 2e-5
        slopes.append(float(np.vdot(by_omega, omega_slope) + by_log_mass @ mass_slope))
    return np.array([*slopes, by_log_noise])


def frequency_gradient(
    fit: LinearFit, obs: Observations, noise_variance: float, *, reml: bool, implicit: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, float]:
    """Gradient of the log evidence in omega (m, dim), log mass (m,) and log noise variance.

    Every wave's derivative is another wave.
    """
    features = fit.posterior.features
    assert isinstance(features, FourierMap)
    m = features.n_columns // 2
    by_omega, by_log_mass = np.zeros((m, obs.rows.coords.shape[1])), np.zeros(m)
    by_log_noise = obs.replicate_terms(noise_variance)[1] if noise_variance > 0 else 0.0
    for i, phi, g, by_variance in feature_slopes(fit, obs, noise_variance, reml=reml, implicit=implicit):
        by_phase = g[:, m:] * phi[:, :m] - g[:, :m] * phi[:, m:]
        by_omega += by_phase.T @ obs.rows.coords[i]
        by_log_mass += 0.5 * np.sum(g[:, :m] * phi[:, :m] + g[:, m:] * phi[:, m:], axis=0)
        by_log_noise += noise_variance * np.sum(by_variance / obs.weight[i])
    return by_omega, by_log_mass, float(by_log_noise)


def feature_slopes(
    fit: LinearFit, obs: Observations, noise_variance: float, *, reml: bool, implicit: FloatArray | None = None
) -> Iterator[tuple[slice, FloatArray, FloatArray, FloatArray]]:
    """Blocks of rows with their features Phi, dL/dPhi (n, p) and dL/d(variance of each row about the surface) (n,).

    With dL = 1/2 tr(G dK), dL/dPhi = G Phi. G = alpha alpha' - Pi; under Laplace's approximation b alpha' + alpha b'
    more, `implicit` being b.
    """
    post = fit.posterior
    if isinstance(post.factor, WoodburyFactor):
        yield _dual_slopes(post, post.factor, obs, reml=reml, implicit=implicit)
        return
    features, coef = post.features, post.coef
    p = features.n_columns
    covariance = coefficient_covariance(fit, obs, reml=reml)
    precision = row_precision(features, obs, noise_variance)
    b = np.zeros(len(obs)) if implicit is None else implicit
    b_coef = np.zeros(p) if implicit is None else _adjoint(features, obs, b)
    for i in features.slices(len(obs)):
        columns = post.columns(obs.rows[i])
        prec = precision[i]
        alpha = prec * (obs.y[i] - columns @ coef)
        spread = columns @ covariance
        g = np.outer(alpha + b[i], coef[:p]) + np.outer(alpha, b_coef) - prec[:, None] * spread[:, :p]
        pi = prec - prec**2 * np.sum(spread * columns, axis=1)
        yield i, columns[:, :p], g, 0.5 * (alpha**2 - pi + 2 * alpha * b[i])


def _dual_slopes(
    post: CoefficientPosterior, factor: WoodburyFactor, obs: Observations, *, reml: bool, implicit: FloatArray | None
) -> tuple[slice, FloatArray, FloatArray, FloatArray]:
    """The same through G itself, (n, n), for fewer rows than columns."""
    pi = factor.rows.solve(np.eye(len(obs)))
    if reml and obs.n_trend:
        explained = pi @ obs.rows.trend
        pi -= explained @ factor.schur.solve(explained.T)
    alpha = factor.precision * (obs.y - np.column_stack([factor.phi, obs.rows.trend]) @ post.coef)
    g = np.outer(alpha, alpha) - pi
    if implicit is not None:
        g += np.outer(implicit, alpha) + np.outer(alpha, implicit)
    return slice(0, len(obs)), factor.phi, g @ factor.phi, 0.5 * np.diag(g)


def residual_product(
    fit: LinearFit, obs: Observations, noise_variance: float
) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Diagonal of Pi = Sigma^-1 - Sigma^-1 X S^-1 X'Sigma^-1, and products with it, through the columns."""
    post, n = fit.posterior, len(obs)
    precision = row_precision(post.features, obs, noise_variance)
    diagonal = np.empty(n)
    for i in post.features.slices(n):
        diagonal[i] = precision[i] - precision[i] ** 2 * post.factor.quadratic_form(post.columns(obs.rows[i]))

    def product(v: FloatArray) -> FloatArray:
        weighted, projection, out = precision * v, np.zeros(len(post.coef)), np.empty(n)
        for i in post.features.slices(n):
            projection += post.columns(obs.rows[i]).T @ weighted[i]
        coef = post.factor.solve(projection)
        for i in post.features.slices(n):
            out[i] = weighted[i] - precision[i] * (post.columns(obs.rows[i]) @ coef)
        return out

    return diagonal, product


def coefficient_covariance(fit: LinearFit, obs: Observations, *, reml: bool) -> FloatArray:
    """Posterior covariance of all coefficients; with the trend held, unless `reml`."""
    p = fit.posterior.features.n_columns
    covariance = fit.posterior.factor.solve(np.eye(len(fit.posterior.coef)))
    if reml or not obs.n_trend:
        return covariance
    # the features alone have covariance (I + Phi'N Phi)^-1
    cross = covariance[:p, p:]
    held = np.zeros_like(covariance)
    held[:p, :p] = covariance[:p, :p] - cross @ np.linalg.solve(covariance[p:, p:], cross.T)
    return held


def _adjoint(features: FeatureMap, obs: Observations, v: FloatArray) -> FloatArray:
    out = np.zeros(features.n_columns)
    for i in features.slices(len(obs)):
        out += np.asarray(features.block(obs.rows.coords[i]), dtype=np.float64).T @ v[i]
    return out


def _finish(
    features: FeatureMap,
    obs: Observations,
    noise_variance: float,
    precision: FloatArray,
    factor: Factor,
    coef: FloatArray,
    misfit: float,
    reason: str,
) -> LinearFit:
    n, q = len(obs), obs.n_trend
    floor = 1e-10 * float(np.mean(features.prior_variance(obs.rows.coords[:1])))
    copies = obs.replicate_terms(max(noise_variance, floor))[0]
    fit = -0.5 * (misfit - np.sum(np.log(precision))) + copies
    log_evidence = fit - 0.5 * (n - q) * np.log(2 * np.pi) - 0.5 * factor.logdet()
    log_likelihood = fit - 0.5 * n * np.log(2 * np.pi) - 0.5 * (factor.logdet() - factor.trend_logdet())
    posterior = CoefficientPosterior(features, coef, factor)
    return LinearFit(posterior, float(log_evidence), float(log_likelihood), reason)
