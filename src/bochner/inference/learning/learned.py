"""What was learned: modes of the forms, their mixture, and what a family adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.families import Family
from bochner.inference.fits.fixed_effects import fixed_effects
from bochner.inference.learning.evidence import FAILURES, Laplace, Theta, precision_of
from bochner.inference.learning.form import Form
from bochner.inference.learning.integrate import Nodes
from bochner.inference.learning.judge import Geometry, judge
from bochner.inference.learning.ladder import Rung, exact_rows, most_nodes
from bochner.inference.learning.policy import POLICY
from bochner.inference.learning.reweighted import Reweighted
from bochner.inference.learning.search import Found
from bochner.inference.learning.setting import blocks_of
from bochner.inference.observed.responses import Responses
from bochner.inference.observed.settings import Average
from bochner.inference.observed.task import Task


@dataclass(frozen=True)
class Learned:
    """Hyperparameters with their masses, and what else was learned on the way."""

    average: Average
    family: Family
    choices: tuple[Choice, ...]
    at_bounds: tuple[str, ...] = ()
    trend: FloatArray | None = None  # that maximises the marginal likelihood, if that was asked for
    log_likelihood: float | None = None  # None: as the solver finds it
    reweighted: Reweighted | None = None  # weights of the rows, where outliers are expected, ...
    gain: float = 0.0  # ... and what the law of the family then adds to the Gaussian evidence


def mixed(
    task: Task,
    rung: Rung,
    found: Sequence[Found],
    nodes: Sequence[Nodes],
    geometry: Geometry | None,
    rivals: Sequence[Found] = (),
) -> Learned:
    """Nodes of all forms, weighted by evidence and prior odds of the forms; in gaps by the judge, with the rivals."""
    logs = np.array([each.log_evidence + one.form.log_odds for each, one in zip(nodes, found, strict=True)])
    order = [int(i) for i in np.argsort(-logs) if logs[i] > logs.max() - POLICY.ruled_out]
    found, nodes, logs = [found[i] for i in order], [nodes[i] for i in order], logs[order]
    share, factor = np.exp(logs - np.logaddexp.reduce(logs)), 1.0
    if most_nodes(task) == 1:
        share = np.eye(len(logs))[0]
    choices = [_of_evidence(rung), _of_forms([one.form for one in found], logs)]
    if geometry is not None:
        found, share = [*found, *rivals], np.r_[share, np.zeros(len(rivals))]
        nodes = [*nodes, *(Nodes([one.modes[0].x], np.ones(1), -np.inf, 0) for one in rivals)]
        modes = [one.theta for one in found]
        verdict = judge(geometry, [one.name for one in found], [(t.kernel, t.noise) for t in modes], share)
        share, factor = verdict.mass, verdict.factor
        choices.append(verdict.choice)
    mass = np.concatenate([w * each.mass for w, each in zip(share, nodes, strict=True)])
    points = [(one, x) for one, each in zip(found, nodes, strict=True) for x in each.points]
    kept = [int(i) for i in np.argsort(-mass, kind="stable") if mass[i] > POLICY.least_mass]
    thetas, mass = [points[i][0].at(points[i][1]) for i in kept], mass[kept] / mass[kept].sum()
    best = points[kept[0]][0]
    if geometry is not None and geometry.in_gaps:
        choices[1] = Choice("kernel", best.form.name, text=f"{best.form.text}, chosen by rows held out in gaps")
    average = Average(
        tuple(t.kernel.scaled(factor) for t in thetas),
        np.array([t.noise * (1.0 if task.settings.noise_variance is not None else factor) for t in thetas]),
        mass,
        trend_precision=_precision(task, thetas, mass, factor),
    )
    choices.append(_of_nodes(len(kept), best.form.names))
    # what held-out rows have chosen is no failure to find an end
    at_bounds = () if geometry is not None and geometry.in_gaps else best.at_bounds
    return _with_family(task, Learned(average, task.responses.family, tuple(choices), at_bounds), thetas[0])


def of_mode(task: Task, found: Found, rung: Rung) -> Learned:
    """One set of hyperparameters."""
    theta = found.theta
    average = Average.single(theta.kernel, theta.noise)
    average = replace(average, trend_precision=_precision(task, [theta], np.ones(1), 1.0))
    choices = (_of_evidence(rung), _of_forms([found.form], np.zeros(1)), _of_nodes(1, ()))
    value = found.modes[0].value if theta.trend is not None else None
    learned = Learned(average, task.responses.family, choices, found.at_bounds, theta.trend, value)
    return _with_family(task, learned, theta)


def _precision(task: Task, thetas: Sequence[Theta], mass: FloatArray, factor: float) -> FloatArray | None:
    """Prior precision of the trend, at the geometric mean of the nodes' variances of its effects."""
    if not thetas[0].effects:
        return None
    effects = factor * np.exp(mass @ np.log([t.effects for t in thetas]))
    return precision_of(blocks_of(task), [float(v) for v in effects])


