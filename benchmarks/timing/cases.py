"""Cases: every function that yields rows, in the order of the table."""

from __future__ import annotations

from .defaults import (
    around_a_thousand,
    around_three_thousand,
    fits_side_by_side,
    maps_and_districts,
    small_counts,
    small_families,
    small_stretched,
    small_weak,
    thousands_of_counts,
)
from .devices import on_a_device
from .models import exact_process, large_field, ordinary_kriging, satellite, small_fits
from .neighbours import many_places, small_systems, vecchia_likelihood
from .waves import dense_blocks, dense_features, lattice_transforms, transformed_sums, wave_sd

CASES = (
    dense_blocks,
    transformed_sums,
    wave_sd,
    lattice_transforms,
    vecchia_likelihood,
    small_systems,
    many_places,
    dense_features,
    small_fits,
    small_stretched,
    small_weak,
    small_counts,
    small_families,
    thousands_of_counts,
    fits_side_by_side,
    around_a_thousand,
    around_three_thousand,
    exact_process,
    maps_and_districts,
    large_field,
    satellite,
    ordinary_kriging,
    on_a_device,
)
