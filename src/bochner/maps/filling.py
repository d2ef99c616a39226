"""Filling: the gaps of an image, or of a stack of images, by the predictions of a model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bochner._version import __version__
from bochner.arrays import FloatArray
from bochner.exceptions import InputError
from bochner.geo import RasterGrid
from bochner.geo.cubes import variable_of
from bochner.geo.stacks import Stack, is_cube, is_lazy
from bochner.layout import Layout
from bochner.maps.files.cf import axis_attributes, file_attributes, variable_name
from bochner.maps.files.netcdf import write_dataset
from bochner.maps.files.provenance import provenance
from bochner.maps.files.writers import write_whole, writer_for
from bochner.maps.grids.bands import Band
from bochner.maps.grids.gridmap import GridMap
from bochner.maps.grids.inputs import Input
from bochner.maps.lazy_maps import lazily_filled
from bochner.maps.mappable import Mappable, map_layout, mappable
from bochner.outputs import completed, told_as_output
from bochner.spelling import check_covariates


def fill(
    model: Mappable,
    array: Any,
    *,
    return_std: bool = False,
    target: str | None = None,
    crs: Any = None,
    covariates: Mapping[str, Input] | None = None,
    include_noise: bool = False,
) -> Any:
    """The gaps of an image or a stack of images filled by the mean; what was observed is kept.

    Parameters
    ----------
    model : SpatialRegressor
        Fitted; its further coordinate, time say, is the stack's further dimension, by name.
    array : DataArray or Dataset
        Over lon and lat, x and y, or with longitudes and latitudes pixel by pixel.
    return_std : bool
        Also the standard deviations, as a second DataArray; 0 where a value was observed.
    target : str, optional
        Variable of a Dataset; left out, the one that the model learned, or the only one.
    crs : CRS or code, optional
        Of an array that does not say.
    covariates : mapping of str to raster, number or array, optional
        Every other column of the model; those that are variables of a Dataset are taken from there.
    include_noise : bool
        Make the standard deviations those of a new observation.

    Returns
    -------
    DataArray, or a pair of them
        With the name, dimensions, order, coordinates and attributes of the template. Of a Dataset, a Dataset with the
        variable filled and ``<name>_sd`` beside it. Where Dask computes the values of the template, it computes those
        of the answer, too: chunk by chunk, when they are asked for.
    """
    if not is_cube(array):
        raise InputError(f"fill was given a {type(array).__name__}; needed is an xarray DataArray or Dataset.")
    fitted = mappable(model)
    own = map_layout(fitted).roles.get("target")
    if target is None and own in getattr(array, "data_vars", ()):
        target = own
    stack = Stack.of(variable_of(array, "the dataset", target, "name one: target='name'"), crs, "the array")
    given = _known(map_layout(fitted), stack, array, covariates or {})
    name = stack.name
    if is_lazy(stack.array):
        known = _checked(fitted, stack, given)
        filled, spread = lazily_filled(stack, known, FillImage(fitted, include_noise))
        spread = spread.rename(f"{name}_sd")
    else:
        mean, sd = filled_images(fitted, stack, given, include_noise)
        filled, spread = stack.like(mean), stack.like(sd, f"{name}_sd")
    spread.attrs = {**_unit(stack), "long_name": f"standard deviation of {name}"}
    if hasattr(array, "data_vars"):
        return array.assign({name: filled, f"{name}_sd": spread})
    return (filled, spread) if return_std else filled


def _known(layout: Layout, stack: Stack, array: Any, covariates: Mapping[str, Input]) -> dict[str, Input]:
    """Covariates as given, and those of the model that are variables of the Dataset."""
    held = [name for name in layout.further if name in getattr(array, "data_vars", ())]
    return {**{name: stack.beside(array, name) for name in held if name not in covariates}, **covariates}


def filled_images(
    model: Mappable, stack: Stack, covariates: Mapping[str, Input], include_noise: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Mean and sd of every image, (labels, rows, columns) each: values that are there are kept, with sd 0.

    An array of covariates has the shape of an image, or that of all of them.
    """
    regressor = mappable(model)
    covariates, fill_image = _checked(regressor, stack, covariates), FillImage(regressor, include_noise)
    grid = stack.grid
    filled = [fill_image(stack, i, label, grid, covariates) for i, label in enumerate(stack.labels)]
    mean, sd = (np.stack(images) for images in zip(*filled, strict=True))
    return mean, sd


@dataclass(frozen=True)
class FillImage:
    """Fills one image of a stack: mean and sd, (rows, columns) each; values that are there are kept, with sd 0."""

    model: Any
    include_noise: bool

    def __call__(
        self, stack: Stack, i: int, label: Any, grid: RasterGrid | None, covariates: Mapping[str, Input]
    ) -> tuple[FloatArray, FloatArray]:
        image = stack.images[i]
        further = {name: _of_image(value, i, stack.images.shape) for name, value in covariates.items()}
        further |= {} if stack.along is None else {stack.along: label}
        if np.isfinite(image).all():
            return image.copy(), np.zeros_like(image)
        if grid is None:
            return _row_by_row(self.model, stack, i, further, self.include_noise)
        # pixel by pixel: tiles that are mostly observed are not worth interpolating
        work = GridMap(
            self.model, grid, covariates=further, observed=image, include_noise=self.include_noise, tolerance=None
        )
        mean, sd = work.whole()
        return mean, sd


