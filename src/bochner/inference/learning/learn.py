"""How a fit learns, on one page: forms, a ladder of evidences, one search, one integration, one judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from bochner.inference.learning.by_folds import by_folds
from bochner.inference.learning.evidence import Nearest, OnLattice, Theta
from bochner.inference.learning.forms import blocks_of, common_of, forms_of, probes, variance_of
from bochner.inference.learning.integrate import integrate
from bochner.inference.learning.judge import Geometry
from bochner.inference.learning.ladder import Rung, in_gaps, most_nodes, next_rungs, rungs
from bochner.inference.learning.learned import (
    Learned,
    degenerate,
    given,
    known_noise,
    learn_robustly,
    mixed,
    of_mode,
    unlearned,
    with_dispersion,
    with_likelihood,
)
from bochner.inference.learning.policy import POLICY
from bochner.inference.learning.search import Found, Posterior, climb, search
from bochner.inference.observed.task import Task
from bochner.inference.schemes.base import Scheme
from bochner.resources import small_systems


@small_systems()
def learn(task: Task, scheme: Scheme) -> Learned:
    """Learn what is not given."""
    if task.responses.family.reweighted:
        return learn_robustly(task, lambda gaussian: learn(gaussian, scheme))
    noise, told = known_noise(task)
    found = None if task.settings.learns else with_dispersion(task, given(task, noise))
    if found is None:
        found = degenerate(task, noise, variance_of(task))
    if found is None:
        found = _learned(task, scheme, noise)
    found = replace(found, choices=(*told, *found.choices))
    return found if task.gaussian else with_likelihood(task, found)


def _learned(task: Task, scheme: Scheme, noise: float | None) -> Learned:
    """Rungs, modes of the forms, nodes about them, and their mixture."""
    blocks = blocks_of(task)
    rung = rungs(task, scheme.own_draw(task), blocks)
    found = searched(task, rung, noise)
    if not found:
        return unlearned(task, noise)
    for build in next_rungs(task, rung, blocks):
        higher = build(found[0].theta)
        again = [] if higher is None else _climbed_on(found, higher)
        if higher is not None and again:
            rung, found = higher, again
    if task.folds is not None:
        moved, told = by_folds(task, scheme, found[0])
        learned = of_mode(task, moved, rung)
        return replace(learned, choices=(*learned.choices, told))
    if scheme.fixed_features or not task.settings.reml:
        return of_mode(task, found[0], rung)
    n_nodes = most_nodes(task)
    places = probes(task.obs.rows.coords, task.domain.predict_at) if n_nodes > 1 else None
    geometry = Geometry.of(task) if isinstance(rung.evidence, Nearest | OnLattice) else None
    rivals: list[Found] = []
    if geometry is not None and geometry.in_gaps:
        below = in_gaps(task, geometry.share_of_order, found[0].theta, blocks)
        rivals = [replace(one, by=below.name) for one in searched(task, below, noise)]
    likely = [one.log_evidence > found[0].log_evidence - POLICY.unlikely for one in found]
    nodes = [integrate(one, places if ok else None, n_nodes) for one, ok in zip(found, likely, strict=True)]
    return mixed(task, rung, found, nodes, geometry, rivals)


def searched(task: Task, rung: Rung, noise: float | None) -> list[Found]:
    """Modes of each form, those of simpler forms to begin with; the likeliest form first."""
    begun: dict[str, Sequence[Theta]] = {}
    found: list[Found] = []
    for form in forms_of(task, common_of(task, rung, noise)):
        likely = {one.form.name for one in found if one.log_evidence > found[0].log_evidence - POLICY.unlikely}
        if form.extends and not likely.intersection(form.extends):
            continue
        posterior = Posterior(form, rung.evidence)
        wanted = found[0].modes[0].value - 4 * POLICY.ruled_out if found else -math.inf
        modes = search(posterior, begun, wanted)
        begun[form.name] = [form.at(mode.x) for mode in modes]
        if modes:
            found = sorted([*found, Found(form, posterior, modes)], key=lambda one: -one.log_evidence)
    return [one for one in found if one.log_evidence > found[0].log_evidence - 2 * POLICY.ruled_out]


def _climbed_on(found: Sequence[Found], rung: Rung) -> list[Found]:
    """The best mode of each form, on another rung; of the likeliest form alone where others would cost as much."""
    again = []
    for one in found[: 1 if rung.one_form else len(found)]:
        posterior = Posterior(one.form, rung.evidence)
        mode = climb(posterior, one.modes[0].x)
        if mode.status != "failed":
            again.append(replace(one, posterior=posterior, modes=[mode]))
    if again and rung.one_form and len(found) > 1:
        lead = found[0].log_evidence - found[1].log_evidence
        again[0] = replace(again[0], beaten=(found[1].form.text, lead))
    return sorted(again, key=lambda one: -one.log_evidence)
