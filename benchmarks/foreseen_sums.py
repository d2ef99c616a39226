"""Sums of fields that slopes at the single field foretell, against what climbs of the sums gain.

    python benchmarks/foreseen_sums.py [--truths 40] [--rows 3200] [--seed 0]

Truths of one to three Matern fields of smoothness 1/2 and 3/2, of random lengths, variances and noise, in one to three
dimensions. A line for each: what is foretold of a sum of three and what its climbs gain in log likelihood, or that the
single field is too rough for its slopes to tell. The last line: how many climbs are spared, and how many of the sums
that gain enough to be judged are not tried.
"""

from __future__ import annotations

import argparse

import numpy as np

from bochner.features import Rows
from bochner.inference import Observations
from bochner.inference.observed.scale import scale_of
from bochner.inference.tuning import limits
from bochner.inference.tuning.search import Search, Tuned, tune
from bochner.inference.tuning.sums import _likelihood, fit_sum
from bochner.kernels import Matern
from bochner.neighbours import SharedOrder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--truths", type=int, default=40)
    parser.add_argument("--rows", type=int, default=3_200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    told = [one_truth(np.random.default_rng([asked.seed, i]), asked.rows) for i in range(asked.truths)]
    least = limits.FORESEEN_SHARE * limits.WORTH_LIKELIHOOD
    spared = [gained for foreseen, gained in told if foreseen is not None and foreseen < least]
    worth = sum(gained >= limits.WORTH_LIKELIHOOD for _, gained in told)
    missed = sum(gained >= limits.WORTH_LIKELIHOOD for gained in spared)
    print(f"climbs spared {len(spared)} of {len(told)}; sums that gain enough {worth}, of these not tried {missed}")


def one_truth(rng: np.random.Generator, n: int) -> tuple[float | None, float]:
    """What is foretold, None of a rough field, and what is gained."""
    dim, n_fields = int(rng.choice([1, 2, 2, 2, 3])), int(rng.choice([1, 2, 2, 3]))
    coords, y = rng.uniform(size=(n, dim)), np.zeros(n)
    for _ in range(n_fields):
        length, variance = np.exp(rng.uniform(np.log([0.015, 0.05]), np.log([1.0, 2.0])))
        kernel = Matern(float(length), float(variance), nu=float(rng.choice([0.5, 1.5])))
        y += np.linalg.cholesky(kernel(coords) + 1e-9 * np.eye(n)) @ rng.standard_normal(n)
    y += np.exp(rng.uniform(np.log(0.1), 0.0)) * rng.standard_normal(n)
    obs = Observations(Rows(coords, np.ones((n, 1))), y, np.ones(n), np.zeros(n), np.zeros(n))
    shared = SharedOrder()
    coarse, fine = (
        Search(_likelihood(obs, n_points, k, None, 0, shared), scale_of(obs), None)
        for n_points, k in ((limits.COARSE_POINTS, limits.COARSE_NEIGHBOURS), (n, limits.FINE_NEIGHBOURS))
    )
    single = likeliest(coarse, fine)
    folds = [(rows[n // 10 :], rows[: n // 10]) for rows in (rng.permutation(n),)]
    foreseen = None
    if single.kernel.nu >= limits.SMOOTH_ENOUGH:
        _, foreseen = fit_sum(single, None, obs, folds, 0, shared, np.inf, coarse)
    _, gained = fit_sum(single, None, obs, folds, 0, shared)
    word = "too rough" if foreseen is None else f"foretold {foreseen:.2f}"
    print(f"{n_fields} fields in {dim}-D, single of nu {single.kernel.nu:.2f}: {word}, gained {gained:.2f}", flush=True)
    return foreseen, gained


def likeliest(coarse: Search, fine: Search) -> Tuned:
    """The likeliest single field, its smoothness learned."""
    drafts = [tune(coarse, Matern(nu=nu), n_climbs=1) for nu in (0.5, 1.5)]
    draft = max(drafts, key=lambda t: t.value)
    return fine.maximise(draft.kernel.replace(learn_nu=True), draft.noise_variance)


if __name__ == "__main__":
    main()
