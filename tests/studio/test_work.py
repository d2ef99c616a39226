"""Work of the studio: from a messy file to districts, workers that die, disks that fill, servers that end."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bochner
from bochner.cli import _studio_worker as worker
from bochner.report.raster import unpack
from bochner.studio import limits
from bochner.studio.desk import Desk
from bochner.studio.guard import Guard
from bochner.studio.jobs import LOST
from bochner.studio.projects import write_json
from tests.studio.browsing import image_with_gaps
from tests.studio.serving import Studio, processes_of, studio_in, survey

MARK = "<img src=x onerror=alert(1)>"
SPEC = {"kernel": "matern32(length_scale=60)", "tune": "none", "drop_bad": True}


def messy() -> pd.DataFrame:
    """The survey with text for a number, more positives than examined, a swapped place, and HTML for a name."""
    frame = survey().astype({"positive": object}).rename(columns={"temp": MARK})
    frame.loc[5, "positive"], frame.loc[9, "positive"] = "twelve", "99"
    frame.loc[20, ["lon", "lat"]] = frame.loc[20, ["lat", "lon"]].to_numpy()
    return frame


def districts(path: Path) -> Path:
    """Two halves of the country."""
    shapes = []
    for name, west in (("West", 10.0), ("East", 11.0)):
        ring = [[west, 40], [west + 1, 40], [west + 1, 42], [west, 42], [west, 40]]
        shape = {"type": "Polygon", "coordinates": [ring]}
        shapes.append({"type": "Feature", "properties": {"name": name}, "geometry": shape})
    path.write_text(json.dumps({"type": "FeatureCollection", "features": shapes}), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def mapped(studio: Studio, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A project that went the whole way: dropped, mended, fitted, mapped, averaged over districts."""
    p = studio.project_with("messy", messy(), **SPEC)
    place = f"/api/projects/{p}"
    first = studio.ask("GET", place)
    view = studio.ask("POST", f"{place}/mend", json={"swap": [20], "drop": []})
    file = districts(tmp_path_factory.mktemp("areas") / "districts.geojson")
    studio.ask("POST", f"{place}/files", params={"name": file.name}, content=file.read_bytes())
    f = studio.ask("POST", f"{place}/fits", json={"name": "first"})["id"]
    fit = studio.ended(f"{place}/fits/{f}")
    assert fit["status"] == "done", fit
    for what in ("geotiff", "areas"):
        options = {"areas": file.name, "threshold": 0.5, "resolution": "0.1deg", "points": 40}
        job = studio.ask("POST", f"{place}/fits/{f}/jobs", json={"what": what, **options})
        assert (job := studio.ended(f"{place}/fits/{f}/jobs/{job['id']}"))["status"] == "done", job
    return {"p": p, "f": f, "place": place, "first": first, "view": view, "fit": fit, "folder": studio.folder / p}


def test_what_is_wrong_is_listed_and_mended(mapped: dict[str, Any]) -> None:
    data = mapped["first"]["data"]
    assert {p["line"] for p in data["problems"]} == {"line 7", "line 11"}
    assert [flag["row"] for flag in data["flags"]] == [20]
    assert not mapped["view"]["flags"] and mapped["view"]["file"] == "data-mended.csv"
    roles = {column["name"]: column["role"] for column in data["columns"]}
    assert roles["positive"] == "target" and roles["examined"] == "trials" and roles["lon"] == "coordinate"


def test_names_that_are_html_come_back_as_data(studio: Studio, mapped: dict[str, Any]) -> None:
    answer = studio.http.get(mapped["place"])
    assert answer.headers["content-type"] == "application/json"
    assert MARK in [column["name"] for column in answer.json()["data"]["columns"]]
    assert MARK in answer.json()["data"]["preview"]["header"]


def test_a_fit_tells_its_choices(mapped: dict[str, Any]) -> None:
    fit = mapped["fit"]
    assert any(choice.startswith("Computation: exact") for choice in fit["choices"])
    assert fit["command"] == f"bochner fit --config fits/{mapped['f']}/model.toml"


def test_memory_and_time_are_told_before(studio: Studio, mapped: dict[str, Any]) -> None:
    told = studio.ask("GET", f"{mapped['place']}/estimate")
    assert told["memory_bytes"] > 0 and told["seconds"] > 0 and told["text"].startswith("60 rows: about")


