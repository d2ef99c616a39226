"""Answers of a fit: laws, draws, cross-validation, maps, areas, plots, xarray; scikit-learn's tools."""

from __future__ import annotations

import pickle

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bochner import FourierFeatures, SpatialClassifier, SpatialRegressor, choose
from bochner.diagnostics import diagnose, remember
from bochner.kernels import Matern
from bochner.maps import aggregate, estimate_map, hotspots, make_grid, map_to_file
from bochner.report import card
from bochner.validation import SCORES, BlockKFold, GapBlocks

from .data import FAMILIES, FIXED, alike, answers, places, responses, rows, same, table
from .registry import check


@check("laws agree with each other", over=FAMILIES)
def _(family: str) -> None:
    X, _ = rows(120)
    y, of = responses(family, X)
    model = SpatialRegressor(**FIXED, family=family).fit(X, y, **of)
    at = places(20)
    mean, sd = answers(model, at)
    draws = model.sample_y(at, 4_000)
    assert draws.shape == (20, 4_000)
    assert np.abs((draws.mean(axis=1) - mean) / sd).max() < 0.15 and np.allclose(draws.std(axis=1), sd, rtol=0.15)
    law = model.predict_distribution(at)
    median = model.predict_quantiles(at, 0.5)
    assert np.allclose(law.cdf(median), 0.5, atol=1e-3)
    limit = float(np.median(median))
    assert np.allclose(model.predict_exceedance(at, limit), 1 - law.cdf(np.full(20, limit)), atol=1e-6)
    inner, outer = (model.predict_interval(at, level=p) for p in (0.5, 0.95))
    assert np.all((outer[:, 0] < inner[:, 0]) & (inner[:, 1] < outer[:, 1]))
    noisy = model.predict_distribution(X, include_noise=True, **of)
    assert np.isfinite(noisy.log_density(y)).all() and np.all(noisy.crps(y) >= 0)
    eta, eta_sd = model.predict_latent(at)
    assert np.isfinite(eta).all() and np.all(eta_sd > 0) and np.isfinite(model.score(X, y, **of))


@check("joint covariance and draws of the full posterior")
def _() -> None:
    X, y = rows(80)
    model = SpatialRegressor(**FIXED).fit(X, y)
    at = places(10)
    covariance = model.predict(at, return_cov=True)[1]
    assert np.allclose(np.sqrt(np.diag(covariance)), answers(model, at)[1]) and covariance[0, 1] != 0
    counts, of = responses("poisson", X)
    draws, chain = SpatialRegressor(**FIXED, family="poisson").fit(X, counts, **of).sample_full(at, 200)
    assert draws.shape == (10, 200) and np.all(draws > 0) and chain.draws.shape[0] == 200
    assert model.estimate(at).memory_bytes > 0


