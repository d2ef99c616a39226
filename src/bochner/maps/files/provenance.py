"""Provenance: where a map comes from, in the words that are written into it."""

from __future__ import annotations

import json

from bochner._version import __version__
from bochner.estimators import Fitted
from bochner.estimators.summary import describe


def provenance(fitted: Fitted) -> dict[str, str]:
    """Model, version and choices behind a map; plain text, for the attributes of a file."""
    model = fitted.model
    return {
        "source": f"bochner {__version__}",
        "bochner_version": __version__,
        "family": model.family.name,
        "kernel": describe(model.kernel),
        "noise_variance": f"{model.noise_variance:.6g}",
        "columns": ", ".join(fitted.layout.columns.names),
        "choices": json.dumps({name: str(choice) for name, choice in model.decided.items()}),
    }
