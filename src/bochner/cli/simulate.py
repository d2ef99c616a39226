"""`bochner simulate`: draws from a prior, or from a fitted model, at places or on a grid."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bochner import spelling
from bochner.cli import _door
from bochner.cli import _options as given


def simulate(
    model: Annotated[
        Path | None,
        typer.Argument(
            metavar="[MODEL]",
            help="Model file to draw from; without it, a prior is drawn from.",
            callback=_door.models,
            is_eager=True,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="OUT", help="File to write: a table or points; of a grid also .tif, .nc or .zarr."
        ),
    ] = None,
    at: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw at the places of this file.", callback=_door.readable)
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(metavar="RASTER", help="Draw at the pixels of this raster.", callback=_door.existing),
    ] = None,
    bounds: Annotated[
        str | None, typer.Option(metavar="W,S,E,N", help="Draw on a grid over this box ...", callback=_door.box)
    ] = None,
    resolution: Annotated[
        str | None,
        typer.Option(metavar="5km|0.05deg|R", help="... with pixels of this size.", callback=_door.side),
    ] = None,
    draws: Annotated[int, typer.Option("--draws", "-n", metavar="N", min=1, help="Number of draws.")] = 1,
    kernel: Annotated[
        str | None,
        typer.Option(
            metavar="KERNEL",
            help="Of the prior, with its values: 'matern32(length_scale=50, variance=1)', lengths in km.",
            callback=_door.spelt(spelling.check_kernel),
        ),
    ] = None,
    mean: Annotated[float, typer.Option(metavar="M", help="Of the prior, on the scale of the link.")] = 0.0,
    noise_variance: Annotated[float, typer.Option(metavar="V", help="Of the prior.")] = 0.0,
    family: given.FamilyName = None,
    dispersion: Annotated[
        float | None, typer.Option(metavar="D", help="Of the prior, for negative-binomial and gamma.")
    ] = None,
    trials: Annotated[str | None, typer.Option(metavar="COL|N", help="Number of trials, for binomial.")] = None,
    exposure: Annotated[str | None, typer.Option(metavar="COL|N", help="Exposure, for counts.")] = None,
    offset: Annotated[str | None, typer.Option(metavar="COL|N", help="Known part of a model's predictor.")] = None,
    covariate: given.Layers = None,
    latent: Annotated[bool, typer.Option("--latent", help="Draw the mean surface alone, no observations.")] = False,
    coords: given.Coords = None,
    crs: given.Crs = None,
    layer: given.Layer = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the draws.")] = 0,
    jobs: given.Jobs = None,
    device: given.Device = None,
) -> None:
    """Draw from a prior, to plan a survey or to test a method, or from a fitted model, jointly at all places.

    The output has columns (bands of a raster) surface_1, surface_2, ... of the mean surface, and y_1, y_2, ... of
    observations of it. A fitted model gives one of the two: observations, or with --latent the surface; a prior gives
    both. Distances are in km where the CRS is known.

    \b
    Examples:
      bochner simulate --kernel "matern32(length_scale=50, variance=1)" --mean -1 --family binomial --trials 50 \\
          --at villages.csv -n 10 -o surveys.csv
      bochner simulate --kernel "matern12(length_scale=0.3)" --bounds 0,0,2,2 --resolution 0.05 -o field.tif
      bochner simulate prevalence.bochner --at villages.csv --latent -n 100 -o draws.parquet
    """
    from bochner.cli._files import must_be_models
    from bochner.cli._request import Request
    from bochner.exceptions import InputError

    if output is None:
        raise InputError("no output was given; name the file to write with -o.")
    must_be_models(model)
    request = Request(
        model=model,
        at=at,
        like=like,
        bounds=bounds,
        resolution=resolution,
        n_draws=draws,
        kernel=kernel,
        mean=mean,
        noise_variance=noise_variance,
        family=family,
        dispersion=dispersion,
        sizes={"trials": trials, "exposure": exposure, "offset": offset},
        covariate=covariate or [],
        latent=latent,
        coords=coords,
        crs=crs,
        layer=layer,
        seed=seed,
    )
    request.check(output)

    from bochner.cli._draws import Drawn, draw
    from bochner.cli._terminal import note, say, status
    from bochner.maps.files.writers import WRITERS, writer_for

    if output.suffix.lower() in WRITERS:
        writer_for(output)
    with status("drawing"):
        drawn: Drawn = draw(request)
        notes = drawn.write(output)
    note(*notes)
    say(f"written: {output}, {drawn.n_places:,} places with {', '.join(drawn.kinds)} of {draws:,} draw(s)")
