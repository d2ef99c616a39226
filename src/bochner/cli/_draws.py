"""Draws at the places of a file or at the pixels of a grid, from a prior or from a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bochner import SpatialRegressor
from bochner.arrays import FloatArray
from bochner.cli._lines import told_by_line
from bochner.cli._models import opened
from bochner.cli._predictions import Wanted, asked, beside
from bochner.cli._request import Request
from bochner.cli._spec import box_of, inputs_named, names_in
from bochner.cli._tables import model_table, read_like, with_rasters
from bochner.exceptions import InputError, PartError
from bochner.families import family_named
from bochner.geo import (
    Places,
    RasterGrid,
    as_crs,
    choose_placement,
    grid_like,
    grid_over,
    read_places,
    write_places,
)
from bochner.geo.kinds import present
from bochner.kernels import kernel_named
from bochner.maps.files.writers import WRITERS, write_whole
from bochner.maps.grids.bands import Band
from bochner.maps.grids.extent import make_grid
from bochner.posterior.prior import Prior
from bochner.random import generator
from bochner.resources import current


@dataclass(frozen=True)
class Drawn:
    """Draws by name, at places that may be the pixels of a grid."""

    places: Places
    columns: Mapping[str, FloatArray]

    @property
    def n_places(self) -> int:
        return len(self.places)

    @property
    def kinds(self) -> list[str]:
        """What was drawn: surface, y or both."""
        return list(dict.fromkeys(name.partition("_")[0] for name in self.columns))

    def write(self, path: Path) -> tuple[str, ...]:
        """Write a raster of bands, or the places with further columns; notes for the user."""
        if path.suffix.lower() not in WRITERS:
            places = beside(self.places, self.columns)
            return (*places.notes, *write_places(places, path))
        grid = self.places.grid
        assert grid is not None
        text = {"surface": "draw of the mean surface", "y": "draw of an observation"}
        bands = [Band(name, text[name.partition("_")[0]], "draw") for name in self.columns]
        values = np.stack([column.reshape(grid.shape) for column in self.columns.values()])
        write_whole(path, grid, bands, values, {"source": "bochner simulate"})
        return self.places.notes


def draw(request: Request) -> Drawn:
    """Draw what is asked for."""
    return _from_prior(request) if request.model is None else _from_model(request, opened(request.model))


def _from_prior(request: Request) -> Drawn:
    family = family_named(request.family or "gaussian")
    if request.dispersion is not None:
        family = family.replace(dispersion=request.dispersion)
    assert request.kernel is not None  # check() has asked for it
    kernel = kernel_named(request.kernel)
    prior = Prior(kernel, family, request.mean, request.noise_variance)
    places = _places(request)
    placement = choose_placement(places.coordinates(), places.crs, places.coords)
    for name, column in request.sizes.items():
        if column is not None and family.size_name != name:
            raise PartError(f"--{name} was given, but the prior is {family.name}, which has none; leave it out.")
    sizes = asked(places, {name: text for name, text in request.sizes.items() if text is not None})
    size = next(iter(sizes.values()), None)
    kernel.check_dim(placement.dim)
    rng = generator(request.seed, "simulate")
    with current().in_use():
        surface, y = prior.draw(placement.forward(places.coordinates()), request.n_draws, rng, size)
    parts = {"surface": surface} if request.latent else {"surface": surface, "y": y}
    told = f"lengths are in km: {placement.why}" if placement.unit else "lengths are in units of the coordinates."
    return Drawn(replace(places, notes=(*places.notes, told)), _numbered(parts))


def _from_model(request: Request, model: SpatialRegressor) -> Drawn:
    if request.at is not None:
        names = names_in(request.coords or "")
        places = read_like(model, request.at, coords=names, crs=request.crs, layer=request.layer)
    else:
        places = _places(request, model)
    inputs = inputs_named(list(request.covariate))
    places = with_rasters(places, inputs)
    wanted = Wanted(request.latent, request.sizes["trials"], request.sizes["exposure"], request.sizes["offset"])
    given, new = wanted.resolve(model, places)
    table = model_table(model, places)
    known = present(table).all(axis=1)
    if not known.any():
        raise InputError(
            f"no place of {places.source} has a value of every column of the model, {list(table.columns)}."
        )
    columns = {name: values[known] for name, values in asked(places, given).items()}
    with told_by_line(places, np.flatnonzero(known)):
        found = model.sample_y(table[known], request.n_draws, request.seed, include_noise=new, **columns)
    draws = np.full((request.n_draws, len(places)), np.nan)
    draws[:, known] = np.asarray(found).reshape(int(known.sum()), request.n_draws).T
    return Drawn(places, _numbered({"y" if new else "surface": draws}))


def _places(request: Request, model: SpatialRegressor | None = None) -> Places:
    """Places of a file, or the pixels of a grid."""
    if request.at is not None:
        coords = names_in(request.coords or "") or None
        places = read_places(request.at, layer=request.layer, coords=coords, crs=request.crs)
        return places.complete(places.coords)
    if request.like is not None:
        return _pixels(grid_like(request.like), request.like.name)
    box = None if request.bounds is None else box_of(request.bounds)
    assert request.resolution is not None
    if model is not None:
        return _pixels(make_grid(model, request.resolution, bounds=box), "the grid")
    assert box is not None
    return _pixels(grid_over(box, request.resolution, as_crs(request.crs)), "the grid")


def _pixels(grid: RasterGrid, source: str) -> Places:
    import pandas as pd

    frame = pd.DataFrame(grid.centres(), columns=["x", "y"])
    return Places(frame, ("x", "y"), grid.crs, "raster", source, grid=grid, pixels=np.arange(grid.n_pixels))


def _numbered(parts: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Columns by name and number, draw by draw."""
    n_draws = len(next(iter(parts.values())))
    return {f"{name}_{k + 1}": values[k] for k in range(n_draws) for name, values in parts.items()}
