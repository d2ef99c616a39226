"""Files: formats round-trip, COGs are valid, and nothing incomplete ever has the final name."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from bochner.exceptions import InputError
from bochner.geo import RasterGrid
from bochner.maps import map_to_file
from bochner.outputs import clean, completed
from tests.maps import surveys

rasterio = pytest.importorskip("rasterio")
FORMATS = (".tif", ".nc", ".zarr")
every_format = pytest.mark.parametrize("suffix", FORMATS)
# uneven numbers, more than one tile, in a real CRS around places of a plane
GRID = RasterGrid((0.0017, 0.0, -0.05, 0.0, -0.0019, 1.03), 140, 620, "EPSG:32633")


def read(path: Path) -> tuple[np.ndarray, tuple[float, ...], int | None]:
    """Bands mean, sd, exceedance, quantile; transform; EPSG code."""
    if path.suffix == ".tif":
        with rasterio.open(path) as file:
            return file.read(), tuple(file.transform)[:6], file.crs.to_epsg()
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("rioxarray")
    engine = "zarr" if path.suffix == ".zarr" else "h5netcdf"
    with xarray.open_dataset(path, decode_coords="all", engine=engine) as cube:
        values = np.stack([cube[name].values for name in ("mean", "sd", "exceedance_1_5", "q0_1")])
        return values, tuple(cube.rio.transform())[:6], cube.rio.crs.to_epsg()


@every_format
def test_file_round_trips(tmp_path, suffix):
    """Values, CRS and transform come back; the file tells what it is."""
    path = tmp_path / f"map{suffix}"
    seen = []
    options = {"exceed": 1.5, "quantiles": 0.1, "memory_limit": "5MB"}
    report = map_to_file(surveys.gaussian(2.5), GRID, path, progress=lambda *p: seen.append(p), **options)
    values, transform, epsg = read(path)
    expected = np.empty_like(values)
    from bochner.maps import predict_on_grid

    for (a, b, c, d), bands in predict_on_grid(surveys.gaussian(2.5), GRID, **options):
        expected[:, a:b, c:d] = bands
    assert_array_equal(values, expected)
    assert np.allclose(transform, GRID.transform, rtol=1e-12) and epsg == 32633
    assert seen[-1] == (GRID.n_pixels, GRID.n_pixels)
    assert len(seen) > 1 and report.bands == ("mean", "sd", "exceedance_1.5", "q0.1")
    assert os.listdir(tmp_path) == [path.name]


def test_geotiff_georeference_equals_the_grid(tmp_path):
    """To the last bit."""
    map_to_file(surveys.gaussian(), GRID, tmp_path / "map.tif")
    with rasterio.open(tmp_path / "map.tif") as file:
        assert tuple(file.transform)[:6] == GRID.transform
        assert file.shape == GRID.shape
        assert file.descriptions == ("mean", "sd")
        assert np.isnan(file.nodata)
        tags = file.tags()
    assert tags["family"] == "gaussian" and tags["kernel"].startswith("Matern")
    assert "interpolated" in tags["computation"]


def test_geotiff_is_cloud_optimised(tmp_path):
    """Directories first, from full size to the smallest overview; then the tiles, smallest overview first."""
    path = tmp_path / "map.tif"
    grid = RasterGrid((0.0005, 0, 0, 0, -0.0005, 1), 1500, 1500)
    map_to_file(surveys.gaussian(2.5), grid, path)
    with rasterio.open(path) as file:
        assert file.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
        assert file.profile["tiled"] and file.block_shapes[0] == (512, 512)
        assert file.compression.name == "deflate"
        assert file.overviews(1) == [2, 4]
    directories = list(tiff_directories(path.read_bytes()))
    widths = [d["width"] for d in directories]
    assert widths == sorted(widths, reverse=True) and widths[0] == 1500
    first_tiles = [min(d["offsets"]) for d in directories]
    assert max(d["position"] for d in directories) < min(first_tiles)
    assert first_tiles == sorted(first_tiles, reverse=True)


def tiff_directories(data: bytes):
    """Width, position and tile offsets of every directory of a little-endian classic TIFF."""
    assert data[:4] == b"II*\0"
    (position,) = struct.unpack_from("<I", data, 4)
    while position:
        (count,) = struct.unpack_from("<H", data, position)
        entries = {}
        for i in range(count):
            tag, kind, n = struct.unpack_from("<HHI", data, position + 2 + 12 * i)
            entries[tag] = (kind, n, position + 10 + 12 * i)
        yield {"position": position, "width": tiff_numbers(data, *entries[256])[0],
               "offsets": [o for o in tiff_numbers(data, *entries[324]) if o]}  # fmt: skip
        (position,) = struct.unpack_from("<I", data, position + 2 + 12 * count)


def tiff_numbers(data: bytes, kind: int, n: int, at: int) -> tuple[int, ...]:
    letter, size = {3: ("H", 2), 4: ("I", 4)}[kind]
    start = at if n * size <= 4 else struct.unpack_from("<I", data, at)[0]
    return struct.unpack_from(f"<{n}{letter}", data, start)


@every_format
def test_failure_leaves_nothing(tmp_path, suffix):
    """An error in the middle leaves neither the output nor a partial file, and an older map as it was."""
    path = tmp_path / f"map{suffix}"
    grid = RasterGrid((0.01, 0, 0, 0, -0.01, 1), 100, 100)

    def stop(done: int, total: int) -> None:
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        map_to_file(surveys.gaussian(), grid, path, progress=stop)
    assert os.listdir(tmp_path) == []
    map_to_file(surveys.gaussian(), grid, path)
    before = sorted(path.rglob("*")) if path.is_dir() else path.read_bytes()
    with pytest.raises(RuntimeError):
        map_to_file(surveys.gaussian(0.5), grid, path, progress=stop)
    assert os.listdir(tmp_path) == [path.name]
    assert before == (sorted(path.rglob("*")) if path.is_dir() else path.read_bytes())


@every_format
def test_existing_map_is_replaced(tmp_path, suffix):
    """A second map under the same name takes the place of the first."""
    path = tmp_path / f"map{suffix}"
    for model in (surveys.gaussian(0.5), surveys.gaussian(2.5)):
        options = {"exceed": 1.5, "quantiles": 0.1}
        map_to_file(model, RasterGrid((0.1, 0, 0, 0, -0.1, 1), 10, 10, "EPSG:32633"), path, **options)
    expected = surveys.gaussian(2.5).predict(pd.DataFrame({"x": [0.05], "y": [0.95]}))
    assert np.isclose(read(path)[0][0, 0, 0], expected[0], rtol=1e-6)


KILLED = """
import sys, time
from pathlib import Path
from bochner import load
from bochner.geo import RasterGrid
from bochner.maps import map_to_file
def slowly(done, total):
    print(done, flush=True)
    time.sleep(60)
