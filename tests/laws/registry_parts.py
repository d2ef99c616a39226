"""Small parts whose numbers are written down, beside their laws: kernels, waves, priors, laws of responses.

Laws of drawn waves hold up to the noise of a draw, and those of a prior do not say which one it is; numbers do.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bochner import SpatialRegressor
from bochner.exceptions import BochnerError
from bochner.features import Rows
from bochner.frequencies import lattice_frequencies
from bochner.inference import Observations
from bochner.inference.tuning.bounds import bounds, close, log_priors, starts
from bochner.inference.tuning.peaks import informed_starts
from bochner.kernels import Kernel, Matern, Scale, SquaredExponential, spectral_lines, spectral_peaks
from bochner.neighbours import (
    CellKriging,
    Vecchia,
    close_pairs,
    conditional_draws,
    inverse_root,
    left_out,
    local_kriging,
    maximin_order,
    nearest_sd,
    predecessors,
)
from bochner.posterior import Latent
from bochner.posterior.response import Response
from tests.laws.registry import KERNELS, NOT_SHIFT_INVARIANT, RICH_KERNELS, RULES
from tests.laws.registry_families import FAMILIES

Numbers = dict[str, Any]


def kernel_of(make: Callable[[int], Kernel]) -> Numbers:
    """Covariances and their slopes, the prior, where a search may go and where it begins."""
    told: Numbers = {}
    for dim in (1, 2, 3):
        kernel, x = make(dim), np.random.default_rng(dim).normal(size=(5, dim))
        value, slopes = kernel.covariance_and_gradient(x[:3], x[2:])
        scale = Scale(np.array([2.0, 1.0, 3.0])[:dim], spacing=0.1, variance=1.7, error=0.1)
        begun = list(starts(kernel, scale, None))
        told |= {
            f"covariance {dim}": np.ravel([value, *slopes]),
            f"bounds {dim}": np.ravel(bounds(kernel, scale)),
            f"prior {dim}": np.r_[log_priors(kernel, scale)[0].sum(), log_priors(kernel, scale)[1]],
            f"starts {dim}": np.concatenate([np.r_[k.theta, noise] for k, noise in begun]),
            f"close {dim}": [close(a, b) for a, _ in begun[:4] for b, _ in begun[:4]],
        }
    return told


def waves_of(make: Callable[[int], Kernel]) -> Numbers:
    """A few waves by every rule and on the lattice."""
    told: Numbers = {}
    for dim in (1, 2, 3):
        kernel = make(dim)
        for name, rule in RULES.items():
            drawn = rule.draw(kernel, 7, dim, np.random.default_rng(0))
            told[f"{name} {dim}"] = np.r_[drawn.omega.ravel(), drawn.mass]
        if dim == 3:  # many cells; laws have them
            continue
        try:
            few = lattice_frequencies(kernel, np.array([2.0, 1.0, 3.0])[:dim], n_frequencies=9)
            most = lattice_frequencies(kernel, np.array([2.0, 1.0, 3.0])[:dim], missing=0.2, maximum=200)
        except BochnerError:
            continue
        told[f"lattice {dim}"] = np.r_[np.sort(few.mass), np.sort(np.abs(few.omega).sum(axis=1))]
        told[f"lattice {dim}, some missing"] = [most.n, most.mass.sum()]
    return told


def response_of(name: str) -> Numbers:
    """A law behind the link: of one Gaussian, wide and narrow, and of a mixture of two."""
    family, told = FAMILIES[name], {}
    mean = np.array([[-2.5, -0.3, 0.4, 1.5, 3.0], [-2.0, 0.2, 0.1, 2.0, 2.5]])
    if family.link == "identity" and name.startswith("poisson"):
        mean = mean + 4.0
    size = np.array([1.0, 3.0, 8.0, 2.0, 20.0]) if family.name in ("binomial", "poisson") else np.ones(5)
    y = {"bernoulli": [0, 1, 0, 1, 1], "binomial": [0, 2, 5, 2, 18]}.get(family.name, [1.0, 2.0, 3.0, 5.0, 40.0])
    y = np.array(y, dtype=float)
    laws = {
        "narrow": Latent(mean[:1], np.full((1, 5), 1e-4), np.ones(1)),
        "wide": Latent(mean[:1], np.full((1, 5), 2.0), np.ones(1)),
        "two": Latent(mean, np.array([[0.1] * 5, [0.6] * 5]), np.array([0.7, 0.3])),
    }
    for kind, eta in laws.items():
        for new in (False, True):
            law = Response(family, eta, size, new=new)
            numbers = [law.mean, law.sd, law.cdf(0.7 * y + 0.2), *(law.quantile(q) for q in (0.01, 0.3, 0.975))]
            if new:
                numbers += [law.log_density(y), *law.pit_bounds(y), law.crps(y)]
            told[f"{kind}, {'new' if new else 'surface'}"] = np.ravel(numbers)
    return told


def spectrum_of_rows(dim: int) -> Numbers:
    """Peaks and lines of a periodogram, and what a search makes of them."""
    rng = np.random.default_rng(dim)
    x = rng.uniform(size=(70, dim)) * 2
    y = np.sin(2 * np.pi * x[:, 0] / 0.4) + 0.5 * np.cos(2 * np.pi * x[:, -1] / 0.9) + 0.1 * rng.normal(size=70)
    peaks, lines = spectral_peaks(x, y, 3), spectral_lines(x, y, 4)
    told: Numbers = {"peaks": _joined(peaks), "lines": _joined(lines)}
    scale, one, zero = Scale(np.full(dim, 2.0), spacing=0.1, variance=1.0), np.ones(70), np.zeros(70)
    obs = Observations(Rows(x, one[:, None]), y, one, zero, zero)
    for name in ("periodic", "spectral-mixture", "quasi-periodic", "matern-3/2", "sum"):
        kernel = {**KERNELS, **RICH_KERNELS}[name](dim)
        found = informed_starts(kernel, scale, obs, 0.1)
        told[name] = np.concatenate([np.r_[k.theta, noise] for k, noise in found]) if found else []
    return told


def chain_of(family: str) -> Numbers:
    """Draws from the full posterior by elliptical slices."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(30, 2)), rng.integers(0, 2 if family == "bernoulli" else 6, 30).astype(float)
    model = SpatialRegressor(Matern(0.4), family=family, tune=None).fit(x, y)
    draws, chain = model.sample_full(x[:3], 6)
    return {"draws": draws, "effective": [chain.effective, chain.n_evaluations]}


