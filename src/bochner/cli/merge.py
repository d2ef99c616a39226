"""`bochner merge`: models of different rows to one of all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bochner.cli import _door
from bochner.cli import _options as given


def merge(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="A B ...", help="Model files that `bochner fit` wrote.", callback=_door.models, is_eager=True
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="Model file to write.")],
    jobs: given.Jobs = None,
    device: given.Device = None,
    json: given.Json = False,
) -> None:
    """Add the sums of models: one model of all their rows, none of which is needed.

    The models need the same kernel, waves and columns: fit the first, the others with --like.

    \b
    Example:
      bochner fit north.parquet --target temp --features lattice --predict-at country.csv -o a.bochner
      bochner fit south.parquet --target temp --like a.bochner -o b.bochner
      bochner merge a.bochner b.bochner -o country.bochner
    """
    from bochner.cli._files import check_model_name, must_be_models
    from bochner.exceptions import InputError

    if len(models) < 2:
        raise InputError("one model was given; give at least two to be merged.")
    must_be_models(*models)
    check_model_name(output, models)

    import bochner
    from bochner.cli._models import facts, opened
    from bochner.cli._terminal import say, say_json

    model = bochner.merge(*(opened(path) for path in models))
    model.save(output)
    if json:
        say_json({"model": output, **facts(model)})
        return
    say(f"{model.summary()}\n\nwritten: {output}")
