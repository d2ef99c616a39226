"""Families: the law of one observation given its linear predictor."""

from bochner.exceptions import InputError
from bochner.families.base import Family
from bochner.families.gaussian import Gaussian

FAMILIES: dict[str, Family] = {"gaussian": Gaussian()}


def family_named(family: str | Family) -> Family:
    """Family by name, or the family itself."""
    if isinstance(family, Family):
        return family
    if not isinstance(family, str) or family not in FAMILIES:
        raise InputError(f"family={family!r} is not known; choose from {sorted(FAMILIES)}.")
    return FAMILIES[family]


__all__ = ["FAMILIES", "Family", "Gaussian", "family_named"]
