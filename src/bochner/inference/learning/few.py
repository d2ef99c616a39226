"""Learning of few rows: one field, its hyperparameters integrated over by the exact evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.inference.evidence.informed_laplace import InformedLaplace
from bochner.inference.learning.evidence import Evidence, Exact, Laplace
from bochner.inference.learning.forms import Form, OneField, Sizes
from bochner.inference.learning.integrate import Nodes, integrate
from bochner.inference.learning.policy import POLICY
from bochner.inference.learning.search import Posterior, search
from bochner.inference.observed.average import Average
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Scheme
from bochner.inference.tuning.limits import MAX_EXACT_TUNING_ROWS
from bochner.kernels import Kernel


def is_few(task: Task, scheme: Scheme) -> bool:
    """Whether the exact evidence of one field is what a fit learns by."""
    s, domain = task.settings, task.domain
    plain = s.kernel is None and s.reml and task.folds is None and scheme.own_draw(task) is None
    places = task.dim <= 2 and not domain.last_is_time and domain.shared is None and not task.obs.rows.has_areas
    return plain and places and scheme.exact and not scheme.fixed_features and len(task.data) <= MAX_EXACT_TUNING_ROWS


@dataclass(frozen=True)
class Learnt:
    """A form after integration."""

    form: Form
    posterior: Posterior
    nodes: Nodes


def learned_of_few(task: Task, noise: float | None) -> tuple[Average, tuple[Choice, ...]] | None:
    """Kernels and noise variances with their masses, and how they were found; None where no value is finite."""
    places = probes(task.obs.rows.coords, task.domain.predict_at)
    learnt, modes = [], []
    for form in forms(task, noise):
        posterior = Posterior(form, evidence_of(task, form))
        modes = search(posterior, modes)
        if modes[0].status != "failed":
            learnt.append(Learnt(form, posterior, integrate(posterior, modes, places)))
    if not learnt:
        return None
    learnt.sort(key=lambda each: -each.nodes.log_evidence - each.form.log_odds)
    logs = np.array([each.nodes.log_evidence + each.form.log_odds for each in learnt])
    share = np.exp(logs - np.logaddexp.reduce(logs))
    mass = np.concatenate([w * each.nodes.mass for w, each in zip(share, learnt, strict=True)])
    points = [(each.posterior, x) for each in learnt for x in each.nodes.points]
    order = [i for i in np.argsort(-mass, kind="stable") if mass[i] > POLICY.least_mass]
    pairs = [_pair(*points[i], task) for i in order]
    kept = mass[order] / mass[order].sum()
    average = Average(tuple(k for k, _ in pairs), np.array([s2 for _, s2 in pairs]), kept)
    return average, _told(task, learnt, share, len(kept))


def forms(task: Task, noise: float | None) -> list[Form]:
    """Forms that are compared: a field alike in all directions, and one that is not."""
    free = task.gaussian and noise is None and not task.obs.error.any()
    sizes = Sizes.of(task.obs.rows.coords, float(np.sqrt(task.scale.variance)) if task.gaussian else 1.0)
    found = [OneField(sizes, task.dim, noise, free, stretched=False)]
    if task.dim > 1:
        found.append(OneField(sizes, task.dim, noise, free, stretched=True))
    return found


def evidence_of(task: Task, form: Form) -> Evidence:
    """The exact evidence of all rows."""
    if isinstance(task.data, Responses):
        return Laplace(InformedLaplace([task.data], reml=True), task.data)
    return Exact(task.obs, form.free)


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


def _pair(posterior: Posterior, x: FloatArray, task: Task) -> tuple[Kernel, float]:
    """Kernel and noise variance of a node; the mean of the common factor where that is integrated out."""
    kernel, noise = posterior.form.at(x)
    if not posterior.form.free:
        return kernel, noise
    freedom = task.obs.total - task.obs.n_trend
    factor = posterior.scale(x) * freedom / max(freedom - 2, 1)
    return kernel.scaled(factor), noise * factor


def _told(task: Task, learnt: list[Learnt], share: FloatArray, n_nodes: int) -> tuple[Choice, ...]:
    """Form, integration and evidence, in one line each."""
    kind = "exact kernel" if task.gaussian else "exact kernel, by Laplace's approximation"
    best = learnt[0]
    form = best.form.told
    if len(learnt) > 1:
        form += f"; posterior odds {share[0] / max(share[1], 1e-300):.3g} against {learnt[1].form.told}"
    how = f"averaged over {n_nodes} design points of {', '.join(best.form.names)}"
    return (
        Choice("tuning", "exact", text=f"evidence of the {kind}, all {len(task.data):,} distinct rows"),
        Choice("kernel", best.form.name, text=form),
        Choice("intervals", n_nodes, text=how),
    )
