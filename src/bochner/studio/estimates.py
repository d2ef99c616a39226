"""Estimates: about how long a fit will take and how much memory, before it is started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from bochner.estimators.fit_cost import fit_cost
from bochner.estimators.progress import duration
from bochner.families import family_named
from bochner.resources import as_size, n_cores
from bochner.studio import limits
from bochner.studio.specification import family_of


def estimate_of(spec: Mapping[str, Any], n_rows: int, dim: int = 2) -> dict[str, Any]:
    """Memory in bytes, seconds of one core, and both in a sentence; `dim` coordinates, of which time is one."""
    cost = fit_cost(
        n_rows,
        dim,
        1 + len(spec["covariates"]) + len(spec["covariate"]),
        family_named(family_of(spec)),
        learns=str(spec.get("tune", "evidence")).lower() != "none",
        searches=not spec.get("kernel"),
    )
    text = f"{n_rows:,} rows: about {duration(cost.seconds)} and {as_size(cost.memory_bytes)} of memory."
    slower = busyness()
    if slower >= limits.BUSY_FACTOR:
        text += f" Other work keeps this machine busy: rather {duration(slower * cost.seconds)} as it is now."
    return {"memory_bytes": cost.memory_bytes, "seconds": cost.seconds, "text": text}


def busyness() -> float:
    """How many times longer work on one core takes beside what runs now; 1 where the system does not tell."""
    try:
        return max(1.0, (os.getloadavg()[0] + 1) / n_cores())
    except (AttributeError, OSError):
        return 1.0
