"""What a fitted model says of itself: summary and findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bochner.estimators import limits
from bochner.estimators.fitted import Fitted
from bochner.inference import Model
from bochner.inference.learning.learned import UNTUNED_ADVICE
from bochner.kernels import Kernel, Product, Sum
from bochner.layout.row_names import RowName, by_position


def summary(fitted: Fitted) -> str:
    """Text of `SpatialRegressor.summary`."""
    model, trend = fitted.model, fitted.layout.trend
    family = model.family
    gaussian = family.observes_eta
    lines = [f"Spatial regression, {family.name} family{'' if gaussian else f', {family.link} link'}", ""]
    lines += [f"kernel          {describe(model.kernel)}"]
    lines += [
        f"noise variance  {model.noise_variance:.4g}{'' if gaussian else '  (effect of single rows, on the link)'}"
    ]
    if not gaussian:
        lines += [f"{name:<16}{value:.4g}" for name, value in family.parameters.items() if value is not None]
    told = f"log evidence    {fitted.log_evidence:.3f}   log likelihood {model.log_likelihood:.3f}"
    lines += [f"{told}   {model.posterior.evidence_told}".rstrip()]
    mean, covariance = fitted.fixed_effects
    if len(mean):
        lines += ["", f"{'fixed effect':<20}{'estimate':>12}{'std. error':>12}{'z':>8}"]
        for name, value, se in zip(trend.names, mean, np.sqrt(np.diag(covariance)), strict=True):
            lines.append(f"{name:<20}{value:>12.4g}{se:>12.4g}{value / se if se > 0 else np.nan:>8.2f}")
    lines += ["", "chosen"]
    lines += [f"  {choice.name:<14}{choice}" for choice in model.choices]
    if model.kernel_error is not None:
        lines += [f"  {'kernel error':<14}{model.kernel_error:.1e} of the variance (RMS, measured)"]
    return "\n".join(lines)


def describe(kernel: Kernel) -> str:
    """Kernel in one line, numbers rounded."""
    if isinstance(kernel, Sum):
        return f"{describe(kernel.k1)} + {describe(kernel.k2)}"
    if isinstance(kernel, Product):
        return " * ".join(f"({describe(k)})" if isinstance(k, Sum) else describe(k) for k in (kernel.k1, kernel.k2))
    params = kernel.get_params(deep=False).items()
    shown = [f"{name}={_text(value)}" for name, value in params if value is not None and not isinstance(value, bool)]
    return f"{type(kernel).__name__}({', '.join(shown)})"


def findings(fitted: Fitted, tolerance: float) -> list[str]:
    """What looks wrong."""
    model, found = fitted.model, list(fitted.findings)
    if "tuning" in model.decided and model.decided["tuning"].value == "failed":
        found.append(f"tuning {model.decided['tuning']}{UNTUNED_ADVICE}")
    found += _separated(fitted)
    found += _at_bounds(fitted)
    if is_flat(model):
        found.append(
            f"the map is flat: the field's variance {_variance(model):.3g} is small beside the noise "
            f"{model.noise_variance:.3g}. Either the response has no spatial pattern at this spacing, or the fit is "
            f"caught in a poor optimum."
        )
    found += _odd_rows(fitted)
    found += _left_out(fitted)
    if model.kernel_error is not None and model.kernel_error > tolerance:
        found.append(
            f"too few waves: the kernel is approximated to {model.kernel_error:.1e} of its variance, tolerance "
            f"{tolerance:g}. Raise n_frequencies."
        )
    if model.spare_sd is not None and model.spare_sd < limits.LEAST_SPARE_SD:
        other = "auto" if model.decided["features"].given else "exact"
        found.append(
            f"the standard deviations are too small: typically {model.spare_sd:.2f} of those of kriging with the same "
            f"kernel. {model.n_frequencies:,} {model.scheme} features cannot hold all that the field could do between "
            f"the data; raise n_frequencies, or use features='{other}'."
        )
    return list(dict.fromkeys(found))


def is_flat(model: Model) -> bool:
    """Whether the field is next to nothing beside the noise."""
    known = model.kernel.stationary and model.scale.variance > 0 and model.noise_variance > 0
    return bool(known and _variance(model) < limits.FLAT_FIELD * model.noise_variance)


def _variance(model: Model) -> float:
    return float(model.kernel.diag(np.zeros((1, model.dim)))[0])


def _at_bounds(fitted: Fitted) -> list[str]:
    """Hyperparameters that stopped at a bound; the length scale of an axis may be long since nothing changes there."""
    model, found = fitted.model, []
    values = dict(zip((h.name for h in model.kernel.hyperparameters), np.exp(model.kernel.theta), strict=True))
    for name in model.at_bounds:
        if "length_scale[" in name and values.get(name, 0.0) > np.max(model.scale.extent):
            why = (
                "it is longer than the region. The field hardly changes along this axis, as far as these rows tell; "
                "predictions among them do not depend on it. If that is a surprise, look for a trend that the "
                "covariates miss."
            )
        else:
            why = (
                "the data do not determine it. Fix it, give a simpler kernel, or look for a trend that the covariates "
                "miss."
            )
        found.append(f"{name} stopped at a bound of its range: {why}")
    return found


def _left_out(fitted: Fitted) -> list[str]:
    """Part of a field that waves had to leave out, in units of the response."""
    model = fitted.model
    waves = model.decided.get("n_frequencies")
    missing = model.posterior.left_out
    if waves is None or waves.given or model.scheme != "lattice" or missing <= limits.LEFT_OUT * model.noise_variance:
        return []
    scale, more = "response", "memory_limit"
    if not model.family.observes_eta:  # whose waves are as many as the rows can tell of, not as memory holds
        scale, more = "link", "n_frequencies"
    return [
        f"{model.n_frequencies:,} waves leave out a rough part of the field, of sd {np.sqrt(missing):.3g} on the scale "
        f"of the {scale}: the map is smoother than the field, and its intervals carry that part as unknown. Raise "
        f"{more}, or fit parts of the region."
    ]


def _separated(fitted: Fitted) -> list[str]:
    """Fixed effects without a finite estimate, by name where the columns are the user's."""
    held, trend = fitted.model.decided.get("fixed effects"), fitted.layout.trend
    if held is None:
        return []
    plain = trend.basis.shape[0] == trend.basis.shape[1] and np.array_equal(trend.basis, np.eye(len(trend.basis)))
    names = f" ({', '.join(trend.names[j] for j in held.value)})" if plain else ""
    return [f"{held}{names}. Drop it, or merge it with a level like it, to do without the prior."]


