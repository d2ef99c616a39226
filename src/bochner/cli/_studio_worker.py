"""Tasks of the studio's workers: a command of `bochner`, or a view of a file or a model that the page draws."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import typer

from bochner.cli import exit_code, main, one_line
from bochner.cli._amiss import too_many
from bochner.cli._models import facts, opened
from bochner.cli._reports import response_name, survey_of
from bochner.cli._spec import path_or_number, read_config
from bochner.cli._terminal import plain
from bochner.cli._thresholds import threshold_in
from bochner.estimators.progress import speak
from bochner.exceptions import BochnerError, InputError
from bochner.report import Survey
from bochner.studio.area_view import areas_of
from bochner.studio.check_view import check_of, compared_scores, scores_of
from bochner.studio.estimates import estimate_of
from bochner.studio.examples import write_example
from bochner.studio.map_view import difference_of, layers_of, payload_of
from bochner.studio.mending import mended
from bochner.studio.projects import write_json
from bochner.studio.recognition import data_view


def work(task: Mapping[str, Any]) -> None:
    """Do a task in its folder, with what is said going to its log, and exit with its code."""
    os.chdir(task["folder"])
    _redirect(1, task.get("out"))
    _redirect(2, task.get("log"))
    if "argv" in task:
        main(task["argv"])
    try:
        write_json(Path(task["result"]), plain(VIEWS[task["view"]](task["given"])))
    except (BochnerError, OSError, MemoryError) as error:
        typer.echo(f"bochner: {one_line(error)}", err=True)
        sys.exit(exit_code(error))
    sys.exit(0)


def describe(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a file holds; rows with more positives than examined are among what is wrong."""
    path = Path(given["file"])
    view, places = data_view(path, given.get("layer"), given.get("coords") or (), given.get("crs"))
    target, trials = given.get("counts") or (view["proposal"].get("target"), view["proposal"].get("trials"))
    view["counts"] = [target, trials] if trials is not None else None
    if places is not None and trials in places.names and target in places.names:
        bad = places.bad_rows([target, trials])
        wrong = too_many(target, trials, places, bad)
        view["problems"] += [{"line": places.line(row), "column": target, "text": t} for row, t in wrong.items()]
    return view


def estimate(given: Mapping[str, Any]) -> dict[str, Any]:
    """Memory and time that a fit will take, about."""
    return estimate_of(given["spec"], int(given["n_rows"]), int(given["dim"]))


def example(given: Mapping[str, Any]) -> dict[str, Any]:
    """Files of an example, and what its data hold."""
    made = write_example(str(given["which"]), Path(given["into"]))
    return {**made, "view": describe({"file": f"data/{made['file']}"})}


def map_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The map of a fit for the page."""
    speak("progress", "predicting the map", fraction=None, seconds_left=None)
    model = opened(Path(given["model"]))
    within = None if not given.get("within") else Path(given["within"])
    like = None if not given.get("like") else Path(given["like"])
    layers, at_means = layers_of(model, _inputs(given), within, given.get("resolution"), like)
    threshold = given.get("threshold")
    limit = None if threshold in (None, "") else threshold_in(str(threshold), model.family_, "threshold")
    return payload_of(model, layers, at_means, _survey(model, given), limit, response_name(model), within)


def check(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a fit says of itself."""
    model = opened(Path(given["model"]))
    found = facts(model)
    told = check_of(model, _survey(model, given), response_name(model))
    return {**told, "family": found["family"], "kernel": found["kernel"], "scores_by_kind": scores_of(model)}


def areas(given: Mapping[str, Any]) -> dict[str, Any]:
    """Districts and hotspots of a fit."""
    model = opened(Path(given["model"]))
    places = None if not given.get("hotspots") else Path(given["hotspots"])
    return areas_of(
        model,
        Path(given["areas"]),
        Path(given["table"]),
        places,
        threshold_in(str(given["threshold"]), model.family_, "threshold"),
        tuple(given["extent"]),
        weights=None if not given.get("weights") else Path(given["weights"]),
        inputs=_inputs(given),
        n_points=int(given.get("points") or 300),
    )


def mend(given: Mapping[str, Any]) -> dict[str, Any]:
    """A table with the coordinates of some rows exchanged and other rows left out, under a name of its own."""
    made = mended(Path(given["file"]), given["names"], given["swap"], given["drop"])
    return {**made, "view": describe({**given, "file": f"data/{made['file']}"})}


def compare(given: Mapping[str, Any]) -> dict[str, Any]:
    """Two fits by their scores, and the difference of their maps."""
    first, second = opened(Path(given["a"]["model"])), opened(Path(given["b"]["model"]))
    maps = [
        layers_of(model, _inputs(side), like=None if not side.get("like") else Path(side["like"]))[0]
        for model, side in ((first, given["a"]), (second, given["b"]))
    ]
    return {
        "scores": compared_scores(scores_of(first), scores_of(second)),
        "map": difference_of(first, second, maps[0], maps[1], response_name(first)),
    }


def at(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the model says of one place."""
    import pandas as pd

    model = opened(Path(given["model"]))
    layout = model.fitted_.layout
    inputs = _inputs(given)
    from bochner.geo import raster_at
    from bochner.geo.cube_bands import named_band

    row: dict[str, Any] = dict(zip(layout.map_axes, (given["x"], given["y"]), strict=True))
    for name, value in inputs.items():
        pair = [[given["x"], given["y"]]]
        as_is = "classes" if name in layout.levels else None
        row[name] = (
            float(raster_at(named_band(value, name), pair, layout.crs, resampling=as_is)[0])
            if isinstance(value, Path)
            else value
        )
    missing = [name for name in layout.inputs if name not in row]
    if missing:
        raise InputError(f"nothing is known of {missing[0]!r} at that place; give its raster or a number.")
    law = model.predict_distribution(pd.DataFrame([row])[list(layout.inputs)])
    low, high = law.interval(0.95)[0]
    return {"mean": float(law.mean[0]), "sd": float(law.sd[0]), "low": float(low), "high": float(high)}


VIEWS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "describe": describe,
    "example": example,
    "mend": mend,
    "estimate": estimate,
    "map": map_of,
    "check": check,
    "areas": areas,
    "compare": compare,
    "at": at,
}


def _survey(model: Any, given: Mapping[str, Any]) -> Survey | None:
    """Rows of the data of a fit; None where they cannot be read as the model needs them."""
    config = given.get("config")
    if config is None:
        return None
    spec = read_config(Path(config))
    coords = spec.get("coords", ())
    try:
        found, _ = survey_of(
            model, spec["data"], spec.get("covariate", {}), {}, coords, spec.get("crs"), spec.get("layer")
        )
    except InputError as error:
        typer.echo(f"note: {error}", err=True)
        return None
    return found


def _inputs(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: path_or_number(str(value)) for name, value in (given.get("inputs") or {}).items()}


def _redirect(number: int, path: str | None) -> None:
    """Let a standard stream go to a file."""
    file = os.open(path or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(file, number)
    os.close(file)


if __name__ == "__main__":  # where processes are not forked, each task has an interpreter of its own
    work(json.loads(sys.stdin.readline()))
