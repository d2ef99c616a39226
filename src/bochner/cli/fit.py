"""`bochner fit`: from a file of places and measurements to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bochner.cli import _options as given


def fit(
    data: given.Data = None,
    target: given.Target = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write; required.")
    ] = None,
    coords: given.Coords = None,
    covariates: given.Covariates = None,
    covariate: given.Rasters = None,
    family: given.FamilyName = None,
    trials: given.Trials = None,
    exposure: given.Exposure = None,
    offset: given.Offset = None,
    error_sd: given.ErrorSd = None,
    groups: given.Groups = None,
    kernel: given.Kernel = None,
    features: given.Features = None,
    n_frequencies: given.Frequencies = None,
    tune: given.Tune = None,
    noise_variance: given.Noise = None,
    predict_at: given.PredictAt = None,
    crs: given.Crs = None,
    layer: given.Layer = None,
    drop_bad: given.DropBad = False,
    fix_swapped: given.FixSwapped = False,
    seed: given.Seed = None,
    resume: given.Resume = False,
    dask: given.Dask = None,
    memory_limit: given.MemoryLimit = None,
    store: given.Store = None,
    like: given.Like = None,
    jobs: given.Jobs = None,
    device: given.Device = None,
    config: given.Config = None,
    json: given.Json = False,
) -> None:
    """Learn a spatial model from a file and write it to another.

    Rows with missing values are left out, and counted by column; rows that are amiss (text for a number, more positives
    than trials) are refused, all in one message, unless --drop-bad leaves them out. The fit warns of rows that look
    swapped: --fix-swapped exchanges their coordinates, --drop-bad leaves them out. What was chosen, and why, is
    printed. Folders, large files, and any with --dask, --resume, --memory-limit or --store are read in parts.

    \b
    Examples:
      bochner fit stations.csv --target temp --covariates elevation -o temp.bochner
      bochner fit villages.csv --target positive --family binomial --trials examined \\
          --covariate elevation=dem.tif -o prevalence.bochner
      bochner fit image.tif --predict-at gaps -o image.bochner
      bochner fit pixels/ --target temp --dask local -o temp.bochner
      bochner fit --config model.toml
    """
    options = {name: value for name, value in locals().items() if name not in given.OF_A_RUN}
    from bochner.cli._files import check_model_name
    from bochner.cli._heads import check_header
    from bochner.cli._spec import Spec
    from bochner.exceptions import InputError

    spec = Spec.of(config, options)
    if spec.output is None:
        raise InputError("no output was given; name the model file to write with -o, or set output in --config.")
    spec.check_files()
    spec.check_sizes()
    check_model_name(spec.output, spec.files)
    check_header(spec)

    from bochner.cli._models import facts, fit_spec
    from bochner.cli._streams import fit_stream, streams
    from bochner.cli._terminal import note, say, say_json
    from bochner.diagnostics import remember

    if spec.like is not None or streams(spec):
        model = fit_stream(spec)
        model.save(spec.output)
        if json:
            say_json({"model": spec.output, **facts(model)})
            return
        model.check()
        say(f"{model.summary()}\n\nwritten: {spec.output}")
        return
    model, rows = fit_spec(spec)
    remember(model)
    model.save(spec.output)
    note(*rows.places.notes)
    if json:
        found = {"model": spec.output, "n_rows": len(rows.places), **facts(model), "notes": rows.places.notes}
        say_json(found)
        return
    model.check()
    say(f"{model.summary()}\n\nwritten: {spec.output}")
