"""`bochner predict`: a model file and a table of places to a table of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file that `bochner fit` wrote.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Table of places: .csv or .parquet.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="Table to write: .csv or .parquet.")],
    latent: Annotated[
        bool, typer.Option("--latent", help="Uncertainty of the mean surface instead of a new observation.")
    ] = False,
    level: Annotated[float, typer.Option(help="Probability that the interval should hold.")] = 0.95,
) -> None:
    """Predict at the places of a table.

    The output is the table with columns mean, sd, lower and upper added: of a new observation, or, with --latent, of
    the surface without noise.

    \b
    Examples:
      bochner predict model.bochner grid.csv -o map.csv
      bochner predict model.bochner grid.parquet -o map.parquet --latent --level 0.9
    """
    from bochner.cli._work import predict_table, status
    from bochner.geo import FORMATS, check_writable

    check_writable(output, FORMATS)
    with status("predicting"):
        n_rows = predict_table(model, data, output, latent, level)
    typer.echo(f"written: {output}, {n_rows:,} rows with mean, sd, lower, upper")
