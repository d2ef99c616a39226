"""Provenance: where a map comes from, in the words that are written into it."""

from __future__ import annotations

import json
from typing import Any

from bochner._version import __version__
from bochner.estimators.report import describe


def provenance(model: Any) -> dict[str, str]:
    """Model, version and choices behind a map; plain text, for the attributes of a file."""
    return {
        "source": f"bochner {__version__}",
        "bochner_version": __version__,
        "family": family_name(model),
        "kernel": describe(model.kernel_),
        "noise_variance": f"{model.noise_variance_:.6g}",
        "columns": ", ".join(model._columns.names),
        "choices": json.dumps({str(k): str(v) for k, v in model.choices_.items()}),
    }


def family_name(model: Any) -> str:
    """Name of a model's family."""
    family = getattr(getattr(model, "_model", None), "family", None) or model.family
    return str(getattr(family, "name", family))
