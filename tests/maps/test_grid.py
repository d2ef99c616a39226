"""Maps on grids: what a pixel shows is what the model predicts at its centre."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.exceptions import ColumnError, FallbackWarning, InputError, PartError
from bochner.geo import RasterGrid
from bochner.kernels import Matern
from bochner.maps import estimate_map, make_grid, predict_grid, predict_on_grid
from bochner.maps.grids.gridmap import GridMap
from tests.maps import surveys
from tests.maps.surveys import GRID, hills_on, survey, write_raster

MODELS = {
    "gaussian": (surveys.gaussian, False),
    "rough": (lambda: surveys.gaussian(0.5), False),
    "waves": (surveys.waves, False),
    "covariate": (surveys.with_elevation, True),
    "averaged": (surveys.averaged, True),
    "binomial": (surveys.prevalence, True),
}
every_model = pytest.mark.parametrize(("make", "covariate"), MODELS.values(), ids=MODELS)
ASKED = {"exceed": [0.3, 0.6], "quantiles": [0.1]}


def whole(model, grid=GRID, **options):
    out = None
    for (a, b, c, d), bands in predict_on_grid(model, grid, **options):
        out = np.full((len(bands), *grid.shape), np.inf) if out is None else out
        out[:, a:b, c:d] = bands
    return out


def by_hand(model, grid, covariate):
    """Bands from the public methods, at every pixel."""
    import pandas as pd

    table = pd.DataFrame(grid.centres(), columns=["x", "y"])
    if covariate:
        table["elevation"] = hills_on(grid).ravel()
    mean, sd = model.predict(table, return_std=True)
    above = [model.predict_exceedance(table, t) for t in ASKED["exceed"]]
    return np.array([mean, sd, *above, model.predict_quantiles(table, 0.1)]).reshape(-1, *grid.shape)


@every_model
@pytest.mark.parametrize("tolerance", [None, 1e-3])
def test_map_is_what_the_model_predicts(make, covariate, tolerance):
    """Pixel by pixel exactly; interpolated, within the tolerance but for a few pixels next to rows."""
    model, grid = make(), RasterGrid((1 / 60, 0.0, 0.0, 0.0, -1 / 60, 1.0), 60, 60)
    inputs = {"covariates": {"elevation": hills_on(grid)}} if covariate else {}
    found = whole(model, grid, tolerance=tolerance, **inputs, **ASKED)
    expected = by_hand(model, grid, covariate)
    unit = np.stack([expected[1], expected[1], *np.ones((2, *grid.shape)), expected[1]])
    error = np.abs((found - expected) / unit).max(axis=0)
    if tolerance is None:
        assert error.max() < 1e-7
    else:
        assert np.quantile(error, 0.998) < tolerance and error.max() < 3 * tolerance


@every_model
def test_interpolation_saves_work_and_knows_its_error(make, covariate):
    """Over many pixels the model is evaluated at few places, and random pixels tell the error."""
    grid = RasterGrid((1 / 400, 0, 0.2, 0, -1 / 400, 0.9), 160, 160)
    inputs = {"covariates": {"elevation": hills_on(grid)}} if covariate else {}
    work = GridMap(make(), grid, **inputs)
    work.compute(grid.whole)
    assert work.tally.n_evaluated < 0.6 * grid.n_pixels
    assert work.tally.n_verified > 0 and work.tally.worst_error < 1e-3
    assert "interpolated" in work.tally.describe()


def test_windows_tile_the_grid_within_the_memory_limit():
    """Every pixel is in one window, and a smaller limit makes smaller windows."""
    grid = RasterGrid((0.001, 0, 0, 0, -0.001, 1), 1300, 700)
    for limit in ("10MB", "60MB", "1GB"):
        work = GridMap(surveys.gaussian(), grid, memory_limit=limit)
        count = np.zeros(grid.shape, dtype=int)
        for a, b, c, d in work.window_list:
            count[a:b, c:d] += 1
        assert (count == 1).all()
    numbers = [len(GridMap(surveys.gaussian(), grid, memory_limit=m).window_list) for m in ("10MB", "60MB", "1GB")]
    assert numbers == sorted(numbers, reverse=True) and numbers[0] > numbers[-1]


def test_pixels_become_rows_without_a_table_and_without_a_second_check(monkeypatch):
    """The inner door: arrays go straight into the model, tile after tile."""
    inputs = {"covariates": {"elevation": hills_on(GRID)}, "tolerance": None}
    work = GridMap(surveys.with_elevation(), GRID, **inputs, **ASKED)
    expected = by_hand(surveys.with_elevation(), GRID, True)

    def refuse(*args, **options):
        raise AssertionError("a table was made, or checked")

    for name in (
        "pandas.DataFrame",
        "bochner.estimators.door.validate_data",
        "bochner.layout.layout.Layout.frame",
    ):
        monkeypatch.setattr(name, refuse)
    assert_allclose(work.compute(GRID.whole), expected, atol=1e-7)


def test_trials_of_a_raster_are_whole_numbers():
    """Refused wherever the fraction lies, whether or not that pixel is evaluated."""
    trials = np.full(GRID.shape, 20.0)
    trials[3, 5] = 2.5
    with pytest.raises(InputError, match=r"trials is 2.5 .* whole numbers"):
        whole(surveys.prevalence(), covariates={"elevation": 300.0}, trials=trials)


def test_covariate_from_a_raster(tmp_path):
    """A raster of the same grid gives the same map as its array."""
    raster = write_raster(tmp_path / "elevation.tif", GRID, hills_on(GRID))
    from_array = whole(surveys.with_elevation(), covariates={"elevation": hills_on(GRID)})
    assert_allclose(whole(surveys.with_elevation(), covariates={"elevation": raster}), from_array, rtol=1e-6)


def test_missing_covariates_leave_pixels_empty_and_are_counted(tmp_path):
    """Nodata of a raster is nodata of the map, nowhere else."""
    values = hills_on(GRID)
    values[10:30, 40:80] = np.nan
    raster = write_raster(tmp_path / "elevation.tif", GRID, values)
    work = GridMap(surveys.with_elevation(), GRID, covariates={"elevation": raster})
    bands = work.compute(GRID.whole)
    assert (np.isnan(bands) == np.isnan(values)).all()
    assert work.tally.n_missing == 800
    assert work.tally.n_predicted == 9200


def test_constant_covariate_is_a_number():
    """A number stands for a constant raster."""
    model = surveys.with_elevation()
    flat = whole(model, covariates={"elevation": np.full(GRID.shape, 250.0)})
    number = whole(model, covariates={"elevation": 250.0})
    assert_allclose(number, flat, atol=3e-3 * np.max(flat[1]))


@pytest.mark.parametrize(
    ("covariates", "error", "words"),
    [
        ({}, InputError, ["'elevation'", "--covariate elevation=RASTER"]),
        ({"elevtion": 1.0}, ColumnError, ["did you mean 'elevation'"]),
        ({"elevation": "nowhere.tif"}, InputError, ["nowhere.tif", "does not exist"]),
        ({"elevation": np.ones((3, 4))}, InputError, ["(3, 4)", "(100, 100)"]),
        ({"elevation": float("nan")}, InputError, ["finite"]),
    ],
)
def test_wrong_covariates_are_told(covariates, error, words):
    """One line says what is missing, wrong or misspelled, before any work."""
    with pytest.raises(error) as told:
        GridMap(surveys.with_elevation(), GRID, covariates=covariates)
    assert all(word in str(told.value) for word in words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"quantiles": [0.5, 1.2]}, "1.2"),
        ({"exceed": ["much"]}, "numbers"),
    ],
)
def test_wrong_bands_are_told(options, words):
    """Thresholds and probabilities are checked first."""
    with pytest.raises(InputError, match=words):
        GridMap(surveys.gaussian(), GRID, **options)


def test_only_pixels_within_polygons():
    """Pixels whose centre lies outside stay empty."""
    geopandas = pytest.importorskip("geopandas")
    from shapely.geometry import box

    grid = RasterGrid((1000.0, 0, 0, 0, -1000.0, 100_000.0), 100, 100, "EPSG:32633")
    areas = geopandas.GeoDataFrame(geometry=[box(20_000, 30_000, 50_000, 60_000)], crs="EPSG:32633")
    data = survey()
    points = geopandas.points_from_xy(1e5 * data["x"], 1e5 * data["y"])
    frame = geopandas.GeoDataFrame(geometry=points, crs="EPSG:32633")
    model = SpatialRegressor(Matern(40.0), noise_variance=0.01, tune=None).fit(frame, data["response"])
    work = GridMap(model, grid, within=areas)
    mean = work.compute(grid.whole)[0]
    inside = np.zeros(grid.shape, dtype=bool)
    inside[40:70, 20:50] = True
    assert (np.isfinite(mean) == inside).all()
    assert work.tally.n_outside == 9100


def test_exposure_raster_scales_the_rate():
    """Expected counts are rates times exposure, pixel by pixel."""
    data = survey()
    model = SpatialRegressor(
        Matern(0.4), family="poisson", noise_variance=0.05, tune=None, coords=["x", "y"]
    ).fit(data, data["positive"], exposure=data["trials"])  # fmt: skip
    exposure = 1 + hills_on(GRID) / 100
    rate, counts = whole(model)[0], whole(model, exposure=exposure)[0]
    assert_allclose(counts, rate * exposure, rtol=2e-3)
    assert_allclose(whole(model, exposure=3.0)[0], 3 * rate, rtol=2e-3)
    exposure[:7] = 0.0
    empty = np.isnan(whole(model, exposure=exposure)[0])
    assert empty[:7].all() and not empty[7:].any()


def test_sizes_that_the_family_does_not_have_are_refused():
    """Trials of a Gaussian, exposure of a binomial, exposure below zero."""
    with pytest.raises(PartError, match="trials"):
        GridMap(surveys.gaussian(), GRID, trials=10)
    with pytest.raises(PartError, match="exposure"):
        GridMap(surveys.prevalence(), GRID, covariates={"elevation": 300.0}, exposure=np.ones(GRID.shape))
    with pytest.raises(InputError, match="trials is -2"):
        GridMap(surveys.prevalence(), GRID, covariates={"elevation": 300.0}, trials=-2)


def test_noise_widens_the_map():
    """include_noise gives the sd of a new observation."""
    model = surveys.gaussian()
    surface, new = whole(model)[1], whole(model, include_noise=True)[1]
    assert_allclose(new**2, surface**2 + model.noise_variance_, rtol=5e-3)


def test_third_coordinate_is_given_as_an_input():
    """A map in space of a model in space and time is a map at one time."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 3))
    model = SpatialRegressor(Matern(0.5), noise_variance=0.01, tune=None).fit(X, X.sum(axis=1))
    grid = RasterGrid((0.1, 0, 0, 0, -0.1, 1), 10, 10)
    found = whole(model, grid, covariates={"x2": 0.3}, tolerance=None)[0]
    assert_allclose(found.ravel(), model.predict(np.column_stack([grid.centres(), np.full(100, 0.3)])))
    with pytest.raises(InputError, match="x2"):
        GridMap(model, grid)


