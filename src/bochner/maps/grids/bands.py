"""Bands: what a map shows at every pixel, and how it is read off the law of the response."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray, as_finite
from bochner.exceptions import InputError
from bochner.posterior.response import Response


@dataclass(frozen=True)
class Band:
    """One layer of a map.

    Attributes
    ----------
    name : str
        ``mean``, ``sd``, ``exceedance_T`` or ``qP``.
    text : str
        What it is, for people.
    kind : str
        ``mean``, ``sd``, ``exceedance`` or ``quantile``.
    at : float
        Threshold of an exceedance, probability of a quantile; NaN for others.
    """

    name: str
    text: str
    kind: str
    at: float = float("nan")

    @property
    def is_probability(self) -> bool:
        """Whether values lie between 0 and 1 whatever the response is."""
        return self.kind == "exceedance"

    def of(self, law: Response) -> FloatArray:
        """Values (n,) of this band under the law of the response at n places."""
        if self.kind == "exceedance":
            return np.asarray(law.exceedance(self.at))
        if self.kind == "quantile":
            return np.asarray(law.quantile(self.at))
        return np.asarray(law.mean if self.kind == "mean" else law.sd)


def make_bands(
    exceed: float | Iterable[float] = (), quantiles: float | Iterable[float] = (), *, include_noise: bool = False
) -> tuple[Band, ...]:
    """Mean and sd, then exceedances of the thresholds, then quantiles."""
    what = "a new observation" if include_noise else "the surface"
    thresholds, levels = _numbers(exceed, "exceed"), _numbers(quantiles, "quantiles")
    bad = [p for p in levels if not 0 < p < 1]
    if bad:
        raise InputError(f"quantiles holds {bad[0]:g}; needed are probabilities strictly between 0 and 1.")
    return (
        Band("mean", "posterior mean", "mean"),
        Band("sd", f"posterior standard deviation of {what}", "sd"),
        *(Band(f"exceedance_{t:.12g}", f"probability of {what} above {t:.12g}", "exceedance", t) for t in thresholds),
        *(Band(f"q{p:.12g}", f"quantile {p:.12g} of {what}", "quantile", p) for p in levels),
    )


def band_values(bands: Iterable[Band], law: Response) -> FloatArray:
    """Values of several bands, (n, bands)."""
    both = dict(zip(("mean", "sd"), law.mean_and_sd, strict=True))  # of every map, and for little more than one
    return np.column_stack([both[band.kind] if band.kind in both else band.of(law) for band in bands])


def observed_values(bands: Iterable[Band], values: FloatArray) -> FloatArray:
    """Bands (k, ...) where values were observed: these themselves, with sd 0."""
    known = {"sd": np.zeros_like(values)}
    return np.stack([values > one.at if one.kind == "exceedance" else known.get(one.kind, values) for one in bands])


def _numbers(values: float | Iterable[float], name: str) -> list[float]:
    numbers = np.atleast_1d(as_finite(values if np.isscalar(values) else list(values), name))  # type: ignore[arg-type]
    if numbers.ndim != 1:
        raise InputError(f"{name} has shape {numbers.shape}; needed is a number, or a list of numbers.")
    return sorted({float(v) for v in numbers})
