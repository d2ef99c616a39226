"""What a model answers, as plain numbers, and when two answers are the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bochner.exceptions import BochnerWarning
from bochner.inference import leave_out

NEAR = 0.02  # of the largest number of an answer

Answer = dict[str, list[float]]


def answered(make: Callable[[], tuple[Any, Any]]) -> Answer:
    """What a model predicts at new places, and what of its own rows when they are held out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BochnerWarning)
        model, new = make()
        inner, law = model.fitted_.model, model.predict_distribution(new)
        seen = model.predict_distribution(new, include_noise=True)
        held = leave_out(inner, model.training_responses(), None)[0]
        numbers = {
            "evidence": inner.log_evidence,
            "mean": law.mean,
            "sd": law.sd,
            "sd of new": seen.sd,
            "latent": model.predict_latent(new),
            "held out": np.r_[held.mean[::9], held.variance[::9]],
        }
    return {name: [float(f"{x:.6g}") for x in np.ravel(number)] for name, number in numbers.items()}


def differences(new: Answer, old: Answer) -> Iterator[str]:
    """What is not as it was, in words."""
    for name in sorted(new.keys() | old.keys()):
        a, b = (np.array(one.get(name, [])) for one in (new, old))
        if a.shape != b.shape:
            yield f"{name}: {len(a)} numbers, {len(b)} were written down"
        elif not np.allclose(a, b, rtol=NEAR, atol=NEAR * np.max(np.abs(b))):
            yield f"{name}: {a}, written down are {b}"
