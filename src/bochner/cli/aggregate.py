"""`bochner aggregate`: a model file and polygons to means over the polygons, with their uncertainty."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bochner.cli import _door
from bochner.cli import _options as given


def aggregate(
    model: given.Model,
    areas: Annotated[
        Path,
        typer.Option(metavar="POLYGONS", help="Areas: .gpkg, .shp, .geojson or .geoparquet.", callback=_door.polygons),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="OUT", help="Table or polygons to write: .csv, .gpkg, .geojson, ..."),
    ],
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="RASTER",
            help="Weights of the mean, e.g. people per pixel; default: every km² counts.",
            callback=_door.existing,
        ),
    ] = None,
    covariate: given.Layers = None,
    exceed: given.Exceed = None,
    level: given.Level = 0.95,
    draws: Annotated[int, typer.Option(metavar="N", help="Joint draws of the surface.")] = 1_000,
    points: Annotated[int, typer.Option(metavar="N", help="Points that represent an area in a draw, about.")] = 300,
    layer: Annotated[str | None, typer.Option(metavar="NAME", help="Layer of the polygons.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the draws.")] = 0,
    escape_formulas: given.EscapeFormulas = False,
    jobs: given.Jobs = None,
    device: given.Device = None,
    json: given.Json = False,
) -> None:
    """Average the surface over areas, with sd, interval and the probability of exceeding thresholds.

    The uncertainty comes from joint draws: neighbouring places go up and down together, and so an area is less certain
    than its pixels would suggest one by one. With --weights also totals, such as the number of people affected. The
    column no_data marks areas so far from the data that only the trend and the prior are left; rows counts the rows
    inside, where the model holds their places (it does up to some 3,000).

    \b
    Examples:
      bochner aggregate prevalence.bochner --areas districts.gpkg --weights population.tif \\
          --covariate elevation=dem.tif --exceed 0.2 -o districts.csv
      bochner aggregate temp.bochner --areas regions.geojson -o regions.gpkg
    """
    from bochner.cli._files import check_escaping, must_be_models
    from bochner.cli._heads import check_inputs
    from bochner.cli._spec import inputs_named
    from bochner.formats import WRITABLE
    from bochner.outputs import check_writable

    check_escaping(escape_formulas, output)
    must_be_models(model)
    layers = inputs_named(covariate)
    check_writable(output, WRITABLE, (model, areas, weights, *layers.values()))
    check_inputs(model, layers)

    from bochner.cli._areas import area_rows, area_table, write_areas
    from bochner.cli._mapping import check_offset
    from bochner.cli._models import opened
    from bochner.cli._terminal import note, progress, say, say_json
    from bochner.cli._thresholds import thresholds_in
    from bochner.geo import read_areas
    from bochner.maps import aggregate as aggregated

    fitted = opened(model)
    check_offset(fitted, {}, "aggregate")
    limits = thresholds_in(exceed, fitted.family_)
    polygons = read_areas(areas, layer=layer)
    with progress("aggregating") as update:
        means = aggregated(
            fitted,
            polygons,
            weights_raster=weights,
            covariates=layers,
            exceed=limits,
            level=level,
            n_draws=draws,
            n_points=points,
            random_state=seed,
            progress=update,
        )
    note(*write_areas(means, output, escape_formulas=escape_formulas))
    if json:
        say_json({"output": output, "areas": area_rows(means)})
        return
    say(f"{area_table(means)}\n\nwritten: {output}, {len(means):,} areas")
