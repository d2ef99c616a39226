"""Where no lattice reaches: waves that see all rows, or the nearest rows, whichever held-out rows speak for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bochner.inference.fits.folds import Fold, HeldOut, leave_out_linear
from bochner.inference.fits.linear import LinearFit
from bochner.inference.fits.local_folds import held_out_locally
from bochner.inference.fits.newton import Mode
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel
from bochner.random import generator
from bochner.validation import crps

MOST_HELD = 1_000  # rows held out
MOST_ASKED = 30_000  # rows that both are given: of more, waves miss more and the nearest rows are nearer
Waves = Callable[
    [Observations], tuple[Mode, float]
]  # mode of waves, and their noise, which may hold what they leave out


def better_from_nearest(
    kernel: Kernel, noise_variance: float, waves: Waves, obs: Observations, seed: int
) -> tuple[bool, str]:
    """Whether held-out rows are predicted better from their nearest rows than by waves, and how well by both."""
    rng = generator(seed, "held-out rows")
    if len(obs) > MOST_ASKED:
        obs = obs[np.sort(rng.choice(len(obs), MOST_ASKED, replace=False))]
    n_test = min(MOST_HELD, len(obs) // 10)
    rows = rng.permutation(len(obs))
    fold: Fold = (np.sort(rows[n_test:]), np.sort(rows[:n_test]))
    near = _crps(held_out_locally(kernel, obs, noise_variance, [fold]), obs, noise_variance)
    mode, noise = waves(obs)
    assert isinstance(mode.fit, LinearFit)
    far = _crps(leave_out_linear(mode.fit, obs, noise, [fold]), obs, noise)
    return near < far, f"CRPS of {n_test:,} held-out rows {near:.4g} from the nearest rows, {far:.4g} by waves"


def _crps(held: HeldOut, obs: Observations, noise_variance: float) -> float:
    i = held.index
    sd = np.sqrt(held.variance + obs.copy_variance(noise_variance)[i])
    return crps(obs.y[i], held.mean, sd, sample_weight=obs.weight[i])
