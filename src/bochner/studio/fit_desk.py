"""Fits of the desk: models that are fitted, the jobs and views of each, and the files that they leave."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bochner.exceptions import InputError
from bochner.studio import limits
from bochner.studio.commands import Command, FitCase, command_of, fit_command
from bochner.studio.jobs import OPEN, Jobs
from bochner.studio.projects import Project, Shelf, UnknownError, read_json, write_json
from bochner.studio.views import Views

PRIVATE = {"status.json", "log.txt", "out.txt", "map.json", "check.json", "areas.json", "spec.json"}


@dataclass(frozen=True)
class FitDesk:
    """What the page can ask for of fits."""

    shelf: Shelf
    jobs: Jobs
    views: Views
    _lock: Any = field(default_factory=threading.RLock)

    def start(self, name: str, toml: str, title: str | None) -> dict[str, Any]:
        """Put a fit of the present spec into the queue; `toml` is that spec as the command reads it."""
        project = self.shelf.project(name)
        state, folder = project.state, project.new_fit()
        number = folder.name
        (folder / "model.toml").write_text(toml, encoding="utf-8")
        data = state["data"]["file"]
        write_json(folder / "spec.json", {"spec": state["spec"], "data": data, "view": state["view"]})
        command = fit_command(number)
        called = (title or f"fit {number}")[: limits.LONGEST_NAME]
        record = {"what": "fit", "name": called, "command": command.line, "spec": state["spec"], "data": data}
        self._submit(folder, {**record, "files": list(command.files)}, _task(project, command))
        return self.state(name, number)

    def state(self, name: str, number: str) -> dict[str, Any]:
        """State of a fit and of its jobs."""
        project = self.shelf.project(name)
        folder = project.fit_folder(number)
        record = self.jobs.record(folder)
        found = sorted((folder / "jobs").iterdir(), key=_by_number) if (folder / "jobs").is_dir() else []
        record["jobs"] = [self.jobs.record(one) for one in found]
        record["files"] = downloads_in(folder)
        scores = read_json(folder / "check.json").get("scores_by_kind")
        return {**record, "scores": scores} if scores else record

    def end(self, name: str, number: str) -> dict[str, Any]:
        """Cancel a fit that waits or runs; remove one that has ended."""
        project = self.shelf.project(name)
        folder = project.fit_folder(number)
        if self.jobs.record(folder)["status"] in OPEN:
            self.jobs.cancel(folder)
            return self.state(name, number)
        if self.jobs.is_open(folder):
            raise InputError(f"a job of fit {number} is running or waiting; cancel it first.")
        self.jobs.forget(folder)
        shutil.rmtree(folder)
        return {"removed": number}

    def start_job(self, name: str, number: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Put a job of a fit into the queue: a map for the page, or a command."""
        case = self._case(name, number)
        what = given.get("what")
        place = self.shelf.project(name).fit_folder(number)
        if what == "map":
            command, task = None, _map_task(case, given)
        else:
            command = command_of(what, case, given)
            task = _task(case.project, command)
        with self._lock:
            folder = _next_folder(place / "jobs")
        line = None if command is None else command.line
        files = [] if command is None else list(command.files)
        options = {key: value for key, value in given.items() if key != "what"}
        record = {"what": what, "command": line, "files": files, "options": options}
        self._submit(folder, record, task)
        return self.jobs.record(folder)

    def job(self, name: str, number: str, job: str) -> dict[str, Any]:
        """State of a job of a fit."""
        return self.jobs.record(self._job_folder(name, number, job))

    def end_job(self, name: str, number: str, job: str) -> dict[str, Any]:
        """Cancel a job that waits or runs."""
        folder = self._job_folder(name, number, job)
        self.jobs.cancel(folder)
        return self.jobs.record(folder)

    def check(self, name: str, number: str) -> dict[str, Any]:
        """What a fit says of itself."""
        case = self._case(name, number)
        folder = self.shelf.project(name).fit_folder(number)
        given = {"model": case.model, "config": f"{case.place}/model.toml"}
        return self.views.kept(folder / "check.json", "check", case.project, given)

    def map_file(self, name: str, number: str) -> Path:
        """The map of a fit for the page, made now if there is none."""
        case = self._case(name, number)
        folder = self.shelf.project(name).fit_folder(number)
        if not (folder / "map.json").exists():
            task = _map_task(case, case.project.state.get("options") or {})
            self.views.write(case.project, task, folder / "map.json")
        return folder / "map.json"

    def at(self, name: str, number: str, x: float, y: float) -> dict[str, Any]:
        """Mean and interval at one place, by the model itself."""
        case = self._case(name, number)
        return self.views.made("at", case.project, {"model": case.model, "inputs": case.inputs({}), "x": x, "y": y})

    def areas(self, name: str, number: str) -> dict[str, Any]:
        """Districts and hotspots, out of the files of the last jobs that made them."""
        case = self._case(name, number)
        folder = self.shelf.project(name).fit_folder(number)
        done = self._last_done(folder)
        if "areas" not in done:
            raise UnknownError("no means over areas were computed yet; start the job `areas` first.")
        options = done["areas"]["options"]
        given: dict[str, Any] = {
            "model": case.model,
            "areas": case.file(options["areas"]),
            "table": f"{case.place}/{done['areas']['files'][0]}",
            "threshold": options.get("threshold"),
            "extent": read_json(self.map_file(name, number)).get("extent"),
            "inputs": case.inputs(options),
            "points": options.get("points"),
            "weights": case.file(options["weights"]) if options.get("weights") else None,
        }
        if given["threshold"] in (None, ""):
            raise InputError("the means were computed without a threshold; give one and start the job again.")
        if "hotspots" in done and done["hotspots"]["options"].get("threshold") == given["threshold"]:
            given["hotspots"] = f"{case.place}/hotspots.geojson"
        return self.views.kept(folder / "areas.json", "areas", case.project, given)

    def compare(self, name: str, a: str, b: str) -> dict[str, Any]:
        """Two fits side by side."""
        first, second = self._case(name, a), self._case(name, b)
        sides = [{"model": case.model, "inputs": case.inputs({}), "like": _template(case)} for case in (first, second)]
        target = first.project.cache / f"compare-{first.number}-{second.number}.json"
        return self.views.kept(target, "compare", first.project, {"a": sides[0], "b": sides[1]})

    def download(self, name: str, number: str, file: str) -> Path:
        """A file that a fit or its jobs wrote."""
        folder = self.shelf.project(name).fit_folder(number)
        if file in downloads_in(folder):
            return folder / file
        raise UnknownError(
            f"fit {number} has no file {file[:80]!r}; it has {', '.join(downloads_in(folder)) or 'none'}."
        )

    def _case(self, name: str, number: str) -> FitCase:
        """A fit that has a model."""
        project = self.shelf.project(name)
        folder = project.fit_folder(number)
        record = self.jobs.record(folder)
        if record["status"] != "done" or not (folder / "model.bochner").exists():
            raise UnknownError(f"fit {number} has no model: it is {record['status']}. Wait for it, or run it again.")
        kept = read_json(folder / "spec.json")
        return FitCase(project, number, kept["spec"], kept["data"], kept["view"])

    def lines(self, project: Project, number: str) -> list[str]:
        """Lines that a shell runs for a fit and what was made of it."""
        done = self._last_done(project.fit_folder(number))
        return [fit_command(number).line, *(job["command"] for job in done.values() if job["command"])]

    def recover(self, project: Project) -> None:
        """Tell what was open when an earlier server ended."""
        for number in project.fit_names:
            folder = project.fits / number
            for one in (folder, *(folder / "jobs").glob("*")):
                self.jobs.recover(one)

    def _submit(self, folder: Path, record: Mapping[str, Any], task: Mapping[str, Any]) -> None:
        """Put a job into the queue; where it is not taken, its folder goes."""
        try:
            self.jobs.submit(folder, record, task)
        except InputError:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _job_folder(self, name: str, number: str, job: str) -> Path:
        folder = self.shelf.project(name).fit_folder(number) / "jobs" / job
        if not job.isdecimal() or not folder.is_dir():
            raise UnknownError(f"fit {number} has no job {job[:40]!r}; look at its list of jobs.")
        return folder

    def _last_done(self, folder: Path) -> dict[str, dict[str, Any]]:
        """Jobs that ended well, the last of each kind."""
        found = [self.jobs.record(one) for one in sorted((folder / "jobs").iterdir(), key=_by_number)]
        return {job["what"]: job for job in found if job.get("status") == "done"}


