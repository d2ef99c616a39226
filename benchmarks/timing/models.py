"""Models: fits with prediction beside the same by peers, on the same rows."""

from __future__ import annotations

from collections.abc import Iterator

from . import peers
from .plan import NOISE, Plan, Split, field, fitted, installed
from .rows import OURSELVES, RIVAL, Row, Score

EXACT = "scikit-learn GaussianProcessRegressor"


def small_fits(plan: Plan) -> Iterator[Row]:
    """A default fit of few rows, hyperparameters averaged over: what a survey costs."""
    from bochner import SpatialRegressor

    for n in (100, 200, 400, 499, 500):  # of 500 and more the best hyperparameters are mostly taken
        split = Split.at(n, *field(n + 500))
        theirs = fitted(plan, peers.process_of(1.5), split)
        ours = fitted(plan, SpatialRegressor(n_jobs=plan.threads), split)
        score = Score.of(ours.errors, theirs.errors)
        case = "few rows, kernel and averaging by default"
        yield Row(case, f"{n} rows", ours.seconds, EXACT, theirs.seconds, RIVAL, None, score)


def exact_process(plan: Plan) -> Iterator[Row]:
    """A Gaussian process that learns its hyperparameters."""
    from bochner import SpatialRegressor

    n = plan.size(1_500, 600)
    split, size = Split.at(n, *field(n + 500)), f"{n:,} rows"
    beside = {EXACT: plan.fastest(lambda: fitted(plan, peers.process_of(1.5), split))}
    if installed("gpytorch"):
        beside["GPyTorch, 50 steps of Adam"] = peers.gpytorch(plan, split)
    for case, kernel in (("chosen too", None), ("Matern 3/2 given", "matern32")):
        ours = plan.fastest(lambda k=kernel: fitted(plan, SpatialRegressor(k, n_jobs=plan.threads), split))
        for name, theirs in beside.items():
            if kernel or name == EXACT:
                score = Score.of(ours.errors, theirs.errors)
                told = f"learned process, kernel {case}"
                yield Row(told, size, ours.seconds, name, theirs.seconds, RIVAL, None, score)


def large_field(plan: Plan) -> Iterator[Row]:
    """Fit and prediction with sd against GPBoost's Vecchia approximation: by default, and with its kernel given."""
    from bochner import SpatialRegressor

    beside = installed("gpboost")
    few = Split.at(3_000, *field(3_500))
    fitted(plan, SpatialRegressor(n_jobs=plan.threads), few)  # what is imported once is the clock's of neither
    if beside:
        peers.gpboost(plan, few)
    for n in plan.rows or ((5_000,) if plan.quick else (10_000, 100_000, 300_000)):
        split = Split.at(n, *field(n + 2_000))
        default, given = (
            plan.fastest(lambda k=kernel: fitted(plan, SpatialRegressor(k, n_jobs=plan.threads), split))  # noqa: B023
            for kernel in (None, "exponential")
        )
        case, size, peer = "default fit, prediction with sd", f"{n:,} rows", "GPBoost, Vecchia"
        if not beside:  # what the choice of a kernel costs is told without it
            score = Score.of(default.errors, given.errors)
            yield Row(case, size, default.seconds, "exponential kernel given", given.seconds, OURSELVES, None, score)
            continue
        theirs = plan.fastest(lambda: peers.gpboost(plan, split))  # noqa: B023
        for told, ours in ((case, default), ("the same, exponential kernel given", given)):
            score = Score.of(ours.errors, theirs.errors)
            yield Row(told, size, ours.seconds, peer, theirs.seconds, RIVAL, None, score)


def satellite(plan: Plan) -> Iterator[Row]:
    """The same of the satellite file, scored in gaps like its own."""
    from bochner import SpatialRegressor

    if plan.data is None or not installed("gpboost"):
        return
    from competition import cases

    _, (X, y), (new, truth) = next(iter(cases(plan.data, "satellite")))
    split = Split(X, y, new, truth)
    ours = plan.fastest(lambda: fitted(plan, SpatialRegressor(n_jobs=plan.threads), split))
    theirs = plan.fastest(lambda: peers.gpboost(plan, split))
    score = Score.of(ours.errors, theirs.errors)
    case = "satellite file, prediction with sd"
    yield Row(case, f"{len(X):,} rows", ours.seconds, "GPBoost, Vecchia", theirs.seconds, RIVAL, None, score)


def ordinary_kriging(plan: Plan) -> Iterator[Row]:
    """Prediction with variance of all from all, kernel given."""
    from bochner import SpatialRegressor
    from bochner.kernels import Matern

    n, m = plan.size(2_000, 800), plan.size(20_000, 4_000)
    split = Split.at(n, *field(n + m))
    model = SpatialRegressor(Matern(0.2, nu=0.5), tune=None, noise_variance=NOISE, n_jobs=plan.threads)
    ours = plan.fastest(lambda: fitted(plan, model, split))
    for label, name, peer in (("PyKrige", "pykrige", peers.pykrige), ("GSTools", "gstools", peers.gstools)):
        if installed(name):
            theirs = peer(plan, split)
            score, size = Score.of(ours.errors, theirs.errors), f"{n:,} rows, {m:,} places"
            case = "kriging of all from all, kernel given"
            yield Row(case, size, ours.seconds, label, theirs.seconds, RIVAL, None, score)
