"""Words: a fitted model told to a reader who was not there when it was fitted."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bochner.diagnostics import Calibration, Diagnostics, correlation_range, round_step
from bochner.estimators import Fitted, SpatialRegressor
from bochner.estimators.summary import describe
from bochner.report import limits
from bochner.report.data_charts import curve_figure, forest_figure
from bochner.report.figure import Figure
from bochner.report.svg import number, percent
from bochner.validation import SCORES

CHOICES = {
    "places": "Places",
    "features": "Computation",
    "n_frequencies": "Waves",
    "dtype": "Precision",
    "solver": "Solver",
    "kernel": "Kernel",
    "tuning": "Learning",
    "noise": "Noise",
    "dof": "Degrees of freedom",
    "unit": "Unit in the fit",
    "dispersion": "Dispersion",
    "judge": "Held-out rows",
    "intervals": "Intervals",
    "fixed effects": "Fixed effects",
    "curves": "Curved effects",
    "categories": "Categories",
    "time": "Time",
    "columns": "Columns",
    "rows": "Rows",
    "rows left out": "Rows left out",
    "store": "Rows sorted by place",
}
"""What a fit decides, by the name of the choice, as a reader knows it."""


@dataclass(frozen=True)
class Table:
    """Numbers under headings; the first column names the row."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def model_words(fitted: Fitted, diagnostics: Diagnostics, response: str) -> str:
    """The model in a paragraph."""
    family, columns = fitted.model.family, fitted.layout.columns
    names = _joined(columns.coord_names)
    curved = fitted.layout.trend.curved
    kinds = {"a linear": [n for n in columns.covariate_names if n not in curved], "a curved": curved}
    trend = "".join(f"{kind} effect of {_joined(who)}, " for kind, who in kinds.items() if who)
    level = "a constant level, " if fitted.layout.trend.intercept else ""
    return (
        f"At every place, {level}{trend}and a smooth random field over {names} are added up; "
        f"{family.describe(response)}. The model was learned from {diagnostics.n_rows:,} rows."
    )


def key_numbers(fitted: Fitted, diagnostics: Diagnostics) -> list[tuple[str, str]]:
    """Numbers for the head of the page, with what they are."""
    numbers = [(f"{diagnostics.n_rows:,}", "rows")]
    reach = _range(fitted)
    if reach is not None:
        numbers.append((_length(reach, diagnostics.distance_unit), "reach of the field"))
    for held in diagnostics.held_out[:1]:
        numbers.append((_percent(held.explained), "of held-out variance explained"))
        numbers.append((percent(held.scores["coverage"]), "of held-out values in 95 % intervals"))
    for held in diagnostics.held_out[1:2]:
        numbers.append((_percent(held.explained), f"explained where whole {held.name} are held out"))
        numbers.append((percent(held.scores["coverage"]), f"in 95 % intervals, {held.name} held out"))
    return numbers


def effects(fitted: Fitted, diagnostics: Diagnostics) -> Figure | None:
    """Effects of covariates per a step that matters, about one sd, with 95 % intervals; None without covariates."""
    mean, covariance = fitted.fixed_effects
    se, ratio = np.sqrt(np.diag(covariance)), fitted.model.family.link_function.ratio
    rows = []
    for name, b, s in zip(fitted.layout.trend.names, mean, se, strict=True):
        known = diagnostics.covariates.get(name)
        if known is None or not known.sd > 0 or name in fitted.layout.trend.curved:
            continue
        step = 1.0 if set(known.quantiles) <= {0.0, 1.0} else round_step(known.sd)
        ends = step * np.array([b, b - 1.96 * s, b + 1.96 * s])
        rows.append((f"{name}, per {number(step)}" if step != 1 else name, *(np.exp(ends) if ratio else ends)))
    return None if not rows else forest_figure(rows, ratio or "change of the mean")


def curves(fitted: Fitted, diagnostics: Diagnostics) -> list[Figure]:
    """Effects of the covariates that bend, against a place at their mean."""
    trend, (mean, covariance) = fitted.layout.trend, fitted.fixed_effects
    ratio, drawn = fitted.model.family.link_function.ratio, []
    for curve, name in zip(trend.curves, trend.curved, strict=True):
        known = diagnostics.covariates.get(name)
        if known is None:
            continue
        x = np.linspace(min(known.quantiles), max(known.quantiles), limits.CURVE_PLACES)
        apart = trend.apart(curve.covariate, x)
        effect, sd = apart @ mean, np.sqrt(np.einsum("ij,jk,ik->i", apart, covariance, apart))
        lines = [effect, effect - 1.96 * sd, effect + 1.96 * sd]
        lines = [np.exp(line) for line in lines] if ratio else lines
        drawn.append(curve_figure(name, x, lines, ratio or "change of the mean", curve.centre))
    return drawn


def in_short(fitted: Fitted, diagnostics: Diagnostics) -> list[str]:
    """What a reader should take away, in sentences."""
    unit, said = diagnostics.distance_unit, []
    model, noise = fitted.model, fitted.model.noise_variance
    reach = _range(fitted)
    if reach is not None:
        said.append(
            f"The field reaches about {_length(reach, unit)}: beyond that, places tell little of each other "
            f"(correlation below 5 %)."
        )
    if model.kernel.stationary and model.family.observes_eta and noise > 0:
        variance = float(model.kernel.diag(np.zeros((1, model.dim)))[0])
        share = variance / (variance + noise)
        said.append(
            f"About the trend, {percent(share, 0)} of the variance is spatial pattern; {percent(1 - share, 0)} is "
            f"noise that no map can predict (sd {number(float(f'{np.sqrt(noise):.3g}'))})."
        )
    for held in diagnostics.held_out:
        said.append(_held_out(held, " (in counts)" if model.family.size_name else ""))
    return said


