"""What model files hold: the classes that may be read, and files of earlier formats brought up to date."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from bochner import archive, kernels
from bochner.archive.typed import check_types
from bochner.choices import Choice
from bochner.estimators.fitted import Fitted
from bochner.features import ArealRows, FourierMap, LocalSpectrumMap, NystroemMap, PairedMap, Rows
from bochner.frequencies import Frequencies, Lattice, PairedFrequencies
from bochner.geo import Placement
from bochner.inference import Model, Scale
from bochner.layout import Columns, Curve, Design, Encoding, Formula, Layout, Trend, parse_formula
from bochner.posterior import (
    CoefficientPosterior,
    KrigingPosterior,
    Mixture,
    OperatorPosterior,
    RescaledPosterior,
    StoredPosterior,
)
from bochner.solvers import CholeskyFactor, LeastSquares, Report, WoodburyFactor
from bochner.sources.row_store import RowStore

KERNELS = [k for k in vars(kernels).values() if isinstance(k, type) and issubclass(k, kernels.Kernel)]

archive.register(*KERNELS)
archive.register(Fitted, Layout, Columns, Trend, Curve, Placement, Design, Encoding, Formula, Choice)
archive.register(Model, Mixture, Scale, CoefficientPosterior, KrigingPosterior, OperatorPosterior, RescaledPosterior)
archive.register(FourierMap, NystroemMap, PairedMap, LocalSpectrumMap, Rows, ArealRows)
archive.register(Frequencies, Lattice, PairedFrequencies)
archive.register(StoredPosterior, RowStore)
archive.register(CholeskyFactor, WoodburyFactor, LeastSquares, Report)


def upgraded(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """The state of an estimator as it is written today, from that of any format."""
    if "models_" in state:
        return {**state, "models_": [upgraded(part) for part in state["models_"]]}
    if isinstance(state["fitted"], Fitted):
        return state
    return {**state, "estimator": state.get("estimator", "SpatialRegressor"), "fitted": _from_format_1(state)}


def _from_format_1(state: Mapping[str, Any]) -> Fitted:
    """Format 1 held the attributes of an estimator one by one."""
    old, params = state["fitted"], state["params"]
    asked = (params.get("coords"), params.get("covariates"))
    design = None
    if "design" in state:
        formula, saved = parse_formula(params["formula"]), state["design"]
        design = Design(formula, saved["levels"], saved["transforms"], tuple(saved["columns"]))
        asked = (list(formula.coords), [n for n in state["feature_names_in_"] if n not in formula.coords])
    layout = Layout(
        old["_columns"],
        old["_placement"],
        old["_centre"],
        old["_trend"],
        old["crs_"],
        design,
        dict(state.get("roles_", {})),
        asked,
    )
    survey = old["_survey"]
    model = replace(old["_model"], spare_sd=old["_spare_sd"])
    fitted = Fitted(layout, model, () if survey is None else (survey,), state.get("diagnostics_"))
    for value in (layout, model, fitted):  # put together here, and not by the archive, which checks what it builds
        check_types(type(value), {field.name: getattr(value, field.name) for field in fields(value)})
    return fitted
