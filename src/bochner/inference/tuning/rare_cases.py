"""Rare presence: thousands of rows whose few cases leave the hyperparameters open.

What such rows tell of a field is told by the cases; of the others a sample tells as much as all. With a logit link the
odds among all cases and a sample of the others are those among all rows times a constant, which an offset takes
(Prentice & Pyke 1979), so the grid of few rows can be asked (`laplace_integration`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bochner.inference.observed.responses import Responses
from bochner.inference.tuning import limits
from bochner.inference.tuning.objectives import with_shared_trend
from bochner.random import generator


def cases_and_others(responses: Responses, seed: int) -> Responses | None:
    """All cases and some of the others, if cases are few among many rows of one trial each; None: they are not.

    Where nearly all rows are cases, the others are the rare ones.
    """
    r = responses
    positive = r.y > 0
    rare_is_positive = 2 * np.count_nonzero(positive) <= len(r)
    rare, others = (np.flatnonzero(part) for part in (positive == rare_is_positive, positive != rare_is_positive))
    single = r.family.bounded_by_size and r.family.link == "logit" and bool(np.all(r.size == 1))
    n_others = limits.MAX_LAPLACE_GRID_ROWS - len(rare)
    if not single or not len(rare) or len(rare) > limits.MAX_LAPLACE_GRID_ROWS // 2 or len(others) <= n_others:
        return None
    taken = generator(seed, "others").choice(others, n_others, replace=False)
    part = with_shared_trend(r)[np.sort(np.r_[rare, taken])]
    left = float(np.log(r.weight[others].sum() / r.weight[taken].sum()))
    return replace(part, offset=part.offset + (left if rare_is_positive else -left))
