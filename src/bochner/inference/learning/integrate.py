"""Integration over the hyperparameters of a form: design points about its modes (Rue, Martino & Chopin 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bochner.arrays import FloatArray
from bochner.inference.learning.evidence import FAILURES
from bochner.inference.learning.policy import POLICY
from bochner.inference.learning.search import Found, Mode, Posterior

DIFFERENCE = 0.1  # step of the differences of gradients that make a Hessian


@dataclass(frozen=True)
class Nodes:
    """Points with their masses, the mode first, and the log evidence of the form."""

    points: list[FloatArray]
    mass: FloatArray
    log_evidence: float
    n_directions: int


@dataclass(frozen=True)
class Peak:
    """A mode with the Hessian in its frame."""

    posterior: Posterior
    mode: Mode
    hessian: FloatArray

    @property
    def steps(self) -> FloatArray:
        """Independent directions of one sd each, one a column, none wider than the widest."""
        values, vectors = np.linalg.eigh(self.hessian)
        vectors = vectors * np.where(np.sum(vectors**3, axis=0) < 0, -1.0, 1.0)  # the sign is chosen by the shape
        sds = 1 / np.sqrt(np.clip(values, POLICY.widest**-2, None))
        return np.asarray(self.posterior.form.frame(self.mode.x) @ (vectors * sds))

    @property
    def log_volume(self) -> float:
        """Of the normal law about the mode."""
        steps = self.steps
        return float(np.linalg.slogdet(steps)[1] + 0.5 * len(steps) * np.log(2 * np.pi))

    @property
    def log_evidence(self) -> float:
        """Of the form, as far as this mode holds it and is normal."""
        return self.mode.value + self.log_volume


def peaks(posterior: Posterior, modes: Sequence[Mode]) -> list[Peak]:
    """Modes that are not ruled out and lie apart, each with its Hessian."""
    found: list[Peak] = []
    for mode in modes:
        ruled_out = bool(found) and mode.value < found[0].mode.value - POLICY.ruled_out
        if ruled_out or any(_close(mode, other) for other in found):
            continue
        hessian = information(posterior, mode)
        found.append(Peak(posterior, polished(posterior, mode, hessian), hessian))
    return found


def integrate(found: Found, places: FloatArray | None, most: int) -> Nodes:
    """About `most` nodes about the modes of a form; `places` are where the surface is looked at.

    With one node, the evidence of the form is that of a normal law with the information at its mode.
    """
    if places is None:
        return Nodes([found.modes[0].x], np.ones(1), found.log_evidence - found.form.log_odds, 0)
    points, logs, n_directions = [], [], 0
    for peak in peaks(found.posterior, found.modes):
        more, log_mass, k = _about(peak, places, most)
        points += more
        logs += log_mass
        n_directions = max(n_directions, k)
    total = np.logaddexp.reduce(logs)
    return Nodes(points, np.exp(np.array(logs) - total), float(total), n_directions)


def information(posterior: Posterior, mode: Mode) -> FloatArray:
    """Minus the Hessian of the log posterior in the frame of a mode, by differences of its gradient."""
    low, high = posterior.form.bounds.T
    frame = posterior.form.frame(mode.x)
    rows = []
    for direction in frame.T:
        x = mode.x + DIFFERENCE * direction
        step = DIFFERENCE if np.all((low <= x) & (x <= high)) else -DIFFERENCE
        gradient = posterior.at(mode.x + step * direction).gradient
        rows.append(-frame.T @ (gradient - mode.gradient) / step)
    hessian = np.array(rows)
    return (hessian + hessian.T) / 2


def polished(posterior: Posterior, mode: Mode, hessian: FloatArray) -> Mode:
    """The mode after one more step of Newton's method, where that leads upwards."""
    frame, (low, high) = posterior.form.frame(mode.x), posterior.form.bounds.T
    values, vectors = np.linalg.eigh(hessian)
    slope = vectors.T @ frame.T @ mode.gradient
    x = np.clip(mode.x + frame @ vectors @ (slope / np.maximum(values, POLICY.widest**-2)), low, high)
    there = posterior.at(x)
    return replace(there, status=mode.status) if there.value > mode.value else mode


