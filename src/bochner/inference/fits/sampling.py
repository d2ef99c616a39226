"""Draws from the full posterior of the latent surface, to check Laplace's approximation against.

Elliptical slice sampling (Murray, Adams & MacKay 2010) with Laplace's Gaussian as the reference. The posterior is that
Gaussian times the ratio of the responses' density to their Gaussian stand-in, so the ratio is all that
the slices see; where Laplace is right every proposal is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray
from bochner.exceptions import InputError
from bochner.features import Rows
from bochner.inference.fits import limits
from bochner.inference.fits.newton import Mode
from bochner.inference.observed.responses import Linearised


@dataclass(frozen=True)
class Chain:
    """Draws of the surface at the wanted rows, and how the sampler fared."""

    draws: FloatArray  # (n_draws, n)
    n_evaluations: float  # of the likelihood, in each step
    effective: float  # number of independent draws that tell as much about a typical row


def sample_posterior(
    mode: Mode, rows: Rows, n_draws: int, rng: Generator, *, burn_in: int = 200, thin: int = 5
) -> Chain:
    """Draws of the latent surface at `rows`, at the hyperparameters of the mode."""
    seen = mode.linearised
    assert seen is not None
    if len(mode.obs) + len(rows) > limits.MAX_SAMPLED_ROWS:
        raise InputError(
            f"{len(mode.obs):,} rows and {len(rows):,} places were given; the sampler takes "
            f"{limits.MAX_SAMPLED_ROWS:,} together. Give fewer places, or fit a part of the rows."
        )
    n_steps = burn_in + n_draws * thin
    surface, latent = _reference_draws(mode, seen, rows, n_steps + 1, rng)
    centre = mode.posterior.mean(rows), seen.eta
    state = surface[-1], latent[-1]
    kept, count = [], 0
    for step in range(n_steps):
        state, tries = _slice(seen, centre, state, (surface[step], latent[step]), rng)
        count += tries
        if step >= burn_in and (step - burn_in) % thin == 0:
            kept.append(centre[0] + state[0])
    draws = np.stack(kept)
    return Chain(draws, count / n_steps, _effective(draws))


Pair = tuple[FloatArray, FloatArray]  # surface at the wanted rows, latent value of each response


def _slice(seen: Linearised, centre: Pair, now: Pair, other: Pair, rng: Generator) -> tuple[Pair, int]:
    """A point of the ellipse through two deviations that lies above a random level."""
    level = _log_ratio(seen, centre[1] + now[1]) + np.log(rng.uniform())
    angle = rng.uniform(0, 2 * np.pi)
    low, high = angle - 2 * np.pi, angle
    for tries in range(1, 200):
        c, s = np.cos(angle), np.sin(angle)
        latent = now[1] * c + other[1] * s
        if _log_ratio(seen, centre[1] + latent) > level:
            return (now[0] * c + other[0] * s, latent), tries
        low, high = (angle, high) if angle < 0 else (low, angle)
        angle = rng.uniform(low, high)
    return now, tries


def _log_ratio(seen: Linearised, eta: FloatArray) -> float:
    """Log density of the responses less that of their Gaussian stand-in."""
    misfit = seen.z - eta
    weight = seen.responses.weight
    return seen.responses.log_likelihood(eta) + 0.5 * float(np.sum(weight * seen.curvature * misfit**2))


def _reference_draws(mode: Mode, seen: Linearised, rows: Rows, n_draws: int, rng: Generator) -> Pair:
    """Deviations from the mode under Laplace's Gaussian: of the surface, and of the latent values."""
    own = mode.obs.rows
    draws = mode.posterior.draw(rows.joined(own), n_draws, rng)
    surface, carried = draws[:, : len(rows)], draws[:, len(rows) :]
    r = seen.responses
    # given the surface e, a latent value has prior N(e, v) and the stand-in N(z, 1/W)
    v = mode.noise_variance + r.error
    share = v * seen.curvature / (1 + v * seen.curvature)
    z = seen.z - r.offset
    spread = np.sqrt(v / (1 + v * seen.curvature))
    latent = carried + share * (z - carried) + spread * rng.standard_normal(carried.shape)
    return surface - mode.posterior.mean(rows), latent + r.offset - seen.eta


def _effective(draws: FloatArray) -> float:
    """Effective number of draws of a typical row, from the autocorrelation of the chain (Geyer 1992)."""
    n = len(draws)
    sizes = []
    for column in draws[:, :: max(1, draws.shape[1] // 20)].T:
        x = column - column.mean()
        spectrum = np.fft.rfft(x, 2 * n)
        correlation = np.fft.irfft(np.abs(spectrum) ** 2)[:n]
        if correlation[0] <= 0:
            continue
        rho = correlation / correlation[0]
        pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
        negative = np.flatnonzero(pairs < 0)
        last = negative[0] if len(negative) else len(pairs)
        sizes.append(n / max(2 * pairs[:last].sum() - 1, 1 / n))
    return float(np.median(sizes)) if sizes else float(n)
