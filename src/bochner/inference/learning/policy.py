"""The numbers that decide how a fit learns, each with its unit and meaning."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """Priors, and the accuracy of search and integration.

    Lengths are relative to the extent: 1.2 times the greatest distance of a row from the centroid.
    """

    range_power: float = 0.8  # the prior density of the range falls as range^-(1 + power)
    range_extent: float = 0.1  # of the extent: shorter ranges are unlikely a priori ...
    range_spacings: float = 2.0  # ... or shorter than so many median distances to the nearest row
    share_power: float = 0.65  # prior of the field's share of the variance: Beta(1, power)
    nu_sd: float = 0.75  # sd of log smoothness about smoothness 1
    nu_range: tuple[float, float] = (0.25, 4.5)  # smoothness is unlikely outside
    nu_edge: float = 0.1  # sd of log smoothness beyond these limits
    stretch_scale: float = 0.3  # log ratio of length scales: scale of its Student prior ...
    stretch_freedom: float = 4.0  # ... and its degrees of freedom
    field_rate: float = 1.0  # rate of the exponential prior of the field's sd
    noise_rate: float = 2.0  # the same of the noise's sd
    effect_rate: float = 1.0  # the same of the sd that all covariates together explain
    start_ranges: tuple[float, ...] = (0.05, 0.15, 0.5)  # of the extent
    start_shares: tuple[float, ...] = (-1.0, 2.0)  # logits of the field's share
    start_nus: tuple[float, ...] = (0.6, 1.8)
    climbs: int = 2  # climbs from the best starts
    steps: int = 60  # of a climb
    longest: float = 1.0  # step of a climb, in any entry
    climbed: float = 1e-3  # nats: a climb ends where a step promises less
    apart: float = 2.0  # sds between modes that count as two
    ruled_out: float = 6.0  # nats below the best: a mode that is left out
    widest: float = 1.5  # largest sd of a direction
    difference: float = 0.1  # step of the differences that make a Hessian
    design: float = 1.1  # radius of the design points, sds
    moved: float = 0.02  # sds: a direction that moves the surface by less stays at the mode
    probes: int = 50  # locations at which that is measured
    least_mass: float = 2e-3  # of a node that is kept


POLICY = Policy()
