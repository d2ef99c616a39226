"""Learning where outliers are expected: kernel and weights of the rows in turn, until these stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bochner.choices import Choice
from bochner.inference.learning.learned import Learned
from bochner.inference.learning.reweighted import WATCHED, first_weights, gaussian_task, settled
from bochner.inference.observed.responses import distinct_responses
from bochner.inference.observed.task import Task

ROUNDS = 3  # of kernels and weights
SETTLED = 0.1  # change of the log weights at which the rounds end


def learn_robustly(task: Task, learn: Callable[[Task], Learned]) -> Learned:
    """Gaussian fits whose outliers count little; `learn` learns one of them."""
    r, group = distinct_responses(task.responses)
    now = used = first_weights(r)
    for _ in range(ROUNDS if task.settings.learns else 1):
        used = now
        learned = learn(gaussian_task(task, used.of_rows(group, task.responses.weight)))
        now = settled(*learned.average.pairs[0], r, used)
        change = np.abs(np.log(now.relative / used.relative))
        if np.quantile(change, WATCHED) < SETTLED:
            break
    if not task.settings.learns:  # values that were given do not follow the weights: these may settle at once
        used = now
    values = now.family.parameters
    told = [Choice(name, values[name], "learned, with the weights of the rows") for name in r.family.unknown]
    gain = now.gain(used.relative, learned.average.pairs[0][1], r.weight)
    weights = used.of_rows(group, task.responses.weight)
    return replace(learned, family=now.family, choices=(*learned.choices, *told), reweighted=weights, gain=gain)