@check("cross-validation without refit", over=("one by one", "blocks", "splitter", "groups", "gaps", "poisson"))
def _(how: str) -> None:
    X, y = rows(150)
    y, of = responses("poisson", X) if how == "poisson" else (y, {})
    model = SpatialRegressor(**FIXED, family="poisson" if of else "gaussian").fit(X, y, **of)
    cv = {"blocks": 5, "splitter": BlockKFold(5), "groups": GroupKFold(5), "gaps": GapBlocks(places(), 4)}.get(how)
    held = model.cross_validate(cv, groups=np.arange(150) // 10 if how == "groups" else None)
    assert {"rmse", "crps", "log_score", "coverage"} <= set(held) and 0.8 < held["coverage"] <= 1
    assert set(model.cross_validate(cv, ["crps"], groups=np.arange(150) // 10 if how == "groups" else None)) == {"crps"}
    assert held.pit_histogram() is not None and held.coverage_table() is not None and set(held) <= set(SCORES)
    if how == "splitter":  # as a fit for each fold would have it, kernel held
        again = -cross_val_score(SpatialRegressor(**FIXED), X, y, cv=cv, scoring="neg_root_mean_squared_error")
        assert abs(again.mean() / held["rmse"] - 1) < 0.1


@check("choose says what auto takes")
def _() -> None:
    model = SpatialRegressor(**FIXED).fit(*rows(100))
    assert model.choices_["features"].value == "exact" and model.choices_["features"].reason
    assert callable(choose)


@check("scikit-learn", over=("regressor", "classifier", "FourierFeatures", "formula"))
def _(kind: str) -> None:
    X, y = rows(90)
    data = (X, y)
    if kind == "regressor":
        model, grid, step = SpatialRegressor(**FIXED), {"kernel__length_scale": [0.01, 0.3]}, StandardScaler()
    elif kind == "classifier":
        data = (X, np.where(y > 0, "a", "b"))
        model, grid = SpatialClassifier(FIXED["kernel"], tune=None), {"kernel__length_scale": [0.01, 0.3]}
        step = StandardScaler()
    elif kind == "FourierFeatures":
        step, model = FourierFeatures(Matern(0.3), n_frequencies=40), Ridge(0.1)
        grid = {"alpha": [1e-3, 1e3]}
        assert clone(step).fit_transform(X).shape == (90, 80)
        same(pickle.loads(pickle.dumps(clone(step).fit(X))).transform(X), clone(step).fit_transform(X))
    else:
        frame = table(90)
        data = (frame, None)
        model = SpatialRegressor.from_formula(
            "z ~ height + gp(x, y)", noise_variance=0.05, tune=None, kernel=Matern(0.3)
        )
        grid, step = {"noise_variance": [0.05, 5.0]}, None
    copy = clone(model)
    assert copy.get_params().keys() == model.get_params().keys() and not hasattr(copy, "fitted_")
    fit = (lambda one: one.fit(data[0])) if data[1] is None else (lambda one: one.fit(*data))
    first = fit(clone(model))
    same(pickle.loads(pickle.dumps(first)).predict(data[0]), first.predict(data[0]))
    if kind == "formula":
        search = GridSearchCV(model, grid, cv=KFold(3), error_score="raise").fit(data[0], data[0].z)
    else:
        pipe = make_pipeline(step, clone(model)).fit(*data)
        assert pipe.score(*data) > 0.7
        search = GridSearchCV(model, grid, cv=KFold(3), error_score="raise").fit(*data)
    best = next(iter(search.best_params_.values()))
    assert best in next(iter(grid.values())) and hasattr(search.best_estimator_, "predict")


def mapped() -> SpatialRegressor:
    import geopandas

    X, y = rows(150)
    frame = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(*(1e5 * X).T), crs="EPSG:32633")
    return SpatialRegressor(Matern(30.0), noise_variance=0.04, tune=None).fit(frame, y)


def districts() -> object:
    import geopandas
    from shapely.geometry import box

    shapes = [box(0, 0, 5e4, 5e4), box(5e4, 0, 1e5, 1e5)]
    return geopandas.GeoDataFrame({"name": ["west", "east"]}, geometry=shapes, crs="EPSG:32633")


@check("maps: grid, thresholds, quantiles, polygons, files, estimate")
def _() -> None:
    import rasterio
    import xarray as xr

    model = mapped()
    found = model.predict_grid("5km", exceed=[0.5], quantiles=[0.1], within=districts())
    assert {"mean", "sd", "exceedance_0.5", "q0.1"} <= set(found.data_vars)
    assert estimate_map(model, make_grid(model, "5km")).n_pixels > 0
    for name in ("m.tif", "m.nc", "m.zarr"):
        map_to_file(model, make_grid(model, "5km"), name, exceed=[0.5])
    with rasterio.open("m.tif") as file:
        mean = file.read(1)
        assert file.crs == "EPSG:32633" and file.count == 3
    other = xr.open_dataset("m.nc")["mean"].values
    assert np.allclose(np.sort(mean.ravel()), np.sort(other.ravel()), atol=1e-5, equal_nan=True)
    like = model.predict_grid(like="m.tif")
    assert np.allclose(like["mean"].values, mean, atol=1e-5, equal_nan=True)


@check("areas: means, totals, hotspots")
def _() -> None:
    model, areas = mapped(), districts()
    found = aggregate(model, areas, exceed=0.2, n_points=60)
    assert found["name"].tolist() == ["west", "east"] and "exceedance_0.2" in found
    assert np.all((found["lower"] < found["mean"]) & (found["mean"] < found["upper"]))
    assert found["sd"].max() < answers(model, areas.set_geometry(areas.centroid))[1].max()
    spots = hotspots(model, 0.3, resolution="5km")
    assert len(spots) >= 1 and spots.crs == areas.crs


@check("plots and what a notebook shows")
def _() -> None:
    import matplotlib

    matplotlib.use("Agg")
    model = SpatialRegressor(**FIXED, features="lattice").fit(*rows(150))
    for draw in (model.plot, model.plot_map, model.plot_variogram, model.plot_calibration, model.plot_spectrum):
        drawn = draw(resolution=0.1) if draw in (model.plot, model.plot_map) else draw()
        assert drawn is not None
    assert "<table" in card(model) and "kernel" in model.summary()


@check("xarray in, Dataset out")
def _() -> None:
    import xarray as xr

    model = SpatialRegressor(**FIXED, coords=["x", "y"]).fit(table(150), table(150).z)
    grid = xr.Dataset(coords={"y": np.linspace(0, 1, 6), "x": np.linspace(0, 1, 5)})
    found = model.predict(grid, return_std=True)
    assert dict(found.sizes) == {"y": 6, "x": 5} and {"mean", "sd"} <= set(found.data_vars)
    assert model.sample_y(grid, 3).sizes["draw"] == 3


@check("places outside the data are told of, and get the prior")
def _() -> None:
    X, y = rows(150)
    model = SpatialRegressor(**FIXED).fit(X, y)
    mean, sd = answers(model, np.array([[90.0, 90.0]]))
    assert abs(mean[0] - model.intercept_) < 1e-6 and abs(sd[0] - 1) < 0.2


@check("diagnostics: variogram, region, calibration")
def _() -> None:
    model = SpatialRegressor(**FIXED).fit(*rows(200))
    found = diagnose(model)
    assert found.n_rows == 200 and len(found.variogram.distance) > 3 and found.held_out[0].scores["crps"] > 0
    remember(model)
    model.save("m.bochner")
    from bochner import load
    from bochner.diagnostics import diagnostics_of

    assert diagnostics_of(load("m.bochner")).n_rows == 200
    alike(answers(load("m.bochner"), places()), answers(model, places()), 1e-12)