def downloads_in(folder: Path) -> list[str]:
    """Files of a fit that may be handed on."""
    found = [path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")]
    return sorted(path.name for path in found if path.name not in PRIVATE)


def _task(project: Project, command: Command) -> dict[str, Any]:
    task: dict[str, Any] = {"folder": str(project.folder), "argv": list(command.argv)}
    return task if command.out is None else {**task, "out": str(project.folder / command.out)}


def _map_task(case: FitCase, options: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {
        "model": case.model,
        "config": f"{case.place}/model.toml",
        "inputs": case.inputs(options),
        "resolution": options.get("resolution"),
        "threshold": options.get("threshold"),
    }
    within = options.get("within") or options.get("areas")
    if within:
        given["within"] = case.file(within)
    given["like"] = _template(case)
    result = str(case.project.folder / case.place / "map.json")
    return {"folder": str(case.project.folder), "view": "map", "given": given, "result": result}


def _template(case: FitCase) -> str | None:
    """The image whose pixels a map has, if the data are one."""
    return case.file(case.data) if case.view["kind"] == "image" else None


def _next_folder(jobs: Path) -> Path:
    jobs.mkdir(exist_ok=True)
    number = 1 + max((int(one.name) for one in jobs.iterdir() if one.name.isdecimal()), default=0)
    folder = jobs / str(number)
    folder.mkdir()
    return folder


def _by_number(path: Path) -> tuple[int, str]:
    return len(path.name), path.name
