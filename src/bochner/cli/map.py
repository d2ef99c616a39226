"""`bochner map`: a model file to a raster of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bochner.cli import _options as given

SMALL_MAP = 100_000  # pixels


def map(
    model: given.Model,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="OUT", help="Raster to write: GeoTIFF (.tif), NetCDF (.nc) or .zarr."),
    ],
    resolution: Annotated[
        str | None,
        typer.Option(
            metavar="5km|0.05deg|R", help="Side of a pixel; a plain number is in units of the data's coordinates."
        ),
    ] = None,
    like: Annotated[Path | None, typer.Option(metavar="RASTER", help="Take the pixels of this raster.")] = None,
    within: given.Within = None,
    bounds: Annotated[
        str | None, typer.Option(metavar="W,S,E,N", help="Box of the map; default: that of the polygons or the data.")
    ] = None,
    covariate: given.Layers = None,
    exceed: given.Exceed = None,
    quantile: Annotated[
        list[float] | None,
        typer.Option(metavar="P", help="Probability whose quantile is wanted; may be given several times."),
    ] = None,
    fill_only: Annotated[
        bool, typer.Option("--fill-only", help="Keep the values that the raster of --like has; fill its gaps.")
    ] = False,
    new: Annotated[
        bool, typer.Option("--new", help="Uncertainty of a new observation instead of the mean surface.")
    ] = False,
    trials: Annotated[str | None, typer.Option(metavar="N|RASTER", help="Map counts out of these trials.")] = None,
    exposure: Annotated[str | None, typer.Option(metavar="N|RASTER", help="Map counts for this exposure.")] = None,
    offset: Annotated[str | None, typer.Option(metavar="N|RASTER", help="Known part of the linear predictor.")] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory that a window may take, e.g. 200MB.")
    ] = None,
    resume: given.Resume = False,
    dask: given.Dask = None,
    json: given.Json = False,
) -> None:
    """Predict at every pixel of a grid and write a raster: mean, sd, and a band for each --exceed and --quantile.

    The map keeps the CRS of the data, or that of --like. It is computed window by window, so its size is bounded by the
    disk alone, and it appears under its name only when it is complete.

    \b
    Examples:
      bochner map prevalence.bochner --resolution 2km --within country.gpkg \\
          --covariate elevation=dem.tif --exceed 0.2 -o prevalence.tif
      bochner map image.bochner --like image.tif --fill-only -o filled.tif
      bochner map temp.bochner --resolution 0.05deg --covariate elevation=dem.tif -o temp.nc
    """
    from bochner.cli._mapping import MapRequest, check_offset
    from bochner.cli._models import opened
    from bochner.cli._spec import inputs_named, path_or_number
    from bochner.cli._terminal import note, progress, say, say_json
    from bochner.geo import check_writable
    from bochner.maps import map_to_file
    from bochner.maps.files.writers import writer_for

    layers = inputs_named(covariate)
    writer_for(output)
    check_writable(output, inputs=(model, like, within, trials, exposure, offset, *layers.values()))
    fitted = opened(model)
    extra = {"trials": trials, "exposure": exposure, "offset": offset}
    options: dict[str, Any] = {name: path_or_number(text) for name, text in extra.items() if text is not None}
    check_offset(fitted, options, "map")
    request = MapRequest.of(fitted, resolution, like, within, bounds, fill_only)
    options |= {
        "covariates": layers,
        "exceed": exceed or (),
        "quantiles": quantile or (),
        "include_noise": new,
        "memory_limit": memory,
        **request.options,
    }
    if request.grid.n_pixels > SMALL_MAP:  # the trial of a small map would take as long as the map
        note(*request.forecast(options, output))
    with progress("mapping") as update:
        report = map_to_file(fitted, request.grid, output, progress=update, resume=resume, dask=dask, **options)
    if json:
        say_json(
            {
                "output": output,
                "bands": report.bands,
                "height": report.grid.height,
                "width": report.grid.width,
                "transform": report.grid.transform,
                "crs": request.crs,
                "seconds": report.seconds,
                "pixels": vars(report.tally),
            }
        )
        return
    say(f"written: {output}, {str(report).partition(': ')[2]}")
