"""Files that people drop, and a studio that runs, for the tests of the page."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from bochner.report.colours import ramps
from bochner.report.raster import pack

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
    lines = [
        ";".join(row)
        for row in [["village", "Longitude (deg)", "Latitude (deg)", "examined", "positive", "<b>height"], *rows]
    ]
    path.write_text("\ufeff" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def district_file(path: Path) -> Path:
    """Four square districts, and one far away."""
    half, shapes = SIDE / 2, []
    for k, name in enumerate(("Northwest", "Northeast", "Southwest", "Southeast")):
        west, south = WEST + half * (k % 2), SOUTH + half * (1 - k // 2)
        ring = [[west, south], [west + half, south], [west + half, south + half], [west, south + half], [west, south]]
        geometry = {"type": "Polygon", "coordinates": [ring]}
        shapes.append({"type": "Feature", "properties": {"name": name}, "geometry": geometry})
    ring = [[west + 20, south], [west + 22, south], [west + 22, south + 2], [west + 20, south + 2], [west + 20, south]]
    geometry = {"type": "Polygon", "coordinates": [ring]}
    shapes.append({"type": "Feature", "properties": {"name": "Faraway"}, "geometry": geometry})
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


def large_map(side: int) -> dict[str, Any]:
    """What the map of a prevalence of side x side pixels is sent as, made without a model."""
    y, x = np.mgrid[0:side, 0:side] / side
    nodes, mass = hermegauss(32)
    eta = np.sin(9 * x) + np.cos(7 * y) - 1 + 0.05 * np.random.default_rng(0).normal(size=(side, side))
    return {
        "rows": side,
        "columns": side,
        "extent": [WEST, SOUTH, WEST + SIDE, SOUTH + SIDE],
        "names": ["lon", "lat"],
        "crs": "EPSG:4326",
        "geographic": True,
        "lengthUnit": "km",
        "km": [110.0, 111.0],
        "link": "logit",
        "mean": pack(eta),
        "sd": pack(0.3 + 0.2 * np.sin(20 * x * y)),
        "cover": None,
        "response": "prevalence",
        "nodes": nodes.tolist(),
        "mass": (mass / mass.sum()).tolist(),
        "unit": "",
        "share": True,
        "ramps": ramps(),
        "threshold": {"value": 0.3, "low": 0.01, "high": 0.99, "step": 0.005},
        "observations": None,
        "background": {},
        "areas": [],
        "csv": "",
        "noun": "",
        "note": "",
    }


def drop(page: Any, zone: str, *paths: Path) -> None:
    """Drop files on a part of the page, as a hand does."""
    files = [[path.name, base64.b64encode(path.read_bytes()).decode()] for path in paths]
    script = """([zone, files]) => {
      const carried = new DataTransfer();
      for (const [name, data] of files) carried.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name));
      document.querySelector(zone).dispatchEvent(new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true }));
    }"""  # noqa: E501
    page.evaluate(script, [zone, files])


def _comma(value: float) -> str:
    return f"{value:.5f}".replace(".", ",")
