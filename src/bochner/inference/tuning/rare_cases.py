"""Rare presence, rare counts: hundreds or thousands of rows whose few cases leave the hyperparameters open.

What such rows tell of a field is told by the cases; of the others a sample tells as much as all. With a logit link the
odds among all cases and a sample of the others are those among all rows times a constant, which an offset takes
(Prentice & Pyke 1979); of Poisson counts each of a sample of the zeros stands for as many as were left out with it, in
its exposure. So the grid of few rows can be asked (`laplace_integration`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bochner.inference.observed.responses import Responses
from bochner.inference.tuning import limits
from bochner.inference.tuning.objectives import with_shared_trend
from bochner.random import generator


def cases_and_others(responses: Responses, seed: int) -> Responses | None:
    """All cases and some of the others, if cases are few among many rows of one trial, or of counts; None: they aren't.

    Where nearly all rows of one trial are cases, the others are the rare ones.
    """
    r = responses
    counts = r.family.name == "poisson" and r.family.link == "log"
    single = r.family.bounded_by_size and r.family.link == "logit" and bool(np.all(r.size == 1))
    positive = r.y > 0
    rare_is_positive = counts or 2 * np.count_nonzero(positive) <= len(r)
    rare, others = (np.flatnonzero(part) for part in (positive == rare_is_positive, positive != rare_is_positive))
    n_others = limits.MAX_LAPLACE_GRID_ROWS - len(rare)
    few = 0 < len(rare) <= limits.MAX_LAPLACE_GRID_ROWS // 2
    if not (single or counts) or not few or len(others) <= n_others:
        return None
    taken = generator(seed, "others").choice(others, n_others, replace=False)
    part = with_shared_trend(r)[np.sort(np.r_[rare, taken])]
    exposed = r.weight * r.size
    left = float(np.log(exposed[others].sum() / exposed[taken].sum()))
    if counts:
        return replace(part, offset=part.offset + np.where(part.y > 0, 0.0, left))
    return replace(part, offset=part.offset + (left if rare_is_positive else -left))
