"""Newton's method: the mode of the latent values under any family, as a few Gaussian fits.

Seen from a linear predictor eta, a response looks like a Gaussian observation z with variance 1 / W. A Gaussian fit of
those is one Newton step, for every kind of features; what it needs to know of the fit are the weights
alpha of the rows and the trend. A Gaussian response looks the same from everywhere: one step.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.exceptions import ConvergenceError
from bochner.inference.fits import limits
from bochner.inference.fits.base import Engine, GaussianFit
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
    enough = limits.SETTLED_MODE * float(np.sqrt(settled))
    seen = _Seen.at(responses, responses.start() if start is None else start, engine.draft)
    state = seen.step()
    if seen.repeats and seen.length(state.eta) <= enough:
        return _mode_of(seen, 1)
    state, value = _begun(seen, state, enough)
    for step in range(1, limits.MAX_NEWTON_STEPS + 1):
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
    raise ConvergenceError(_diverged(responses, f"Newton's method did not settle in {limits.MAX_NEWTON_STEPS} steps"))


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
        raise ConvergenceError(_diverged(responses, "the first step left the domain of the link"))
    return state, value


def _repeated(seen: _Seen, state: _State, value: float, enough: float) -> tuple[_State, float]:
    """Further steps by the factor of the last one, as long as each is much shorter than the one before.

    They close in on the same mode, by a constant factor each: the less curvatures have changed, the quicker.
    """
    now, length = state, seen.length(state.eta)
    for _ in range(limits.MAX_REPEATED_STEPS):
        if length <= enough:
            break
        new = seen.step(now.eta)
        shorter = seen.length(new.eta, now.eta)
        if not shorter < limits.REPEATED_WORTH * length:
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
    while share > limits.SMALLEST_NEWTON_STEP:
        point = new if share == 1 else old.towards(new, share)
        there = point.objective(responses)
        if np.isfinite(there) and there >= value - 1e-12 * abs(value):
            return point, there
        share /= 2
    return old, value


def refuse_separation(responses: Responses, eta: FloatArray) -> None:
    """Stop where Newton's method has ended on the way to infinity, or at the edge of the link's domain."""
    reach = float(np.max(np.abs(eta - responses.offset)))
    if reach > limits.FAR_PREDICTOR and responses.family.bounded_by_size:
        raise ConvergenceError(_diverged(responses, f"the linear predictor has run to {reach:.0f}"))
    if not responses.family.link_function.smooth:
        _refuse_zero(responses, eta)
    if _least_known(responses, eta[None])[0] < limits.LEAST_INFORMATION:
        raise ConvergenceError(_diverged(responses, "a coefficient of the trend runs away without end"))


def are_separated(responses: Responses, eta: FloatArray) -> NDArray[np.bool_]:
    """Which of several linear predictors (k, n) `refuse_separation` refuses, (k,)."""
    refused = _least_known(responses, eta) < limits.LEAST_INFORMATION
    if responses.family.bounded_by_size:
        refused |= np.max(np.abs(eta - responses.offset), axis=1) > limits.FAR_PREDICTOR
    if not responses.family.link_function.smooth:
        refused |= np.min(eta, axis=1) < _least_rate(responses)
    return np.asarray(refused)


def _least_rate(responses: Responses) -> float:
    """Of a surface inside the domain of the identity link."""
    return 1e-3 * float(np.sum(responses.weight * responses.y) / np.sum(responses.weight * responses.size))


def _refuse_zero(responses: Responses, eta: FloatArray) -> None:
    """Laplace's approximation needs a mode inside the domain; the one of rates near zero lies on its edge."""
    if np.min(eta) < _least_rate(responses):
        raise ConvergenceError(
            f"the {responses.family.name} model has no fit inside the domain of its identity link: the surface comes "
            f"down to zero. Identity links are for counts well above zero everywhere; take the log link."
        )


def _least_known(responses: Responses, eta: FloatArray) -> FloatArray:
    """Least information about a direction of the trend, beside that at each row's own best linear predictor.

    Of each of several linear predictors (k, n), (k,). As a coefficient runs away, what the rows tell about it goes to
    zero; Newton's method stops on the way, when nothing more is to be gained.
    """
    r, trend = responses, responses.rows.trend
    if r.trend_precision is not None and trend.shape[1]:  # a prior holds what the rows do not
        size, along = np.linalg.eigh(r.trend_precision)
        trend = trend @ along[:, size <= 1e-12 * max(float(size[-1]), 1e-300)]
    if not trend.shape[1]:
        return np.ones(len(eta))
    curvatures = (r.family.derivatives(r.y, at, r.size).curvature for at in (eta, r.start()))
    q, squares = trend.shape[1], np.einsum("ni,nj->nij", trend, trend).reshape(len(trend), -1)
    here, best = ((r.weight * curvature) @ squares for curvature in curvatures)
    if q == 1:
        return np.asarray(here[:, 0] / max(float(best[0]), 1e-300))
    try:
        return np.array([linalg.eigh(one, best.reshape(q, q), eigvals_only=True)[0] for one in here.reshape(-1, q, q)])
    except linalg.LinAlgError:
        return np.zeros(len(eta))


def _diverged(responses: Responses, what: str) -> str:
    return (
        f"the {responses.family.name} model has no finite fit: {what}. Either the covariates separate the responses "
        f"completely (drop one, or give it fewer levels), or the kernel's variance is far too large; a fixed kernel "
        f"with a smaller variance, or more data, makes it determinate."
    )
