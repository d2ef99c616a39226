"""A kernel that is stretched along turned axes: the split of waves and neighbours, along its own axes.

A narrow ridge across the axes is followed only by waves as fine as it is narrow; told along its own axes the field is
as smooth along the ridge as it reaches far, and steps of the series are as long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Self

import numpy as np

from bochner.arrays import FloatArray
from bochner.device import Device
from bochner.features import limits
from bochner.features.operators.base import Box, CovarianceOperator, DeviceProducts
from bochner.features.operators.split import SplitOperator
from bochner.kernels import Kernel, along, own_axes, reaches
from bochner.kernels.anisotropy import turned


@dataclass(frozen=True, eq=False)
class TurnedOperator(CovarianceOperator):
    """The split of an axis-aligned kernel, of rows and targets that are turned.

    Attributes
    ----------
    own : (dim, dim)
        Axes of the kernel, one a row.
    """

    own: FloatArray

    @classmethod
    def offered(cls, kernel: Kernel, coords: FloatArray, box: Box) -> Self | None:
        own = own_axes(kernel, coords.shape[1])
        if own is None or SplitOperator.offered(kernel, coords, box) is None:
            return None
        lengths = reaches(along(kernel, own), np.abs(own) @ (box[1] - box[0]))
        return cls(kernel, coords, box, own) if lengths.max() > limits.MAX_AXIS_RATIO * lengths.min() else None

    @cached_property
    def split(self) -> SplitOperator:
        """The operator along the axes of the kernel, for all that the box holds."""
        corners = turned(np.array(list(product(*zip(*self.box, strict=True)))), self.own)
        box = corners.min(axis=0), corners.max(axis=0)
        return SplitOperator(along(self.kernel, self.own), turned(self.coords, self.own), box)

    @property
    def how(self) -> str:
        return f"{self.split.how}, along the axes of the kernel"

    @property
    def reason(self) -> str:
        return self.split.reason

    @property
    def faithful(self) -> bool:
        return self.split.faithful

    @property
    def product_error(self) -> float:
        return self.split.product_error

    def products(self, columns: FloatArray) -> FloatArray:
        return self.split.products(columns)

    def cross_products(self, targets: FloatArray, columns: FloatArray) -> FloatArray:
        return self.split.cross_products(turned(targets, self.own), columns)

    def prepared(self, columns: FloatArray) -> Callable[[FloatArray], FloatArray]:
        towards = self.split.prepared(columns)
        return lambda targets: towards(turned(targets, self.own))

    def on_device(self, device: Device, probes: FloatArray) -> DeviceProducts | None:
        return self.split.on_device(device, turned(probes, self.own))
