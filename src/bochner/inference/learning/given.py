"""Fits in which there is nothing to learn: values that were given, flat maps, and data that no value explains."""

from __future__ import annotations

import numpy as np

from bochner.choices import Choice
from bochner.exceptions import FallbackWarning, InputError, TuningWarning, warn
from bochner.inference.learning.learned import Learned
from bochner.inference.observed.settings import Average
from bochner.inference.observed.task import Task
from bochner.kernels import Matern

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
