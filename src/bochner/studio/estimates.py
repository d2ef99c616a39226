"""Estimates: about how long a fit will take and how much memory, before it is started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bochner.estimators.progress import duration, expected_seconds
from bochner.families import family_named
from bochner.resources import as_size
from bochner.studio import limits
from bochner.studio.specification import family_of


def estimate_of(spec: Mapping[str, Any], n_rows: int, dim: int = 2) -> dict[str, Any]:
    """Memory in bytes, seconds, and both in a sentence; `dim` coordinates, of which time is one."""
    trend = 1 + len(spec["covariates"]) + len(spec["covariate"])
    learns = str(spec.get("tune", "evidence")).lower() != "none"
    gaussian = family_named(family_of(spec)).observes_eta
    seconds = expected_seconds(n_rows, dim, trend, gaussian=gaussian, learns=learns)
    dense = n_rows <= limits.DENSE_ROWS
    memory = limits.DENSE_BYTES * n_rows**2 if dense else limits.WAVES_BYTES + limits.ROW_BYTES * n_rows
    text = f"{n_rows:,} rows: about {duration(seconds)} and {as_size(memory)} beyond what the program itself needs."
    return {"memory_bytes": memory, "seconds": seconds, "text": text}
