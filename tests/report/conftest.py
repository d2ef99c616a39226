"""Models and reports that the tests of the report share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bochner import SpatialRegressor
from bochner.diagnostics import diagnose
from bochner.kernels import Matern
from bochner.report import Survey, write_report


def places(n: int, seed: int = 0) -> np.ndarray:
    """Places in a box of 300 by 200, with an origin far away."""
    return np.random.default_rng(seed).uniform([400.0, 5200.0], [700.0, 5400.0], size=(n, 2))


def surface(coords: np.ndarray) -> np.ndarray:
    return np.sin(coords[:, 0] / 40) + np.cos(coords[:, 1] / 30)


def _fitted(family: str, link: str | None = None, seed: int = 1) -> SimpleNamespace:
    """A model with a covariate, its survey and its diagnostics; hyperparameters are given, so that it is quick."""
    rng = np.random.default_rng(seed)
    coords = places(120, seed)
    slope = rng.normal(size=120)
    eta = surface(coords) + 0.5 * slope
    size = rng.integers(10, 40, size=120).astype(float)
    more: dict[str, Any] = {}
    match family:
        case "gaussian":
            y = 20 + eta + 0.3 * rng.normal(size=120)
        case "binomial":
            more["trials"] = size
            y = rng.binomial(size.astype(int), 1 / (1 + np.exp(-eta))).astype(float)
        case "bernoulli":
            y = (rng.normal(size=120) < eta).astype(float)
        case _:
            more["exposure"] = size
            y = rng.poisson(size * np.exp(eta / 2)).astype(float)
    X = np.column_stack([coords, slope])
    from bochner.families import family_named

    law = family_named(family) if link is None else family_named(family).replace(link=link)
    noise = {"noise_variance": 0.09} if family == "gaussian" else {"noise_variance": 0.05}
    model = SpatialRegressor(Matern(40.0, 1.0), family=law, covariates=[2], tune=None, **noise).fit(X, y, **more)
    return SimpleNamespace(model=model, X=X, y=y, survey=Survey(X, y, **more), diagnostics=diagnose(model))


LINKS = {
    "identity": lambda: _fitted("gaussian"),
    "logit": lambda: _fitted("binomial"),
    "probit": lambda: _fitted("bernoulli", "probit"),
    "log": lambda: _fitted("poisson"),
}


@pytest.fixture(scope="session")
def fitted() -> Callable[[str], SimpleNamespace]:
    """A fitted model for every link, made when it is first asked for."""
    made: dict[str, SimpleNamespace] = {}

    def of(link: str) -> SimpleNamespace:
        if link not in made:
            made[link] = LINKS[link]()
        return made[link]

    return of


@pytest.fixture(scope="session")
def report(fitted: Callable[[str], SimpleNamespace], tmp_path_factory: Any) -> Callable[..., Path]:
    """Report of the model of a link, written once for every set of options."""
    folder, made = tmp_path_factory.mktemp("reports"), {}

    def of(link: str = "identity", *, data: bool = False, **options: Any) -> Path:
        name = "-".join([link, str(data), *(f"{k}{hash(str(v)) % 10_000}" for k, v in options.items())])
        if name not in made:
            one = fitted(link)
            options = {"n_pixels": 1200, "diagnostics": one.diagnostics, **options}
            shown = one.survey if data else None
            made[name] = write_report(one.model, folder / f"{name}.html", data=shown, **options)
        return made[name]

    return of


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page with the network cut off; afterwards it must have asked for nothing and reported no error."""
    contexts, asked, complaints = [], [], []

    def heard(text: str) -> None:
        if "willReadFrequently" not in text:  # advice to a test that looks at pixels again and again
            complaints.append(text)

    def visit(path: Path, size: tuple[int, int] = (1440, 900), **options: Any) -> Any:
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: heard(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]", timeout=120_000)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert not complaints
    assert all(url.startswith("file://") for url in asked), asked
