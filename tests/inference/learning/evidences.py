"""Evidences and tasks that tests of learning share, and slopes by central differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bochner.families import Family, family_named
from bochner.features import Rows
from bochner.inference import Domain, Observations, Responses
from bochner.inference.learning.evidence import Exact, Theta
from bochner.inference.learning.other_families import Laplace, bound_exactly
from bochner.inference.observed.settings import Settings
from bochner.inference.observed.task import Task


def flat(rows: Rows) -> np.ndarray:
    """Blocks of effects that all have a flat prior."""
    return np.full(rows.trend.shape[1], -1)


def exact(obs: Observations, *, reml: bool = True) -> Exact:
    """Gaussian evidence of the exact kernel."""
    return Exact(obs, flat(obs.rows), reml=reml)


def laplace(data: Responses, bind: Callable = bound_exactly) -> Laplace:
    """Evidence of any family; a dispersion that is not known is part of theta."""
    return Laplace(data.with_dispersion(), flat(data.rows), bind)


def theta_of(point: np.ndarray, like: Theta) -> Theta:
    """Hyperparameters from [theta of the kernel, log noise, log effects, log dispersion, trend], as far as they are."""
    p, b = len(like.kernel.theta), len(like.effects)
    kernel, rest = like.kernel.with_theta(point[:p]), point[p + 1 + b :]
    noise = float(np.exp(point[p])) if like.noise else 0.0
    dispersion = None if like.dispersion is None else float(np.exp(rest[0]))
    trend = None if like.trend is None else rest[int(like.dispersion is not None) :]
    return Theta(kernel, noise, tuple(np.exp(point[p + 1 : p + 1 + b])), dispersion, trend)


def point_of(theta: Theta) -> np.ndarray:
    """The same the other way round."""
    noise = np.log(theta.noise) if theta.noise else 0.0
    dispersion = [] if theta.dispersion is None else [np.log(theta.dispersion)]
    trend = [] if theta.trend is None else theta.trend
    return np.r_[theta.kernel.theta, noise, np.log(np.array(theta.effects)), dispersion, trend]


def slopes(value: Callable[[np.ndarray], float], point: np.ndarray, h: float = 1e-4) -> np.ndarray:
    """Central differences."""
    return np.array([(value(point + e) - value(point - e)) / (2 * h) for e in h * np.eye(len(point))])


def slopes_at(evidence, theta: Theta, h: float = 1e-3) -> np.ndarray:
    """Central differences of an evidence; zero in a noise that is held at zero."""
    return slopes(lambda point: evidence.at(theta_of(point, theta)).value, point_of(theta), h)


def task_of(
    family: Family | str,
    n: int = 40,
    dim: int = 2,
    *,
    covariates: int = 0,
    domain: Domain | None = None,
    seed: int = 5,
    **settings,
) -> Task:
    """Rows with a field, two of them at one place."""
    rng = np.random.default_rng(seed)
    family = family_named(family) if isinstance(family, str) else family
    places = rng.random((n, dim))
    places[1] = places[0]
    if domain is not None and domain.shared is not None:
        places = (places - 0.5) / np.linalg.norm(places - 0.5, axis=1, keepdims=True)
    trend = np.column_stack([np.ones(n), rng.standard_normal((n, covariates))])
    eta = np.sin(6 * places[:, 0]) + trend[:, 1:].sum(axis=1) / 3
    size = np.full(n, 20.0) if family.size_name == "trials" else np.ones(n)
    law = family.replace(dispersion=0.4) if family.has_dispersion else family
    y = law.draw(eta, size, rng) if family.name != "gaussian" else eta + 0.3 * rng.standard_normal(n)
    zero = np.zeros(n)
    responses = Responses(family, Rows(places, trend), y, size, zero, np.ones(n), zero)
    return Task.of(replace(Settings(**settings), shrinks=bool(covariates)), responses, None, domain)
