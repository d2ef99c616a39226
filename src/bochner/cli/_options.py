"""Options that several commands share: each is described once. Light: imported for `--help`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bochner import spelling
from bochner.cli import _door

# Arguments are eager: what comes first on the line is told first; typer would read options before them.
FORMATS = "CSV, Excel, Parquet, GeoPackage, shapefile, GeoJSON, GeoTIFF, NetCDF or Zarr"

Model = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="Model file that `bochner fit` wrote.", callback=_door.models, is_eager=True),
]
Places = Annotated[
    Path, typer.Argument(metavar="DATA", help=f"Places: {FORMATS}.", callback=_door.readable, is_eager=True)
]
Data = Annotated[
    Path | None,
    typer.Argument(metavar="DATA", help=f"Places and measurements: {FORMATS}.", callback=_door.readable, is_eager=True),
]

# ------------------------------------------------------------------------- what is modelled
Target = Annotated[
    str | None, typer.Option(metavar="COL", help="Column to be modelled; may be left out for a raster of one band.")
]
Coords = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Coordinate columns; default lon,lat or x,y as they are found. lon,lat,date are a place and a time, "
        "geometry,date those of a vector file.",
    ),
]
Covariates = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Columns with an effect beside the field: a line, or a curve where it bends."),
]
Rasters = Annotated[
    list[str] | None,
    typer.Option(
        "--covariate",
        metavar="NAME=RASTER",
        help="Covariate read from a raster (GeoTIFF, NetCDF, .zarr) at every place; may be given several times.",
        callback=_door.rasters,
    ),
]
Layers = Annotated[
    list[str] | None,
    typer.Option(
        "--covariate",
        metavar="NAME=RASTER",
        help="Covariate of the model: a raster (GeoTIFF, NetCDF, .zarr), a number, one of its classes, or the date of "
        "a map in time (date=2024-04-01); may be given several times.",
        callback=_door.layers,
    ),
]
FamilyName = Annotated[
    str | None,
    typer.Option(
        "--family",
        metavar="NAME",
        help="gaussian (default), binomial, bernoulli, poisson, negative-binomial, gamma or student.",
        callback=_door.spelt(spelling.check_family),
    ),
]
Trials = Annotated[str | None, typer.Option(metavar="COL", help="Number of trials of each row, for binomial.")]
Exposure = Annotated[str | None, typer.Option(metavar="COL", help="Exposure of each row, for counts.")]
Offset = Annotated[str | None, typer.Option(metavar="COL", help="Known part of the linear predictor.")]
ErrorSd = Annotated[str | None, typer.Option(metavar="COL", help="Known standard error of each row.")]
Groups = Annotated[
    str | None,
    typer.Option(metavar="COL", help="Stations or households: rows of one are held out together, as new ones will be."),
]

# ------------------------------------------------------------------------- how it is fitted
Kernel = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="E.g. matern32 or matern12+matern32; its values are learned. Default: chosen by the library.",
        callback=_door.spelt(spelling.check_kernel),
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="auto (default), exact, nearest, conjugate-gradients, lattice, quasi, orthogonal, structured, "
        "monte-carlo, nystroem, leverage, learned or nonstationary.",
        callback=_door.spelt(spelling.check_features),
    ),
]
Frequencies = Annotated[
    int | None, typer.Option("--n-frequencies", metavar="M", help="Number of waves or landmarks; default: as needed.")
]
Tune = Annotated[
    str | None,
    typer.Option(
        metavar="HOW",
        help="evidence (default), likelihood, spatial-cv, or none to learn nothing.",
        callback=_door.spelt(spelling.check_criterion),
    ),
]
Noise = Annotated[
    float | None, typer.Option("--noise-variance", metavar="V", help="Keep the noise variance at V; default: learned.")
]
PredictAt = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Places to be predicted; they shape what is held out when a kernel is chosen. The word gaps stands for "
        "the pixels of a raster without a value.",
        callback=_door.gaps_or_existing,
    ),
]
DropBad = Annotated[
    bool,
    typer.Option(
        "--drop-bad",
        help="Leave out rows that are amiss, and name them, instead of refusing the file; rows that look swapped, too.",
    ),
]
FixSwapped = Annotated[
    bool, typer.Option("--fix-swapped", help="Exchange the coordinates of rows that look swapped, and name them.")
]
LeaveEmpty = Annotated[
    bool,
    typer.Option(
        "--drop-bad",
        help="Give rows that are amiss no prediction, and name them, instead of refusing the file.",
    ),
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Seed of everything random; default 0.")]

# ----------------------------------------------------------------------------- files
Crs = Annotated[
    str | None, typer.Option("--crs", metavar="EPSG:n", help="CRS of the coordinates, for a file that does not say.")
]
Layer = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Layer of a GeoPackage, or a label along the time of a NetCDF or Zarr."),
]
Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="TOML file with any of these options; those on the command line go first.",
        callback=_door.existing,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
EscapeFormulas = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="In a .csv, put an apostrophe before text that a spreadsheet would run as a formula: =, +, -, @, tab.",
    ),
]
Level = Annotated[
    float, typer.Option(metavar="P", help="Probability that the interval should hold.", callback=_door.level)
]
Within = Annotated[
    Path | None, typer.Option(metavar="POLYGONS", help="Polygons that the map is cut to.", callback=_door.polygons)
]
Exceed = Annotated[
    list[str] | None,
    typer.Option(
        metavar="T",
        help="Threshold, 0.2 or 20%, that is exceeded; may be given several times.",
        callback=_door.shares("--exceed"),
    ),
]
Quantile = Annotated[
    list[float] | None,
    typer.Option(metavar="P", help="Probability whose quantile is wanted; may be given several times."),
]

# ------------------------------------------------------------------- more rows than memory
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on from where an earlier run of the same command was stopped.")
]
Dask = Annotated[
    str | None,
    typer.Option(metavar="local|ADDRESS", help="Compute on Dask: this machine's cores, or a scheduler's."),
]
MemoryLimit = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Memory that the fit may take, e.g. 2GB.", callback=_door.size)
]
Store = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Sort the rows by place into this folder, for fields too rough for waves; the model then answers from it.",
    ),
]
Like = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL",
        help="Take kernel, waves and columns of this model, so that the two can be merged.",
        callback=_door.models,
    ),
]

OF_A_RUN = ("config", "json", "jobs", "device")  # what says nothing of a model

# ----------------------------------------------------------------------------- the machine
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", help="Threads of everything; default: one per core.", callback=_door.jobs),
]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="auto|cpu|cuda",
        help="Where large sums and factors are computed; auto (default) takes a CUDA device where it pays.",
        callback=_door.device,
    ),
]
