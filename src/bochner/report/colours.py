"""Colours: ramps that are even to the eye, mixed in the OKLab space."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from bochner.arrays import FloatArray

# From low to high: dark to light for values, light to dark for doubt, two hues about even odds.
ANCHORS = MappingProxyType(
    {
        "mean": ("#1f2a63", "#22628f", "#2f9a8c", "#8ecb6b", "#f6eb9a"),
        "sd": ("#fbf3e4", "#f0c48c", "#d4804f", "#9c3f4a", "#4f1c47"),
        "exceedance": ("#21558f", "#7fb0d3", "#f2efe9", "#e39a78", "#a3272f"),
    }
)
N_COLOURS = 33

# Björn Ottosson's OKLab: linear light to cone responses, and their cube roots to lightness and two hues.
_CONES = np.array(
    [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
     [0.0883024619, 0.2817188376, 0.6299787005]]
)  # fmt: skip
_LAB = np.array(
    [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
     [0.0259040371, 0.7827717662, -0.8086757660]]
)  # fmt: skip


def ramps() -> dict[str, list[str]]:
    """Colours of every layer, from low to high."""
    return {name: ramp(anchors) for name, anchors in ANCHORS.items()}


def ramp(anchors: tuple[str, ...], n: int = N_COLOURS) -> list[str]:
    """Colours between anchors, at even steps."""
    lab = np.stack([_to_lab(colour) for colour in anchors])
    at = np.linspace(0, len(anchors) - 1, n)
    mixed = np.column_stack([np.interp(at, np.arange(len(anchors)), channel) for channel in lab.T])
    return [_to_hex(row) for row in mixed]


def _to_lab(colour: str) -> FloatArray:
    srgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    return np.asarray(_LAB @ np.cbrt(_CONES @ linear))


def _to_hex(lab: FloatArray) -> str:
    linear = np.clip(np.linalg.solve(_CONES, np.linalg.solve(_LAB, lab) ** 3), 0, 1)
    srgb = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * c):02x}" for c in srgb)
