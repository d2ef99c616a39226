"""Validation: is the map right, and does it know how wrong it may be?

Two things are needed to answer: rows that the model has not seen, and a score.

**Splitters** choose the rows. Rows near each other resemble each other, so a random split tests a spatial model
on rows whose neighbours it was trained on, and flatters it. These splitters hold out rows with their surroundings; they
follow scikit-learn's protocol and go wherever it takes a ``cv``.

=========================  ==================================================================================
`BlockKFold`               whole squares of the map at a time; `describe` tells their size
`BufferedBlockKFold`       the same, with a strip around the squares that is not trained on either
`BufferedLeaveOneOut`      one row at a time, without its neighbours
`GapBlocks`                rows that lie as the places to be predicted do: in gaps of the same shapes
`blocks_of`                the block that each row lies in, for groupings of one's own
`gap_size`                 side of a block as wide as the gaps between the rows
=========================  ==================================================================================

Which one? The one whose test rows are as far from training rows as the places to be predicted are from the
data. If you have those places, `GapBlocks` sees to it, and its ``describe`` compares the two distances. If you do
not, take `BlockKFold` with blocks as large as the gaps that the map must bridge.

**Scores** compare observations with predictions; all are means over rows and take a ``sample_weight``.

======================================  =============================  ======================================
`rmse`, `mae`                           unit of y, lower is better     the mean alone
`bias`                                  unit of y, best at 0           too high (> 0) or too low (< 0)
`crps`, `crps_sample`, `crps_mixture`   unit of y, lower is better     the whole distribution, robustly
`log_score`                             nats, HIGHER is better         the whole distribution, tails included
`interval_score`                        unit of y, lower is better     width of an interval and its misses
`coverage`                              share, best at the level       whether intervals hold what they promise
`brier`                                 0 to 1, lower is better        probabilities of yes or no
`pit`                                   one value per row              calibration: uniform when it is right
======================================  =============================  ======================================

**Tables** say where calibration fails: `pit_histogram` and `coverage_table` for whole distributions, counts included,
`reliability` for prevalences, rates and means, and `probability_table` for probabilities, with intervals.

`SCORES` holds those of a `Prediction` by name (of a whole `Law` where it has one, else of a Gaussian), with labels and
meanings; `scoring.register` adds one, and `get_scores` looks names up:

>>> import numpy as np
>>> y = np.array([1.0, 2.0, 4.0])
>>> prediction = Prediction.gaussian(mean=[1.5, 2.0, 3.0], sd=1.0)
>>> {name: round(score(y, prediction), 3) for name, score in get_scores(["rmse", "crps", "coverage"]).items()}
{'rmse': 0.645, 'crps': 0.389, 'coverage': 1.0}

With scikit-learn:

>>> from sklearn.linear_model import Ridge
>>> from sklearn.model_selection import cross_val_score
>>> X = np.random.default_rng(0).uniform(size=(500, 2))
>>> cross_val_score(Ridge(), X, X.sum(axis=1), cv=BlockKFold(5, block_size=0.25)).shape
(5,)
"""

from bochner.validation.blocks import BlockKFold, BlockSummary, BufferedBlockKFold, blocks_of, gap_size
from bochner.validation.calibration import PitHistogram, Reliability, pit_histogram, reliability
from bochner.validation.gaps import GapBlocks, GapSummary
from bochner.validation.probabilities import ProbabilityTable, probability_table
from bochner.validation.scores import (
    bias,
    brier,
    coverage,
    crps,
    crps_mixture,
    crps_sample,
    interval_score,
    log_score,
    mae,
    pit,
    rmse,
)
from bochner.validation.scoring import SCORES, Law, Prediction, Score, ScoreFunction, get_scores, register_score
from bochner.validation.splitters import BufferedLeaveOneOut, SpatialSplitter, SplitSummary
from bochner.validation.transforms import CoverageTable, coverage_table, pit_draw

__all__ = [
    "SCORES",
    "BlockKFold",
    "BlockSummary",
    "BufferedBlockKFold",
    "BufferedLeaveOneOut",
    "CoverageTable",
    "GapBlocks",
    "GapSummary",
    "Law",
    "PitHistogram",
    "Prediction",
    "ProbabilityTable",
    "Reliability",
    "Score",
    "ScoreFunction",
    "SpatialSplitter",
    "SplitSummary",
    "bias",
    "blocks_of",
    "brier",
    "coverage",
    "coverage_table",
    "crps",
    "crps_mixture",
    "crps_sample",
    "gap_size",
    "get_scores",
    "interval_score",
    "log_score",
    "mae",
    "pit",
    "pit_draw",
    "pit_histogram",
    "probability_table",
    "register_score",
    "reliability",
    "rmse",
]