def test_one_coordinate_makes_no_map():
    """A model on a line is refused."""
    X = np.linspace(0, 1, 20)[:, None]
    model = SpatialRegressor(Matern(0.3), noise_variance=0.1, tune=None).fit(X, X[:, 0])
    with pytest.raises(InputError, match="a map needs two"):
        GridMap(model, GRID)


def test_latitude_may_come_first():
    """Columns are told apart by their names, not by their order."""
    data = survey()
    frame = data.rename(columns={"x": "lon", "y": "lat"})
    grid = RasterGrid((0.1, 0, 0, 0, -0.1, 1), 10, 10, "EPSG:4326")
    means = [
        whole(
            SpatialRegressor(Matern(40.0), noise_variance=0.01, tune=None, coords=names).fit(frame, data["response"]),
            grid,
        )[0]
        for names in (["lon", "lat"], ["lat", "lon"])
    ]
    assert_allclose(means[0], means[1], rtol=1e-6)


def test_formula_names_its_inputs():
    """The covariates of a formula are the columns of the table it reads, not the terms it makes."""
    pytest.importorskip("formulaic")
    data = survey()
    model = SpatialRegressor.from_formula(
        "response ~ log(elevation) + gp(x, y)", kernel=Matern(0.4), noise_variance=0.01, tune=None
    ).fit(data)
    grid = RasterGrid((0.1, 0, 0, 0, -0.1, 1), 10, 10)
    elevation = hills_on(grid)
    table = data.iloc[:0].reindex(range(100))
    table[["x", "y"]], table["elevation"] = grid.centres(), elevation.ravel()
    found = whole(model, grid, covariates={"elevation": elevation})[0]
    assert_allclose(found.ravel(), model.predict(table[["x", "y", "elevation"]]), rtol=1e-9)


