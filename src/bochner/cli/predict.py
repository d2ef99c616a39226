"""`bochner predict`: a model file and a file of places to the same places with predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bochner.cli import _options as given


def predict(
    model: given.Model,
    data: given.Places,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="OUT", help="File to write: .csv, .parquet, .gpkg, .shp, .geojson or .geoparquet."
        ),
    ],
    latent: Annotated[
        bool, typer.Option("--latent", help="Uncertainty of the mean surface instead of a new observation.")
    ] = False,
    trials: Annotated[
        str | None, typer.Option(metavar="COL|N", help="Predict counts out of these trials instead of the prevalence.")
    ] = None,
    exposure: Annotated[
        str | None, typer.Option(metavar="COL|N", help="Predict counts for this exposure instead of the rate.")
    ] = None,
    offset: Annotated[str | None, typer.Option(metavar="COL|N", help="Known part of the linear predictor.")] = None,
    covariate: given.Layers = None,
    exceed: given.Exceed = None,
    level: given.Level = 0.95,
    coords: given.Coords = None,
    crs: given.Crs = None,
    layer: given.Layer = None,
    drop_bad: given.LeaveEmpty = False,
    escape_formulas: given.EscapeFormulas = False,
    jobs: given.Jobs = None,
    device: given.Device = None,
    json: given.Json = False,
) -> None:
    """Predict at the places of a file.

    The output is the file with columns mean, sd, lower and upper added: of a new observation, or, with --latent, of
    the surface without noise. Of a prevalence, a probability or a rate they are those of the surface; --trials and
    --exposure make them those of counts. Rows that miss a coordinate or a covariate get none, and are counted.
    Rows that are amiss (text for a number, a latitude of 880, a class that no training row has) are refused, all in one
    message, unless --drop-bad leaves their predictions empty.

    \b
    Examples:
      bochner predict model.bochner places.csv -o predicted.csv
      bochner predict model.bochner villages.gpkg --trials examined -o predicted.gpkg
      bochner predict model.bochner places.csv --covariate elevation=dem.tif --exceed 0.2 -o predicted.parquet
    """
    from bochner.cli._files import check_escaping, must_be_models
    from bochner.cli._spec import inputs_named, names_in
    from bochner.formats import WRITABLE
    from bochner.outputs import check_writable

    check_escaping(escape_formulas, output)
    must_be_models(model)
    layers = inputs_named(covariate)
    check_writable(output, WRITABLE, (model, data, *layers.values()))

    from bochner.cli._models import opened
    from bochner.cli._predictions import Wanted, predicted
    from bochner.cli._tables import read_like, with_rasters
    from bochner.cli._terminal import note, say, say_json, status
    from bochner.cli._thresholds import Threshold
    from bochner.geo import write_places

    fitted = opened(model)
    limits = tuple(Threshold.of(text, fitted.family_, "--exceed") for text in exceed or ())
    wanted = Wanted(latent, trials, exposure, offset, level, limits)
    with status("predicting"):
        places = read_like(fitted, data, coords=names_in(coords or ""), crs=crs, layer=layer)
        places = with_rasters(places, layers)
        places, meaning = predicted(fitted, places, wanted, drop_bad)
    notes = (*places.notes, *write_places(places, output, escape_formulas=escape_formulas))
    note(*notes)
    if json:
        say_json({"output": output, "n_rows": len(places), "of": meaning, "notes": notes})
        return
    say(f"written: {output}, {len(places):,} rows with mean, sd, lower, upper of {meaning}")
