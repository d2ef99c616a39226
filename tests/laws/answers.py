"""What a model answers, as plain numbers and texts, and when two answers are the same."""

from __future__ import annotations

import platform
import re
import warnings
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Any

import numpy as np
import pytest

from bochner.estimators.crossvalidation import make_folds
from bochner.exceptions import BochnerWarning
from bochner.inference import leave_out
from tests.laws.registry_answers import Case

NEAR = 2e-4  # of the largest number of an answer; places that move by 1e-11 change none by more than 1e-5
ELSEWHERE = 1e-2  # the same with other libraries or on another machine, where texts may be worded by other digits
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?")


def versions() -> dict[str, str]:
    """Of the libraries that answers may depend on, and the machine."""
    libraries = {name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return libraries | {"machine": platform.machine()}


def answered(case: Case) -> dict[str, Any]:
    """Answers of a model, made while its limits hold."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", BochnerWarning)
        for room, values in case.limits.items():
            for name, value in values.items():
                patch.setattr(room, name, value)
        model, new = case.make()
        numbers = _numbers(model, new)
        return {"texts": _texts(model), "numbers": {name: plain(number) for name, number in numbers.items()}}


def answered_part(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Answers of a small part: numbers alone."""
    return {"texts": [], "numbers": {name: plain(number) for name, number in make().items()}}


def plain(number: Any) -> list[float]:
    """A number, or an array of any shape, as a list."""
    return [float(x) for x in np.asarray(number, dtype=float).ravel()]


def _texts(model: Any) -> list[str]:
    inner = model.fitted_.model
    return [
        inner.scheme,
        *(f"{name}: {text}" for name, text in model.choices_.items()),
        f"at bounds: {', '.join(inner.at_bounds)}; outliers: {', '.join(map(str, inner.outliers))}",
    ]


def _numbers(model: Any, new: Any) -> dict[str, Any]:
    """The model, what it predicts at new places, and what of its own rows when they are held out."""
    inner = model.fitted_.model
    law = model.predict_distribution(new)
    told = {
        "theta": inner.kernel.theta,
        "noise": inner.mixture.noise_variance,
        "mass": inner.mixture.mass,
        "evidence": np.nan_to_num([inner.log_evidence, inner.log_likelihood]),
        "model": [inner.n_frequencies or 0, inner.kernel_error or 0, inner.spare_sd or 0, inner.pair_scatter or 0],
        "dispersion": [value or 0 for value in inner.family.parameters.values()],
    }
    seen = model.predict_distribution(new, include_noise=True)
    middle = np.median(np.asarray(law.mean))
    return told | {
        "intercept": model.intercept_,
        "mean": law.mean,
        "sd": law.sd,
        "latent": np.ravel(model.predict_latent(new)),
        "interval": np.ravel(seen.interval(0.9)),
        "exceedance": law.exceedance(middle),
        "draws": law.sample(2, 0),
        "held out": _held_out(model, None) if model.has_training else [],
        "blocks held out": _held_out(model, 4) if model.has_training else [],
    }


def _held_out(model: Any, cv: int | None) -> np.ndarray:
    """Means and variances of rows by the others, of every component."""
    responses = model.training_responses()
    folds = make_folds(cv, responses.rows.coords, responses.y, None, 0)
    held = leave_out(model.fitted_.model, responses, folds)
    return np.concatenate([np.r_[one.mean[::9], one.variance[::9]] for one in held[:3]])


def differences(new: dict[str, Any], old: dict[str, Any], near: float = NEAR, texts: bool = True) -> Iterator[str]:
    """What is not as it was, in words."""
    for name in sorted(new["numbers"].keys() | old["numbers"].keys()):
        a, b = (np.array(one["numbers"].get(name, [])) for one in (new, old))
        if a.shape != b.shape:
            yield f"{name}: {len(a)} numbers, {len(b)} were written down"
        elif len(a) and not np.allclose(a, b, rtol=near, atol=near * min(np.max(np.abs(b)), 1e3)):
            yield f"{name}: {a}, written down are {b}"
    if not texts:
        return
    if len(new["texts"]) != len(old["texts"]):
        yield f"texts: {new['texts']}, written down are {old['texts']}"
        return
    for ours, theirs in zip(new["texts"], old["texts"], strict=True):
        if not same_text(ours, theirs):
            yield f"{ours!r}, written down is {theirs!r}"


def same_text(a: str, b: str) -> bool:
    """The same words, with numbers that differ in their last digit at most, or by a hundredth."""
    ours, theirs = NUMBER.findall(a), NUMBER.findall(b)
    if NUMBER.sub("#", a) != NUMBER.sub("#", b) or len(ours) != len(theirs):
        return False
    return all(_near(x, y) for x, y in zip(ours, theirs, strict=True))


def _near(a: str, b: str) -> bool:
    digits = len(b.partition("e")[0].partition(".")[2])
    power = int(b.partition("e")[2] or 0)
    whole = not digits and not power
    x, y = (float(one.replace(",", "")) for one in (a, b))
    return abs(x - y) <= (0.0 if whole and abs(y) < 100 else max(1.01 * 10.0 ** (power - digits), 0.01 * abs(y)))
