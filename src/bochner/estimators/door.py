"""The door of an estimator: a table, checked by scikit-learn's rules and ours, as finite numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_X_y, validate_data

from bochner.arrays import FloatArray
from bochner.exceptions import InputError
from bochner.layout import Encoding
from bochner.layout.columns import refuse_gaps, refuse_text, refuse_twins

RULES: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": False}


def checked_rows(estimator: Any, part: Any, encoding: Encoding | None, *, reset: bool = False) -> FloatArray:
    """The columns of a model as numbers (n, columns); `reset` sets scikit-learn's attributes, else they must agree."""
    refuse_twins(part)
    if encoding is None:
        refuse_text(part, "X")
        table = validate_data(estimator, part, reset=reset, **RULES)
    else:
        validate_data(estimator, part, reset=reset, skip_check_array=True)
        part = encoding.frame(part)
        refuse_text(part, "X")
        table = check_array(part, **RULES)
    refuse_gaps(table, part)
    return np.asarray(table)


def checked_training(estimator: Any, part: Any, encoding: Encoding | None, y: Any) -> tuple[FloatArray, FloatArray]:
    """The same for training rows, with their response (n,)."""
    refuse_text(y, "y")
    _refuse_missing(y)
    rules = {**RULES, "y_numeric": True, "ensure_min_samples": 1}
    if encoding is None:
        refuse_text(part, "X")
        table, values = validate_data(estimator, part, y, **rules)
    else:
        validate_data(estimator, part, y, skip_check_array=True)
        part = encoding.frame(part)
        refuse_text(part, "X")
        table, values = check_X_y(part, y, **rules)
    refuse_gaps(table, part)
    return np.asarray(table), np.asarray(values, dtype=np.float64)


def _refuse_missing(y: Any) -> None:
    """Refuse responses that are not there, by their number and the first of their rows."""
    values = np.asarray(y)
    if values.dtype.kind != "f" or values.ndim != 1 or np.isfinite(values).all():
        return
    bad = ~np.isfinite(values)
    what = "NaN" if np.isnan(values[bad]).all() else "NaN or infinity" if np.isnan(values[bad]).any() else "infinity"
    n_bad, first = int(bad.sum()), int(np.argmax(bad))
    raise InputError(f"y contains {what}: {n_bad:,} of {len(values):,} rows, first row {first}; drop those rows.")
