"""Spatial analysis made easy: kernels as waves, maps with honest uncertainty.

By Bochner's theorem a kernel is a distribution of waves, so a kernel model is a linear model on
those waves. Start with `SpatialRegressor`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bochner._version import __version__

if TYPE_CHECKING:
    from bochner.estimators import (
        FourierFeatures,
        SpatialClassifier,
        SpatialRegressor,
        estimate_fit,
        like,
        load,
        merge,
    )
    from bochner.inference import choose

_ROOMS = {
    "FourierFeatures": "estimators",
    "SpatialClassifier": "estimators",
    "SpatialRegressor": "estimators",
    "choose": "inference",
    "estimate_fit": "estimators",
    "like": "estimators",
    "load": "estimators",
    "merge": "estimators",
}

__all__ = [
    "FourierFeatures",
    "SpatialClassifier",
    "SpatialRegressor",
    "__version__",
    "choose",
    "estimate_fit",
    "like",
    "load",
    "merge",
]


def __getattr__(name: str) -> Any:
    # Estimators bring scikit-learn; `import bochner` alone stays light.
    if name in _ROOMS:
        return getattr(import_module(f"bochner.{_ROOMS[name]}"), name)
    raise AttributeError(f"module 'bochner' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
