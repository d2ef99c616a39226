"""Variance of a dense linear model on a device: waves are made there, and only the variances come back."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.device import Device, device_for
from bochner.device.accelerator import to_host
from bochner.features import FeatureMap, FourierMap, Rows
from bochner.solvers import CholeskyFactor, DeviceCholesky, Factor

_MOVED: dict[int, tuple[weakref.ref[FloatArray], DeviceCholesky]] = {}  # the last factor that was moved


def device_variance(features: FeatureMap, factor: Factor, rows: Rows) -> FloatArray | None:
    """Diagonal of phi P^-1 phi' of some rows; None where the processor is to do it."""
    if not isinstance(features, FourierMap) or not isinstance(factor, CholeskyFactor | DeviceCholesky):
        return None
    device = device_for(float(len(rows)) * features.n_columns**2)
    if device is None:
        return None
    there = _moved(device, factor)
    out = np.empty(len(rows))
    waves = features.on_device(device)

    def find(part: slice) -> None:
        phi = device.torch.cat([waves(rows.coords[part]), device.tensor(rows.trend[part])], dim=1)
        out[part] = to_host(there.squared_length(phi))

    device.in_blocks(find, len(rows), 40.0 * features.n_columns)
    return out


def _moved(device: Device, factor: Any) -> DeviceCholesky:
    if isinstance(factor, DeviceCholesky):
        return factor
    known = _MOVED.get(id(factor.root))
    if known is None or known[0]() is not factor.root:
        _MOVED.clear()
        there = DeviceCholesky(device, device.tensor(factor.root), factor.scale, factor.n_trend, factor.report)
        known = _MOVED[id(factor.root)] = weakref.ref(factor.root), there
    return known[1]
