"""Rows in parts: sums add up to those of all rows, steps that lose go back, what cannot be summed is refused."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

from bochner.exceptions import ConvergenceError, InputError, PartError
from bochner.families import Binomial, Gamma, Gaussian, NegativeBinomial, Poisson, Student
from bochner.features import FourierMap, Rows
from bochner.frequencies import QuasiMonteCarlo, lattice_frequencies
from bochner.inference import Responses, Settings, chunked
from bochner.inference.fits import fixed_effects
from bochner.inference.fits.linear import LinearEngine
from bochner.inference.fits.newton import find_mode
from bochner.inference.observed.task import scale_of
from bochner.inference.schemes import lattice_scheme
from bochner.kernels import Linear, Matern, SquaredExponential

pytestmark = pytest.mark.every_case

FAMILIES = {
    "poisson": Poisson(),
    "binomial": Binomial(),
    "negative-binomial": NegativeBinomial(dispersion=0.4),
    "gamma": Gamma(dispersion=0.3),
}
KERNEL, N = SquaredExponential(0.5, 0.8), 60


def responses_of(family, n: int = N) -> Responses:
    rng = np.random.default_rng(1)
    coords = rng.uniform(size=(n, 2))
    eta = 0.5 + np.sin(4 * coords[:, 0]) / 2
    size = np.where(family.bounded_by_size, 9.0, 1.0) * np.ones(n)
    y = {
        "poisson": rng.poisson(np.exp(eta)),
        "negative-binomial": rng.poisson(np.exp(eta)),
        "binomial": rng.binomial(9, 1 / (1 + np.exp(-eta))),
        "gamma": rng.gamma(3.0, np.exp(eta) / 3),
    }.get(family.name, eta + 0.2 * rng.normal(size=n))
    weight = rng.integers(1, 3, n).astype(float)
    rows = Rows(coords, np.column_stack([np.ones(n), coords[:, 1]]))
    return Responses(family, rows, np.asarray(y, float), size, 0.1 * rng.normal(size=n), weight, np.zeros(n))


def plan_of(family, *, lattice: bool = True, noise: float = 0.04, prior=None) -> chunked.WavePlan:
    waves = (
        lattice_frequencies(KERNEL, np.full(2, 1.4), n_frequencies=14)
        if lattice
        else QuasiMonteCarlo().draw(KERNEL, 14, 2, np.random.default_rng(0))
    )
    missing = max(0.8 - float(waves.mass.sum()), 0.0) if lattice else 0.0
    features = FourierMap(waves, np.float64, missing, (np.full(2, -0.2), np.full(2, 1.2)))
    scale = scale_of(responses_of(Gaussian()).observations())
    return chunked.WavePlan(features, KERNEL, noise, family, "lattice", scale, (), trend_precision=prior)


def parts(responses: Responses) -> list[Responses]:
    return [responses[rows] for rows in np.array_split(np.random.default_rng(2).permutation(len(responses)), 4)]


@pytest.mark.parametrize("lattice", [True, False])
def test_sums_of_parts_are_the_fit_of_all_rows(lattice):
    responses, plan = responses_of(Gaussian()), plan_of(Gaussian(), lattice=lattice)
    first, *others = (plan.sums(part) for part in parts(responses))
    for other in others:
        first = first + other
    fit = plan.fit(first)
    whole = LinearEngine(plan.features, plan.noise_variance).fit(responses.observations())
    assert_allclose(fit.posterior.coef, whole.posterior.coef, rtol=1e-6, atol=1e-8)
    assert_allclose([fit.log_evidence, fit.log_likelihood], [whole.log_evidence, whole.log_likelihood], rtol=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("lattice", [True, False])
def test_steps_of_parts_come_to_the_mode_of_all_rows(name, lattice):
    """Coefficients, evidence, and as many passes as it takes; begun far off."""
    family, responses = FAMILIES[name], responses_of(FAMILIES[name])
    plan = plan_of(family, lattice=lattice)
    plan = replace(plan, start=np.zeros(plan.features.n_columns + 2))
    whole = find_mode(responses, plan.engine)
    model = chunked.solve(plan, lambda plan, coef: _total(plan, responses, coef))
    (posterior,) = model.mixture.components
    assert_allclose(posterior.coef, whole.fit.posterior.coef, atol=2e-4)
    # both stop where a step gains next to nothing, and see the rows from where it began
    assert_allclose(model.log_evidence, whole.log_evidence, atol=0.02)
    assert "Newton steps, a pass each" in str(next(c for c in model.choices if c.name == "solver"))
    assert model.noise_variance == plan.noise_variance and model.family == family


def _total(plan, responses, coef):
    first, *others = (plan.sums(part, coef) for part in parts(responses))
    for other in others:
        first = first + other
    return first


def test_a_prior_of_the_trend_is_in_every_sum():
    prior = np.array([[3.0, 0.5], [0.5, 2.0]])
    responses = replace(responses_of(Gaussian()), trend_precision=prior)
    plan = plan_of(Gaussian(), prior=prior)
    whole = LinearEngine(plan.features, plan.noise_variance).fit(responses.observations())
    assert_allclose(plan.fit(plan.sums(responses)).posterior.coef, whole.posterior.coef, atol=1e-7)
    coef = np.random.default_rng(0).normal(size=plan.features.n_columns + 2)
    assert_allclose(plan.penalty(coef), 0.5 * (coef[:-2] @ coef[:-2] + coef[-2:] @ prior @ coef[-2:]))
    assert_allclose(plan_of(Gaussian()).penalty(coef), 0.5 * coef[:-2] @ coef[:-2])


@pytest.mark.parametrize("name", FAMILIES)
def test_the_effect_of_a_row_is_its_likeliest(name):
    """The best of likelihood and prior of the effect, found one row at a time by a plain search."""
    family, responses = FAMILIES[name], responses_of(FAMILIES[name], 8)
    responses = replace(responses, error=np.linspace(0, 0.3, 8))
    plan = plan_of(family, noise=0.2)
    coef = 0.2 * np.random.default_rng(0).normal(size=plan.features.n_columns + 2)
    mean = responses.offset + plan.features.block(responses.rows.coords) @ coef[:-2] + responses.rows.trend @ coef[-2:]
    variance = 0.2 + responses.error + plan.features.missing_variance(responses.rows.coords)
    best = np.empty(8)
    for i in range(8):
        one = responses[np.array([i])]

        def loss(t, one=one, i=i):
            return -float(family.log_density(one.y, np.array([t]), one.size)[0]) + (t - mean[i]) ** 2 / variance[i] / 2

        best[i] = optimize.minimize_scalar(loss, bounds=(-5, 6), method="bounded", options={"xatol": 1e-9}).x
    seen, wanted = plan.working(responses, coef), responses.linearised(best).observations()
    assert_allclose(seen.y, wanted.y, atol=1e-4)
    assert_allclose(seen.error, wanted.error, rtol=1e-3)
    value = responses.log_likelihood(best) - 0.5 * np.sum(responses.weight * (best - mean) ** 2 / variance)
    assert_allclose(plan.sums(responses, coef).value, value, atol=1e-6)
    bare = replace(plan, noise_variance=0.0, features=replace(plan.features, missing=0.0))
    exact = replace(responses, error=np.zeros(8))
    assert_allclose(bare.working(exact, coef).y, exact.linearised(mean).observations().y)
    assert_allclose(bare.sums(exact, coef).value, exact.log_likelihood(mean))


def test_a_step_that_loses_is_halved_and_one_that_gains_is_gone_on_from():
    family = Poisson()
    responses, plan = responses_of(family), plan_of(family)
    sums = plan.sums(responses, np.zeros(plan.features.n_columns + 2))
    zero = np.zeros(plan.features.n_columns + 2)
    far = np.full_like(zero, 4.0)
    better = chunked.Climb(far, zero, value=sums.value + 10.0, n_steps=3)
    back, fit = better.after(plan, sums)  # the value at `far` is less than it was at zero
    assert fit is None and back.share == 0.5 and back.n_steps == 4 and back.best is zero
    assert_allclose(back.coef, 2.0)
    on, fit = chunked.Climb(zero).after(plan, sums)
    assert fit is None and on.best is zero and on.share == 1.0 and on.n_steps == 1
    assert_allclose(on.value, sums.value)
    done, fit = chunked.Climb(zero, zero, value=sums.value, n_steps=5).after(plan, sums)
    assert fit is not None and done.n_steps == 6
    for lost in (replace(better, best=None), replace(better, share=fixed_effects.SMALLEST_NEWTON_STEP / 2)):
        with pytest.raises(ConvergenceError, match="left the domain"):
            lost.after(plan, sums)
    nowhere = replace(sums, value=float("nan"))
    assert chunked.Climb(far, zero, value=-1e9).after(plan, nowhere)[0].share == 0.5
    with pytest.raises(ConvergenceError, match="did not settle"):
        chunked.Climb(zero, n_steps=fixed_effects.MAX_NEWTON_STEPS).after(plan, sums)
    same, fit = chunked.Climb(None).after(plan_of(Gaussian()), plan_of(Gaussian()).sums(responses_of(Gaussian())))
    assert fit is not None and same.n_steps == 0


def test_rows_outside_the_box_of_the_waves_are_refused():
    responses, plan = responses_of(Gaussian()), plan_of(Gaussian())
    away = replace(responses, rows=Rows(responses.rows.coords + 0.5, responses.rows.trend))
    n = int(np.any(away.rows.coords > 1.2, axis=1).sum())
    with pytest.raises(InputError, match=f"{n} rows lie outside the box"):
        plan.sums(away)
    weightless = replace(responses, weight=np.where(np.arange(N) < 5, 0.0, responses.weight))
    assert_allclose(
        plan.fit(plan.sums(weightless)).posterior.coef, plan.fit(plan.sums(weightless[5:])).posterior.coef, atol=1e-9
    )


@pytest.mark.parametrize(
    ("features", "kernel", "dim", "chosen"),
    [
        ("auto", None, 1, "lattice"),
        ("auto", None, 3, "lattice"),
        ("auto", Matern(), 4, "orthogonal"),
        ("auto", Linear(), 2, "nystroem"),
        ("orthogonal", None, 2, "orthogonal"),
        ("nystroem", Matern(), 2, "nystroem"),
        ("lattice", None, 2, "lattice"),
    ],
)
def test_features_of_parts_are_those_that_add(features, kernel, dim, chosen):
    choice = chunked._chosen(Settings(features=features, kernel=kernel), 10**6, dim)
    assert choice.value == chosen and choice.name == "features"


@pytest.mark.parametrize("features", ["exact", "conjugate-gradients", "nearest", "leverage", "learned"])
def test_features_that_look_at_all_rows_are_refused(features):
    with pytest.raises(PartError, match="it looks at all of them at once"):
        chunked._chosen(Settings(features=features), 10**6, 2)


def test_what_cannot_be_summed_is_refused():
    fine = responses_of(Gaussian())
    chunked._refuse(Settings(), fine)
    chunked._refuse(Settings(noise_variance=0.0), fine)  # learned otherwise, from the sample
    chunked._refuse(Settings(noise_variance=0.0, learns=False), responses_of(Poisson()))
    chunked._refuse(Settings(noise_variance=0.1, learns=False), fine)
    with pytest.raises(PartError, match="noise_variance=0"):
        chunked._refuse(Settings(noise_variance=0.0, learns=False), fine)
    with pytest.raises(PartError, match="a weight of each row"):
        chunked._refuse(Settings(), responses_of(Student()))
    with pytest.raises(InputError, match="another unit"):
        chunked._refuse(Settings(), replace(fine, y=1e160 * fine.y))
    areas = SimpleNamespace(rows=SimpleNamespace(has_areas=True))
    with pytest.raises(PartError, match="means over areas"):
        chunked._refuse(Settings(), areas)  # type: ignore[arg-type]


def test_a_plan_says_how_many_rows_it_is_for(monkeypatch):
    monkeypatch.setattr(lattice_scheme, "MAX_LATTICE_WAVES", 200)
    sample = responses_of(Gaussian())
    settings = Settings(kernel=SquaredExponential(0.5), noise_variance=0.04, learns=False, n_frequencies=20)
    for features, n_columns in (("lattice", 20), ("orthogonal", 20), ("nystroem", 20)):
        plan = chunked.plan_waves(replace(settings, features=features), sample, 10**5)
        told = {choice.name: str(choice) for choice in plan.choices}
        assert "60 of 100,000 rows" in told["rows"]
        assert plan.n_frequencies == n_columns and plan.start is None and not plan.rough
        assert plan.noise_variance == 0.04 and plan.scheme == features
    counts = chunked.plan_waves(replace(settings, features="lattice"), responses_of(Poisson()), 10**5)
    assert counts.start is not None and len(counts.start) == counts.features.n_columns + 2
    rough = replace(settings, features="lattice", n_frequencies="auto", kernel=Matern(0.01, nu=0.5))
    assert chunked.plan_waves(rough, sample, 10**5).rough
