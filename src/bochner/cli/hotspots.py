"""`bochner hotspots`: where it is above a threshold, with certainty, as a table or polygons."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bochner.cli import _door
from bochner.cli import _options as given


def hotspots(
    model: given.Model,
    threshold: Annotated[
        str, typer.Option(metavar="T", help="Threshold, e.g. 20% or 0.2.", callback=_door.shares("--threshold"))
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT", help="File to write: .csv, .geojson, .gpkg, .shp or .parquet."),
    ] = None,
    certainty: Annotated[
        str,
        typer.Option(
            metavar="P",
            help="Least probability of lying above it, pixel by pixel.",
            callback=_door.shares("--certainty"),
        ),
    ] = "90%",
    resolution: Annotated[
        str | None,
        typer.Option(
            metavar="5km|0.05deg|R", help="Side of a pixel; default: 200 along the longer side.", callback=_door.side
        ),
    ] = None,
    within: given.Within = None,
    areas: Annotated[
        Path | None,
        typer.Option(metavar="POLYGONS", help="Named areas, to tell where each hotspot lies.", callback=_door.polygons),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="RASTER",
            help="People per pixel, say: their number in each hotspot is told.",
            callback=_door.existing,
        ),
    ] = None,
    covariate: given.Layers = None,
    escape_formulas: given.EscapeFormulas = False,
    jobs: given.Jobs = None,
    device: given.Device = None,
    json: given.Json = False,
) -> None:
    """List connected places that are above a threshold with 90 % certainty: size, people, nearest named area.

    Without -o the list is printed; a .geojson, .gpkg or .shp has the outlines of the places too.

    \b
    Examples:
      bochner hotspots prevalence.bochner --threshold 20% --covariate elevation=dem.tif \\
          --areas districts.gpkg --weights population.tif -o hotspots.geojson
      bochner hotspots temp.bochner --threshold 30
    """
    from bochner.cli._files import check_escaping, must_be_models
    from bochner.cli._heads import check_inputs
    from bochner.cli._spec import inputs_named, share_or_number
    from bochner.formats import WRITABLE
    from bochner.outputs import check_writable

    check_escaping(escape_formulas, output)
    must_be_models(model)
    layers = inputs_named(covariate)
    if output is not None:
        check_writable(output, WRITABLE, (model, areas, weights, within, *layers.values()))
    check_inputs(model, layers)

    from bochner.cli._areas import area_rows, write_areas
    from bochner.cli._mapping import check_offset
    from bochner.cli._models import opened
    from bochner.cli._terminal import as_table, note, say, say_json, status
    from bochner.cli._thresholds import threshold_in
    from bochner.maps import hotspots as found

    fitted = opened(model)
    check_offset(fitted, {}, "hotspots")
    limit, least = threshold_in(threshold, fitted.family_), share_or_number(certainty, "--certainty")
    with status("looking"):
        places = found(
            fitted,
            limit,
            certainty=least,
            resolution=resolution,
            within=within if within is not None else areas,
            covariates=layers,
            weights_raster=weights,
            areas=areas,
        )
    if output is not None:
        note(*write_areas(places, output, escape_formulas=escape_formulas))
    if json:
        say_json({"output": output, "threshold": limit, "certainty": least, "hotspots": area_rows(places)})
        return
    if not len(places):
        say(f"no place is above {threshold} with a probability of {certainty} or more")
    else:
        rows = [list(row) for row in places.drop(columns="geometry").itertuples(index=False)]
        say(as_table([str(c) for c in places.columns if c != "geometry"], rows))
    if output is not None:
        say(f"\nwritten: {output}, {len(places):,} hotspots")
