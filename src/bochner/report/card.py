"""Card: a fitted model as a notebook shows it, what was learned beside a small map."""

from __future__ import annotations

import base64
import struct
import warnings
import zlib
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.arrays import FloatArray
from bochner.estimators import SpatialRegressor
from bochner.estimators.summary import describe
from bochner.exceptions import BochnerError
from bochner.maps.grids.extent import make_grid
from bochner.maps.grids.pixels import Pixels
from bochner.maps.mappable import Mappable, mappable
from bochner.maps.plots.quick_figure import short, typical_inputs
from bochner.report import limits
from bochner.report.colours import ramps
from bochner.report.svg import number


def card(model: Mappable) -> str:
    """HTML of a fitted model: kernel, noise, effects and choices in a table, and the mean as a small map."""
    regressor = mappable(model)
    fitted = regressor.fitted_
    rows = [("family", fitted.model.family.name), ("kernel", describe(fitted.model.kernel))]
    rows.append(("noise variance", f"{fitted.model.noise_variance:.4g}"))
    estimates, covariance = fitted.fixed_effects
    for name, value, error in zip(fitted.layout.trend.names, estimates, np.sqrt(np.diag(covariance)), strict=True):
        rows.append((name, f"{value:.4g} ± {error:.2g}"))
    rows += [(choice.name, str(choice)) for choice in fitted.model.choices if choice.name in ("features", "places")]
    cells = "".join(
        f'<tr><th style="text-align:left;vertical-align:top;padding:2px 12px 2px 0">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in rows
    )
    picture = small_map(regressor)
    figure = "" if picture is None else picture
    return (
        f'<div style="display:flex;gap:24px;align-items:flex-start;flex-wrap:wrap">{figure}<div>'
        f"<b>{escape(type(model).__name__)}</b>, fitted<table>{cells}</table></div></div>"
    )


def small_map(model: SpatialRegressor) -> str | None:
    """The mean over the data as an image element, covariates at their means; None where there is nothing to draw."""
    if not model.has_training:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rough = make_grid(model)
            grid = make_grid(model, max(rough.resolution) * max(rough.shape) / limits.CARD_PIXELS)
            held = typical_inputs(model)
            if set(held) != set(model.fitted_.layout.further):
                return None
            eta = Pixels(model.fitted_, grid).latent(grid.centres(), held).mean
    except BochnerError:  # a line, or a plane without a box: the table says enough
        return None
    mean = np.asarray(model.family_.mean(eta)).reshape(grid.shape)
    low, high = float(mean.min()), float(mean.max())
    image = base64.b64encode(png(mean, low, high)).decode("ascii")
    told = f"{number(float(f'{low:.3g}'))} to {number(float(f'{high:.3g}'))}"
    held_at = "".join(f", {name} = {short(value)}" for name, value in held.items())
    return (
        f'<figure style="margin:0"><img alt="map of the mean, {escape(told)}" style="width:180px;image-rendering:auto" '
        f'src="data:image/png;base64,{image}"><figcaption style="font-size:85%">mean, {escape(told + held_at)}'
        f"</figcaption></figure>"
    )


def png(values: FloatArray, low: float, high: float) -> bytes:
    """A PNG of values in the colours of the mean, from low to high."""
    ramp = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in ramps()["mean"]], dtype=np.uint8)
    share = np.clip((values - low) / (high - low or 1.0), 0, 1)
    pixels: NDArray[np.uint8] = ramp[np.rint(share * (len(ramp) - 1)).astype(int)]
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    height, width = values.shape
    parts: list[tuple[bytes, bytes]] = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)


def _chunk(kind: bytes, content: bytes) -> Any:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