def _close(mode: Mode, other: Peak) -> bool:
    apart = other.posterior.form.frame(other.mode.x).T @ (mode.x - other.mode.x)
    return float(apart @ other.hessian @ apart) < POLICY.apart**2


def _about(peak: Peak, places: FloatArray, most: int) -> tuple[list[FloatArray], list[float], int]:
    """Design points about one mode with their log masses, over the directions that move the surface."""
    posterior, mode, volume = peak.posterior, peak.mode, peak.log_volume
    steps = _that_matter(posterior, mode, peak.steps, places, _directions(most))
    k = steps.shape[1]
    if not k:
        return [mode.x], [mode.value + volume], 0
    design = POLICY.design * np.vstack([np.sqrt(k) * np.eye(k), -np.sqrt(k) * np.eye(k), _corners(k)])
    centre = 1 - 1 / POLICY.design**2
    points, logs = [mode.x], [mode.value + volume + np.log(centre)]
    each = np.log((1 - centre) / len(design))
    for z in design:
        normal = 0.5 * float(z @ z)
        x, value, factor = _along(posterior, mode, steps @ z, normal)
        points.append(x)
        logs.append(volume + each + value + normal + k * np.log(factor))
    return points, logs, k


def _along(posterior: Posterior, mode: Mode, ray: FloatArray, fall: float) -> tuple[FloatArray, float, float]:
    """The point on a ray where the log density has fallen as far as that of a normal law."""
    low, high = posterior.form.bounds.T
    factor, tried = 1.0, []
    for _ in range(3):
        x = np.clip(mode.x + factor * ray, low, high)
        value = posterior.value(x)
        fallen = mode.value - value
        tried.append((abs(np.log(max(fallen, 1e-3) / fall)), factor, value, x))
        if fall / 1.5 < fallen < 1.5 * fall:
            break
        factor *= float(np.clip(np.sqrt(fall / max(fallen, 0.05)), 0.4, 1.8))
    _, factor, value, x = min(tried, key=lambda each: each[0])
    return x, value, factor


def _directions(most: int) -> int:
    """Directions whose design has no more than so many points."""
    return max(k for k in range(POLICY.directions + 1) if k == 0 or 1 + 2 * k + len(_corners(k)) <= most)


def _corners(k: int) -> FloatArray:
    """A two-level design of resolution V: signs, (m, k)."""
    if k == 1:
        return np.zeros((0, 1))
    words = {5: ["0123"]}.get(k, [])
    base = k - len(words)
    full = np.array(np.meshgrid(*[[-1.0, 1.0]] * base, indexing="ij")).reshape(base, -1).T
    return np.column_stack([full, *(np.prod(full[:, [int(i) for i in word]], axis=1) for word in words)])


def _that_matter(posterior: Posterior, mode: Mode, steps: FloatArray, places: FloatArray, n: int) -> FloatArray:
    """Directions along which a step moves mean or sd of the surface by more than a trifle."""
    centre = _surface(posterior, mode.x, places)
    if centre is None:
        return steps[:, :0]
    moves = np.zeros(steps.shape[1])
    for i, step in enumerate(steps.T):
        for sign in (1, -1):
            seen = _surface(posterior, mode.x + sign * POLICY.design * step, places)
            if seen is not None:
                moved = np.abs(np.array(seen) - centre).max(axis=0) / np.maximum(centre[1], 1e-300)
                moves[i] = max(moves[i], float(np.sqrt(np.mean(moved**2))))
    most = np.sort(np.argsort(-moves, kind="stable")[:n])
    return steps[:, [i for i in most if moves[i] > POLICY.moved]]


def _surface(posterior: Posterior, x: FloatArray, places: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    low, high = posterior.form.bounds.T
    try:
        return posterior.evidence.surface(posterior.form.at(np.clip(x, low, high)), places)
    except (*FAILURES, ValueError):
        return None