def coverage_verdict(held: Calibration) -> str:
    """Whether 95 % intervals keep their promise, as far as so many rows can tell."""
    found, n = held.scores["coverage"], held.n_rows
    chance = 2 * np.sqrt(0.95 * 0.05 / n)
    if abs(found - 0.95) <= chance + 0.005:
        return "as promised"
    return "too narrow" if found < 0.95 else "wider than need be"


def coefficients(fitted: Fitted) -> Table | None:
    """Fixed effects with standard errors and 95 % intervals; ratios where the link gives them a meaning."""
    mean, covariance = fitted.fixed_effects
    if not len(mean):
        return None
    se = np.sqrt(np.diag(covariance))
    ratio = fitted.model.family.link_function.ratio
    header = ["effect", "estimate", "std. error", "z", f"{ratio}, 95 % interval" if ratio else "95 % interval"]
    rows = []
    for name, b, s in zip(fitted.layout.trend.names, mean, se, strict=True):
        interval = f"{b - 1.96 * s:.4g} to {b + 1.96 * s:.4g}"
        if ratio:
            low, high = np.exp([b - 1.96 * s, b + 1.96 * s])
            interval = "" if name == "intercept" else f"{_ratio(np.exp(b))} ({_ratio(low)} to {_ratio(high)})"
        cells = [f"{b:.4g}", f"{s:.3g}", f"{b / s:.2f}" if s > 0 else "", interval]
        rows.append([name, *(_minus(cell) for cell in cells)])
    return Table(header, rows)


def parameters(fitted: Fitted) -> Table:
    """Kernel, noise and likelihood of the fit."""
    model, family = fitted.model, fitted.model.family
    rows = [["kernel", describe(model.kernel)]]
    noise = "noise variance" if family.observes_eta else "variance of single rows, on the link"
    rows.append([noise, f"{model.noise_variance:.4g}"])
    if not family.observes_eta:
        rows += [[name, f"{value:.4g}"] for name, value in family.parameters.items() if value is not None]
    rows.append(["log evidence", _minus(f"{fitted.log_evidence:.2f}")])
    rows.append(["log likelihood", _minus(f"{model.log_likelihood:.2f}")])
    return Table(["quantity", "value"], rows)


def choices(fitted: Fitted) -> list[tuple[str, str]]:
    """What was decided, and why."""
    return [(CHOICES.get(choice.name, choice.name), str(choice)) for choice in fitted.model.choices]


def score_table(held: Sequence[Calibration]) -> Table | None:
    """Scores of every kind of cross-validation, with what they mean."""
    if not held:
        return None
    rows = []
    for key in dict.fromkeys(key for one in held for key in one.scores):
        label, meaning = (SCORES[key].label, SCORES[key].meaning) if key in SCORES else (key, "")
        values = (_score(key, one.scores.get(key)) for one in held)
        rows.append([label, *map(_minus, values), meaning])
    return Table(["score", *(one.name for one in held), "meaning"], rows)


def findings(model: SpatialRegressor) -> list[str]:
    """What `check` finds, without raising it again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(model.check())


def all_clear(model: SpatialRegressor, found: Sequence[str]) -> str:
    """What to say where the checks found nothing; empty where they did."""
    told = "The checks of the fit (values at their bounds, a flat map, too few waves"
    if model.fitted_.doubts is None:
        told += ") found nothing. Whether intervals are too narrow was not checked: that needs the training rows."
    else:
        told += ", intervals too narrow) found nothing to warn of."
    return "" if found else told


def _held_out(held: Calibration, unit: str) -> str:
    what = {"leave one out": "Rows left out one at a time", "blocks": "Rows in blocks held out as a whole"}
    rmse = number(float(f"{held.scores['rmse']:.3g}"))
    return (
        f"{what.get(held.name, held.name.capitalize())} were predicted with an RMSE of {rmse}{unit}, "
        f"{_percent(held.explained)} of the variance explained; 95 % intervals held "
        f"{percent(held.scores['coverage'])} of them: {coverage_verdict(held)}."
    )


def _score(key: str, value: float | None) -> str:
    if value is None:
        return "–"
    return percent(value) if key in SCORES and SCORES[key].is_share else f"{value:.4g}"


def _ratio(value: float) -> str:
    """A ratio to three digits, or to as many as tell it from 1."""
    off = abs(value - 1)
    return f"{value:.{int(np.ceil(-np.log10(off))) + 1}f}" if 1e-9 < off < 0.1 else f"{value:.3g}"


def _minus(text: str) -> str:
    return re.sub(r"-(?=[\d.])", "−", text)


def _percent(share: float) -> str:
    return percent(max(share, 0.0), 0)


def _range(fitted: Fitted) -> float | None:
    kernel = fitted.model.kernel
    axes = fitted.layout.placement.surface_axes
    return correlation_range(kernel, fitted.model.dim, axes=axes) if kernel.stationary else None


def _length(value: float, unit: str) -> str:
    return f"{number(float(f'{value:.2g}'))} {unit}".rstrip()


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
