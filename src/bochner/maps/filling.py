"""Filling: the gaps of an image, or of a stack of images, by the predictions of a model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bochner._version import __version__
from bochner.arrays import FloatArray
from bochner.exceptions import FallbackWarning, InputError, warn
from bochner.formats import RASTERS
from bochner.geo import RasterGrid, crs_text
from bochner.geo.cubes import cube_crs, variable_of, xarray_module
from bochner.geo.stacks import Stack, is_cube, is_lazy
from bochner.layout import Layout
from bochner.maps.files.cf import GRID_MAPPING, axis_attributes, band_attributes, file_attributes, variable_name
from bochner.maps.files.netcdf import write_dataset
from bochner.maps.files.provenance import provenance
from bochner.maps.files.writers import Place, write_whole
from bochner.maps.grids.bands import Band, make_bands, observed_values
from bochner.maps.grids.gridmap import GridMap
from bochner.maps.grids.inputs import Input
from bochner.maps.lazy_maps import lazily_filled
from bochner.maps.mappable import Mappable, map_layout, mappable
from bochner.outputs import completed, told_as_output, tried
from bochner.spelling import check_covariates

Progress = Callable[[int, int], None]
# what CF says of how numbers are stored: compressors and chunks are those of one format
STORED = "dtype scale_factor add_offset _FillValue missing_value _Unsigned units calendar grid_mapping coordinates"


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
        mean, sd = filled_images(FillImage(fitted, include_noise), stack, given)
        filled, spread = stack.like(mean), stack.like(sd, f"{name}_sd")
    spread.attrs = {**_unit(stack), "long_name": f"standard deviation of {name}"}
    if hasattr(array, "data_vars"):
        return _replaced(array, name, {name: filled, f"{name}_sd": spread})
    return (filled, spread) if return_std else filled


def _known(layout: Layout, stack: Stack, array: Any, covariates: Mapping[str, Input]) -> dict[str, Input]:
    """Covariates as given, and those of the model that are variables of the Dataset."""
    held = [name for name in layout.further if name in getattr(array, "data_vars", ())]
    return {**{name: stack.beside(array, name) for name in held if name not in covariates}, **covariates}


@dataclass(frozen=True)
class FillImage:
    """Fills one image of a stack: bands (k, rows, columns), mean and sd first; values that are there are kept."""

    model: Any
    include_noise: bool = False
    exceed: Sequence[float] = ()
    quantiles: Sequence[float] = ()

    @property
    def bands(self) -> tuple[Band, ...]:
        """What is predicted of every pixel."""
        return make_bands(self.exceed, self.quantiles, include_noise=self.include_noise)

    def __call__(
        self, stack: Stack, i: int, label: Any, grid: RasterGrid | None, covariates: Mapping[str, Input]
    ) -> FloatArray:
        image = stack.images[i]
        further = {name: _of_image(value, i, stack.images.shape) for name, value in covariates.items()}
        further |= {} if stack.along is None else {stack.along: label}
        if np.isfinite(image).all():
            return observed_values(self.bands, image)
        if grid is None:
            return _row_by_row(self, stack, i, further)
        # pixel by pixel: tiles that are mostly observed are not worth interpolating
        work = GridMap(
            self.model, grid, covariates=further, observed=image, include_noise=self.include_noise, tolerance=None,
            exceed=self.exceed, quantiles=self.quantiles,
        )  # fmt: skip
        return work.whole()


def filled_images(
    fill_image: FillImage, stack: Stack, covariates: Mapping[str, Input], progress: Progress | None = None
) -> FloatArray:
    """Bands of every image, (k, labels, rows, columns); `progress` is called with images done and their number.

    An array of covariates has the shape of an image, or that of all of them.
    """
    known, grid, filled = _checked(fill_image.model, stack, covariates), stack.grid, []
    for i, label in enumerate(stack.labels):
        filled.append(fill_image(stack, i, label, grid, known))
        if progress is not None:
            progress(i + 1, len(stack.labels))
    return np.stack(filled, axis=1)


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


def try_filled(stack: Stack, bands: Sequence[Band], path: Path, beside: Any = None) -> None:
    """Write a corner of a stack in the way of `write_filled`, and remove it: what cannot be written fails here."""
    if path.suffix.lower() in RASTERS and stack.grid is None:
        raise InputError(f"the pixels of {stack.name!r} are not evenly spaced, which GeoTIFF cannot hold; write .nc.")
    corner = replace(stack, array=stack.array.isel(dict.fromkeys(stack.array.dims, slice(0, 2))))
    cube = None if beside is None else beside.isel(dict.fromkeys(beside.dims, slice(0, 2)))
    write_filled(None, corner, bands, np.stack([corner.images] * len(bands)), path, cube, tried)


def write_filled(
    model: Mappable | None, stack: Stack, bands: Sequence[Band], values: FloatArray, path: Path, beside: Any = None,
    into: Place = completed,
) -> None:  # fmt: skip
    """Write filled images (k, labels, rows, columns): NetCDF or Zarr with the dimensions of the stack, or GeoTIFF.

    `beside` is the Dataset that the stack was read from, whose other variables and attributes are kept.
    """
    said = {} if model is None else provenance(mappable(model).fitted_)
    if path.suffix.lower() in RASTERS:
        _write_bands(said, stack, bands, values, path, into)
        return
    dataset = _dataset(said, stack, bands, values, beside)
    with into(path) as partial, told_as_output(path):
        if path.suffix.lower() == ".zarr":
            source = "" if beside is None else beside.encoding.get("source", "")
            version = 3 if (Path(source) / "zarr.json").exists() else 2
            with warnings.catch_warnings():  # of format 3, that other programs may not read them together
                warnings.filterwarnings("ignore", message="Consolidated metadata")
                dataset.to_zarr(partial, mode="w", zarr_format=version, consolidated=True)
        else:
            write_dataset(dataset, partial)


def _dataset(said: Mapping[str, str], stack: Stack, bands: Sequence[Band], values: FloatArray, beside: Any) -> Any:
    """The Dataset of a stack with a variable for each band."""
    array, text = stack.array, stack.array.attrs.get("long_name", stack.name)
    mapping = array.encoding.get("grid_mapping", array.attrs.get("grid_mapping"))
    if mapping is None and stack.crs is not None and cube_crs(array, stack.axes) is None:  # the user gave it
        array = array.rio.write_crs(crs_text(stack.crs))
        stack, mapping = replace(stack, array=array), GRID_MAPPING
    made = {}
    for band, images in zip(bands, values, strict=True):
        name = stack.name if band.kind == "mean" else f"{stack.name}_{band.name}"
        one = made[variable_name(name)] = stack.like(images)
        attrs = {**_unit(stack), **band_attributes(band), "long_name": f"{text}: {band.text}"}
        if band.kind == "mean":
            attrs = {**array.attrs, "long_name": text}
        one.attrs = {key: value for key, value in attrs.items() if key != "grid_mapping"}
        one.encoding = {"dtype": _dtype(stack), "_FillValue": np.nan, "grid_mapping": mapping}
    dataset = xarray_module().Dataset(made) if beside is None else _replaced(beside, stack.name, made)
    own = file_attributes(said, f"{text}, gaps filled")
    kept = {key: value for key, value in dataset.attrs.items() if key not in said or key == "source"}
    history = (f"{own['history']}, gaps of {stack.name} filled", kept.get("history"))
    dataset.attrs = {**own, **kept, "history": "\n".join(filter(None, history))}
    _encode(dataset)
    return _by_cf(dataset, stack)


def _replaced(cube: Any, target: str, made: Mapping[str, Any]) -> Any:
    """The Dataset with new variables for its target; others of the same names are kept as NAME_given."""
    own = {name: f"{name}_given" for name in made if name in cube.data_vars and name != target}
    if own:
        warn(f"the input has variables {list(own)} already; those are kept as {list(own.values())}.", FallbackWarning)
    return cube.drop_vars(target).rename(own).assign(made)


def _dtype(stack: Stack) -> str:
    """Single precision, unless the numbers of the file have more digits."""
    stored = stack.array.encoding.get("dtype", stack.array.dtype)
    return "float32" if np.result_type(stored, np.float32) == np.float32 else "float64"


def _encode(dataset: Any) -> None:
    """Keep of the encodings of variables what every format knows."""
    for name, one in dataset.variables.items():
        kept = {key: value for key, value in one.encoding.items() if key in STORED.split() and value is not None}
        number = one.dtype.kind in "iuf" and np.dtype(kept.get("dtype", one.dtype)).kind in "iuf"
        if not number and one.dtype.kind != "M":
            kept.pop("dtype", None)
        one.encoding = {**kept, **({"zlib": True, "complevel": 4} if number and one.ndim else {})}
        if name in dataset.coords:
            one.encoding["_FillValue"] = None if name in dataset.dims else kept.get("_FillValue")


def _by_cf(dataset: Any, stack: Stack) -> Any:
    """The dataset with what CF asks of coordinates, where they do not say it themselves."""
    if stack.grid is not None:
        for name, attributes in axis_attributes(stack.grid).items():
            dataset[name].attrs = {**attributes, **dataset[name].attrs}
    if stack.along is not None and dataset[stack.along].dtype.kind == "M":
        time = dataset[stack.along]
        time.attrs = {"standard_name": "time", "long_name": "time", "axis": "T", **time.attrs}
        units = time.encoding.get("units") or f"days since {str(time.values.min())[:10]}"
        time.encoding = {"dtype": "float64", "units": units, "_FillValue": None}
    return dataset


def _row_by_row(fill_image: FillImage, stack: Stack, i: int, further: Mapping[str, Any]) -> FloatArray:
    """Bands of one image whose pixels are not evenly spaced."""
    image, model, bands = stack.images[i], fill_image.model, fill_image.bands
    gaps = ~np.isfinite(image)
    layout = map_layout(model)
    table = stack.table(gaps[None])
    coords = layout.to_crs(table[list(stack.axes)].to_numpy(dtype=np.float64), stack.crs)
    known = {name: value[gaps] if np.shape(value) == image.shape else value for name, value in further.items()}
    rows = table.assign(**dict(zip(layout.map_axes, coords.T, strict=True)), **known)[list(layout.inputs)]
    there = np.isfinite(coords).all(axis=1) & rows.notna().all(axis=1).to_numpy()
    found = np.full((len(bands), len(rows)), np.nan)
    if there.any():
        law = model.predict_distribution(rows[there], include_noise=fill_image.include_noise)
        found[:, there] = [band.of(law) for band in bands]
    out = observed_values(bands, image)
    out[:, gaps] = found
    return out


def _write_bands(
    said: Mapping[str, str], stack: Stack, bands: Sequence[Band], values: FloatArray, path: Path, into: Place
) -> None:
    """Write a GeoTIFF with a band for each of the images, first their means."""
    grid = stack.grid
    assert grid is not None
    labels = [""] if stack.along is None else [f"_{str(label)[:19]}" for label in stack.labels]
    layers = []
    for band in bands:
        text = {"mean": f"{stack.name}, gaps filled", "sd": f"standard deviation of {stack.name}"}
        name = stack.name if band.kind == "mean" else f"{stack.name}_{band.name}"
        layers += [replace(band, name=name + one, text=text.get(band.kind, band.text)) for one in labels]
    upright = RasterGrid(grid.transform, grid.height, grid.width, grid.crs)
    told = {**said, "title": f"{stack.name}, gaps filled by bochner {__version__}"}
    write_whole(path, upright, layers, np.concatenate(values), told, dtype=_dtype(stack), into=into)


def _unit(stack: Stack) -> dict[str, Any]:
    return {key: value for key, value in stack.array.attrs.items() if key == "units"}
