"""Models: fitted as a spec says, opened from a file, and told as text or as JSON."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from bochner import SpatialRegressor, load
from bochner.choices import Choice
from bochner.cli._lines import line_of, told_by_line
from bochner.cli._spec import Spec
from bochner.cli._tables import Training, training
from bochner.cli._terminal import note
from bochner.estimators.fit_cost import fit_cost
from bochner.estimators.limits import SHOWN_FROM
from bochner.estimators.progress import duration, speak
from bochner.estimators.summary import describe
from bochner.estimators.table_fit import TableFit
from bochner.exceptions import InputError
from bochner.families import family_named
from bochner.kernels import kernel_named
from bochner.layout import Given
from bochner.layout.columns import told_of_unused
from bochner.report.words import CHOICES
from bochner.spelling import Size, check_sizes


def fit_spec(spec: Spec) -> tuple[SpatialRegressor, Training]:
    """Fit the model that a spec asks for; names of columns tell it what its response, trials and so on were."""
    family = family_named(spec.family)
    size = Size(family.size_name, family.bounded_by_size)
    check_sizes(family.name, size, {"trials": spec.trials, "exposure": spec.exposure})
    model = unfitted(spec)
    spec, rows = training(spec)
    model.set_params(coords=rows.coords, covariates=rows.covariates or None)
    columns = dict(rows.columns)
    expected = fit_cost(
        len(rows.table),
        len(rows.coords),
        1 + len(rows.covariates or ()),
        family,
        learns=model.tune is not None,
        searches=model.kernel is None,
    ).seconds
    if expected >= SHOWN_FROM and not sys.stderr.isatty():  # on a terminal the fit shows a line of its own
        note(f"fitting {len(rows.table):,} rows takes about {duration(expected)}.")
    wanted = TableFit((rows.coords, rows.covariates or None), rows.predict_at, row_name=line_of(rows.places))
    with told_by_line(rows.places):
        model.learn_table(rows.table, columns.pop("target"), Given(**columns), wanted)
    if rows.places.left_out:
        model.tell(Choice("rows left out", len(rows.places), text=" ".join(rows.places.left_out)))
    if unused := rows.places.unread:
        how = None if model.fitted_.layout.last_is_time else f"--coords {','.join(rows.places.coords)},{{}}"
        model.tell(Choice("columns", unused, text=told_of_unused(unused, how)))
    for choice in model.choices_.values():
        speak("choice", f"{CHOICES.get(choice.name, choice.name)}: {choice}")
    return model, rows


def unfitted(spec: Spec) -> SpatialRegressor:
    """The model of a spec, before it has seen the data."""
    return SpatialRegressor(
        None if spec.kernel is None else kernel_named(spec.kernel),
        family=spec.family,
        features=spec.features,
        n_frequencies="auto" if spec.n_frequencies is None else spec.n_frequencies,
        tune=None if spec.tune.lower() == "none" else spec.tune,
        noise_variance=spec.noise_variance,
        random_state=spec.seed,
    )


def opened(path: Path) -> SpatialRegressor:
    """A model file, as a regressor that can be mapped."""
    if not path.exists():
        raise InputError(f"{path} does not exist; check the name of the model file.")
    model = load(path)
    if not isinstance(model, SpatialRegressor):
        raise InputError(f"{path} holds a {type(model).__name__}; use it in Python, with bochner.load.")
    return model


def facts(model: SpatialRegressor) -> dict[str, Any]:
    """What was learned, for JSON."""
    fitted = model.fitted_
    estimates, covariance = fitted.fixed_effects
    errors = np.sqrt(np.diag(covariance))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        findings = model.check()
    return {
        "family": model.family_.name,
        "kernel": describe(model.kernel_),
        "noise_variance": model.noise_variance_,
        "dispersion": model.family_.dispersion,
        "log_evidence": model.log_evidence_,
        "log_likelihood": model.log_likelihood_,
        "fixed_effects": [
            {"name": name, "estimate": value, "std_error": error}
            for name, value, error in zip(fitted.layout.trend.names, estimates, errors, strict=True)
        ],
        "crs": model.crs_,
        "choices": {name: _decision(choice) for name, choice in model.choices_.items()},
        "findings": findings,
    }


def _decision(choice: Choice) -> dict[str, Any]:
    return {key: value for key, value in choice.as_dict().items() if key != "name"}
