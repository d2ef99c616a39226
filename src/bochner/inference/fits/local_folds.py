"""Held-out predictions from nearest neighbours: a fast stand-in for the full model while tuning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from bochner.inference.fits import limits
from bochner.inference.fits.folds import Fold, HeldOut, stacked
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel, axis_units
from bochner.neighbours import KnownRows, local_kriging
from bochner.random import generator


def held_out_locally(
    kernel: Kernel,
    obs: Observations,
    noise_variance: float,
    folds: Iterable[Fold],
    most: int = limits.MAX_LOCAL_TARGETS,
) -> HeldOut:
    """Predictions at (some of) the test rows of each fold from their nearest training rows."""
    return held_out_by_each([(kernel, noise_variance)], obs, folds, most)[0]


def held_out_by_each(
    pairs: Sequence[tuple[Kernel, float]],
    obs: Observations,
    folds: Iterable[Fold],
    most: int = limits.MAX_LOCAL_TARGETS,
) -> list[HeldOut]:
    """The same by several kernels with their noise variances: what does not depend on them is made once a fold."""
    parts: list[list[HeldOut]] = [[] for _ in pairs]
    for k, (train, test) in enumerate(folds):
        test = np.asarray(test)
        if len(test) > most:
            test = np.sort(generator(k, "held-out rows").choice(test, most, replace=False))
        known = obs[np.asarray(train)]
        root = np.sqrt(known.weight)
        trend = known.rows.trend
        beta = np.linalg.lstsq(trend * root[:, None], known.y * root, rcond=None)[0] if obs.n_trend else np.zeros(0)
        extent = np.ptp(known.rows.coords, axis=0)
        ready = KnownRows(known.rows.coords, limits.LOCAL_NEIGHBOURS, limits.LOCAL_FAR)
        for (kernel, noise_variance), done in zip(pairs, parts, strict=True):
            mean, variance = local_kriging(
                kernel,
                known.copy_variance(noise_variance) / known.weight,
                known.rows.coords,
                known.y - trend @ beta,
                obs.rows.coords[test],
                limits.LOCAL_NEIGHBOURS,
                axis_units(kernel, extent),
                limits.LOCAL_FAR,
                ready,
            )
            done.append(HeldOut(test, np.full(len(test), k), mean + obs.rows.trend[test] @ beta, variance))
    return [stacked(done) for done in parts]