def _checked(model: Any, stack: Stack, covariates: Mapping[str, Input]) -> dict[str, Input]:
    """Covariates with those that the stack itself has, refused where one is missing or not known."""
    layout = map_layout(model)
    known = {**stack.single(layout.further), **covariates}
    names = set(known) | ({stack.along} if stack.along else set())
    check_covariates(layout.further, dict.fromkeys(names, 0.0))
    return known


def _of_image(value: Any, i: int, shape: tuple[int, ...]) -> Any:
    """What is known of one image, where an array has the values of all."""
    return value[i] if isinstance(value, np.ndarray) and value.shape == shape else value


def write_filled(model: Mappable, stack: Stack, mean: FloatArray, sd: FloatArray, path: str | os.PathLike[str]) -> None:
    """Write filled images and their sd: NetCDF or Zarr with the dimensions of the stack, GeoTIFF with a band each."""
    path = Path(path)
    writer_for(path)
    said = provenance(mappable(model).fitted_)
    if path.suffix.lower() in {".tif", ".tiff"}:
        _write_bands(stack, mean, sd, path, said)
        return
    name = variable_name(stack.name)
    filled, spread = stack.like(mean, name), stack.like(sd, f"{name}_sd")
    text = stack.array.attrs.get("long_name", stack.name)
    filled.attrs = {**stack.array.attrs, "long_name": text}
    spread.attrs = {**_unit(stack), "long_name": f"standard deviation of {text}"}
    dataset = filled.to_dataset().assign({f"{name}_sd": spread})
    dataset.attrs = file_attributes(said, f"{text}, gaps filled")
    dataset, encoding = _by_cf(dataset, stack)
    with completed(path) as partial, told_as_output(path):
        if path.suffix.lower() == ".zarr":
            dataset.to_zarr(partial, mode="w", zarr_format=2, consolidated=True)  # compressed by its own defaults
        else:
            write_dataset(dataset, partial, encoding)


def _by_cf(dataset: Any, stack: Stack) -> tuple[Any, dict[str, Any]]:
    """The dataset with what CF asks of coordinates, where they do not say it themselves; and how to store it."""
    if stack.grid is not None:
        for name, attributes in axis_attributes(stack.grid).items():
            dataset[name].attrs = {**attributes, **dataset[name].attrs}
    encoding: dict[str, Any] = {one: {"zlib": True, "complevel": 4, "_FillValue": np.nan} for one in dataset.data_vars}
    encoding |= {str(one): {"_FillValue": None} for one in dataset.coords}
    if stack.along is not None and dataset[stack.along].dtype.kind == "M":
        time = dataset[stack.along]
        time.attrs = {"standard_name": "time", "long_name": "time", "axis": "T", **time.attrs}
        units = time.encoding.get("units") or f"days since {str(time.values.min())[:10]}"
        encoding[stack.along] |= {"dtype": "float64", "units": units}
        time.encoding = {}
    return dataset, encoding


def _row_by_row(
    model: Any, stack: Stack, i: int, further: Mapping[str, Any], include_noise: bool
) -> tuple[FloatArray, FloatArray]:
    """Mean and sd of one image whose pixels are not evenly spaced."""
    image = stack.images[i]
    gaps = ~np.isfinite(image)
    layout = map_layout(model)
    table = stack.table(gaps[None])
    coords = layout.to_crs(table[list(stack.axes)].to_numpy(dtype=np.float64), stack.crs)
    known = {name: value[gaps] if np.shape(value) == image.shape else value for name, value in further.items()}
    rows = table.assign(**dict(zip(layout.map_axes, coords.T, strict=True)), **known)[list(layout.inputs)]
    there = np.isfinite(coords).all(axis=1) & rows.notna().all(axis=1).to_numpy()
    mean, sd = image.copy(), np.where(gaps, np.nan, 0.0)
    found = np.full((2, len(rows)), np.nan)
    if there.any():
        law = model.predict_distribution(rows[there], include_noise=include_noise)
        found[:, there] = law.mean, law.sd
    mean[gaps], sd[gaps] = found
    return mean, sd


def _write_bands(stack: Stack, mean: FloatArray, sd: FloatArray, path: Path, said: Mapping[str, str]) -> None:
    grid = stack.grid
    if grid is None:
        raise InputError(f"the pixels of {stack.name!r} are not evenly spaced, which GeoTIFF cannot hold; write .nc.")
    names = [""] if stack.along is None else [f"_{str(label)[:19]}" for label in stack.labels]
    bands = _bands(stack.name, names)
    upright = RasterGrid(grid.transform, grid.height, grid.width, grid.crs)
    title = f"{stack.name}, gaps filled by bochner {__version__}"
    write_whole(path, upright, bands, np.concatenate([mean, sd]), {**said, "title": title})


def _bands(name: str, labels: Sequence[str]) -> list[Band]:
    means = [Band(f"{name}{label}", f"{name}, gaps filled", "mean") for label in labels]
    return means + [Band(f"{name}_sd{label}", f"standard deviation of {name}", "sd") for label in labels]


def _unit(stack: Stack) -> dict[str, Any]:
    return {key: value for key, value in stack.array.attrs.items() if key == "units"}
