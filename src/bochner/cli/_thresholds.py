"""Thresholds as they are typed: numbers, or shares as per cent, of what a model is of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.cli._spec import share_or_number
from bochner.exceptions import InputError
from bochner.families import Family


@dataclass(frozen=True)
class Threshold:
    """A value to be exceeded.

    Attributes
    ----------
    value : number on the scale of the mean, a share where per cent were given
    per_cent : whether they were
    option : option that it was given by
    """

    value: float
    per_cent: bool = False
    option: str = "--exceed"

    @classmethod
    def of(cls, text: str, family: Family, option: str) -> Threshold:
        """A threshold out of text; per cent are refused where means are no shares."""
        per_cent, value = text.strip().endswith("%"), share_or_number(text, option)
        if not np.isfinite(value):
            raise InputError(f"{option} is {text!r}; needed is a finite number.")
        if per_cent and not family.is_share:
            plain = f"{option} {text.strip().rstrip('%').strip()}"
            raise InputError(
                f"{option} is {text!r}, but the model is {family.name}, whose mean is no share of anything; write the "
                f"threshold in units of the response: {plain}, or {option} {value:g} if the response is a share."
            )
        return cls(value, per_cent, option)

    def among(self, family: Family, size: Any = None) -> Any:
        """The threshold itself, refused where no mean can take it; per cent are those of the trials, where given."""
        limit = self.value if size is None or not self.per_cent else self.value * np.asarray(size)
        family.check_threshold(limit, size, self.option)
        return limit


def threshold_in(text: str, family: Family, option: str = "--threshold") -> float:
    """A threshold of the surface."""
    return float(Threshold.of(text, family, option).among(family))


def thresholds_in(texts: Sequence[str] | None, family: Family, trials: Any = None) -> list[float]:
    """Thresholds out of --exceed, of the surface or of counts out of a number of trials; a raster of them is none."""
    found = [Threshold.of(text, family, "--exceed") for text in texts or ()]
    if trials is None or isinstance(trials, (int, float)):
        return [float(one.among(family, trials)) for one in found]
    if any(one.per_cent for one in found):
        raise InputError(
            f"--exceed is {(texts or ['?'])[0]!r}, a share, and the trials are a raster; leave --trials out: that the "
            f"prevalence is above the share is the same, whatever the trials."
        )
    return [float(one.among(family, np.inf)) for one in found]
