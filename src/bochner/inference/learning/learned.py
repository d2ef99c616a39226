"""What was learned: modes of the forms, their mixture, and what a family adds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.choices import Choice
from bochner.exceptions import FallbackWarning, InputError, TuningWarning, warn
from bochner.families import Family
from bochner.inference.fits.fixed_effects import fixed_effects
from bochner.inference.learning.evidence import FAILURES, Theta, precision_of
from bochner.inference.learning.forms import blocks_of
from bochner.inference.learning.integrate import Nodes
from bochner.inference.learning.judge import Geometry, judge
from bochner.inference.learning.ladder import Rung, exact_rows, most_nodes
from bochner.inference.learning.other_families import (
    WATCHED,
    Laplace,
    Reweighted,
    first_weights,
    gaussian_task,
    settled,
)
from bochner.inference.learning.policy import POLICY
from bochner.inference.learning.search import Found
from bochner.inference.observed.responses import Responses, distinct_responses
from bochner.inference.observed.settings import Average
from bochner.inference.observed.task import Task
from bochner.kernels import Matern


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
    choices = [_of_evidence(rung), _of_forms(found, logs)]
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
    choices = (_of_evidence(rung), _of_forms([found], np.zeros(1)), _of_nodes(1, ()))
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
    return Choice("tuning", rung.name, text=rung.told)


def _of_forms(found: Sequence[Found], logs: FloatArray) -> Choice:
    form, beaten = found[0].form, found[0].beaten
    if len(found) > 1:
        beaten = found[1].form.text, logs[0] - logs[1]
    text = form.text if beaten is None else f"{form.text}; posterior odds {np.exp(beaten[1]):.3g} against {beaten[0]}"
    return Choice("kernel", form.name, text=text, given=form.name == "given")


def _of_nodes(n: int, names: Sequence[str]) -> Choice:
    if n == 1:
        return Choice("intervals", 1, text="at the best hyperparameters")
    return Choice("intervals", n, text=f"averaged over {n} design points of {', '.join(names)}")


UNTUNED = "the evidence could not be computed at any of the values tried, and the values begun from are kept"
UNTUNED_ADVICE = (
    "; maps and intervals are not to be relied on. Look for rows or covariates that are out of scale, or give a kernel "
    "of your own with tune=None."
)


def known_noise(task: Task) -> tuple[float | None, tuple[Choice, ...]]:
    """Noise variance that was given, or that the family leaves no room to learn; None: to be learned."""
    noise, family = task.settings.noise_variance, task.responses.family
    if noise is not None or task.gaussian:
        return noise, ()
    if family.has_dispersion:
        return 0.0, (Choice("noise", 0.0, "the dispersion of the family holds what scatters from row to row"),)
    if family.bounded_by_size and np.all(task.responses.size == 1):
        return 0.0, (Choice("noise", 0.0, "one trial a row cannot show an effect of its own"),)
    return (None if task.settings.learns else 0.0), ()


def given(task: Task, noise: float | None) -> Learned:
    """The values that were given."""
    s, choices = task.settings, [Choice("tuning", None, text="none: the values given are kept")]
    kernel = Matern() if s.kernel is None else s.kernel
    at = task.scale.variance * 0.1 if noise is None else noise
    if s.kernel is None:
        choices.append(Choice("kernel", repr(kernel), "none was given and none is learned"))
    if s.noise_variance is None and task.gaussian:
        choices.append(Choice("noise", float(at), "a tenth of the variance of y; none was given and none is learned"))
    elif s.noise_variance is None and not known_noise(task)[1]:
        choices.append(Choice("noise", float(at), "no effect of single rows; none was given and none is learned"))
    return Learned(Average.single(kernel, at), task.responses.family, tuple(choices))


def degenerate(task: Task, noise: float | None, variance: float) -> Learned | None:
    """A flat map, where the data do not differ in what the kernel is about."""
    obs, variance = task.obs, variance if task.gaussian else task.scale.variance
    size = float(np.mean(obs.y**2)) or 1.0
    one_place = False
    if variance <= 1e-20 * size:
        problem = "the response is constant (or follows the trend exactly)"
    elif not np.any(obs.rows.coords != obs.rows.coords[0]):
        problem, one_place = "all rows lie at one place", True
    else:
        return None
    if one_place and task.settings.noise_variance == 0:
        raise InputError(f"{problem} and noise_variance=0; there is nothing to learn. Give a noise variance.")
    warn(f"{problem}: the kernel cannot be learned, so its start values are kept and the map is flat.", FallbackWarning)
    return _flat(task, noise, Choice("tuning", None, text=f"none: {problem}"), max(variance, 1e-12 * size), 1e-6)


def unlearned(task: Task, noise: float | None) -> Learned:
    """The values begun from, where the evidence could not be computed at any."""
    warn(f"tuning failed: {UNTUNED}{UNTUNED_ADVICE}", TuningWarning)
    return _flat(task, noise, Choice("tuning", "failed", text=f"failed: {UNTUNED}"), task.scale.variance, 0.5)


def _flat(task: Task, noise: float | None, told: Choice, variance: float, share: float) -> Learned:
    kernel = Matern() if task.settings.kernel is None else task.settings.kernel
    first = next(iter(kernel.leaves()))
    flat = kernel.scaled(share * variance / float(np.mean(first.diag(task.obs.rows.coords[:1]))))
    return Learned(Average.single(flat, variance if noise is None else noise), task.responses.family, (told,))


def learn_robustly(task: Task, learn: Callable[[Task], Learned]) -> Learned:
    """Gaussian fits whose outliers count little; `learn` learns one of them."""
    r, group = distinct_responses(task.responses)
    now = used = first_weights(r)
    for _ in range(3 if task.settings.learns else 1):
        used = now
        learned = learn(gaussian_task(task, used.of_rows(group, task.responses.weight)))
        now = settled(*learned.average.pairs[0], r, used)
        change = np.abs(np.log(now.relative / used.relative))
        if np.quantile(change, WATCHED) < 0.1:  # of the log weights
            break
    if not task.settings.learns:  # values that were given do not follow the weights: these may settle at once
        used = now
    values = now.family.parameters
    told = [Choice(name, values[name], "learned, with the weights of the rows") for name in r.family.unknown]
    gain = now.gain(used.relative, learned.average.pairs[0][1], r.weight)
    weights = used.of_rows(group, task.responses.weight)
    return replace(learned, family=now.family, choices=(*learned.choices, *told), reweighted=weights, gain=gain)
