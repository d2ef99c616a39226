"""`bochner fit`: from a table to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def fit(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Table of places and measurements: .csv or .parquet.")],
    target: Annotated[str, typer.Option(metavar="COL", help="Column to be modelled.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.")],
    coords: Annotated[
        str | None, typer.Option(metavar="A,B", help="Coordinate columns; default lon,lat or x,y as they are found.")
    ] = None,
    covariates: Annotated[str | None, typer.Option(metavar="A,B", help="Columns that enter linearly.")] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="E.g. matern32 or matern12+matern32; its values are learned. Default: chosen by the library."
        ),
    ] = None,
    features: Annotated[str, typer.Option(help="auto, exact, lattice, quasi, orthogonal, nystroem, ...")] = "auto",
    tune: Annotated[str, typer.Option(help="evidence, likelihood or spatial-cv.")] = "evidence",
    predict_at: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Table of places to be predicted: shapes the validation blocks.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
) -> None:
    """Learn a spatial model from a table and write it to a file.

    Rows with missing values are left out, and counted. What was chosen, and why, is printed.

    \b
    Examples:
      bochner fit survey.csv --target prevalence -o model.bochner
      bochner fit stations.parquet --target temp --coords x,y --covariates elevation -o model.bochner
      bochner fit pixels.parquet --target temp --predict-at gaps.parquet -o model.bochner
    """
    from bochner.cli._work import fit_table, names_in, status
    from bochner.geo import check_writable

    check_writable(output)
    with status("learning"):
        model, notes = fit_table(
            data, target, names_in(coords), names_in(covariates), kernel, features, tune, predict_at, seed
        )
    model.save(output)
    for note in notes:
        typer.echo(note, err=True)
    typer.echo(model.summary())
    typer.echo(f"\nwritten: {output}")
