"""Newton's method: the mode of the latent values under any family, as a few Gaussian fits.

Seen from a linear predictor eta, a response looks like a Gaussian observation z with variance 1 / W. A Gaussian fit of
those is one Newton step, for every kind of features; what it needs to know of the fit are the weights
alpha of the rows and the trend. A Gaussian response looks the same from everywhere: one step.

A sampler draws from the full posterior, to check the Gaussian at the mode against.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.exceptions import ConvergenceError, InputError
from bochner.features import Rows
from bochner.inference.fits.base import Engine, GaussianFit
from bochner.inference.fits.fixed_effects import MAX_NEWTON_STEPS, SMALLEST_NEWTON_STEP, no_fit, refuse_separation
from bochner.inference.observed.observations import Observations
from bochner.inference.observed.responses import Linearised, Responses
from bochner.posterior import Posterior

logger = logging.getLogger("bochner")

Data = Responses | Observations  # what a fit is of: responses of any family, or Gaussian observations


@dataclass(frozen=True)
class Mode:
    """Gaussian approximation at the mode, and how it was reached."""

    fit: GaussianFit
    obs: Observations  # working observations that the fit is of
    linearised: Linearised | None  # None: the responses are Gaussian themselves
    alpha: FloatArray
    n_steps: int

    @property
    def noise_variance(self) -> float:
        """Variance of the noise, or of an effect of each row."""
        return self.fit.noise_variance

    @property
    def log_evidence(self) -> float:
        """Laplace's approximation with the trend integrated out."""
        return self.fit.log_evidence + self._correction

    @property
    def log_likelihood(self) -> float:
        """Laplace's approximation with the trend held at the joint mode."""
        return self.fit.log_likelihood + self._correction

    @property
    def posterior(self) -> Posterior:
        return self.fit.posterior

    @property
    def solver(self) -> Choice:
        """How it was solved."""
        own = self.fit.solver
        if self.linearised is None:
            return own
        return Choice("solver", own.value, own.reason, text=f"{self.n_steps} Newton steps; {own}")

    @property
    def eta(self) -> FloatArray:
        """Linear predictor of each row at the mode."""
        assert self.linearised is not None
        return self.linearised.eta

    @property
    def start(self) -> FloatArray | None:
        """Where Newton's method may begin with other hyperparameters; None where one step is enough."""
        return None if self.linearised is None else self.linearised.eta

    @property
    def _correction(self) -> float:
        return 0.0 if self.linearised is None else self.linearised.correction()


def find_mode(data: Data, engine: Engine, *, start: FloatArray | None = None, tolerance: float | None = None) -> Mode:
    """Newton's method with line search; Gaussian observations need one step.

    `start` is a linear predictor to begin from, `tolerance` that of the engine unless it is given. A fit that can be
    asked again for other responses is: steps by it cost no factor, and the next one is made where they end.
    """
    if isinstance(data, Observations):
        return Mode(engine.fit(data), data, None, np.zeros(0), 1)
    responses = data
    settled = engine.newton_tolerance if tolerance is None else tolerance
    enough = 0.01 * float(np.sqrt(settled))  # length of a step, in curvatures, at which a mode is found
    seen = _Seen.at(responses, responses.start() if start is None else start, engine.draft)
    state = seen.step()
    if seen.repeats and seen.length(state.eta) <= enough:
        return _mode_of(seen, 1)
    state, value = _begun(seen, state, enough)
    for step in range(1, MAX_NEWTON_STEPS + 1):
        seen = _Seen.at(responses, state.eta, engine.draft)
        new = seen.step()
        if seen.repeats and seen.length(new.eta) <= enough:
            return _mode_of(seen, step + 1)
        state, new_value = _search(responses, state, new, value)
        change, value = new_value - value, new_value
        logger.debug("Newton step %d: penalised log likelihood %.6f", step, value)
        if seen.repeats:
            if change <= 0:
                return _mode_of(seen, step + 1)
            state, value = _repeated(seen, state, value, enough)
        elif change <= settled * (1 + abs(value)):
            return _mode_of(_Seen.at(responses, state.eta, engine.fit), step + 1)
    refuse_separation(responses, state.eta)
    raise ConvergenceError(no_fit(responses, f"Newton's method did not settle in {MAX_NEWTON_STEPS} steps"))


def _mode_of(seen: _Seen, n_steps: int) -> Mode:
    refuse_separation(seen.linearised.responses, seen.linearised.eta)
    return Mode(seen.fit, seen.obs, seen.linearised, seen.fit.row_weights(seen.obs), n_steps)


def _begun(seen: _Seen, state: _State, enough: float) -> tuple[_State, float]:
    """Where a step from the start leads, and its objective; without a field, where that is outside the domain."""
    responses = seen.linearised.responses
    value = state.objective(responses)
    if np.isfinite(value):
        return _repeated(seen, state, value, enough) if seen.repeats else (state, value)
    state = _State.flat(responses)
    value = state.objective(responses)
    if not np.isfinite(value):
        raise ConvergenceError(no_fit(responses, "the first step left the domain of the link"))
    return state, value


