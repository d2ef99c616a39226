"""The numbers that decide how a fit learns, each with its unit and meaning."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """Priors, budget, and the accuracy of search, integration and judgement.

    Lengths are relative to the extent: 1.2 times the greatest distance of a row from the centroid.
    """

    # priors
    range_power: float = 0.8  # the prior density of the range falls as range^-(1 + power)
    range_extent: float = 0.1  # of the extent: shorter ranges are unlikely a priori ...
    range_spacings: float = 2.0  # ... or shorter than so many median distances to the nearest row
    column_sd: float = 1.5  # sd of the log range along a column with a unit of its own, in its extents
    share_power: float = 0.65  # prior of the field's share of the variance: Beta(1, power)
    nu_sd: float = 0.75  # sd of log smoothness about smoothness 1
    nu_range: tuple[float, float] = (0.25, 8.0)  # smoothness is unlikely outside
    nu_edge: float = 0.1  # sd of log smoothness beyond these limits
    stretch_scale: float = 0.3  # log ratio of length scales: scale of its Student prior ...
    stretch_freedom: float = 4.0  # ... and its degrees of freedom
    field_scale: float = 2.0  # scale of the half normal prior of the field's sd
    noise_rate: float = 2.0  # rate of the exponential prior of the noise's sd
    effect_rate: float = 1.0  # the same of the sd that all covariates of a block together explain
    nearer: float = 2.0  # log ratio of the ranges of a far and a near field: mean ...
    nearer_sd: float = 1.0  # ... and sd
    dispersion_sd: float = 2.0  # sd of the log dispersion of a family, about .5
    addition: float = -1.0  # log prior odds of every further field, or metric of its own
    # budget
    speed: float = 5e9  # operations a second, a fixed reference
    seconds: float = 3.0  # of the evaluations of one form, on the last rung
    draft: float = 0.5  # ... and on the first
    evaluations: int = 40  # of a form
    neighbours: tuple[int, int] = (20, 30)  # that a row is given in up to three dimensions, at least and at most
    # search
    start_ranges: tuple[float, ...] = (0.05, 0.15, 0.5)  # of the extent
    start_shares: tuple[float, ...] = (-1.0, 2.0)  # logits of the field's share
    start_nus: tuple[float, ...] = (0.6, 1.8)
    climbs: int = 2  # climbs from the best starts
    steps: int = 60  # of a climb
    climbed: float = 1e-2  # nats: a climb ends where a step promises less
    # integration
    apart: float = 2.0  # sds between modes that count as two
    ruled_out: float = 6.0  # nats below the best: a mode or form that is left out
    unlikely: float = 1.0  # nats below the best: a form that keeps to its mode
    widest: float = 1.5  # largest sd of a direction
    design: float = 1.1  # radius of the design points, sds
    moved: float = 0.1  # sds: a direction that moves the surface by less stays at the mode
    directions: int = 5  # that are integrated over, at most
    probes: int = 50  # locations at which that is measured
    least_mass: float = 2e-3  # of a node that is kept
    # judgement
    gappy: float = 0.5  # share of the prediction locations in gaps, from which forms are stacked
    calibration: tuple[float, float] = (0.7, 2.0)  # factor on variances that held-out rows may ask for


POLICY = Policy()
