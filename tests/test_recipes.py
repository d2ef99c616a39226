"""The recipes of CONTRIBUTING, executed: parts of one's own, each one file outside the package and one registration.

Each part is put to the laws of its contract, and then to use: a fit, a map or a command that takes it by its name.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from bochner import SpatialRegressor, choose, cli, families, formats, frequencies, kernels, load, spelling, validation
from bochner.archive import registry as archived
from bochner.diagnostics import diagnose
from bochner.inference.fits.linear import LinearEngine
from bochner.inference.schemes import choose as schemes
from bochner.kernels import Matern, SquaredExponential
from bochner.maps import make_grid, map_to_file, predict_on_grid
from bochner.maps.files import writers
from bochner.report.words import score_table
from bochner.solvers import linear_solver
from tests.laws import (
    registry,
    registry_families,
    registry_fits,
    registry_models,
    test_factors,
    test_families,
    test_fits,
    test_frequencies,
    test_kernels,
    test_links,
    test_posteriors,
    test_schemes,
    test_spectral_measures,
)
from tests.maps import surveys

ROOT = Path(__file__).resolve().parents[1]
RECIPES = sorted(path for path in (ROOT / "tests" / "recipes").glob("*.py") if path.stem != "__init__")
REGISTRIES: tuple[Any, ...] = (
    *(kernels.NAMED_KERNELS, frequencies.RULES, families.FAMILIES, linear_solver.SOLVERS),
    *(schemes.SCHEMES, schemes.AUTO, validation.SCORES, writers.WRITERS, cli.REGISTERED, archived._CLASSES),
    *(spelling.FAMILIES, spelling.KERNELS, spelling.FEATURES, formats.MAPS, formats.PARTS),
)
KERNEL = Matern(0.3, 1.0)
Recipe = Callable[[str], ModuleType]


@pytest.fixture
def recipe() -> Iterator[Recipe]:
    """Imports a file of `tests/recipes`, which registers its part; all is as it was afterwards."""
    before = [parts.copy() for parts in REGISTRIES]
    yield lambda name: import_module(f"tests.recipes.{name}")
    for path in RECIPES:
        sys.modules.pop(f"tests.recipes.{path.stem}", None)
    for parts, content in zip(REGISTRIES, before, strict=True):
        parts.clear()
        (parts.extend if isinstance(parts, list) else parts.update)(content)


def hold(laws: ModuleType, **given: Sequence[Any]) -> list[str]:
    """Put a part to every law of a file that speaks of it, in all combinations of what is given; names of the laws.

    The first name given is that of the part: laws that do not take it, or take what is not given, are left out.
    """
    part, held = next(iter(given)), []
    for name, law in list(vars(laws).items()):
        wanted = (
            [p.name for p in inspect.signature(law).parameters.values() if p.default is p.empty]
            if (name.startswith("test_") and inspect.isfunction(law))
            else []
        )
        if part not in wanted or not set(wanted) <= set(given):
            continue
        for values in itertools.product(*(given[word] for word in wanted)):
            try:
                law(**dict(zip(wanted, values, strict=True)))
            except pytest.skip.Exception:
                continue
        held.append(name)
    return held


def table(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Places in the unit square, and a smooth surface with noise of sd 0.1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, np.sin(5 * X[:, 0]) + np.cos(4 * X[:, 1]) + 0.1 * rng.standard_normal(n)


def fitted(tmp_path: Path, n: int = 60, **parameters: Any) -> SpatialRegressor:
    """A model that predicts the surface, saved and loaded: with the same answers."""
    X, y = table(n)
    model = SpatialRegressor(**{"kernel": KERNEL, "noise_variance": 0.01, "tune": None, **parameters}).fit(X, y)
    new, truth = table(200, seed=1)
    # the noise of a new row has sd 0.1; the surface between 60 rows adds less than twice as much
    assert np.sqrt(np.mean((model.predict(new) - truth) ** 2)) < 0.2
    model.save(tmp_path / "model.bochner")
    again = load(tmp_path / "model.bochner")
    assert_allclose(np.r_[again.predict(new, return_std=True)], np.r_[model.predict(new, return_std=True)], rtol=1e-12)
    return model


def bochner(*arguments: object) -> None:
    """Run a command that must succeed."""
    with pytest.raises(SystemExit) as stop:
        cli.main([str(argument) for argument in arguments])
    assert not stop.value.code


def test_a_kernel(recipe: Recipe, tmp_path: Path) -> None:
    kind = recipe("kernel").TwoScales
    held = hold(
        test_kernels, kernel_of=[lambda dim: kind((1.5, 0.6, 1.0)[:dim], 1.3), lambda dim: kind()], dim=(1, 2, 3)
    )
    assert (
        len(held) > 10 and "test_spectral_density_integrates_to_the_variance_and_transforms_to_the_covariance" in held
    )
    for dim in (1, 2, 3):
        test_spectral_measures.test_lattice_returns_the_covariance_up_to_what_it_leaves_out(lambda _: kind(0.8), dim)
        test_spectral_measures.test_archive_gives_the_kernel_back(lambda _: kind(0.8), dim, tmp_path)
    rules = [registry.RULES["quasi"], registry.RULES["orthogonal"]]
    assert hold(test_frequencies, kernel_of=[lambda dim: kind(0.8)], rule=rules, dim=(1, 2, 3))
    model = fitted(tmp_path, kernel="two-scales", noise_variance=None, tune="evidence")
    assert isinstance(model.kernel_, kind)
    X, y = table()
    rows, file = tmp_path / "rows.csv", tmp_path / "command.bochner"
    np.savetxt(rows, np.column_stack([X, y]), delimiter=",", header="x,y,z", comments="")
    bochner("fit", rows, "--target", "z", "--coords", "x,y", "--kernel", "two-scales", "-o", file)
    assert isinstance(load(file).kernel_, kind)


def test_a_rule(recipe: Recipe, tmp_path: Path) -> None:
    rule = recipe("rule").LatinHypercube()
    some = [registry.KERNELS[name] for name in ("matern-5/2-per-axis", "sum-of-products")]
    held = hold(test_frequencies, rule=[rule], kernel_of=some, dim=(1, 2, 3), n=(1, 3, 100))
    assert "test_rule_reproduces_its_kernel" in held
    test_frequencies.test_few_frequencies_are_unbiased(rule, 300, SquaredExponential(), 2)
    held = hold(test_schemes, name=["latin"], dim=(1, 2, 3), family=[None, families.Poisson()])
    assert "test_own_evidence_only_where_frequencies_follow_theta" in held
    model = fitted(tmp_path, features="latin", n_frequencies=200)
    assert model.fitted_.model.scheme == "latin"


def test_a_family(recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    family = recipe("family").Exponential()
    monkeypatch.setitem(registry_families.LAWS, "exponential", lambda family, eta, size: stats.expon(0, np.exp(eta)))
    held = hold(test_families, family=[family])
    assert len(held) > 10 and "test_derivatives_match_finite_differences" in held
    assert hold(test_links, link=list(family.links.values()), sd=(0.05, 1.4))
    X, surface = table(300)
    y = np.exp(surface) * np.random.default_rng(2).standard_exponential(len(X))
    model = SpatialRegressor(family="exponential").fit(X, y)
    # 300 times of which each is as uncertain as it is long
    assert np.sqrt(np.mean((np.log(model.predict(X)) - surface) ** 2)) < 0.35
    model.save(tmp_path / "model.bochner")
    assert_allclose(load(tmp_path / "model.bochner").predict_interval(X), model.predict_interval(X), rtol=1e-12)


def test_a_solver(recipe: Recipe, tmp_path: Path) -> None:
    toy = recipe("solver")
    held = hold(
        test_factors,
        make=[
            lambda s: toy.eigen_factor(
                s.matrix - np.diag(np.r_[np.ones(s.phi.shape[1]), np.zeros(s.trend.shape[1])]), s.phi.shape[1]
            )
        ],
        system_of=list(registry_models.SYSTEMS.values()),
        dim=(1, 2, 3),
    )
    assert {"test_solve_is_the_product_with_the_inverse", "test_log_determinants"} <= set(held)
    cases = [registry_fits.ENGINES["few waves"]]
    assert isinstance(cases[0](2).engine, LinearEngine)
    assert cases[0](2).engine.fit(registry_fits.observations(2)).solver.value == "eigen"
    assert hold(test_fits, make=cases, dim=(1, 2, 3), copies=(False, True), blocks=(None, 4))
    model = fitted(tmp_path, features="nystroem", n_frequencies=40)
    assert model.choices_["solver"].value == "eigen"


def test_a_scheme(recipe: Recipe, tmp_path: Path) -> None:
    recipe("scheme")
    held = hold(test_schemes, name=["grid-landmarks"], dim=(1, 2, 3), family=[None, families.Poisson()])
    assert "test_solves_and_says_what_answered" in held
    assert choose(77, 2).value == "grid-landmarks" and choose(78, 2).value == "exact"
    assert fitted(tmp_path, features="grid-landmarks").fitted_.model.scheme == "grid-landmarks"
    assert fitted(tmp_path, n=77).fitted_.model.scheme == "grid-landmarks"


def test_a_posterior(recipe: Recipe, tmp_path: Path) -> None:
    toy = recipe("posterior")

    def case(dim: int) -> registry_fits.Case:
        engine = toy.InverseEngine(Matern(0.6, 1.5), registry_fits.NOISE)
        return registry_fits.Case(engine, engine.kernel, lambda x: np.zeros((len(x), len(x))))

    assert len(hold(test_posteriors, make=[case], dim=(1, 2, 3))) >= 6
    assert len(hold(test_fits, make=[case], dim=(1, 2, 3), copies=(False, True), blocks=(None, 4))) >= 5
    assert hold(test_schemes, name=["inverse"], dim=(1, 2, 3), family=[None, families.Poisson()])
    model = fitted(tmp_path, features="inverse")
    plain = SpatialRegressor(KERNEL, noise_variance=0.01, tune=None).fit(*table())
    assert_allclose(model.predict(table()[0]), plain.predict(table()[0]), rtol=1e-8)
    assert_allclose(model.cross_validate(5)["crps"], plain.cross_validate(5)["crps"], rtol=1e-6)


def test_a_score(recipe: Recipe, tmp_path: Path) -> None:
    recipe("score")
    model = fitted(tmp_path)
    scores = model.cross_validate(5)
    assert scores["worst"] > scores["rmse"]
    shown = score_table(diagnose(model).held_out)
    assert shown is not None
    assert ["worst error", "largest of all errors; lower is better"] in [[row[0], row[-1]] for row in shown.rows]


def test_a_map_format(recipe: Recipe, tmp_path: Path) -> None:
    recipe("map_format")
    model = surveys.gaussian()
    grid = make_grid(model)
    report = map_to_file(model, grid, tmp_path / "map.NUMBERS", dtype="float64", exceed=0.5)
    with open(report.path, "rb") as file:
        told, found = json.loads(file.readline()), np.load(file)
    assert told["bands"] == ["mean", "sd", "exceedance_0.5"] and told["family"] == "gaussian"
    for (row0, row1, col0, col1), values in predict_on_grid(model, grid, exceed=0.5):
        assert_allclose(found[:, row0:row1, col0:col1], values)


def test_a_command(recipe: Recipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe("command")
    model = fitted(tmp_path)
    bochner("length-scales", tmp_path / "model.bochner")
    assert capsys.readouterr().out == f"{model.kernel_!r}\n"
    bochner("length-scales", "--help")
    assert "Example:" in capsys.readouterr().out


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_ends_in_the_registration_that_is_told(path: Path) -> None:
    """One registration, the last statement of the file, and CONTRIBUTING has it word for word."""
    *_, last = ast.parse(path.read_text()).body
    told = ast.unparse(last)
    assert path.read_text().count("\nregister_") == 1 and told.startswith("register_")
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    assert told.replace("'", '"') in " ".join(contributing.split()) and f"tests/recipes/{path.name}" in contributing
