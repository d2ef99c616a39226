"""What a device computes is what the processor computes; here PyTorch's processor stands for a CUDA device."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bochner
from bochner import SpatialRegressor
from bochner.device import accelerator, device_for, device_throughout, named_device
from bochner.exceptions import InputError, MemoryLimitError, MissingExtraError
from bochner.features import FourierMap, Rows
from bochner.frequencies import Frequencies, lattice_frequencies
from bochner.inference.schemes.ascent import Evidence
from bochner.kernels import Matern
from bochner.moments.dense_sums import dense_moments
from bochner.moments.fourier_sums import fourier_sums
from bochner.neighbours import Vecchia
from bochner.neighbours.cells import CellKriging
from bochner.nufft.backends import obstacle
from bochner.resources import Resources
from bochner.solvers import Primal
from tests.inference.test_learnable import counts, waves
from tests.laws.registry_models import observe


@pytest.fixture
def stand_in(monkeypatch):
    """PyTorch's processor in the place of a CUDA device, for work of any size."""
    pytest.importorskip("torch")
    monkeypatch.setenv(accelerator.STAND_IN, "cpu")
    monkeypatch.setattr("bochner.device.limits.LEAST_WORK", 0.0)
    known = (accelerator._found, accelerator._seems_there, obstacle)
    for each in known:
        each.cache_clear()
    yield named_device("cuda")
    for each in known:
        each.cache_clear()


def _rows(dim, n=301, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, dim))
    return x, Rows(x, np.column_stack([np.ones(n), 50 * x[:, 0]])), 3 + rng.normal(size=n), rng.uniform(0.1, 2, n)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-12), (np.float32, 2e-7)])
def test_moments_of_waves(stand_in, dim, dtype, error):
    """Weights, a trend and places beyond the box: the sums are those of blocks on the processor."""
    from bochner.moments.device_sums import device_moments

    _, rows, y, weight = _rows(dim)
    waves = Frequencies(np.random.default_rng(1).normal(size=(21, dim)) * 4, np.full(21, 0.1))
    box = (np.full(dim, 0.05), np.ones(dim))
    expected = dense_moments(FourierMap(waves, np.float64, 0.0, box), rows, y, weight)
    found = device_moments(stand_in, FourierMap(waves, dtype, 0.0, box), rows, y, weight)
    # bytes err by the unit, not by the column
    size = np.maximum(np.sqrt(np.diag(expected.gram)), np.sqrt(0.1 * weight.sum()))
    assert_allclose(found.gram / np.outer(size, size), expected.gram / np.outer(size, size), atol=error)
    assert_allclose(found.projection / size, expected.projection / size, atol=error * np.sqrt(expected.energy))
    assert found.n_rows == expected.n_rows
    assert_allclose(found.log_weight, expected.log_weight)


