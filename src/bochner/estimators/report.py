"""What a fitted model says of itself: summary, findings, cost of a prediction."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.estimators.trend import Trend
from bochner.families import Gaussian
from bochner.features import BLOCK_BYTES, Rows
from bochner.inference import Model
from bochner.kernels import Kernel, Product, Sum
from bochner.posterior import CoefficientPosterior

MOST_NUMBERS = 8  # of a long list, shown in a summary


def fixed_effects(model: Model, trend: Trend) -> tuple[FloatArray, FloatArray]:
    """Trend coefficients in the user's units and their covariance, averaged over hyperparameters."""
    pairs = [
        trend.coefficients(c.trend_coef, c.trend_covariance())  # type: ignore[attr-defined]
        for c in model.mixture.components
    ]
    mass = model.mixture.mass
    means = np.stack([mean for mean, _ in pairs])
    mean = mass @ means
    spread = means - mean
    if model.trend is not None:  # at the maximum of the marginal likelihood, which was asked for
        mean = trend.coefficients(model.trend, np.zeros((len(model.trend),) * 2))[0]
    within = np.einsum("k,kij->ij", mass, np.stack([cov for _, cov in pairs]))
    return mean, within + (spread.T * mass) @ spread


def feature_coef(model: Model) -> FloatArray:
    """Coefficients of the features at the best hyperparameters; empty for the exact kernel."""
    posterior = model.posterior
    if isinstance(posterior, CoefficientPosterior):
        return posterior.coef[: posterior.features.n_columns]
    return np.zeros(0)


def summary(estimator: Any, model: Model, trend: Trend) -> str:
    """Text of `SpatialRegressor.summary`."""
    family = model.family
    gaussian = isinstance(family, Gaussian)
    lines = [f"Spatial regression, {family.name} family{'' if gaussian else f', {family.link} link'}", ""]
    lines += [f"kernel          {describe(model.kernel)}"]
    lines += [
        f"noise variance  {model.noise_variance:.4g}{'' if gaussian else '  (effect of single rows, on the link)'}"
    ]
    if family.dispersion is not None:
        lines += [f"dispersion      {family.dispersion:.4g}"]
    lines += [f"log evidence    {estimator.log_evidence_:.3f}   log likelihood {estimator.log_likelihood_:.3f}"]
    mean, covariance = fixed_effects(model, trend)
    if len(mean):
        lines += ["", f"{'fixed effect':<20}{'estimate':>12}{'std. error':>12}{'z':>8}"]
        for name, value, se in zip(trend.names, mean, np.sqrt(np.diag(covariance)), strict=True):
            lines.append(f"{name:<20}{value:>12.4g}{se:>12.4g}{value / se if se > 0 else np.nan:>8.2f}")
    lines += ["", "chosen"]
    lines += [f"  {name:<14}{reason}" for name, reason in model.choices.items()]
    if model.kernel_error is not None:
        lines += [f"  {'kernel error':<14}{model.kernel_error:.1e} of the variance (RMS, measured)"]
    return "\n".join(lines)


def describe(kernel: Kernel) -> str:
    """Kernel in one line, numbers rounded."""
    if isinstance(kernel, Sum):
        return f"{describe(kernel.k1)} + {describe(kernel.k2)}"
    if isinstance(kernel, Product):
        return " * ".join(f"({describe(k)})" if isinstance(k, Sum) else describe(k) for k in (kernel.k1, kernel.k2))
    return _leaf(kernel)


def findings(model: Model, spare_sd: float | None, tolerance: float, survey: str | None = None) -> list[str]:
    """What looks wrong."""
    found = []
    if survey is not None:
        found.append(
            f"{survey}: it looks like survey (sampling) weights, but a sample_weight of k stands for k copies of the "
            f"row, so that intervals shrink with its size. Leave it out, and bring the design in as covariates."
        )
    for name in model.at_bounds:
        found.append(
            f"{name} stopped at a bound of its range: the data do not determine it. Fix it, give a simpler kernel, or "
            f"look for a trend that the covariates miss."
        )
    noise, variance = model.noise_variance, float(model.kernel.diag(np.zeros((1, len(model.scale.extent))))[0])
    if model.kernel.stationary and model.scale.variance > 0 and 0 < noise and variance < 0.01 * noise:
        found.append(
            f"the map is flat: the field's variance {variance:.3g} is small beside the noise {noise:.3g}. Either the "
            f"response has no spatial pattern at this spacing, or the fit is caught in a poor optimum."
        )
    if model.kernel_error is not None and model.kernel_error > tolerance:
        found.append(
            f"too few waves: the kernel is approximated to {model.kernel_error:.1e} of its variance, tolerance "
            f"{tolerance:g}. Raise n_frequencies."
        )
    if spare_sd is not None and spare_sd < 0.9:
        other = "auto" if "as asked" in model.choices.get("features", "") else "exact"
        found.append(
            f"the standard deviations are too small: typically {spare_sd:.2f} of those of kriging with the same "
            f"kernel. {model.n_frequencies:,} {model.kind} features cannot hold all that the field could do between "
            f"the data; raise n_frequencies, or use features='{other}'."
        )
    return found


@dataclass(frozen=True)
class Estimate:
    """Memory and time that a prediction will take."""

    n_rows: int
    memory_bytes: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.n_rows:,} rows: about {self.memory_bytes / 1e6:,.0f} MB and {self.seconds:,.1f} s"


def estimate(model: Model, rows: Rows) -> Estimate:
    """Cost of mean and sd, from a trial on a few rows."""
    n, stored = len(rows), model.posterior.n_stored
    trial = rows[slice(0, min(n, 200))]
    begin = time.perf_counter()
    model.mixture.moments(trial)
    seconds = (time.perf_counter() - begin) * n / max(len(trial), 1)
    block = min(n * 8 * stored, BLOCK_BYTES)
    return Estimate(n, int(4 * block + 16 * n * len(model.mixture.mass)), seconds)


def _leaf(kernel: Kernel) -> str:
    params = kernel.get_params(deep=False).items()
    shown = [f"{name}={_text(value)}" for name, value in params if value is not None and not isinstance(value, bool)]
    return f"{type(kernel).__name__}({', '.join(shown)})"


def _text(value: Any) -> str:
    if isinstance(value, Kernel):
        return describe(value)
    if isinstance(value, tuple):
        more = ["..."] if len(value) > MOST_NUMBERS else []
        return "(" + ", ".join([*map(_text, value[:MOST_NUMBERS]), *more]) + ")"
    return f"{value:.4g}"