def neighbours_of(dim: int, compiled: bool) -> Numbers:
    """Orders, near rows and what they say, by compiled loops or in NumPy; some places come twice."""
    rng = np.random.default_rng(dim)
    x = np.round(rng.uniform(size=(90, dim)), 3)
    x[-6:] = x[:6] + np.array([0, 0, 0, 1e-4, 1e-4, 2e-3])[:, None]
    y, error, weight = rng.normal(size=90), rng.uniform(0, 0.2, 90), rng.integers(0, 3, 90).astype(float)
    kernel: Any = Matern(0.4, 1.3, nu=0.5 + dim / 3) if compiled else Matern(0.4) * SquaredExponential(0.9, 1.3)
    unit, new, noise = np.linspace(1, 2, dim), rng.uniform(size=(7, dim)), error + 0.1
    trend = np.column_stack([np.ones(90), x[:, 0]])
    some, others = np.arange(0, 40, 3), np.arange(20, 90)
    told: Numbers = {
        "order": maximin_order(x),
        "predecessors": predecessors(x, maximin_order(x), 4, np.array([0, 3, 40, 70, 89])),
        "pairs": close_pairs(x),
        "left out": left_out(kernel, noise, x, y, some, others, 9),
        "left out, in units": left_out(kernel, noise, x, y, some, others, 9, unit),
        "near": local_kriging(kernel, noise, x, y, new, 8),
        "near and far": local_kriging(kernel, 0.1, x, y, new, 8, unit, 5),
        "nearest sd": nearest_sd(kernel, noise, x, new, 12, unit),
        "draws": conditional_draws(kernel, noise, x, new, 2, np.random.default_rng(0), 10, unit),
        "root": inverse_root(kernel, noise, x, 6, unit) @ np.column_stack([y, error]),
        "cells": CellKriging(kernel, noise, x, 20, 4, unit).at(new, y[:, None])[0],
        "variances of cells": CellKriging(kernel, noise, x, 20).at(new)[1],
    }
    plans = {
        "plain": Vecchia.plan(x, y, n_neighbours=6),
        "weights and errors": Vecchia.plan(x, y, trend, weight, error, n_neighbours=6, scales=unit),
        "a sample": Vecchia.plan(x, y, trend, n_neighbours=5, n_points=40, seed=1),
        "the first": Vecchia.plan(x, y, trend, n_neighbours=5, n_first=50, n_points=30, coarse_share=0.5),
    }
    for name, plan in plans.items():
        for reml in (False, True):
            value, slope = plan.evaluate(kernel, 0.2, reml)
            told[f"{name}, {reml}"] = [value, *slope, plan.estimate(kernel, 0.2, reml)]
        told[f"information, {name}"] = plan.information(kernel, 0.2)
    return told


def defaults_of(room: str) -> Numbers:
    """Numbers that what a room shows takes where none is given: functions, values and their methods."""
    told: Numbers = {}
    shown = importlib.import_module(f"bochner.{room}")
    for name in shown.__all__:
        one = getattr(shown, name)
        told |= _defaults(name, one)
        for method, inner in vars(one).items() if inspect.isclass(one) else ():
            if method != "__init__" and not inspect.isclass(inner):
                told |= _defaults(f"{name}.{method}", getattr(inner, "__func__", inner))
    return told


def _defaults(name: str, called: Any) -> Numbers:
    if not inspect.isclass(called) and not inspect.isfunction(called):
        return {}
    given = inspect.signature(called).parameters.values()
    return {f"{name}({p.name})": p.default for p in given if isinstance(p.default, bool | int | float)}


def _joined(parts: Any) -> np.ndarray:
    return np.concatenate([np.ravel(part) for part in parts])


ROOMS = ("kernels", "frequencies", "features", "moments", "solvers", "posterior", "families", "neighbours", "inference")
EVERY_KERNEL = {**KERNELS, **RICH_KERNELS, **NOT_SHIFT_INVARIANT}
PARTS: dict[str, Callable[[], Numbers]] = {
    **{f"kernel {name}": partial(kernel_of, make) for name, make in EVERY_KERNEL.items()},
    **{f"waves {name}": partial(waves_of, make) for name, make in {**KERNELS, **RICH_KERNELS}.items()},
    **{f"response {name}": partial(response_of, name) for name in FAMILIES},
    **{f"chain {family}": partial(chain_of, family) for family in ("bernoulli", "poisson")},
    **{f"neighbours {dim}": partial(neighbours_of, dim, True) for dim in (1, 2, 3)},
    **{f"neighbours in NumPy {dim}": partial(neighbours_of, dim, False) for dim in (1, 2)},
    **{f"defaults of {room}": partial(defaults_of, room) for room in ROOMS},
    **{f"spectrum {dim}": partial(spectrum_of_rows, dim) for dim in (1, 2)},
}
