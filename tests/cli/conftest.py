"""Commands as a user runs them, in this process, in a folder of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bochner.cli import main


@dataclass(frozen=True)
class Done:
    """What a command left on the terminal."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs `bochner` with arguments in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: object) -> Done:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return Done(int(stop.value.code or 0), shown.out, shown.err)

    return command


@pytest.fixture
def ok(run: Run) -> Callable[..., Done]:
    """The same for commands that must succeed."""

    def command(*arguments: object) -> Done:
        done = run(*arguments)
        assert done.code == 0, done.err
        return done

    return command


def survey(n: int = 120, seed: int = 0) -> pd.DataFrame:
    """Stations with a temperature, and villages with a prevalence, around 11 E, 41 N."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"lon": rng.uniform(10, 12, n), "lat": rng.uniform(40, 42, n), "height": rng.normal(size=n)})
    field = np.sin(3 * frame.lon) + np.cos(2 * frame.lat)
    frame["temp"] = field + frame.height + 0.1 * rng.normal(size=n)
    frame["examined"] = rng.integers(20, 60, n)
    frame["positive"] = rng.binomial(frame.examined, 1 / (1 + np.exp(0.5 - field)))
    frame["station"] = [f"S{i}" for i in range(n)]
    return frame


@pytest.fixture
def data(tmp_path: Path) -> pd.DataFrame:
    """The survey as data.csv, one temperature missing, and its places as places.parquet."""
    frame = survey()
    frame.loc[3, "temp"] = np.nan
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.drop(columns=["temp", "positive"]).to_parquet(tmp_path / "places.parquet")
    return frame


QUICK = ("--kernel", "matern32")


@pytest.fixture
def raster(tmp_path: Path) -> Callable[..., Path]:
    """Writes a function of longitude and latitude as a GeoTIFF over the survey, empty where it is NaN."""
    import rasterio
    from rasterio.transform import from_origin

    def write(
        name: str, function: Callable[..., np.ndarray], side: float = 0.02, crs: str | None = "EPSG:4326"
    ) -> Path:
        n = round(2.2 / side)
        centre = (np.arange(n) + 0.5) * side
        lon, lat = np.meshgrid(9.9 + centre, 42.1 - centre)
        layout = {"height": n, "width": n, "count": 1, "dtype": "float32", "nodata": -9999.0}
        values = np.nan_to_num(function(lon, lat), nan=-9999.0).astype("float32")
        place = from_origin(9.9, 42.1, side, side)
        with rasterio.open(tmp_path / name, "w", driver="GTiff", crs=crs, transform=place, **layout) as file:
            file.write(values, 1)
        return tmp_path / name

    return write
