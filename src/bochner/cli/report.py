"""`bochner report`: a model file to one page that opens in any browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bochner.cli import _door
from bochner.cli import _options as given


def report(
    model: given.Model,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="Page to write: .html.")],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DATA",
            help="Rows to show on the map and to judge the model by; without it no row is shown.",
            callback=_door.readable,
        ),
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="T",
            help="Threshold that the map opens with, 20% or 0.2; the reader can move it.",
            callback=_door.shares("--threshold"),
        ),
    ] = None,
    areas: Annotated[
        Path | None,
        typer.Option(
            metavar="POLYGONS",
            help="Districts, say: which of them are above the threshold is told first.",
            callback=_door.polygons,
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="RASTER", help="People per pixel, say: weights of the means over areas.", callback=_door.existing
        ),
    ] = None,
    points: Annotated[int, typer.Option(metavar="N", help="Points that represent an area in a draw, about.")] = 300,
    covariate: given.Layers = None,
    within: given.Within = None,
    resolution: Annotated[
        str | None,
        typer.Option(
            metavar="5km|0.05deg|R", help="Side of a pixel; default: as fine as is quick.", callback=_door.side
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Heading of the page.")] = None,
    response: Annotated[str | None, typer.Option(metavar="TEXT", help="Name of what is mapped.")] = None,
    unit: Annotated[str, typer.Option(metavar="TEXT", help="Its unit.")] = "",
    target: Annotated[
        str | None, typer.Option(metavar="COL", help="Response in DATA; default: the column that was fitted.")
    ] = None,
    trials: Annotated[str | None, typer.Option(metavar="COL", help="Trials in DATA; default: as fitted.")] = None,
    exposure: Annotated[str | None, typer.Option(metavar="COL", help="Exposure in DATA; default: as fitted.")] = None,
    coords: given.Coords = None,
    crs: given.Crs = None,
    layer: given.Layer = None,
    jobs: given.Jobs = None,
    device: given.Device = None,
) -> None:
    """Write a model as one self-contained page: answer by areas, map, model in words, effects, calibration, scores.

    The page opens offline. It shows no observation and no place of one unless --data is given: where villages lie is
    often private. Without rasters for them, covariates are held at their means, and the page says so.

    \b
    Examples:
      bochner report temp.bochner -o report.html
      bochner report prevalence.bochner --data villages.csv --covariate elevation=dem.tif \\
          --areas districts.gpkg --weights population.tif --threshold 20% -o report.html
    """
    from bochner.cli._files import must_be_models
    from bochner.formats import PAGES
    from bochner.outputs import check_writable

    must_be_models(model)
    check_writable(output, PAGES, (model, data, areas, weights, within))

    from bochner.cli._models import opened
    from bochner.cli._reports import page_answer, page_layers, response_name, survey_of
    from bochner.cli._spec import inputs_named, names_in
    from bochner.cli._terminal import note, say, status
    from bochner.cli._thresholds import threshold_in
    from bochner.report import write_report

    fitted = opened(model)
    with status("drawing"):
        inputs = inputs_named(covariate)
        limit = None if threshold is None else threshold_in(threshold, fitted.family_)
        layers = page_layers(fitted, inputs, within or areas, resolution)
        answer = page_answer(fitted, areas, weights, inputs, limit, points, within, resolution)
        survey, notes = None, tuple[str, ...]()
        if data is not None:
            roles = {"target": target, "trials": trials, "exposure": exposure}
            survey, notes = survey_of(fitted, data, inputs, roles, names_in(coords or ""), crs, layer)
        write_report(
            fitted,
            output,
            data=survey,
            threshold=limit,
            answer=answer,
            title=title,
            response=response or response_name(fitted),
            unit=unit,
            layers=layers,
        )
    note(*notes)
    say(f"written: {output}, {output.stat().st_size / 1e6:.1f} MB; open it in a browser")