def _with_family(task: Task, learned: Learned, theta: Theta) -> Learned:
    """With what was learned of the family, and a noise that is none."""
    if theta.dispersion is not None:
        told = Choice("dispersion", theta.dispersion, "learned by the evidence")
        family = learned.family.replace(dispersion=theta.dispersion)
        learned = replace(learned, family=family, choices=(*learned.choices, told))
    if "noise_variance" not in learned.at_bounds or learned.average.noise_variances[0] > 1e-3 * task.scale.variance:
        return learned
    # that is an answer, not a failure to find one: counts without effects of rows, or exact measurements
    bounds = tuple(name for name in learned.at_bounds if name != "noise_variance")
    text = f"none to speak of: the {task.settings.criterion} is largest without"
    told = Choice("noise", float(learned.average.noise_variances[0]), text=text)
    return replace(learned, at_bounds=bounds, choices=(*learned.choices, told))


def with_dispersion(task: Task, learned: Learned) -> Learned:
    """With the dispersion that maximises the evidence at given values, where the family leaves it open."""
    data, (kernel, noise) = task.data, learned.average.pairs[0]
    if not isinstance(data, Responses) or data.with_dispersion().family is data.family:
        return learned
    evidence, x = Laplace(data.with_dispersion(), np.full(data.rows.trend.shape[1], -1)), float(np.log(0.5))
    for _ in range(30):
        point = evidence.at(Theta(kernel, noise, dispersion=float(np.exp(x))))
        slope = float(point.gradient[-1])
        if abs(slope) < 1e-4 or not -9 < x < 7:
            break
        x += float(np.clip(slope / max(float(point.information[-1, -1]), abs(slope)), -1.0, 1.0))
    return _with_family(task, learned, Theta(kernel, noise, dispersion=float(np.exp(x))))


def with_likelihood(task: Task, learned: Learned) -> Learned:
    """With the marginal likelihood at the trend that maximises it, which other software reports."""
    data = task.data
    assert isinstance(data, Responses)
    many = len(data) > exact_rows(gaussian=False)
    if learned.log_likelihood is not None or many or not data.rows.trend.shape[1]:
        return learned
    kernel, noise = learned.average.pairs[0]
    evidence = Laplace(replace(data, family=learned.family, trend_precision=None), blocks_of(task))
    trend = fixed_effects(data).coef
    p, best = len(kernel.theta) + 1, None
    try:
        for _ in range(20):
            point = evidence.at(Theta(kernel, noise, trend=trend))
            step = np.linalg.lstsq(point.information[p:, p:], point.gradient[p:], rcond=None)[0]
            best = point.value
            if float(step @ point.gradient[p:]) < 1e-8:
                break
            trend = trend + step
    except FAILURES:
        return learned
    return replace(learned, log_likelihood=best)


# ---------------------------------------------------------------------------------- told


def _of_evidence(rung: Rung) -> Choice:
    return Choice("tuning", rung.name, text=rung.text)


def _of_forms(forms: Sequence[Form], logs: FloatArray) -> Choice:
    text = forms[0].text
    if len(forms) > 1:
        text += f"; posterior odds {np.exp(logs[0] - logs[1]):.3g} against {forms[1].text}"
    return Choice("kernel", forms[0].name, text=text, given=forms[0].name == "given")


def _of_nodes(n: int, names: Sequence[str]) -> Choice:
    if n == 1:
        return Choice("intervals", 1, text="at the best hyperparameters")
    return Choice("intervals", n, text=f"averaged over {n} design points of {', '.join(names)}")