map_to_file(load(sys.argv[1]), RasterGrid((0.01, 0, 0, 0, -0.01, 1), 100, 100), Path(sys.argv[2]), progress=slowly)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_killed_work_leaves_no_output_and_the_next_run_completes(tmp_path):
    """SIGKILL in the middle: nothing under the final name; the next run cleans up and completes."""
    path = tmp_path / "map.tif"
    surveys.gaussian().save(tmp_path / "model.bochner")
    command = [sys.executable, "-c", KILLED, str(tmp_path / "model.bochner"), str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline().strip() == "10000"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    left = [name for name in os.listdir(tmp_path) if ".partial-" in name]
    assert not path.exists() and len(left) == 1
    map_to_file(surveys.gaussian(), RasterGrid((0.01, 0, 0, 0, -0.01, 1), 100, 100), path)
    assert sorted(os.listdir(tmp_path)) == ["map.tif", "model.bochner"]


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not asked for by number there")
def test_work_that_goes_on_is_left_alone(tmp_path):
    """The partial folder of a living process is not removed, that of a dead one is."""
    path = tmp_path / "map.tif"
    with completed(path) as partial:
        folder = partial.parent
        partial.write_text("complete")
    assert path.read_text() == "complete" and not folder.exists()
    prefix = folder.name.rsplit("-", 2)[0]
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        alive = tmp_path / f"{prefix}-{sleeper.pid}-0"
        alive.mkdir()
        assert clean(path) == [] and alive.exists()
    finally:
        sleeper.kill()
        sleeper.wait()
    for _ in range(50):
        if clean(path):
            break
        time.sleep(0.1)
    assert not alive.exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [("map.png", "ends in '.png'"), ("nowhere/map.tif", "does not exist"), ("folder.tif", "is a folder"),
     ("folder.zarr", "no map that could be replaced")],
)  # fmt: skip
def test_impossible_outputs_are_refused_before_the_work(tmp_path, name, words):
    """A wrong ending, a missing folder, or a folder that is no map."""
    for folder in ("folder.tif", "folder.zarr"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "precious.txt").write_text("kept")
    with pytest.raises(InputError, match=words):
        map_to_file(surveys.gaussian(), GRID, tmp_path / name)
    assert (tmp_path / "folder.zarr" / "precious.txt").exists()


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_rotated_grids_need_a_geotiff(tmp_path, suffix):
    """Rows and columns that run aslant have no vectors of coordinates."""
    grid = RasterGrid((0.01, 0.002, 0, 0.002, -0.01, 1), 20, 20)
    with pytest.raises(InputError, match="rotated"):
        map_to_file(surveys.gaussian(), grid, tmp_path / f"map{suffix}")
    map_to_file(surveys.gaussian(), grid, tmp_path / "map.tif")
    with rasterio.open(tmp_path / "map.tif") as file:
        assert tuple(file.transform)[:6] == grid.transform
        x, y = file.xy(3, 7)
        assert np.isclose(
            file.read(1)[3, 7], surveys.gaussian().predict(pd.DataFrame({"x": [x], "y": [y]}))[0], rtol=1e-5
        )


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_while_hdf5_writes_leaves_the_process_whole(tmp_path):
    """HDF5 calls a file of ours back: an exception in there took the process down when it ended."""
    pytest.importorskip("h5netcdf")
    program = f"""
import os, signal
from pathlib import Path
import numpy as np
from bochner.geo import RasterGrid
from bochner.maps.files import netcdf
from bochner.maps.files.writers import write_whole
from bochner.maps.grids.bands import Band
class Interrupted(netcdf.Sink):
    n = 0
    def write(self, data):
        Interrupted.n += 1
        if Interrupted.n == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return super().write(data)
netcdf.Sink = Interrupted
grid = RasterGrid((1.0, 0, 0, 0, -1.0, 0), 40, 50, "EPSG:32633")
bands = [Band("mean", "mean", "mean", np.nan)]
try:
    write_whole(Path({str(tmp_path / "map.nc")!r}), grid, bands, np.ones((1, 40, 50)), {{}})
except KeyboardInterrupt:
    print("stopped", sorted(os.listdir({str(tmp_path)!r})))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.strip() == "stopped []", done.stdout + done.stderr