# -------------------------------------------------------------------------------- Datasets


def test_dataset_carries_crs_coordinates_and_provenance():
    """rioxarray finds the CRS, and the attributes tell where the map comes from."""
    pytest.importorskip("rioxarray")
    data = survey()
    frame = data.rename(columns={"x": "lon", "y": "lat"})
    model = SpatialRegressor(Matern(40.0), noise_variance=0.01, tune=None, coords=["lon", "lat"])
    model.fit(frame, data["response"])
    cube = predict_grid(model, "0.05deg", exceed=1.0, bounds=(0, 0, 1, 1))
    assert cube.rio.crs.to_epsg() == 4326
    assert dict(cube.sizes) == {"y": 20, "x": 20}
    assert list(cube.data_vars) == ["mean", "sd", "exceedance_1"]
    assert cube.attrs["family"] == "gaussian" and "Matern" in cube.attrs["kernel"]
    assert {"bochner_version", "choices", "computation"} <= set(cube.attrs)
    here = cube.sel(x=0.525, y=0.425, method="nearest")
    table = frame.iloc[:1].assign(lon=0.525, lat=0.425)
    assert_allclose(float(here["mean"]), model.predict(table)[0], rtol=1e-3)


def test_dataset_survives_netcdf(tmp_path):
    """The link to the CRS is kept by to_netcdf."""
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("rioxarray")
    model = surveys.gaussian()
    grid = RasterGrid((0.1, 0, 0, 0, -0.1, 1), 10, 10, "EPSG:32633")
    cube = predict_grid(model, like=grid)
    cube.to_netcdf(tmp_path / "map.nc")
    with xarray.open_dataset(tmp_path / "map.nc", decode_coords="all") as read:
        assert read.rio.crs.to_epsg() == 32633
        assert_allclose(read["mean"].values, cube["mean"].values)


