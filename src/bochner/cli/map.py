"""`bochner map`: a model file to a raster of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bochner.cli import _door
from bochner.cli import _options as given

SMALL_MAP = 100_000  # pixels


def map(
    model: given.Model,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="OUT", help="GeoTIFF (.tif), NetCDF (.nc), .zarr; or a picture: .png, .svg, .pdf."
        ),
    ],
    resolution: Annotated[
        str | None,
        typer.Option(
            metavar="5km|0.05deg|R",
            help="Side of a pixel; a plain number is in units of the coordinates. Default: 200 along the longer side.",
            callback=_door.side,
        ),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(metavar="RASTER", help="Take the pixels of this raster.", callback=_door.existing),
    ] = None,
    within: given.Within = None,
    bounds: Annotated[
        str | None,
        typer.Option(
            metavar="W,S,E,N", help="Box of the map; default: that of the polygons or the data.", callback=_door.box
        ),
    ] = None,
    covariate: given.Layers = None,
    exceed: given.Exceed = None,
    quantile: given.Quantile = None,
    fill_only: Annotated[
        bool, typer.Option("--fill-only", help="Keep the values that the raster of --like has; fill its gaps.")
    ] = False,
    new: Annotated[
        bool, typer.Option("--new", help="Uncertainty of a new observation instead of the mean surface.")
    ] = False,
    trials: Annotated[
        str | None,
        typer.Option(metavar="N|RASTER", help="Map counts out of these trials.", callback=_door.number_or_raster),
    ] = None,
    exposure: Annotated[
        str | None,
        typer.Option(metavar="N|RASTER", help="Map counts for this exposure.", callback=_door.number_or_raster),
    ] = None,
    offset: Annotated[
        str | None,
        typer.Option(metavar="N|RASTER", help="Known part of the linear predictor.", callback=_door.number_or_raster),
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="Image of a NetCDF or Zarr stack of --like whose gaps are filled."),
    ] = None,
    crs: Annotated[
        str | None, typer.Option("--crs", metavar="EPSG:n", help="CRS of the raster of --like, if it does not say.")
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="Heading of a picture.")] = "",
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory that a window may take, e.g. 200MB.", callback=_door.size),
    ] = None,
    resume: given.Resume = False,
    dask: given.Dask = None,
    jobs: given.Jobs = None,
    device: given.Device = None,
    json: given.Json = False,
) -> None:
    """Predict at every pixel of a grid and write a raster: mean, sd, and a band for each --exceed and --quantile.

    The map keeps the CRS of the data, or that of --like. It is computed window by window, so its size is bounded by the
    disk alone, and it appears under its name only when it is complete.

    \b
    Examples:
      bochner map prevalence.bochner --resolution 2km --within country.gpkg \\
          --covariate elevation=dem.tif --exceed 0.2 -o prevalence.tif
      bochner map prevalence.bochner --covariate elevation=dem.tif --exceed 20% --title "Malaria" -o map.png
      bochner map image.bochner --like image.tif --fill-only -o filled.tif
      bochner map daily.bochner --like stack.nc --layer 2020-06-30 --fill-only --covariate time=2020-06-30 -o filled.nc
      bochner map temp.bochner --resolution 0.05deg --covariate elevation=dem.tif -o temp.nc
    """
    from bochner.cli._files import check_template, must_be_models
    from bochner.cli._heads import check_inputs
    from bochner.cli._spec import inputs_named, path_or_number
    from bochner.formats import MAPS, PICTURES
    from bochner.outputs import check_writable

    layers = inputs_named(covariate)
    check_writable(output, (*MAPS, *PICTURES), (model, like, within, trials, exposure, offset, *layers.values()))
    must_be_models(model)
    check_template(like, fill_only, layer, crs)
    check_inputs(model, layers)

    from bochner.cli._mapping import MapRequest, check_offset, draw_picture
    from bochner.cli._models import opened
    from bochner.cli._reports import response_name
    from bochner.cli._terminal import note, progress, say, say_json, status
    from bochner.cli._thresholds import thresholds_in
    from bochner.maps import map_to_file
    from bochner.maps.files.writers import writer_for

    pictured = output.suffix.lower() in PICTURES
    if not pictured:
        writer_for(output)
    fitted = opened(model)
    extra = {"trials": trials, "exposure": exposure, "offset": offset}
    options: dict[str, Any] = {name: path_or_number(text) for name, text in extra.items() if text is not None}
    check_offset(fitted, options, "map")
    request = MapRequest.of(fitted, resolution, like, within, bounds, fill_only, layer, crs)
    options |= {
        "covariates": layers,
        "exceed": thresholds_in(exceed, fitted.family_, options.get("trials")),
        "quantiles": quantile or (),
        "include_noise": new,
        "memory_limit": memory,
        **request.options,
    }
    if pictured:
        label = response_name(fitted)
        with status("drawing"):
            draw_picture(fitted, request, options, title or f"Map of {label}", label, output)
        say(f"written: {output}, a picture of {request.grid.width:,} x {request.grid.height:,} pixels of the map")
        return
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
