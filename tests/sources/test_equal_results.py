"""The same rows give the same model, whatever they are read from and in whatever order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bochner import SpatialRegressor
from bochner.kernels import Matern
from bochner.sources import ArraySource, Batches, open_source
from bochner.sources.sketch import Wanted, sketch

from .conftest import FIXED, write_parts

Given = dict[str, Any]
COLUMNS: Given = {"coords": ["x", "y"], "covariates": ["height"]}


def predicted(model: SpatialRegressor, places: pd.DataFrame) -> np.ndarray:
    return np.concatenate([*model.predict(places, return_std=True), [model.log_evidence_]])


def shuffled(table: pd.DataFrame, folder: Path) -> Any:
    order = np.random.default_rng(3).permutation(len(table))
    return ArraySource({n: table[n].to_numpy()[order] for n in table}, part_rows=333)


SOURCES: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "one array": lambda t, f: ArraySource({n: t[n].to_numpy() for n in t}, part_rows=10**6),
    "shuffled parts": shuffled,
    "parquet folder": lambda t, f: write_parts(t, f / "rows"),
    "shuffled parquet": lambda t, f: write_parts(t, f / "rows", n=7, seed=2),
    "list of files": lambda t, f: sorted(write_parts(t, f / "rows").iterdir()),
    "csv": lambda t, f: t.to_csv(f / "rows.csv", index=False) or str(f / "rows.csv"),
    "function of batches": lambda t, f: lambda: (t.iloc[i : i + 400] for i in range(0, len(t), 400)),
    "list of batches": lambda t, f: Batches([t.iloc[:900], t.iloc[900:]]),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_any_source_gives_the_model_of_the_table(
    kind: str, table: pd.DataFrame, places: pd.DataFrame, tmp_path: Path
) -> None:
    """Fixed hyperparameters: sums are the same to rounding, amplified by the condition of the system."""
    whole = SpatialRegressor(**FIXED, **COLUMNS).fit(table[["x", "y", "height"]], table["z"])
    parts = SpatialRegressor(**FIXED, **COLUMNS).fit(SOURCES[kind](table, tmp_path), target="z")
    assert_allclose(predicted(parts, places), predicted(whole, places), rtol=1e-9)


@pytest.mark.parametrize("kind", ["shuffled parts", "shuffled parquet"])
def test_a_learned_model_does_not_depend_on_the_order_of_the_rows(
    kind: str, table: pd.DataFrame, places: pd.DataFrame, tmp_path: Path
) -> None:
    """The sample that tunes follows from the values of the rows alone."""
    models = [
        SpatialRegressor("matern32", n_frequencies=60, **COLUMNS).fit(SOURCES[k](table, tmp_path), target="z")
        for k in ("one array", kind)
    ]
    assert models[0].kernel_ == models[1].kernel_
    assert_allclose(predicted(models[1], places), predicted(models[0], places), rtol=1e-9)
    assert "tuned the model" in models[0].choices_["rows"]


def test_counts_take_a_pass_for_each_newton_step(table: pd.DataFrame, places: pd.DataFrame) -> None:
    """Poisson rows with an effect of each row: the mode is that of all rows in memory."""
    given = {**FIXED, "noise_variance": 0.05, "family": "poisson", "coords": ["x", "y"]}
    whole = SpatialRegressor(**given).fit(table[["x", "y"]], table["count"])
    source = ArraySource({n: table[n].to_numpy() for n in table}, part_rows=700)
    parts = SpatialRegressor(**given).fit(source, target="count")
    at = places[["x", "y"]]
    # Newton's method stops where the log likelihood changes by 1e-9 of itself
    assert_allclose(predicted(parts, at), predicted(whole, at), rtol=1e-6)
    assert "Newton steps, a pass each" in parts.choices_["solver"]


def test_dense_features_add_too(table: pd.DataFrame, places: pd.DataFrame) -> None:
    """Orthogonal waves in float64."""
    given = {**FIXED, **COLUMNS, "features": "orthogonal", "dtype": "float64"}
    whole = SpatialRegressor(**given).fit(table[["x", "y", "height"]], table["z"])
    source = ArraySource({n: table[n].to_numpy() for n in table}, part_rows=300)
    parts = SpatialRegressor(**given).fit(source, target="z")
    assert_allclose(predicted(parts, places), predicted(whole, places), rtol=1e-9)


def test_few_rows_of_a_source_are_fitted_as_a_table(table: pd.DataFrame, places: pd.DataFrame) -> None:
    """A source that the sample holds whole is fitted with the exact kernel."""
    some = table.iloc[:200]
    model = SpatialRegressor("matern32", **COLUMNS).fit(Batches([some]), target="z")
    again = SpatialRegressor("matern32", **COLUMNS).fit(some[["x", "y", "height"]], some["z"])
    assert "exact" in str(model.choices_["features"])
    assert_allclose(model.predict(places), again.predict(places), rtol=1e-6)


def test_a_memmap_is_read_in_parts(table: pd.DataFrame, places: pd.DataFrame, tmp_path: Path) -> None:
    """Columns of a matrix by position; predictions take arrays."""
    matrix = table[["x", "y", "z"]].to_numpy()
    np.save(tmp_path / "rows.npy", matrix)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    model = SpatialRegressor(**FIXED).fit(mapped, target=2)
    whole = SpatialRegressor(**FIXED).fit(matrix[:, :2], matrix[:, 2])
    at = places[["x", "y"]].to_numpy()
    assert_allclose(model.predict(at), whole.predict(at), rtol=1e-9)


def test_pixels_of_files_are_rows(tmp_path: Path) -> None:
    """NetCDF, Zarr, GeoTIFF and xarray: one surface, its gaps left out."""
    xarray = pytest.importorskip("xarray")
    rasterio = pytest.importorskip("rasterio")
    x, y = 500_000 + 1_000 * np.arange(0.5, 60), 4_600_000 + 1_000 * np.arange(49.5, 0, -1)  # metres
    rng = np.random.default_rng(0)
    surface = np.sin(x / 9_000) + np.cos(y[:, None] / 7_000) + 0.1 * rng.normal(size=(50, 60))
    surface[10:25, 20:40] = np.nan
    cube = xarray.Dataset({"temp": (("y", "x"), surface)}, {"x": x, "y": y})
    cube.to_netcdf(tmp_path / "a.nc")
    cube.to_zarr(tmp_path / "a.zarr")
    with rasterio.open(
        tmp_path / "a.tif", "w", driver="GTiff", height=50, width=60, count=1, dtype="float64", nodata=np.nan,
        transform=rasterio.transform.from_origin(500_000, 4_650_000, 1_000, 1_000), crs="EPSG:32633",
    ) as file:  # fmt: skip
        file.write(surface, 1)
        file.set_band_description(1, "temp")
    given = {**FIXED, "kernel": Matern(nu=1.5, length_scale=10_000), "coords": ["x", "y"]}
    at = pd.DataFrame({"x": [505_000.0, 530_000.0], "y": [4_605_000.0, 4_630_000.0]})
    models = [
        SpatialRegressor(**given).fit(open_source(data, part_rows=400), target="temp")
        for data in (cube, str(tmp_path / "a.nc"), str(tmp_path / "a.zarr"), str(tmp_path / "a.tif"))
    ]
    assert models[3].crs_ == "EPSG:32633"
    for model in models[1:3]:
        assert_allclose(model.predict(at), models[0].predict(at), rtol=1e-9)
    assert "300 with a missing value" in models[0].choices_["rows"]


def test_points_of_geoparquet_are_coordinates(table: pd.DataFrame, places: pd.DataFrame, tmp_path: Path) -> None:
    """The geometry becomes x and y, with its CRS."""
    geopandas = pytest.importorskip("geopandas")
    frame = geopandas.GeoDataFrame(
        table[["z"]], geometry=geopandas.points_from_xy(table.x * 1e4, table.y * 1e4), crs="EPSG:32633"
    )
    frame.to_parquet(tmp_path / "rows.parquet")
    model = SpatialRegressor("matern32", n_frequencies=40, features="lattice", tune=None, noise_variance=0.1)
    model.fit(str(tmp_path / "rows.parquet"), target="z")
    assert model.crs_ == "EPSG:32633"
    assert np.isfinite(model.predict(pd.DataFrame({"x": [5e3], "y": [5e3]}))).all()


def test_levels_of_a_category_are_known_from_all_rows(table: pd.DataFrame) -> None:
    """A level that is too rare for the sample is kept by the sketch."""
    frame = table.assign(kind="common")
    frame.loc[7, "kind"] = "rare"
    source = ArraySource({n: frame[n].to_numpy() for n in ("x", "y", "kind", "z")}, part_rows=500)
    model = SpatialRegressor(**FIXED, coords=["x", "y"], covariates=["kind"]).fit(source, target="z")
    assert "2 levels" in model.choices_["categories"]


def test_sketches_add_in_any_order(table: pd.DataFrame) -> None:
    """The sample of parts in another order and grouping is the same rows."""
    wanted = Wanted(("x", "y"), (), {"target": "z"})
    source = ArraySource({n: table[n].to_numpy() for n in table}, part_rows=450)
    parts = [sketch(r, wanted, 100) for r in source.read(wanted.names)]
    one, other = parts[0], parts[-1]
    for part in parts[1:]:
        one = one + part
    for part in reversed(parts[:-1]):
        other = other + part
    for name in one.columns:
        np.testing.assert_array_equal(one.columns[name], other.columns[name])
    assert one.n_rows == len(table)
    assert one.columns["x"].min() == table.x.min()