@pytest.mark.slow
def test_drawer_in_a_shell_gives_the_same_numbers(studio: Studio, mapped: dict[str, Any], tmp_path: Path) -> None:
    """The lines of the drawer, run in a copy of the folder without its outputs, write the same files."""
    shell = studio.ask("GET", f"{mapped['place']}/drawer", params={"fit": mapped["f"]})["shell"]
    copy, own = tmp_path / "copy", mapped["folder"] / "fits" / mapped["f"]
    shutil.copytree(mapped["folder"], copy)
    for made in ("model.bochner", "map.tif", "districts.csv"):
        (copy / "fits" / mapped["f"] / made).unlink()
    lines = shell.replace(str(mapped["folder"]), str(copy))
    program = f'set -e\nbochner() {{ "{sys.executable}" -m bochner "$@"; }}\n{lines}'
    subprocess.run(["bash", "-c", program], check=True, capture_output=True)
    theirs = copy / "fits" / mapped["f"]
    a, b = (pd.read_csv(folder / "districts.csv") for folder in (own, theirs))
    np.testing.assert_allclose(a.select_dtypes("number"), b.select_dtypes("number"), rtol=1e-9)
    np.testing.assert_allclose(bands(own / "map.tif"), bands(theirs / "map.tif"), rtol=1e-9)


def test_drawer_in_python_gives_the_same_model(studio: Studio, mapped: dict[str, Any], tmp_path: Path) -> None:
    code = studio.ask("GET", f"{mapped['place']}/drawer", params={"fit": mapped["f"]})["python"]
    copy, model = tmp_path / "copy", Path("fits") / mapped["f"] / "model.bochner"
    shutil.copytree(mapped["folder"], copy)
    own = os.getcwd()
    try:
        os.chdir(copy)
        exec(compile(code, "drawer.py", "exec"), {})
    finally:
        os.chdir(own)
    table = pd.DataFrame({"lon": [10.3, 11.7], "lat": [40.2, 41.8]})
    first, second = (bochner.load(folder / model).predict(table) for folder in (mapped["folder"], copy))
    np.testing.assert_allclose(first, second, rtol=1e-9)


