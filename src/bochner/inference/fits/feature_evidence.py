"""Evidence of a feature model and its gradient: in the waves in closed form, in theta by the chain rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bochner.arrays import FloatArray
from bochner.device import Device, device_for
from bochner.device.accelerator import to_host
from bochner.features import FourierMap
from bochner.frequencies import Frequencies
from bochner.inference.fits.linear import LinearEngine, LinearFit, row_precision
from bochner.inference.observed.observations import Observations
from bochner.posterior import CoefficientPosterior
from bochner.solvers import WoodburyFactor


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
    fit = LinearEngine(features, noise_variance).fit(obs)
    slopes = chain_to_theta(draw, theta, *frequency_gradient(fit, obs, reml=reml))
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
    fit: LinearFit, obs: Observations, *, reml: bool, implicit: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, float]:
    """Gradient of the log evidence in omega (m, dim), log mass (m,) and log noise variance.

    A wave's derivative is a wave.
    """
    features = fit.posterior.features
    assert isinstance(features, FourierMap)
    device = device_for(4.0 * len(obs) * features.n_columns**2)
    if device is not None and not isinstance(fit.posterior.factor, WoodburyFactor):
        covariance = coefficient_covariance(fit, obs.n_trend, reml=reml)
        by_omega, by_log_mass, by_log_noise = device_gradient(device, fit, obs, covariance, implicit)
        return by_omega, by_log_mass, by_log_noise + _by_copies(fit, obs)
    m, dim = features.frequencies.omega.shape

    def pull(i: slice, phi: FloatArray, g: FloatArray, by_variance: FloatArray) -> FloatArray:
        by_phase = g[:, m:] * phi[:, :m] - g[:, :m] * phi[:, m:]
        by_size = g[:, :m] * phi[:, :m] + g[:, m:] * phi[:, m:]
        return np.r_[(by_phase.T @ obs.rows.coords[i]).ravel(), 0.5 * np.sum(by_size, axis=0)]

    gradient, by_log_noise = pulled(pull, fit, obs, reml=reml, implicit=implicit)
    return gradient[: m * dim].reshape(m, dim), gradient[m * dim :], by_log_noise


def device_gradient(
    device: Device, fit: LinearFit, obs: Observations, covariance: FloatArray, implicit: FloatArray | None
) -> tuple[FloatArray, FloatArray, float]:
    """Gradient in omega (m, dim), log mass (m,) and log noise variance, as the host finds it.

    `covariance` (p + q, p + q) is that of the coefficients.
    """
    features, noise_variance = fit.posterior.features, fit.noise_variance
    assert isinstance(features, FourierMap)
    torch, waves, (m, dim) = device.torch, features.on_device(device), features.frequencies.omega.shape
    p, n = 2 * m, len(obs)
    coef, spread_by = device.tensor(fit.posterior.coef), device.tensor(covariance)
    b = np.zeros(n) if implicit is None else implicit
    b_coef = device.tensor(np.zeros(p) if implicit is None else features.adjoint(obs.rows.coords, b))
    precision = row_precision(features, obs, noise_variance)
    by_omega, by_log_mass, by_noise = device.zeros(m, dim), device.zeros(m), device.zeros(1)

    def add(part: slice) -> None:
        phi, coords = waves(obs.rows.coords[part]), device.tensor(obs.rows.coords[part])
        columns = torch.cat([phi, device.tensor(obs.rows.trend[part])], dim=1)
        prec, bent = device.tensor(precision[part]), device.tensor(b[part])
        alpha = prec * (device.tensor(obs.y[part]) - columns @ coef)
        spread = columns @ spread_by
        pi = prec - prec**2 * (spread * columns).sum(dim=1)
        g = torch.outer(alpha + bent, coef[:p]) + torch.outer(alpha, b_coef) - prec[:, None] * spread[:, :p]
        (cosines, sines), (by_cosines, by_sines) = phi.split(m, dim=1), g.split(m, dim=1)
        phase = by_sines * cosines - by_cosines * sines
        size = by_cosines * cosines + by_sines * sines
        rows = (alpha**2 - pi + 2 * alpha * bent) / device.tensor(obs.weight[part])
        sums = phase.T @ coords, 0.5 * size.sum(dim=0), 0.5 * noise_variance * rows.sum()
        for total, more in zip((by_omega, by_log_mass, by_noise), sums, strict=True):
            total.add_(more)

    device.in_blocks(add, n, 80.0 * p)
    return to_host(by_omega), to_host(by_log_mass), float(by_noise)


def pulled(
    pull: Callable[[slice, FloatArray, FloatArray, FloatArray], FloatArray],
    fit: LinearFit,
    obs: Observations,
    *,
    reml: bool,
    implicit: FloatArray | None = None,
) -> tuple[FloatArray, float]:
    """Gradient of the log evidence in what features are made of, and in the log noise variance.

    `pull` is the chain rule of some rows: from their features, the slopes in them and in the rows' variance.
    """
    gradient: FloatArray | float = 0.0
    by_log_noise = _by_copies(fit, obs)
    for i, phi, g, by_variance in feature_slopes(fit, obs, reml=reml, implicit=implicit):
        gradient = gradient + pull(i, phi, g, by_variance)
        by_log_noise += fit.noise_variance * float(np.sum(by_variance / obs.weight[i]))
    return np.asarray(gradient), by_log_noise


def _by_copies(fit: LinearFit, obs: Observations) -> float:
    """What the scatter of merged rows adds to the gradient in the log noise variance."""
    return float(obs.replicate_terms(fit.noise_variance)[1]) if fit.noise_variance > 0 else 0.0


def feature_slopes(
    fit: LinearFit, obs: Observations, *, reml: bool, implicit: FloatArray | None = None
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
    covariance = coefficient_covariance(fit, obs.n_trend, reml=reml)
    precision = row_precision(features, obs, fit.noise_variance)
    b = np.zeros(len(obs)) if implicit is None else implicit
    b_coef = np.zeros(p) if implicit is None else features.adjoint(obs.rows.coords, b)
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


def residual_product(fit: LinearFit, obs: Observations) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Diagonal of Pi = Sigma^-1 - Sigma^-1 X S^-1 X'Sigma^-1, and products with it, through the columns."""
    post, n = fit.posterior, len(obs)
    precision = row_precision(post.features, obs, fit.noise_variance)
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


def coefficient_covariance(fit: LinearFit, n_trend: int, *, reml: bool) -> FloatArray:
    """Posterior covariance of all coefficients; with the trend held, unless `reml`."""
    p = fit.posterior.features.n_columns
    covariance = fit.posterior.factor.solve(np.eye(len(fit.posterior.coef)))
    if reml or not n_trend:
        return covariance
    # the features alone have covariance (I + Phi'N Phi)^-1
    cross = covariance[:p, p:]
    held = np.zeros_like(covariance)
    held[:p, :p] = covariance[:p, :p] - cross @ np.linalg.solve(covariance[p:, p:], cross.T)
    return held
