"""Where a climb of counts or classes begins: at the peaks of the evidence of some of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bochner.exceptions import ConvergenceError
from bochner.inference.evidence.informed_laplace import InformedLaplace
from bochner.inference.observed.responses import Responses
from bochner.inference.tuning import limits
from bochner.inference.tuning.guided_search import Guide, form
from bochner.inference.tuning.objectives import with_shared_trend
from bochner.inference.tuning.search import Search, Tuned, tune
from bochner.kernels import Kernel
from bochner.random import generator


@dataclass(frozen=True)
class FirstRows:
    """What some of the rows have been asked: the peaks that they do not tell apart, the highest first, and the search.

    Of few rows, or where none is found, there is nothing.
    """

    peaks: tuple[Tuned, ...] = ()
    search: Search | None = None


def begun_on_some(search: Search, responses: Responses, kernel: Kernel, seed: int) -> FirstRows:
    """Peaks of the evidence of some of the rows, at which that of all may begin.

    Where the evidence of all rows learns a dispersion, it begins with what was found of it.
    """
    whole, n = search.objective, len(responses)
    if not (isinstance(whole, InformedLaplace) and whole.reml) or n < limits.MIN_THINNED_ROWS:
        return FirstRows()
    n_some = int(np.clip(limits.THINNED_SHARE * n, *limits.THINNED_ROWS))
    some = np.sort(generator(seed, "rows to begin with").permutation(n)[:n_some])
    part = InformedLaplace([with_shared_trend(responses)[some]], reml=True)
    guide = Guide.of(search, part)
    try:
        if tune(guide, kernel, tolerance=limits.SETTLED).failed:
            return FirstRows()
        peaks = guide.peaks.get(form(kernel), [])
        found = [t for t in peaks if t.value > peaks[0].value - limits.GUIDED_DOUBT]
        dispersions = [part.hidden(t.kernel, t.noise_variance) for t in found]
    except (ConvergenceError, np.linalg.LinAlgError, OverflowError):  # all of them may still do
        return FirstRows()
    for t, hidden in zip(found, dispersions, strict=True):
        if len(hidden):
            whole.arrived(t.kernel, t.noise_variance, hidden)
    return FirstRows(tuple(replace(t, n_evaluations=0) for t in found), guide)
