"""Tiles: interpolation within what is tolerated, wherever the surface is rough."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.maps import limits
from bochner.maps.grids.tiles import Interpolation, quarters
from bochner.posterior.chebyshev import interpolation, nodes

SIDE = 200
TOLERANCE = 1e-3


def smooth(rows, cols):
    return np.column_stack([np.sin(rows / 30) * np.cos(cols / 40), 2 + np.sin((rows + cols) / 50)])


def cone(rows, cols):
    """A kink at one place, as the mean under an exponential kernel has at every row."""
    r = np.hypot(rows - 71.3, cols - 120.8)
    return np.column_stack([np.exp(-r / 80), 1 + r / 100])


def steps(rows, cols):
    """A jump along a line."""
    return np.column_stack([(cols > 100.5) + rows / 100, np.ones(len(rows))])


SURFACES = {"smooth": smooth, "cone": cone, "steps": steps}
every_surface = pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)


def errors(guess, true):
    return np.abs(guess - true).max(axis=1) / TOLERANCE


def pixels(surface, window=(0, SIDE, 0, SIDE)):
    row, col = np.meshgrid(np.arange(*window[:2]), np.arange(*window[2:]), indexing="ij")
    return surface(row.ravel().astype(float), col.ravel().astype(float)).T.reshape(2, *row.shape)


@every_surface
def test_every_pixel_is_within_the_tolerance(surface):
    """Checks in the meshes of a tile, with a safety factor, hold for all of its pixels."""
    work = Interpolation(surface, errors, 2, largest=100)
    values = work.fill((0, SIDE, 0, SIDE), np.ones((SIDE, SIDE), dtype=bool))
    assert np.abs(values - pixels(surface)).max() < TOLERANCE


def test_smooth_surface_needs_few_evaluations():
    """A hundredth of the pixels is enough for waves that are 200 pixels long."""
    work = Interpolation(smooth, errors, 2, largest=100)
    work.fill((0, SIDE, 0, SIDE), np.ones((SIDE, SIDE), dtype=bool))
    assert work.n_evaluated < 0.1 * SIDE**2
    assert work.n_interpolated == SIDE**2


def test_window_may_lie_anywhere_and_have_any_shape():
    """A long window off the origin has the values of its own pixels."""
    window = (37, 60, 11, 190)
    work = Interpolation(smooth, errors, 2, largest=60)
    values = work.fill(window, np.ones((23, 179), dtype=bool))
    assert_allclose(values, pixels(smooth, window), atol=TOLERANCE)


def test_only_wanted_pixels_are_filled():
    """Pixels that are not wanted are NaN, and tiles without any are never looked at."""
    wanted = np.zeros((SIDE, SIDE), dtype=bool)
    wanted[20:50, 30:45] = True
    wanted[190, 3] = True
    work = Interpolation(smooth, errors, 2, largest=100)
    values = work.fill((0, SIDE, 0, SIDE), wanted)
    assert np.isfinite(values[:, wanted]).all() and np.isnan(values[:, ~wanted]).all()
    assert_allclose(values[:, wanted], pixels(smooth)[:, wanted], atol=TOLERANCE)
    assert work.n_evaluated < 2_000


def test_places_without_a_value_stay_empty():
    """NaN of the surface spreads to no other pixel."""

    def half(rows, cols):
        return np.where((cols > 90)[:, None], np.nan, smooth(rows, cols))

    work = Interpolation(half, errors, 2, largest=100)
    values = work.fill((0, SIDE, 0, SIDE), np.ones((SIDE, SIDE), dtype=bool))
    assert np.isnan(values[:, :, 91:]).all()
    assert_allclose(values[:, :, :91], pixels(smooth)[:, :, :91], atol=TOLERANCE)


def test_tiles_no_larger_than_allowed_see_a_narrow_bump():
    """A bump 12 pixels wide, which a tile of 200 pixels would miss, is found by tiles of 24."""

    def bump(rows, cols):
        r2 = (rows - 130) ** 2 + (cols - 61) ** 2
        return np.column_stack([np.exp(-r2 / (2 * 12**2)), np.ones(len(rows))])

    work = Interpolation(bump, errors, 2, largest=24)
    values = work.fill((0, SIDE, 0, SIDE), np.ones((SIDE, SIDE), dtype=bool))
    assert np.abs(values - pixels(bump)).max() < TOLERANCE


def test_hopeless_sizes_are_skipped_and_tried_again():
    """White noise is evaluated pixel by pixel, at little more cost than that; a smooth part later is not."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((SIDE, SIDE))

    def rough_then_smooth(rows, cols):
        i, j = np.rint(rows).astype(int), np.rint(cols).astype(int)
        rough = rows < SIDE - 0.6
        first = np.where(rough, noise[np.clip(i, 0, SIDE - 1), np.clip(j, 0, SIDE - 1)], np.sin(rows / 50))
        return np.column_stack([first, np.ones(len(rows))])

    work = Interpolation(rough_then_smooth, errors, 2, largest=100)
    everywhere = np.ones((SIDE, SIDE), dtype=bool)
    assert_allclose(work.fill((0, SIDE, 0, SIDE), everywhere)[0], noise)
    assert work.n_evaluated < 1.4 * SIDE**2
    for start in range(1, 8):
        before = work.n_evaluated
        work.fill((start * SIDE, (start + 1) * SIDE, 0, SIDE), everywhere)
    assert work.n_evaluated - before < 0.05 * SIDE**2


@pytest.mark.parametrize("tile", [(0, 10, 0, 10), (3, 4, 0, 9), (0, 100, 5, 12), (2, 9, 1, 2)])
def test_quarters_make_up_the_tile(tile):
    """Every pixel of a tile lies in exactly one of its parts."""
    count = np.zeros((100, 100), dtype=int)
    for a, b, c, d in quarters(tile):
        count[a:b, c:d] += 1
    expected = np.zeros_like(count)
    expected[tile[0] : tile[1], tile[2] : tile[3]] = 1
    assert (count == expected).all()


def test_interpolation_is_exact_for_polynomials():
    """Six nodes carry polynomials of degree five."""
    x = np.linspace(0, 1, 50)
    for degree in range(limits.TILE_NODES):
        assert_allclose(interpolation(x, limits.TILE_NODES) @ nodes(limits.TILE_NODES) ** degree, x**degree, atol=1e-12)
