"""Where no lattice reaches: waves that see all rows, or the nearest rows, whichever held-out rows speak for."""

from __future__ import annotations

import numpy as np

from bochner.inference.cross_validation import Fold, HeldOut, leave_out_linear
from bochner.inference.linear import LinearFit
from bochner.inference.local import held_out_locally
from bochner.inference.observations import Observations
from bochner.kernels import Kernel
from bochner.random import generator
from bochner.validation import crps

MOST_HELD = 1_000  # rows


def better_from_nearest(
    kernel: Kernel, noise_variance: float, waves: LinearFit, noise_beside: float, obs: Observations, seed: int
) -> tuple[bool, str]:
    """Whether held-out rows are predicted better from their nearest rows than by waves, and how well by both.

    `noise_beside` is the noise variance of the waves, which may hold what they leave out.
    """
    test = generator(seed, "held-out rows").choice(len(obs), min(MOST_HELD, len(obs) // 10), replace=False)
    fold: Fold = (np.setdiff1d(np.arange(len(obs)), test), np.sort(test))
    near = _crps(held_out_locally(kernel, obs, noise_variance, [fold]), obs, noise_variance)
    far = _crps(leave_out_linear(waves, obs, noise_beside, [fold]), obs, noise_beside)
    return near < far, f"CRPS of {len(test):,} held-out rows {near:.4g} from the nearest rows, {far:.4g} by waves"


def _crps(held: HeldOut, obs: Observations, noise_variance: float) -> float:
    i = held.index
    sd = np.sqrt(held.variance + obs.copy_variance(noise_variance)[i])
    return crps(obs.y[i], held.mean, sd, sample_weight=obs.weight[i])
