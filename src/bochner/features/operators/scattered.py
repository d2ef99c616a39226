"""Operators for rows anywhere, in the order in which they are asked."""

from __future__ import annotations

from bochner.features.operators.base import CovarianceOperator
from bochner.features.operators.dense import DenseOperator
from bochner.features.operators.parts import PartsOperator
from bochner.features.operators.split import SplitOperator
from bochner.features.operators.turned import TurnedOperator
from bochner.features.operators.unavailable import UnavailableOperator

SCATTERED: tuple[type[CovarianceOperator], ...] = (
    PartsOperator,
    TurnedOperator,
    SplitOperator,
    DenseOperator,
    UnavailableOperator,
)
