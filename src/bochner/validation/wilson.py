"""Wilson's interval: what a share of so many says about its probability."""

from __future__ import annotations

import numpy as np
from scipy import special

from bochner.arrays import FloatArray


def wilson_interval(share: FloatArray, n: FloatArray | float, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Ends of Wilson's score interval of a probability, sound for shares of 0 and 1 too.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference.
    """
    z = special.ndtri(0.5 + level / 2)
    shrink = 1 / (1 + z**2 / n)
    centre = (share + z**2 / (2 * n)) * shrink
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) * shrink
    return np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)
