"""What further fields would add to a likely one, told by slopes at its peak alone: a score test.

Where a field with next to no variance is added, the slope in its variance says whether some of it makes the data more
likely, and the products of the slopes of single densities how far that goes (Berndt, Hall, Hall & Hausman 1974). It is
what the first step of a climb would promise, for the cost of one evaluation. A peak at which one rough field plays two
of unlike lengths tells nothing of them: they lie too far off.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import numpy as np
from scipy import optimize

from bochner.inference.evidence.vecchia_evidence import VecchiaEvidence
from bochner.inference.tuning import limits
from bochner.inference.tuning.search import Search, Tuned
from bochner.kernels import Kernel, Sum


def gain_of_fields(peak: Tuned, fields: Iterable[Kernel], search: Search) -> float:
    """Log likelihood that some variance of the fields beside that of the peak would add, nearly.

    With slopes of single densities in the parameters of the peak taken out of those in the variances, it is what of a
    vector of ones nonnegative variances explain. Noise that has vanished can only grow, too.
    """
    assert isinstance(search.objective, VecchiaEvidence)
    tiny = [field.replace(variance=limits.NEXT_TO_NO_VARIANCE * field.variance) for field in fields]  # type: ignore[attr-defined]
    beside = reduce(Sum, [peak.kernel, *tiny])
    slopes = search.objective.plan.slopes(beside, peak.noise_variance)
    n_own = len(peak.kernel.theta)
    names = [h.name for h in beside.hyperparameters]
    variances = [i for i, name in enumerate(names) if i >= n_own and name.endswith("variance")]
    parameters = list(range(n_own))
    if search.noise_variance is None:
        (variances if "noise_variance" in peak.at_bounds else parameters).append(len(names))
    added, own = slopes[variances].T, slopes[parameters].T
    added, own = (part / np.maximum(np.linalg.norm(part, axis=0), 1e-300) for part in (added, own))
    if not (np.isfinite(added).all() and np.isfinite(own).all()):
        return np.inf
    basis = np.linalg.svd(own, full_matrices=False)[0]
    left = optimize.nnls(added - basis @ (basis.T @ added), np.ones(len(added)))[1]
    return float(0.5 * (len(added) - left**2))
