"""Files that people drop, and a studio that runs, for the tests of the page."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

WEST, SOUTH, SIDE = 9.0, 4.0, 3.0


@contextmanager
def running_studio(folder: Path) -> Iterator[str]:
    """Address of a studio of its own process; Ctrl-C ends it."""
    command = [sys.executable, "-m", "bochner", "studio", "--no-browser", "--project", str(folder)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def messy_table(path: Path, n: int = 60) -> Path:
    """A survey as it comes: a byte-order mark, semicolons, decimal commas, N/A, a swapped place, text for a number."""
    rng = np.random.default_rng(3)
    lon, lat = WEST + SIDE * rng.random(n), SOUTH + SIDE * rng.random(n)
    examined = rng.integers(30, 60, n)
    prevalence = 1 / (1 + np.exp(-(1.5 * np.sin(2 * lon) + np.cos(2 * lat) - 1)))
    positive = rng.binomial(examined, prevalence)
    rows = [
        [f"village {i}", _comma(lon[i]), _comma(lat[i]), str(examined[i]), str(positive[i]), _comma(200 * rng.random())]
        for i in range(n)
    ]
    rows[7][1:3] = rows[7][2], rows[7][1]
    rows[11][4] = "N/A"
    rows[23][3] = "forty"
    lines = [";".join(row) for row in [["village", "lon", "lat", "examined", "positive", "<b>height"], *rows]]
    path.write_text("\ufeff" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def district_file(path: Path) -> Path:
    """Four square districts."""
    half, shapes = SIDE / 2, []
    for k, name in enumerate(("Northwest", "Northeast", "Southwest", "Southeast")):
        west, south = WEST + half * (k % 2), SOUTH + half * (1 - k // 2)
        ring = [[west, south], [west + half, south], [west + half, south + half], [west, south + half], [west, south]]
        geometry = {"type": "Polygon", "coordinates": [ring]}
        shapes.append({"type": "Feature", "properties": {"name": name}, "geometry": geometry})
    path.write_text(json.dumps({"type": "FeatureCollection", "features": shapes}), encoding="utf-8")
    return path


def image_with_gaps(path: Path, side: int = 32) -> Path:
    """A smooth image in UTM with a hole."""
    import rasterio

    row, column = np.mgrid[0:side, 0:side]
    noise = 0.05 * np.random.default_rng(0).normal(size=(side, side))
    values = 20 + np.sin(row / 6) + np.cos(column / 5) + noise
    values[np.hypot(row - 14, column - 18) < 5] = -9999
    shape = {"height": side, "width": side, "count": 1, "dtype": "float32", "nodata": -9999.0, "crs": "EPSG:32632"}
    transform = rasterio.Affine(1000, 0, 500_000, 0, -1000, 5_100_000)
    with rasterio.open(path, "w", driver="GTiff", transform=transform, **shape) as file:
        file.write(values.astype("float32"), 1)
    return path


def _comma(value: float) -> str:
    return f"{value:.5f}".replace(".", ",")
