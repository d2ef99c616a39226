"""A matrix that lies on a device: as large as its memory, and copied to the host only where somebody reads it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.device.accelerator import Device, to_host


@dataclass(frozen=True, eq=False)
class DeviceMatrix:
    """A symmetric matrix whose lower triangle holds on a device; NumPy sees it as an array."""

    device: Device
    lower: Any  # tensor (p, p)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self)

    def __len__(self) -> int:
        return len(self.lower)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        lower = to_host(self.lower)
        whole = np.tril(lower) + np.tril(lower, -1).T
        return whole if dtype is None else whole.astype(dtype)

    def __sub__(self, other: Any) -> FloatArray:
        return np.asarray(np.asarray(self) - np.asarray(other))

    def with_last(self, added: FloatArray) -> DeviceMatrix:
        """The same with a small matrix added to its last rows and columns."""
        k = len(added)
        self.lower[-k:, -k:] += self.device.tensor(added)
        return self
