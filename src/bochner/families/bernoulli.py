"""The Bernoulli family: presence or absence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bochner.arrays import FloatArray
from bochner.families.base import check_finite, refuse
from bochner.families.binomial import Binomial


@dataclass(frozen=True)
class Bernoulli(Binomial):
    r"""Presence (1) or absence (0): a binomial of one trial.

    .. math:: P(y = 1) = p, \quad \mathrm{logit}\,p = \eta \text{ or } \Phi^{-1}(p) = \eta
    """

    name: ClassVar[str] = "bernoulli"
    law: ClassVar[str] = "its {inverse} is the {response}, the probability of a yes"
    surface_name: ClassVar[str | None] = "probability"
    size_name: ClassVar[str | None] = None

    def check(self, y: FloatArray, size: FloatArray) -> None:
        check_finite(y)
        refuse(
            (y != 0) & (y != 1),
            "y is {y} in row {row}; needed is 0 or 1. For positives out of several trials, take family='binomial' "
            "and pass `trials`.",
            y=y,
        )
