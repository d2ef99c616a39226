"""Newton's method: the mode of the latent values under any family, as a few Gaussian fits.

Seen from a linear predictor eta, a response looks like a Gaussian observation z with variance 1 / W. A Gaussian fit of
those is one Newton step, for every kind of features; what it needs to know of the fit are the weights
alpha of the rows and the trend. A Gaussian response looks the same from everywhere: one step.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
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

    `start` is a linear predictor to begin from, `tolerance` that of the engine unless it is given.
    """
    if isinstance(data, Observations):
        return Mode(engine.fit(data), data, None, np.zeros(0), 1)
    responses = data
    settled = engine.newton_tolerance if tolerance is None else tolerance
    state = _State.at(responses, responses.start() if start is None else start, engine)
    value = state.objective(responses)
    if not np.isfinite(value):
        state = _State.flat(responses)
        value = state.objective(responses)
    if not np.isfinite(value):
        raise ConvergenceError(_diverged(responses, "the first step left the domain of the link"))
    for step in range(1, limits.MAX_NEWTON_STEPS + 1):
        new = _State.at(responses, state.eta, engine)
        reached, new_value = _search(responses, state, new, value)
        change = new_value - value
        logger.debug("Newton step %d: penalised log likelihood %.6f", step, new_value)
        state, value = reached, new_value
        if change <= settled * (1 + abs(value)):
            break
    else:
        raise ConvergenceError(
            _diverged(responses, f"Newton's method did not settle in {limits.MAX_NEWTON_STEPS} steps")
        )
    _refuse_separation(responses, state.eta)
    linearised = responses.linearised(state.eta)
    obs = linearised.observations()
    fit = engine.fit(obs)
    logger.debug("mode of %d responses after %d steps: penalised log likelihood %.4f", len(obs), step + 1, value)
    return Mode(fit, obs, linearised, fit.row_weights(obs), step + 1)


@dataclass(frozen=True)
class _State:
    """Latent values, what of them the field explains, and its weights: a point on the way to the mode."""

    eta: FloatArray
    field: FloatArray  # K alpha
    alpha: FloatArray
    coef: FloatArray  # of the trend

    @classmethod
    def at(cls, responses: Responses, eta: FloatArray, engine: Engine) -> _State:
        """Where a full Newton step from `eta` leads."""
        linearised = responses.linearised(eta)
        obs = linearised.observations()
        fit = engine.draft(obs)
        alpha = fit.row_weights(obs)
        # (K + 1/W) alpha = z - X beta, hence K alpha = z - X beta - alpha / W; copies share alpha
        to = linearised.z - alpha / (obs.weight * linearised.curvature)
        coef = np.asarray(fit.posterior.trend_coef)
        return cls(to, to - responses.offset - obs.rows.trend @ coef, alpha, coef)

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
        point = old.towards(new, share)
        there = point.objective(responses)
        if np.isfinite(there) and there >= value - 1e-12 * abs(value):
            return point, there
        share /= 2
    return old, value


def _refuse_separation(responses: Responses, eta: FloatArray) -> None:
    reach = float(np.max(np.abs(eta - responses.offset)))
    if reach > 30 and responses.family.bounded_by_size:
        raise ConvergenceError(_diverged(responses, f"the linear predictor has run to {reach:.0f}"))
    if not responses.family.link_function.smooth:
        _refuse_zero(responses, eta)
    if _least_known(responses, eta) < limits.LEAST_INFORMATION:
        raise ConvergenceError(_diverged(responses, "a coefficient of the trend runs away without end"))


def _refuse_zero(responses: Responses, eta: FloatArray) -> None:
    """Laplace's approximation needs a mode inside the domain; the one of rates near zero lies on its edge."""
    typical = float(np.sum(responses.weight * responses.y) / np.sum(responses.weight * responses.size))
    if np.min(eta) < 1e-3 * typical:
        raise ConvergenceError(
            f"the {responses.family.name} model has no fit inside the domain of its identity link: the surface comes "
            f"down to zero. Identity links are for counts well above zero everywhere; take the log link."
        )


def _least_known(responses: Responses, eta: FloatArray) -> float:
    """Least information about a direction of the trend, beside that at each row's own best linear predictor.

    As a coefficient runs away, what the rows tell about it goes to zero; Newton's method stops on the way, when
    nothing more is to be gained.
    """
    r, trend = responses, responses.rows.trend
    if r.trend_precision is not None:  # a prior holds what the rows do not
        size, along = np.linalg.eigh(r.trend_precision)
        trend = trend @ along[:, size <= 1e-12 * max(float(size[-1]), 1e-300)]
    if not trend.shape[1]:
        return 1.0
    curvatures = (r.family.derivatives(r.y, at, r.size).curvature for at in (eta, r.start()))
    information = [trend.T @ (trend * (r.weight * curvature)[:, None]) for curvature in curvatures]
    try:
        return float(linalg.eigh(*information, eigvals_only=True)[0])
    except linalg.LinAlgError:
        return 0.0


def _diverged(responses: Responses, what: str) -> str:
    return (
        f"the {responses.family.name} model has no finite fit: {what}. Either the covariates separate the responses "
        f"completely (drop one, or give it fewer levels), or the kernel's variance is far too large; a fixed kernel "
        f"with a smaller variance, or more data, makes it determinate."
    )
