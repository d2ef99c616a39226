"""`bochner fill`: an image, or a stack of images, with its gaps filled."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bochner.cli import _door
from bochner.cli import _options as given


def fill(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="STACK",
            help="Image or stack with gaps: NetCDF (.nc), .zarr or GeoTIFF (.tif).",
            callback=_door.image,
            is_eager=True,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="OUT", help="Image or stack to write, in the same formats."),
    ],
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="Variable to fill; may be left out where one alone has gaps.")
    ] = None,
    layer: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Fill this image of a stack alone, e.g. 2020-06-30.")
    ] = None,
    kernel: given.Kernel = None,
    features: given.Features = None,
    noise_variance: given.Noise = None,
    exceed: given.Exceed = None,
    quantile: given.Quantile = None,
    new: Annotated[
        bool, typer.Option("--new", help="Standard deviations of a new observation instead of the mean surface.")
    ] = False,
    crs: given.Crs = None,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="MODEL", help="Also write the model that was learned.")
    ] = None,
    seed: given.Seed = None,
    jobs: given.Jobs = None,
    device: given.Device = None,
    json: given.Json = False,
) -> None:
    """Learn an image, or images one after the other, and fill what is missing; what was observed is kept.

    A stack (time, lat, lon) is learned in space and time together. The output has the variable under its name, filled,
    its standard deviations as NAME_sd, 0 where a value was observed, and a variable for each --exceed and --quantile.
    Dimensions, CRS, other variables and the title are those of the input. Numbers are in single precision, unless those
    of the input are in double. Nothing is learned before a small part has been written on trial.

    \b
    Examples:
      bochner fill sst.nc -o filled.nc
      bochner fill modis.nc --target LST_Day --layer 2020-06-30 -o filled.nc
      bochner fill modis.nc --target LST_Day --exceed 300 --quantile 0.05 --quantile 0.95 -o filled.nc
      bochner fill image.tif -o filled.tif
    """
    from bochner.cli._files import check_model_name
    from bochner.formats import MAPS, RASTERS
    from bochner.outputs import check_writable

    check_writable(output, MAPS, (data,))
    if model is not None:
        check_model_name(model, [data])

    import numpy as np

    from bochner import SpatialRegressor
    from bochner.cli._stacks import opened_beside, read_stack
    from bochner.cli._terminal import note, progress, say, say_json, status
    from bochner.cli._thresholds import thresholds_in
    from bochner.exceptions import InputError
    from bochner.families import family_named
    from bochner.maps.files.cf import variable_name
    from bochner.maps.files.writers import writer_for
    from bochner.maps.filling import FillImage, filled_images, try_filled, write_filled

    writer_for(output)
    limits = thresholds_in(exceed, family_named("gaussian"))
    stack = read_stack(data, target, layer, crs)
    if np.isfinite(stack.images).all():
        raise InputError(
            f"{stack.name!r} of {data.name} has a value in every pixel, so there is nothing to fill, and nothing is "
            f"written. If gaps hold a number such as -9999, declare it as the nodata (_FillValue) of the file."
        )
    regressor = SpatialRegressor(
        kernel,
        features=features or "auto",
        noise_variance=noise_variance,
        random_state=seed or 0,
        crs=None if stack.crs is None else stack.crs.to_wkt(),
    )
    fill_image = FillImage(regressor, new, limits, quantile or ())
    with opened_beside(data, stack, layer) as cube:
        try_filled(stack, fill_image.bands, output, cube)
    with status("learning"):
        regressor.fit(stack.array)
    if model is not None:
        regressor.save(model)
    with progress("filling") as update, opened_beside(data, stack, layer) as cube:
        values = filled_images(fill_image, stack, {}, update)
        write_filled(regressor, stack, fill_image.bands, values, output, cube)
    n_gaps, dims = int((values[1] > 0).sum()), dict(stack.array.sizes)
    note(*(f"{name}: {choice}" for name, choice in regressor.choices_.items() if name in ("kernel", "time", "places")))
    if json:
        say_json({"output": output, "variable": stack.name, "sizes": dims, "filled": n_gaps, "pixels": values[0].size})
        return
    sizes = " x ".join(f"{size:,} {name}" for name, size in dims.items())
    in_file = str if output.suffix.lower() in RASTERS else variable_name
    names = ", ".join(in_file(f"{stack.name}_{band.name}") for band in fill_image.bands[1:])
    say(f"written: {output}, {stack.name} ({sizes}) with {n_gaps:,} of {values[0].size:,} pixels filled, and {names}")
