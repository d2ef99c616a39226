"""Law of the response at rows: one evaluation of a model, from which every band is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bochner.arrays import FloatArray
from bochner.posterior import Latent
from bochner.posterior.response import Response


def law_at(
    model: Any, table: Any, *, include_noise: bool = False, trials: Any = None, exposure: Any = None, offset: Any = None
) -> Response:
    """Law of the surface, or of new observations, at the rows of a table."""
    return model._law(*model._new_rows(table, offset, trials, exposure), include_noise)


def law_of(like: Response, eta: Latent, size: FloatArray | None) -> Response:
    """The law of another linear predictor and size, of the same family."""
    return replace(like, eta=eta, size=size)
