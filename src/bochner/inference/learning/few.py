"""Learning of few rows: one field, its hyperparameters integrated over by the exact evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bochner.arrays import BoolArray, FloatArray
from bochner.choices import Choice
from bochner.inference.evidence.informed_laplace import InformedLaplace
from bochner.inference.learning.evidence import Evidence, Exact, Laplace, Theta
from bochner.inference.learning.forms import Form, OneField, Sizes
from bochner.inference.learning.integrate import Peak, integrate, peaks
from bochner.inference.learning.modes import Mode, Posterior, search
from bochner.inference.learning.policy import POLICY
from bochner.inference.observed.average import Average
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.scale import variance_about_trend
from bochner.inference.observed.task import Task


def learned_of_few(task: Task, noise: float | None) -> tuple[Average, tuple[Choice, ...]] | None:
    """Kernels and noise variances with their masses, and how they were found; None where no value is finite."""
    places = probes(task.obs.rows.coords, task.domain.predict_at)
    found: list[list[Peak]] = []
    modes: list[Mode] = []
    for form in forms(task, noise):
        posterior = Posterior(form, evidence_of(task, form))
        modes = search(posterior, modes)
        found.append(peaks(posterior, modes))
    found = sorted(filter(None, found), key=lambda some: -some[0].log_evidence)
    if not found:
        return None
    best = found[0][0].log_evidence
    kept = [some for some in found if some[0].log_evidence > best - POLICY.ruled_out]
    nodes = [integrate(some, places) for some in kept]
    logs = np.array([each.log_evidence for each in nodes])  # prior odds of the forms are even
    share = np.exp(logs - np.logaddexp.reduce(logs))
    mass = np.concatenate([w * each.mass for w, each in zip(share, nodes, strict=True)])
    points = [(some[0].posterior, x) for some, each in zip(kept, nodes, strict=True) for x in each.points]
    order = [i for i in np.argsort(-mass, kind="stable") if mass[i] > POLICY.least_mass]
    learned = [_theta(*points[i]) for i in order]
    masses = mass[order] / mass[order].sum()
    precision = kept[0][0].posterior.evidence.precision(_typical([t.effects for t in learned], masses))
    kernels, noises = tuple(t.kernel for t in learned), np.array([t.noise for t in learned])
    average = Average(kernels, noises, masses, trend_precision=precision)
    order = sorted(zip(logs, (some[0].posterior.form for some in kept), strict=True), key=lambda pair: -pair[0])
    return average, _told(task, order, len(masses))


def forms(task: Task, noise: float | None) -> list[Form]:
    """Forms that are compared: a field alike in all directions, and one that is not."""
    shrunk = _shrunk(task)
    told = task.obs.total - np.count_nonzero(~shrunk) > 2  # a common factor has a mean then
    free = task.gaussian and noise is None and told and not task.obs.error.any()
    sizes = Sizes.of(task.obs.rows.coords, float(np.sqrt(variance_of(task))))
    n_effects = int(np.count_nonzero(shrunk))
    return [OneField(sizes, task.dim, noise, free, stretched, n_effects) for stretched in (False, True)[: task.dim]]


def evidence_of(task: Task, form: Form) -> Evidence:
    """The exact evidence of all rows."""
    if isinstance(task.data, Responses):
        return Laplace(InformedLaplace([task.data], reml=True), task.data)
    return Exact(task.obs, form.free, _shrunk(task))


def variance_of(task: Task) -> float:
    """Variance of the responses about what has a flat prior; 1 behind a link."""
    if not task.gaussian:
        return 1.0
    obs = task.obs
    flat = replace(obs, rows=replace(obs.rows, trend=obs.rows.trend[:, ~_shrunk(task)]))
    return variance_about_trend(flat)


def _shrunk(task: Task) -> BoolArray:
    """Columns of the trend that are covariates, whose effects share a prior variance; not the intercept."""
    trend = task.obs.rows.trend
    varies = np.ptp(trend, axis=0) > 1e-9 * np.abs(trend).max(axis=0, initial=0.0)
    plain = not task.settings.shrinks or not task.gaussian or np.count_nonzero(~varies) != 1
    return np.zeros(len(varies), dtype=bool) if plain else varies


def probes(coords: FloatArray, predict_at: FloatArray | None) -> FloatArray:
    """Locations at which the effect of hyperparameters is measured: requested ones, or between rows far apart."""
    if predict_at is not None and len(predict_at):
        return predict_at[:: max(len(predict_at) // POLICY.probes, 1)]
    distance = np.sum((coords - coords.mean(axis=0)) ** 2, axis=1)
    chosen = [int(np.argmax(distance))]
    nearest = np.sum((coords - coords[chosen[0]]) ** 2, axis=1)
    middles = []
    for _ in range(min(POLICY.probes, len(coords) - 1)):
        new = int(np.argmax(nearest))
        apart = np.sum((coords[chosen] - coords[new]) ** 2, axis=1)
        middles.append((coords[new] + coords[chosen[int(np.argmin(apart))]]) / 2)
        chosen.append(new)
        nearest = np.minimum(nearest, np.sum((coords - coords[new]) ** 2, axis=1))
    return np.array(middles)


def _theta(posterior: Posterior, x: FloatArray) -> Theta:
    """Hyperparameters of a node; with the mean of the common factor, where that is integrated out."""
    theta, factor = posterior.form.at(x), posterior.factor(x)
    return Theta(theta.kernel.scaled(factor), theta.noise * factor, theta.effects * factor)


def _typical(variances: list[float], mass: FloatArray) -> float:
    """Geometric mean of the nodes' variances of the effects."""
    return float(np.exp(mass @ np.log(variances))) if np.isfinite(variances).all() else np.inf


def _told(task: Task, forms: list[tuple[float, Form]], n_nodes: int) -> tuple[Choice, ...]:
    """Form, integration and evidence, in one line each."""
    kind = "exact kernel" if task.gaussian else "exact kernel, by Laplace's approximation"
    (first, form), *others = forms
    told = form.told
    if others:
        told += f"; posterior odds {np.exp(first - others[0][0]):.3g} against {others[0][1].told}"
    how = f"averaged over {n_nodes} design points of {', '.join(form.names)}"
    return (
        Choice("tuning", "exact", text=f"evidence of the {kind}, all {len(task.data):,} distinct rows"),
        Choice("kernel", form.name, text=told),
        Choice("intervals", n_nodes, text=how),
    )
