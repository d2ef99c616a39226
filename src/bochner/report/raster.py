"""Rasters in the page: 16-bit steps, differences to the neighbour, deflate, base64."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from bochner.arrays import FloatArray

BLANK = 65_535
STEPS = 65_534


def pack(raster: FloatArray) -> dict[str, Any]:
    """A raster (rows, columns) as plain values; NaN is blank, others are exact to 1 / 131,068 of their range."""
    known = np.isfinite(raster)
    low, high = float(np.min(raster[known])), float(np.max(raster[known]))
    step = (high - low) / STEPS or 1.0
    codes = np.full(raster.shape, BLANK, dtype=np.uint16)
    codes[known] = np.round((raster[known] - low) / step)
    # a neighbour is the best guess of a pixel, so differences are small and deflate well, high bytes apart from low
    change = np.diff(codes.ravel(), prepend=np.uint16(0)).astype("<u2")
    planes = change.view(np.uint8).reshape(-1, 2).T.tobytes()
    squeezed = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = squeezed.compress(planes) + squeezed.flush()
    return {"low": low, "step": step, "data": base64.b64encode(data).decode("ascii")}


def unpack(packed: dict[str, Any], shape: tuple[int, int]) -> FloatArray:
    """Back from `pack`."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(packed["data"]), -15), dtype=np.uint8)
    change = planes.reshape(2, -1).T.copy().view("<u2").ravel()
    codes = np.cumsum(change, dtype=np.uint16).reshape(shape)
    return np.where(codes == BLANK, np.nan, packed["low"] + packed["step"] * codes)