def _odd_rows(fitted: Fitted) -> list[str]:
    """Outliers, and noise that rows close to each other contradict."""
    model, found = fitted.model, []
    if model.outliers:
        found.append(outliers_text(model.outliers, by_position, " (counted from 0)"))
    ratio = model.pair_scatter
    if ratio is not None and not 1 / limits.ODD_PAIR_SCATTER < ratio < limits.ODD_PAIR_SCATTER:
        sd = float(np.sqrt(model.noise_variance))
        why = (
            "Standard deviations near the data are too small; repeats that are not measurements of the same thing, or "
            "family='student', may explain it."
            if ratio > 1
            else "Rows close to each other may share their errors: what looks like noise is then a short field."
        )
        found.append(
            f"rows at the same place, or nearly, scatter {ratio:.2g} times as much as the learned noise (sd {sd:.3g}) "
            f"and field let expect. {why}"
        )
    return found


def outliers_text(rows: Sequence[int], row_name: RowName, how: str = "") -> str:
    """What to say of outliers by their names; `how` says what the names count."""
    named = ", ".join(row_name(row) for row in rows[: limits.MAX_NAMED_ROWS])
    more = ", ..." if len(rows) > limits.MAX_NAMED_ROWS else ""
    return (
        f"{len(rows):,} {'row lies' if len(rows) == 1 else 'rows lie'} so far from what the rows around predict that "
        f"chance cannot be the reason: {named}{more}{how}. Correct or drop what is wrong; if such values belong to the "
        f"data, family='student' keeps them from bending the surface."
    )


def _text(value: Any) -> str:
    if isinstance(value, Kernel):
        return describe(value)
    if isinstance(value, tuple):
        more = ["..."] if len(value) > limits.MAX_NUMBERS else []
        return "(" + ", ".join([*map(_text, value[: limits.MAX_NUMBERS]), *more]) + ")"
    return f"{value:.4g}"
