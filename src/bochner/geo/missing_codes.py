"""Codes for missing values: -9999 and its like, which a column holds as if they had been measured."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray
from bochner.geo import limits

# what files of whole numbers and of floats are filled with where nothing was measured
FILLS = {-32768.0, 32767.0, 65535.0, -2147483648.0, 2147483647.0, 4294967295.0}


def missing_code(values: FloatArray) -> tuple[float, int] | None:
    """A number that stands for a missing value, and how often it occurs; None where a column has none.

    It is written in nines, or is what files are filled with, and lies far outside of all other values.
    """
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    for code in (float(values.min()), float(values.max())):
        others = values[values != code]
        n = len(values) - len(others)
        if len(others) < limits.MEASURED_BESIDE or not _is_code(code, n):
            continue
        gap, spread = float(np.abs(others - code).min()), float(np.ptp(others))
        if spread > 0 and gap > limits.CODE_GAP * spread:
            return code, n
    return None


def told_of_code(name: str, values: FloatArray, mend: str, unit: str = "rows") -> str | None:
    """What to say of a column that holds such a code; `mend` is what to do, `unit` what its values are of."""
    found = missing_code(values)
    if found is None:
        return None
    code, n = found
    others = values[np.isfinite(values) & (values != code)]
    return (
        f"{name} is {code:g} in {n:,} of {len(values):,} {unit}, and from {others.min():.6g} to {others.max():.6g} in "
        f"all others: a code for a missing value? It is taken as measured; {mend}"
    )


def _is_code(value: float, n: int) -> bool:
    """Whether a number that occurs n times may be a code."""
    if value in FILLS or abs(value) >= limits.FILLED_FROM:
        return True
    digits = f"{abs(value):.10g}".replace(".", "")
    return set(digits) == {"9"} and (len(digits) >= limits.CODE_NINES or (len(digits) > 1 and n > 1))
