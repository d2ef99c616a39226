"""Moments by non-uniform FFT, against blocks."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.features import FourierMap, NystroemMap, Rows
from bochner.frequencies import RULES, lattice_frequencies
from bochner.kernels import Matern
from bochner.moments import FourierSums, dense_moments, fourier_sums, moments_of
from bochner.moments.route import prefers_transform


def example(dim, n=700):
    rng = np.random.default_rng(dim)
    rows = Rows(rng.uniform(-0.5, 0.5, size=(n, dim)), np.column_stack([np.ones(n), rng.standard_normal(n)]))
    return rows, rng.standard_normal(n), rng.uniform(0.2, 3.0, size=n)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("name", [*RULES, "lattice"])
def test_transform_gives_the_moments_of_blocks(name, dim):
    rows, y, weight = example(dim)
    kernel = Matern(0.3, 2.0)
    if name == "lattice":
        waves = lattice_frequencies(kernel, np.ones(dim), n_frequencies=30)
    else:
        waves = RULES[name].draw(kernel, 25, dim, np.random.default_rng(0))
    blocks = dense_moments(FourierMap(waves), rows, y, weight)
    transform = fourier_sums(waves, rows, y, weight).scaled(waves.mass)
    scale = np.abs(blocks.gram).max()
    assert_allclose(transform.gram, blocks.gram, atol=1e-9 * scale)
    assert_allclose(transform.projection, blocks.projection, atol=1e-8 * scale)
    assert_allclose(
        [transform.energy, transform.weight, transform.log_weight], [blocks.energy, blocks.weight, blocks.log_weight]
    )
    assert transform.n_rows == blocks.n_rows


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_sums_of_any_chunks_add_and_serve_every_mass_and_noise(dim):
    """Sums know nothing of the kernel: one pass over the rows, in chunks, and moments of any masses."""
    rows, y, weight = example(dim)
    waves = lattice_frequencies(Matern(0.3), np.ones(dim), n_frequencies=30)
    parts = [fourier_sums(waves, rows[i], y[i], weight[i]) for i in rows.chunks(150)]
    mass = np.random.default_rng(1).uniform(0.1, 2, size=waves.n)
    found = reduce(FourierSums.__add__, parts).scaled(mass, 0.3)
    expected = dense_moments(FourierMap(replace(waves, mass=mass)), rows, y, weight / 0.3)
    scale = np.abs(expected.gram).max()
    assert_allclose(found.gram, expected.gram, atol=1e-9 * scale)
    assert_allclose(found.projection, expected.projection, atol=1e-8 * scale)
    assert_allclose([found.energy, found.log_weight], [expected.energy, expected.log_weight])


def test_chunks_make_no_difference(monkeypatch):
    rows, y, weight = example(2)
    waves = lattice_frequencies(Matern(0.3), np.ones(2), n_frequencies=30)
    whole = fourier_sums(waves, rows, y, weight).scaled(waves.mass)
    monkeypatch.setattr(import_module("bochner.moments.limits"), "CHUNK_ROWS", 100)
    parts = fourier_sums(waves, rows, y, weight).scaled(waves.mass)
    assert_allclose(parts.gram, whole.gram, atol=1e-8)
    assert_allclose(parts.projection, whole.projection, atol=1e-8)


def test_the_cheaper_way_is_taken():
    waves = RULES["quasi"].draw(Matern(0.3), 500, 2, np.random.default_rng(0))
    places = np.random.default_rng(0).uniform(size=(200_000, 2))
    assert prefers_transform(FourierMap(waves), places)
    assert not prefers_transform(FourierMap(waves), places[:1_000])
    wide = RULES["monte-carlo"].draw(Matern(0.3), 500, 5, np.random.default_rng(0))
    assert not prefers_transform(FourierMap(wide), np.zeros((10**6, 5)))
    # a rough kernel draws a few frequencies so high that the grid of a transform would fill the memory
    rough = RULES["monte-carlo"].draw(Matern(0.05, nu=0.5), 2_000, 2, np.random.default_rng(0))
    assert not prefers_transform(FourierMap(rough), places)
    rows, y, weight = example(2)
    nystroem = NystroemMap.at(Matern(0.3), rows.coords[:20])
    assert_allclose(
        moments_of(nystroem, rows, y, weight).gram, dense_moments(nystroem, rows, y, weight).gram, rtol=1e-12
    )