def _repeated(seen: _Seen, state: _State, value: float, enough: float) -> tuple[_State, float]:
    """Further steps by the factor of the last one, as long as each is much shorter than the one before.

    They close in on the same mode, by a constant factor each: the less curvatures have changed, the quicker.
    """
    now, length = state, seen.length(state.eta)
    for _ in range(20):
        if length <= enough:
            break
        new = seen.step(now.eta)
        shorter = seen.length(new.eta, now.eta)
        if not shorter < 0.3 * length:
            break
        now, length = new, shorter
    if now is state:
        return state, value
    there = now.objective(seen.linearised.responses)
    return (now, there) if np.isfinite(there) and there >= value else (state, value)


@dataclass(frozen=True)
class _Seen:
    """Responses seen from a linear predictor, and a Gaussian fit of what is seen."""

    linearised: Linearised
    obs: Observations
    fit: GaussianFit

    @classmethod
    def at(cls, responses: Responses, eta: FloatArray, fitted: Callable[[Observations], GaussianFit]) -> _Seen:
        linearised = responses.linearised(eta)
        obs = linearised.observations()
        return cls(linearised, obs, fitted(obs))

    @property
    def repeats(self) -> bool:
        """Whether the fit can be asked again for other responses."""
        return self.fit.repeats

    def length(self, eta: FloatArray, begun: FloatArray | None = None) -> float:
        """Length of a step, in the curvatures of the rows."""
        step = eta - (self.linearised.eta if begun is None else begun)
        return float(np.sqrt(np.sum(self.obs.weight * self.linearised.curvature * step**2)))

    def step(self, eta: FloatArray | None = None) -> _State:
        """Where a full Newton step leads; from another `eta`, with curvatures as they were."""
        seen, obs, r = self.linearised, self.obs, self.linearised.responses
        if eta is None:
            z, alpha = seen.z, self.fit.row_weights(obs)
            coef = np.asarray(self.fit.posterior.trend_coef)
        else:
            z = eta + r.family.derivatives(r.y, eta, r.size).score / seen.curvature
            alpha, coef = self.fit.repeated(z - r.offset)
        # (K + 1/W) alpha = z - X beta, hence K alpha = z - X beta - alpha / W; copies share alpha
        to = z - alpha / (obs.weight * seen.curvature)
        return _State(to, to - r.offset - obs.rows.trend @ coef, alpha, coef)


@dataclass(frozen=True)
class _State:
    """Latent values, what of them the field explains, and its weights: a point on the way to the mode."""

    eta: FloatArray
    field: FloatArray  # K alpha
    alpha: FloatArray
    coef: FloatArray  # of the trend

    @classmethod
    def flat(cls, responses: Responses) -> _State:
        """No field, and the trend nearest to the common mean: inside the domain of the link."""
        r = responses
        common = np.atleast_1d(np.sum(r.weight * r.y) / np.sum(r.weight * r.size))
        level = r.family.link_of(common)
        coef = np.asarray(np.linalg.lstsq(r.rows.trend, level - r.offset, rcond=None)[0])
        return cls(r.offset + r.rows.trend @ coef, np.zeros(len(r)), np.zeros(len(r)), coef)

    def objective(self, responses: Responses) -> float:
        """Penalised log likelihood."""
        prior = responses.trend_precision
        penalty = float(self.alpha @ self.field) + (0.0 if prior is None else float(self.coef @ prior @ self.coef))
        return responses.log_likelihood(self.eta) - 0.5 * penalty

    def towards(self, other: _State, share: float) -> _State:
        return _State(
            self.eta + share * (other.eta - self.eta),
            self.field + share * (other.field - self.field),
            self.alpha + share * (other.alpha - self.alpha),
            self.coef + share * (other.coef - self.coef),
        )


def _search(responses: Responses, old: _State, new: _State, value: float) -> tuple[_State, float]:
    """Largest step, by halving, that does not lower the objective; the old point if there is none."""
    share = 1.0
    while share > SMALLEST_NEWTON_STEP:
        point = new if share == 1 else old.towards(new, share)
        there = point.objective(responses)
        if np.isfinite(there) and there >= value - 1e-12 * abs(value):
            return point, there
        share /= 2
    return old, value


@dataclass(frozen=True)
class Chain:
    """Draws of the surface at the wanted rows, and how the sampler fared."""

    draws: FloatArray  # (n_draws, n)
    n_evaluations: float  # of the likelihood, in each step
    effective: float  # number of independent draws that tell as much about a typical row


def sample_posterior(
    mode: Mode, rows: Rows, n_draws: int, rng: Generator, *, burn_in: int = 200, thin: int = 5
) -> Chain:
    """Draws of the latent surface at `rows`, at the hyperparameters of the mode.

    Elliptical slice sampling (Murray, Adams & MacKay 2010) with Laplace's Gaussian as the reference. The posterior is
    that Gaussian times the ratio of the responses' density to their Gaussian stand-in, so the ratio is all that the
    slices see; where Laplace is right every proposal is taken.
    """
    seen, most = mode.linearised, 3_000  # rows and places: joint draws of more need too much memory
    assert seen is not None
    if len(mode.obs) + len(rows) > most:
        raise InputError(
            f"{len(mode.obs):,} rows and {len(rows):,} places were given; the sampler takes "
            f"{most:,} together. Give fewer places, or fit a part of the rows."
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