def test_views_of_a_fit(studio: Studio, mapped: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Map by the server; what else the page draws, by the worker's own functions, in the folder of the project."""
    payload = studio.ask("GET", f"{mapped['place']}/fits/{mapped['f']}/map")
    assert payload["share"] and payload["rows"] > 10 and len(payload["observations"]["x"]) == 58
    monkeypatch.chdir(mapped["folder"])
    model, config = f"fits/{mapped['f']}/model.bochner", f"fits/{mapped['f']}/model.toml"
    told = worker.plain(worker.check({"model": model, "config": config}))
    assert told["scores"]["header"][0] == "score" and len(told["figures"]) >= 4
    assert all(figure["svg"].startswith("<svg") for figure in told["figures"])
    assert len(told["residuals"]["value"]) == 58
    table = f"fits/{mapped['f']}/districts.csv"
    given = {"areas": "data/districts.geojson", "table": table, "threshold": 0.5, "extent": payload["extent"]}
    areas = worker.areas({"model": model, **given})
    means = pd.read_csv(table).set_index("name")["mean"]
    assert {row["name"]: row["mean"] for row in areas["rows"]} == pytest.approx(dict(means), rel=1e-12)
    assert areas["sentences"] and len(areas["outlines"]) == 2
    there = worker.at({"model": model, "x": 10.5, "y": 41.0})
    assert there["low"] < there["mean"] < there["high"]
    both = worker.compare({"a": {"model": model}, "b": {"model": model}})
    assert both["map"]["mean_absolute"] == 0 and all(a == b for _, a, b in both["scores"])


def test_files_are_handed_out_by_name(studio: Studio, mapped: dict[str, Any]) -> None:
    place = f"{mapped['place']}/fits/{mapped['f']}"
    files = studio.ask("GET", place)["files"]
    assert {"model.bochner", "model.toml", "map.tif", "districts.csv"} <= set(files)
    answer = studio.http.get(f"{place}/files/districts.csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="districts.csv"'
    assert answer.content == (mapped["folder"] / "fits" / mapped["f"] / "districts.csv").read_bytes()
    for name in ("status.json", "..%2f..%2fstudio.json", "%2e%2e", "unknown.tif", "%00"):
        assert studio.refusal("GET", f"{place}/files/{name}")[0] == 404


def test_many_fits_wait_and_a_killed_worker_is_told(studio: Studio, mapped: dict[str, Any]) -> None:
    """One runs, ten wait, one more is refused; a map passes them; a killed worker loses nothing, the next begins."""
    p = studio.project_with("many", survey(2500), measures="number", target="temp", trials=None)
    place = f"/api/projects/{p}/fits"
    first, *others = [studio.ask("POST", place, json={})["id"] for _ in range(11)]
    status, sentence = studio.refusal("POST", place, json={})
    assert status == 429 and "waiting" in sentence
    states = [studio.ask("GET", f"{place}/{f}")["status"] for f in (first, *others)]
    n_running = states.count("running")
    assert n_running >= 1 and states.count("queued") == 11 - n_running
    for f in others[n_running:]:
        assert studio.ask("DELETE", f"{place}/{f}")["status"] == "cancelled"
    job = studio.ask("POST", f"{mapped['place']}/fits/{mapped['f']}/jobs", json={"what": "map", "resolution": "0.2deg"})
    drawn = studio.ended(f"{mapped['place']}/fits/{mapped['f']}/jobs/{job['id']}")
    assert drawn["status"] == "done" and studio.ask("GET", f"{place}/{first}")["status"] == "running"  # beside the fit
    with studio.http.stream("GET", f"{place}/{first}/events") as events:  # a tab that is opened and closed again
        line = next(line for line in events.iter_lines() if line.startswith("data: "))
        state = json.loads(line.removeprefix("data: "))
    assert state["status"] == "running"
    os.killpg(pid_of(studio, f"{place}/{first}"), signal.SIGKILL)
    killed = studio.ended(f"{place}/{first}")
    assert killed["status"] == "failed" and "signal 9" in killed["error"]
    pid = pid_of(studio, f"{place}/{others[0]}")
    for f in others[:n_running]:
        assert studio.ask("DELETE", f"{place}/{f}")["status"] == "cancelled"
    assert pid not in processes_of(studio.process.pid)
    assert studio.ask("GET", f"{mapped['place']}/fits/{mapped['f']}")["status"] == "done"
    assert studio.ask("DELETE", f"{place}/{first}") == {"removed": first}


@pytest.mark.slow
def test_ten_fits_at_once_all_end_well(studio: Studio) -> None:
    p = studio.project_with("ten", survey(20), measures="number", target="temp", trials=None, **SPEC)
    place = f"/api/projects/{p}/fits"
    numbers = [studio.ask("POST", place, json={"name": f"fit {k}"})["id"] for k in range(10)]
    assert len(set(numbers)) == 10
    assert {studio.ended(f"{place}/{f}")["status"] for f in numbers} == {"done"}


def test_an_image_with_gaps_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example's image, a quarter of it: recognised, fitted by its own commands, and drawn on its own pixels."""
    from bochner.cli import main

    monkeypatch.setattr(limits, "IMAGE_SIDE", 32)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    made = worker.example({"which": "image", "into": "data"})
    assert made["view"]["kind"] == "image" and made["view"]["proposal"]["predict_at"] == "gaps"
    (tmp_path / "fits" / "1").mkdir(parents=True)
    options = ["data/sea_temperature.tif", "--predict-at", "gaps", "--kernel", "matern32(length_scale=20)"]
    for argv in (
        ["fit", *options, "--tune", "none", "-o", "model.bochner"],
        ["map", "model.bochner", "--like", "data/sea_temperature.tif", "--fill-only", "-o", "filled.tif"],
    ):
        with pytest.raises(SystemExit) as stop:
            main(argv)
        assert not stop.value.code
    payload = worker.map_of({"model": "model.bochner", "like": "data/sea_temperature.tif"})
    assert (payload["rows"], payload["columns"]) == (32, 32)
    assert np.isfinite(unpack(payload["mean"], (32, 32))).all()  # in the gaps too
    image = made["view"]["image"]
    seen = unpack(image["values"], (image["rows"], image["columns"]))
    assert np.isnan(seen).any() and np.nanmax(np.abs(seen - bands(tmp_path / "data" / "sea_temperature.tif")[0])) < 1e-3
    assert np.isfinite(bands(tmp_path / "filled.tif")[0]).all()


@pytest.mark.parametrize("image", [False, True])
def test_a_crs_that_does_not_exist_is_a_problem_of_the_model(studio: Studio, tmp_path: Path, image: bool) -> None:
    """Told of a table and of an image, and kept, as it is on the screen; another CRS mends it."""
    name = f"nowhere {image}"
    if image:
        body, file = image_with_gaps(tmp_path / "image.tif", 12).read_bytes(), "image.tif"
    else:
        body, file = survey(30).to_csv(index=False).encode(), "villages.csv"
    p = studio.ask("POST", "/api/projects", json={"name": name})["project"]["id"]
    studio.ask("POST", f"/api/projects/{p}/files", params={"name": file}, content=body)
    spec = studio.ask("PUT", f"/api/projects/{p}/data", json={"file": file})["proposal"]
    for _ in range(2):
        told = studio.ask("PUT", f"/api/projects/{p}/spec", json={**spec, "crs": "EPSG:9"})
        assert told["spec"]["crs"] == "EPSG:9" and any("EPSG:9" in one for one in told["problems"])
    status, said = studio.refusal("POST", f"/api/projects/{p}/fits", json={})
    assert status == 400 and "the CRS 'EPSG:9' is not known; give a code such as" in said
    assert studio.ask("PUT", f"/api/projects/{p}/spec", json=spec)["problems"] == []


def test_a_quiet_connection_stays_open(studio: Studio) -> None:
    """A client that keeps it for 5 s, as httpx does, never sends a request into one that is just being closed."""
    with socket.create_connection(("127.0.0.1", int(studio.host.partition(":")[2]))) as line:
        line.settimeout(6)
        line.sendall(f"GET / HTTP/1.1\r\nHost: {studio.host}\r\nX-Bochner-Token: {studio.token}\r\n\r\n".encode())
        with pytest.raises(TimeoutError):  # and not the empty text of an end
            while line.recv(65536):
                pass


def test_a_stream_without_an_end_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upload that goes on beyond the bound is ended, and nothing of it is left on the disk."""
    import httpx
    import uvicorn

    from bochner.studio.server import application, listening

    monkeypatch.setattr(limits, "MAX_UPLOAD_BYTES", 10**6)
    desk, door = Desk(tmp_path), listening(None)
    guard = Guard(application(desk), door.getsockname()[1], "token")
    server = uvicorn.Server(uvicorn.Config(guard, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
    thread.start()
    try:
        p = desk.create("stream")["project"]["id"]
        with httpx.Client(base_url=f"http://{guard.hosts[0]}", headers={"X-Bochner-Token": "token"}) as http:
            parts = (b"x" * 65536 for _ in range(40))
            try:
                answer = http.post(f"/api/projects/{p}/files?name=a.csv", content=parts)
                assert answer.status_code == 413 and "beyond" in answer.json()["error"]
            except httpx.TransportError:
                pass  # the server had closed its end while the client still sent
            fine = http.post(f"/api/projects/{p}/files?name=b.csv", content=b"lon,lat,z\n1,2,3\n")
            assert fine.json()["name"] == "b.csv"
        assert [path.name for path in (tmp_path / p / "data").iterdir()] == ["b.csv"]
    finally:
        server.should_exit = True
        thread.join(20)
        desk.close()


@pytest.mark.slow
def test_a_full_disk_is_told_and_a_dead_server_loses_nothing(tmp_path: Path) -> None:
    """Writes of more than 48 kB fail here; then the server is killed while a fit runs."""
    program = ["bash", "-c", 'ulimit -f 48; exec "$@"', "bash"]
    with studio_in(tmp_path, before=program) as studio:
        p = studio.project_with("full", survey(150), measures="number", target="temp", trials=None, **SPEC)
        status, sentence = studio.refusal(
            "POST", f"/api/projects/{p}/files", params={"name": "large.csv"}, content=b"1,2\n" * 50_000
        )
        assert status == 507 and "disk is full" in sentence
        assert [path.name for path in (tmp_path / p / "data").iterdir()] == ["data.csv"]
        f = studio.ask("POST", f"/api/projects/{p}/fits", json={})["id"]
        failed = studio.ended(f"/api/projects/{p}/fits/{f}")
        assert failed["status"] == "failed" and re.search("File too large|No space", failed["error"])
        assert studio.ask("GET", f"/api/projects/{p}")["data"]["n_rows"] == 150
        workers = processes_of(studio.process.pid)
        studio.process.kill()
        studio.process.wait()
    for _ in range(100):
        if not any(map(_alive, workers)):
            break
        time.sleep(0.1)
    assert workers and not any(map(_alive, workers))
    folder = tmp_path / p / "fits" / f
    record = {**json.loads((folder / "status.json").read_text()), "status": "running"}
    write_json(folder / "status.json", record)  # as if it had been at work
    desk = Desk(tmp_path)
    lost = desk.fits.state(p, f)
    assert lost["status"] == "lost" and lost["error"] == LOST
    desk.close()


def pid_of(studio: Studio, place: str) -> int:
    """Process of a fit, when it has one."""
    for _ in range(200):
        state = studio.ask("GET", place)
        if state.get("pid") is not None and state["status"] == "running":
            return int(state["pid"])
        time.sleep(0.05)
    raise AssertionError(f"{place} has no process: {state}")


def bands(path: Path) -> np.ndarray:
    import rasterio

    with rasterio.open(path) as raster:
        return np.asarray(raster.read())


def _alive(pid: int) -> bool:
    import psutil

    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
