"""`bochner validate`: how well a model predicts where it has not seen data."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated, Any

import typer

from bochner.cli import _options as given


def validate(
    data: given.Data = None,
    target: given.Target = None,
    blocks: Annotated[
        list[float] | None,
        typer.Option(
            metavar="KM",
            help="Side of the blocks that are held out, in km (without a CRS: in units of the coordinates); may be "
            "given several times. Default: as wide as the gaps between the rows.",
        ),
    ] = None,
    folds: Annotated[int, typer.Option(metavar="K", min=2, help="Number of folds.")] = 5,
    score: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this score, e.g. crps; may be given several times."),
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
    dask: given.Dask = None,
    memory_limit: given.MemoryLimit = None,
    jobs: given.Jobs = None,
    device: given.Device = None,
    config: given.Config = None,
    json: given.Json = False,
) -> None:
    """Score a model on rows that are held out: one by one, in blocks, and as the places to be predicted lie.

    The options of the model are those of `bochner fit`. It is fitted once; held-out rows are predicted as if they had
    never been seen, with the kernel held. Each score is that of new observations; beside it stands how far held-out
    rows lie from the others, which should be as far as predictions must reach. Folders, large files, and any with
    --dask or --memory-limit are read in parts: each block size takes one more pass, and a sample of the rows is scored.

    \b
    Examples:
      bochner validate stations.csv --target temp --covariates elevation --blocks 50
      bochner validate --config model.toml --blocks 25 --blocks 100 --json
      bochner validate image.tif --predict-at gaps
    """
    options = {
        name: value
        for name, value in locals().items()
        if name not in ("blocks", "folds", "score") and name not in given.OF_A_RUN
    }
    from bochner.cli._heads import check_header
    from bochner.cli._spec import Spec

    spec = Spec.of(config, options)
    spec.check_files()
    spec.check_sizes()
    check_header(spec)
    from bochner.validation import get_scores

    names = list(get_scores(score)) if score else None

    from bochner.cli._models import fit_spec
    from bochner.cli._streams import fit_stream, streams
    from bochner.cli._terminal import as_table, note, say, say_json, status
    from bochner.cli._validation import held_out
    from bochner.sources import cluster_at

    with nullcontext() if spec.dask is None else cluster_at(spec.dask) as cluster:  # one for all passes
        if streams(spec):
            model, rows = fit_stream(spec, None if cluster is None else cluster.client), None
        else:
            model, rows = fit_spec(spec)
        with status("holding out"):
            tests = held_out(model, None if rows is None else rows.predict_at, blocks or [], folds, names)
    note(*(() if rows is None else rows.places.notes))
    unit = model.fitted_.layout.placement.unit
    if json:
        say_json(
            {
                "n_rows": _counted(model) if rows is None else len(rows.places),
                "unit": unit,
                "tests": [test.as_dict() for test in tests],
            }
        )
        return
    header = ["held out", "rows", f"distance ({unit})" if unit else "distance", *tests[0].scores]
    say(as_table(header, [[test.name, test.n_rows, test.distance, *test.scores.values()] for test in tests]))


def _counted(model: Any) -> int:
    """Rows of a model that were read in parts."""
    told = model.choices_.get("rows")
    return len(model.training_responses()) if told is None else int(told.value)