def test_default_grid_covers_the_data():
    """Without any hint the grid has 200 pixels along the longer side of the data."""
    grid = make_grid(surveys.gaussian())
    left, bottom, right, top = grid.bounds
    data = survey()
    assert left < data["x"].min() and right > data["x"].max()
    assert bottom < data["y"].min() and top > data["y"].max()
    assert 195 <= max(grid.shape) <= 205


def test_template_and_resolution_exclude_each_other():
    """A template has a resolution of its own."""
    with pytest.raises(InputError, match="like was given together"):
        make_grid(surveys.gaussian(), 0.1, like=GRID)


def test_too_large_a_dataset_is_refused():
    """A hundred million pixels belong in a file."""
    with pytest.raises(InputError, match="map_to_file"):
        predict_grid(surveys.gaussian(), 1e-4, bounds=(0, 0, 1, 1))


def test_estimate_tells_time_and_memory():
    """The estimate grows with the map."""
    small, large = (
        estimate_map(surveys.gaussian(), RasterGrid((1 / n, 0, 0, 0, -1 / n, 1), n, n)) for n in (300, 3000)
    )
    assert large.n_pixels == 100 * small.n_pixels
    assert large.seconds > small.seconds > 0
    assert large.file_bytes == 9_000_000 * 8
    assert "pixels" in str(large) and "MB of memory" in str(large)


def test_warning_of_places_outside_is_raised_once():
    """A map far larger than the waves cover warns once, not once per window."""
    grid = RasterGrid((0.02, 0, -3, 0, -0.02, 4), 300, 300)
    work = GridMap(surveys.waves(), grid, memory_limit="5MB")
    with pytest.warns(FallbackWarning) as told:
        for _ in work.windows():
            pass
    assert len([w for w in told if issubclass(w.category, FallbackWarning)]) == 1


def test_estimate_counts_only_what_lies_within_polygons(monkeypatch):
    """A map of which a hundredth is wanted takes far less time than the whole."""
    ticks = itertools.count()
    monkeypatch.setattr("bochner.maps.grids.estimate.time.perf_counter", lambda: 0.01 * next(ticks))
    geopandas = pytest.importorskip("geopandas")
    from shapely.geometry import box

    grid = RasterGrid((0.0005, 0, 0, 0, -0.0005, 1), 2000, 2000, "EPSG:32633")
    areas = geopandas.GeoDataFrame(geometry=[box(0.4, 0.4, 0.5, 0.5)], crs="EPSG:32633")
    part, total = (estimate_map(surveys.gaussian(), grid, within=within) for within in (areas, None))
    assert 0 < part.seconds < 0.5 * total.seconds


def test_classifier_maps_the_second_class():
    """Two classes make a map of a probability; of more, one has to be chosen."""
    from bochner import SpatialClassifier

    data = survey()
    grid = RasterGrid((0.1, 0, 0, 0, -0.1, 1), 10, 10)
    options = {"kernel": Matern(0.4), "noise_variance": 0.1, "tune": None}
    labels = np.where(data["response"] > 1.5, "wet", "dry")
    model = SpatialClassifier(**options).fit(data[["x", "y"]].to_numpy(), labels)
    mean = whole(model, grid, tolerance=None)[0]
    assert_allclose(mean.ravel(), model.predict_proba(grid.centres())[:, 1])
    three = SpatialClassifier(**options).fit(data[["x", "y"]].to_numpy(), np.digitize(data["response"], [1.0, 1.8]))
    with pytest.raises(InputError, match="3 classes"):
        whole(three, grid)