def test_lattice_system_is_assembled_and_factored(stand_in):
    """Evidence, coefficients, variances and draws of a lattice are those of the processor; so is what a file holds."""
    _, rows, y, weight = _rows(2)
    waves = lattice_frequencies(Matern(nu=1.5, length_scale=0.3), np.ones(2), missing=1e-3, maximum=60)
    sums = fourier_sums(waves, rows, y, weight)
    here = Primal().solve_moments(sums.scaled(waves.mass, 0.3), 2 * waves.n)
    with Resources(device="cuda").in_use():
        there = Primal().solve_moments(sums.scaled(waves.mass, 0.3), 2 * waves.n)
    assert there.factor.report.details["device"] == "cpu"
    assert_allclose(there.coef, here.coef, rtol=1e-8, atol=1e-10)
    assert_allclose(there.misfit, here.misfit)
    assert_allclose(there.factor.logdet(), here.factor.logdet())
    assert_allclose(there.factor.trend_logdet(), here.factor.trend_logdet())
    columns = np.random.default_rng(2).normal(size=(7, len(here.coef)))
    assert_allclose(there.factor.quadratic_form(columns), here.factor.quadratic_form(columns))
    drawn = [f.factor.draw(3, np.random.default_rng(3)) for f in (here, there)]
    assert_allclose(drawn[1], drawn[0], rtol=1e-7, atol=1e-9)
    kept = there.factor.from_dict(there.factor.as_dict())
    assert_allclose(kept.solve(columns.T), here.factor.solve(columns.T), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("features", ["quasi", "lattice", "auto"])
def test_models_are_the_same(stand_in, features, tmp_path):
    """A model fitted on a device predicts as one fitted on the processor, and so does its file."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(3_100, 2))
    y = np.sin(9 * x[:, 0]) + 0.1 * rng.normal(size=len(x))
    at = rng.uniform(size=(200, 2))
    options = {} if features == "auto" else {"n_frequencies": 100, "dtype": "float64"}
    found = []
    for device in ("cpu", "cuda"):
        model = SpatialRegressor(
            Matern(nu=0.5, length_scale=0.3),
            features=features,
            tune=None,
            noise_variance=0.01,
            device=device,
            **options,
        ).fit(x, y)
        found.append(model.predict(at, return_std=True))
    assert_allclose(found[1][0], found[0][0], atol=1e-6)
    assert_allclose(found[1][1], found[0][1], rtol=1e-6)
    model.save(tmp_path / "there.bochner")
    assert_allclose(bochner.load(tmp_path / "there.bochner").predict(at), found[0][0], atol=1e-6)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_neighbours(stand_in, dim):
    """Vecchia's likelihood with its gradient, and kriging by cells."""
    rng = np.random.default_rng(4)
    x = rng.uniform(size=(400, dim))
    y = np.sin(5 * x[:, 0]) + 0.1 * rng.normal(size=len(x))
    kernel = Matern(nu=1.3, length_scale=tuple(np.linspace(0.2, 0.4, dim))) + Matern(nu=0.5, length_scale=0.1)
    plan = Vecchia.plan(x, y, np.ones((len(x), 1)), n_neighbours=8)
    cells = CellKriging(kernel, np.full(len(x), 0.01), x, 20)
    at = rng.uniform(size=(150, dim))
    here = plan.evaluate(kernel, 0.02), cells.at(at, y[:, None])
    with Resources(device="cuda").in_use():
        there = plan.evaluate(kernel, 0.02), cells.at(at, y[:, None])
    assert_allclose(there[0][0], here[0][0], rtol=1e-9)
    assert_allclose(there[0][1], here[0][1], rtol=1e-6, atol=1e-6)
    assert_allclose(there[1][0], here[1][0], atol=1e-7)
    assert_allclose(there[1][1], here[1][1], atol=1e-7)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("given", [observe, counts], ids=["gaussian", "poisson"])
def test_learned_waves(stand_in, dim, given):
    """The evidence of waves that move, and its gradient in them and in the noise, Laplace's terms included."""
    evidence = Evidence(waves(dim), given(dim), 0.3, learn_noise=True, reml=dim != 2)
    value, gradient = evidence(evidence.start)
    with Resources(device="cuda").in_use():
        there, gradient_there = evidence(evidence.start)
    assert_allclose(there, value, rtol=1e-9)
    assert_allclose(gradient_there, gradient, rtol=1e-6, atol=1e-7 * np.max(np.abs(gradient)))


def test_learned_waves_ask_for_the_whole_ascent(stand_in, monkeypatch):
    """Pieces that are not worth the way alone go where all of them together are worth going."""
    monkeypatch.setattr("bochner.device.limits.WORTH_DEVICE", 1e6)
    assert device_for(1e3) is None
    with device_throughout(1e5):
        assert device_for(1e3) is None
    with device_throughout(1e7):
        assert device_for(1e3) is not None
    with Resources(device="cpu").in_use(), device_throughout(1e7):
        assert device_for(1e7) is None


def test_blocks_shrink_when_memory_runs_out(stand_in):
    """A block that does not fit is done again in halves, once and for all; one that cannot fit is told."""
    torch, seen = stand_in.torch, []

    def work(part, most=1_000):
        if part.stop - part.start > most:
            raise torch.OutOfMemoryError("full")
        seen.extend(range(part.start, part.stop))

    stand_in.in_blocks(work, 5_000, 1.0)
    assert seen == list(range(5_000))
    with pytest.raises(MemoryLimitError, match="fewer waves"):
        stand_in.in_blocks(lambda part: work(part, 10), 5_000, 1.0)


def test_a_device_that_is_not_there_is_refused_before_any_work(monkeypatch):
    """What is missing is said: PyTorch, or a CUDA device."""
    monkeypatch.delenv(accelerator.STAND_IN, raising=False)
    accelerator._found.cache_clear()
    if find_spec("torch") is not None and accelerator._found() is not None:
        pytest.skip("there is a device")
    with pytest.raises((MissingExtraError, InputError), match="device='cpu'"):
        SpatialRegressor(device="cuda").fit(np.zeros((5, 2)), np.arange(5.0))
    accelerator._found.cache_clear()
    with pytest.raises(InputError, match="device"):
        SpatialRegressor(device="gpu").fit(np.zeros((5, 2)), np.arange(5.0))
