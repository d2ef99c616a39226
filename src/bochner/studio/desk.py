"""Desk: what the page asks for, done on projects, the queue and the workers; knows nothing of HTTP."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bochner.exceptions import InputError
from bochner.studio import limits
from bochner.studio.commands import Command, FitCase, command_of, fit_command
from bochner.studio.drawer import python_of, shell_of
from bochner.studio.jobs import OPEN, Jobs, why_failed
from bochner.studio.projects import Project, Shelf, UnknownError, checked_name, read_json, tidy_name, write_json
from bochner.studio.specification import checked_spec, problems_of, toml_of
from bochner.studio.uploads import BESIDE
from bochner.studio.workers import Workers

EXAMPLES = ("country", "image")
PRIVATE = {"status.json", "log.txt", "out.txt", "map.json", "check.json", "areas.json", "spec.json"}


class Desk:
    """Everything that the server can do."""

    def __init__(self, root: Path) -> None:
        self.shelf = Shelf(root)
        self.workers = Workers()
        self.jobs = Jobs(self.workers)
        self._lock = threading.RLock()
        self.first: str | None = None  # the project that the page opens with
        self.closing = False
        for name in self.shelf.names():
            self._recover(self.shelf.project(name))

    def close(self) -> None:
        """End all work."""
        self.jobs.close()
        self.workers.close()

    # ------------------------------------------------------------------------------------ projects
    def projects(self) -> list[dict[str, Any]]:
        """Projects in short, the latest first."""
        return [self._short(self.shelf.project(name)) for name in self.shelf.names()]

    def create(self, name: Any, example: Any = None) -> dict[str, Any]:
        """A new project, with the data of an example if one is named."""
        if example is not None and example not in EXAMPLES:
            raise InputError(f"there is no example {str(example)[:40]!r}; known are {', '.join(EXAMPLES)}.")
        project = self.shelf.create(name or (f"example {example}" if example else None))
        if example:
            try:
                made = self._view("example", project, {"which": str(example), "into": str(project.data)})
            except InputError:
                shutil.rmtree(project.folder, ignore_errors=True)
                raise
            project.change(
                data={"file": made["file"]},
                spec=checked_spec(made["spec"]),
                options=made["options"],
                title=made["title"],
                view=made["view"],
            )
        return self.project(project.id)

    def adopt(self, file: Path) -> None:
        """Copy a file into a new project, which the page opens with."""
        project = self.shelf.create(file.stem)
        beside = [one for one in file.parent.glob(f"{file.stem}.*") if one.suffix.lower() in BESIDE]
        for path in [file, *(beside if file.suffix.lower() == ".shp" else [])]:
            shutil.copyfile(path, project.data / checked_name(tidy_name(path.name)))
        project.change(data={"file": tidy_name(file.name)})
        self.first = project.id

    def project(self, name: str) -> dict[str, Any]:
        """The whole state of a project."""
        project = self.shelf.project(name)
        state, complaint = project.state, None
        if state.get("data") is not None and state.get("view") is None:  # a file that the studio was started with
            try:
                self.choose_data(name, state["data"])
            except InputError as error:
                complaint = str(error)
            state = project.state
        return {
            "project": {**self._short(project), "files": project.files, "options": state.get("options") or {}},
            "data": state.get("view"),
            "spec": state.get("spec"),
            "error": complaint,
            "commands": self._commands(project, None),
            "fits": [self.fit(name, number) for number in project.fit_names],
        }

    def remove(self, name: str) -> dict[str, Any]:
        """Remove a project and all that is in it."""
        project = self.shelf.project(name)
        if self.jobs.is_open(project.fits):
            raise InputError(f"work of {name!r} is running or waiting; cancel it first.")
        self.jobs.forget(project.folder)
        shutil.rmtree(project.folder)
        return {"removed": name}

    # ---------------------------------------------------------------------------------------- data
    def choose_data(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Make a file of the project its data."""
        project = self.shelf.project(name)
        file = project.file(given.get("file")).name
        how = checked_spec(_how(given))
        view = self._described(project, file, _how(how))
        spec = checked_spec({**view["proposal"], **_how(how)})
        project.change(data={"file": file, **_how(how)}, view=view, spec=spec)
        return view

    def mend(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Put single rows right in a copy of the data, which becomes the data; the spec stays."""
        project = self.shelf.project(name)
        state = project.state
        points = (state.get("view") or {}).get("points")
        if state.get("data") is None or points is None:
            raise InputError("no data with coordinates were chosen yet; choose a file of the project first.")
        rows = {key: _whole_numbers(given.get(key), key) for key in ("swap", "drop")}
        if not any(rows.values()):
            raise InputError("no row was named; say which are to be exchanged (swap) or left out (drop).")
        given = {"file": f"data/{state['data']['file']}", "names": points["names"], **rows, **_how(state["data"])}
        made = self._view("mend", project, {**given, "counts": state["view"].get("counts")})
        view, kept = made["view"], {**state["data"], "file": made["file"]}
        view["notes"].append(f"{made['file']}: {made['swapped']} rows exchanged, {made['left_out']} left out.")
        project.change(data=kept, view=view)
        return view

    def choose_spec(self, name: str, given: Any) -> dict[str, Any]:
        """Keep a spec, and tell what it would run and what is wrong with it."""
        project = self.shelf.project(name)
        spec = checked_spec(given)
        if self._outdated(project, spec):
            data = project.state["data"]["file"]
            how = _how(spec)
            counts = [spec.get("target"), spec["trials"]] if spec.get("trials") else None
            view = self._described(project, data, {**how, "counts": counts})
            project.change(view=view, data={"file": data, **how})
        project.change(spec=spec)
        return self.told_spec(project)

    def _outdated(self, project: Project, spec: Mapping[str, Any]) -> bool:
        """Whether the data must be looked at again: other coordinates, or counts that were not yet compared."""
        data, view = project.state.get("data"), project.state.get("view")
        if data is None or view is None:
            return False
        seen = (view.get("points") or {}).get("names")
        if spec["coords"] and spec["coords"] != seen and view["kind"] == "table":
            return True
        if any(spec.get(key) != data.get(key) for key in ("layer", "crs")):
            return True
        counted = spec["measures"] == "positives" and spec.get("trials") and spec.get("target")
        return bool(counted) and [spec["target"], spec["trials"]] != view.get("counts")

    def told_spec(self, project: Project) -> dict[str, Any]:
        """The spec of a project with its TOML, commands, Python and problems."""
        state = project.state
        spec, view, data = state.get("spec"), state.get("view"), state.get("data")
        if spec is None or data is None:
            return {"spec": spec, "toml": "", "commands": [], "python": "", "problems": problems_of_nothing()}
        files = [one["name"] for one in project.files]
        return {
            "spec": spec,
            "toml": toml_of(spec, data["file"]),
            "commands": self._commands(project, None),
            "python": python_of(spec, data["file"], view, str(state["next_fit"])),
            "problems": problems_of(spec, view, files),
        }

    def estimate(self, name: str) -> dict[str, Any]:
        """Memory and time of the fit that the spec asks for."""
        project = self.shelf.project(name)
        state = project.state
        if state.get("spec") is None or state.get("view") is None:
            raise InputError("no data were chosen yet; choose a file of the project first.")
        spec, view = state["spec"], state["view"]
        dim = 3 if view["kind"] == "stack" else max(2, len(spec["coords"]))
        return self._view("estimate", project, {"spec": spec, "n_rows": view["n_rows"], "dim": dim})

    # ---------------------------------------------------------------------------------------- fits
    def start_fit(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Put a fit of the present spec into the queue."""
        project = self.shelf.project(name)
        told = self.told_spec(project)
        if told["problems"]:
            raise InputError(" ".join(told["problems"]))
        with self._lock:
            state = project.state
            number = str(state["next_fit"])
            project.change(next_fit=state["next_fit"] + 1)
            folder = project.fits / number
            (folder / "jobs").mkdir(parents=True)
        (folder / "model.toml").write_text(told["toml"], encoding="utf-8")
        data = state["data"]["file"]
        write_json(folder / "spec.json", {"spec": state["spec"], "data": data, "view": state["view"]})
        command = fit_command(number)
        title = str(given.get("name") or f"fit {number}")[: limits.LONGEST_NAME]
        record = {"what": "fit", "name": title, "command": command.line, "spec": state["spec"], "data": data}
        try:
            self.jobs.submit(folder, {**record, "files": list(command.files)}, self._task(project, command))
        except InputError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return self.fit(name, number)

    def fit(self, name: str, number: str) -> dict[str, Any]:
        """State of a fit and of its jobs."""
        project = self.shelf.project(name)
        folder = project.fit_folder(number)
        record = self.jobs.record(folder)
        found = sorted((folder / "jobs").iterdir(), key=_by_number) if (folder / "jobs").is_dir() else []
        record["jobs"] = [self._job(one) for one in found]
        record["files"] = downloads_in(folder)
        scores = read_json(folder / "check.json").get("scores_by_kind")
        return {**record, "scores": scores} if scores else record

    def end_fit(self, name: str, number: str) -> dict[str, Any]:
        """Cancel a fit that waits or runs; remove one that has ended."""
        project = self.shelf.project(name)
        folder = project.fit_folder(number)
        if self.jobs.record(folder)["status"] in OPEN:
            self.jobs.cancel(folder)
            return self.fit(name, number)
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
            command, task = None, self._map_task(case, given)
        else:
            command = command_of(what, case, given)
            task = self._task(case.project, command)
        with self._lock:
            folder = _next_folder(place / "jobs")
        line = None if command is None else command.line
        files = [] if command is None else list(command.files)
        options = {key: value for key, value in given.items() if key != "what"}
        record = {"what": what, "command": line, "files": files, "options": options}
        try:
            self.jobs.submit(folder, record, task)
        except InputError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return self._job(folder)

    def job(self, name: str, number: str, job: str) -> dict[str, Any]:
        """State of a job of a fit."""
        return self._job(self._job_folder(name, number, job))

    def end_job(self, name: str, number: str, job: str) -> dict[str, Any]:
        """Cancel a job that waits or runs."""
        folder = self._job_folder(name, number, job)
        self.jobs.cancel(folder)
        return self._job(folder)

    # --------------------------------------------------------------------------------------- views
    def check(self, name: str, number: str) -> dict[str, Any]:
        """What a fit says of itself."""
        case = self._case(name, number)
        folder = self.shelf.project(name).fit_folder(number)
        given = {"model": case.model, "config": f"{case.place}/model.toml"}
        return self._cached(folder / "check.json", "check", case.project, given)

    def map_file(self, name: str, number: str) -> Path:
        """The map of a fit for the page, made now if there is none."""
        case = self._case(name, number)
        folder = self.shelf.project(name).fit_folder(number)
        if not (folder / "map.json").exists():
            task = self._map_task(case, case.project.state.get("options") or {})
            self._run(case.project, task, folder / "map.json")
        return folder / "map.json"

    def at(self, name: str, number: str, x: float, y: float) -> dict[str, Any]:
        """Mean and interval at one place, by the model itself."""
        case = self._case(name, number)
        return self._view("at", case.project, {"model": case.model, "inputs": case.inputs({}), "x": x, "y": y})

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
        return self._cached(folder / "areas.json", "areas", case.project, given)

    def compare(self, name: str, a: str, b: str) -> dict[str, Any]:
        """Two fits side by side."""
        first, second = self._case(name, a), self._case(name, b)
        sides = [{"model": case.model, "inputs": case.inputs({}), "like": _template(case)} for case in (first, second)]
        target = first.project.cache / f"compare-{first.number}-{second.number}.json"
        return self._cached(target, "compare", first.project, {"a": sides[0], "b": sides[1]})

    def drawer(self, name: str, number: str | None = None) -> dict[str, Any]:
        """Python, commands and TOML for a fit, or for the spec on the screen."""
        project = self.shelf.project(name)
        if number is None:
            told = self.told_spec(project)
            shell = shell_of(project.folder, told["commands"])
            return {"python": told["python"], "shell": shell, "toml": told["toml"]}
        folder = project.fit_folder(number)
        kept = read_json(folder / "spec.json")
        return {
            "python": python_of(kept["spec"], kept["data"], kept["view"], number),
            "shell": shell_of(project.folder, self._commands(project, number)),
            "toml": (folder / "model.toml").read_text(encoding="utf-8"),
        }

    def download(self, name: str, number: str, file: str) -> Path:
        """A file that a fit or its jobs wrote."""
        folder = self.shelf.project(name).fit_folder(number)
        if file in downloads_in(folder):
            return folder / file
        raise UnknownError(
            f"fit {number} has no file {file[:80]!r}; it has {', '.join(downloads_in(folder)) or 'none'}."
        )

    # ------------------------------------------------------------------------------------- private
    def _short(self, project: Project) -> dict[str, Any]:
        state = project.state
        names = project.fit_names
        running = sum(self.jobs.is_open(project.fits / number) for number in names)
        return {
            "id": project.id,
            "name": state.get("name", project.id),
            "title": state.get("title"),
            "folder": str(project.folder),
            "data": (state.get("data") or {}).get("file"),
            "created": state.get("created"),
            "n_fits": len(names),
            "running": running,
        }

    def _described(self, project: Project, file: str, how: Mapping[str, Any]) -> dict[str, Any]:
        return self._view("describe", project, {"file": f"data/{file}", **how})

    def _commands(self, project: Project, number: str | None) -> list[str]:
        """Lines that a shell runs for the present spec, or for a fit and what was made of it."""
        if number is None:
            return [fit_command(str(project.state["next_fit"])).line] if project.state.get("spec") else []
        done = self._last_done(project.fit_folder(number))
        return [fit_command(number).line, *(job["command"] for job in done.values() if job["command"])]

    def _case(self, name: str, number: str) -> FitCase:
        """A fit that has a model."""
        project = self.shelf.project(name)
        folder = project.fit_folder(number)
        record = self.jobs.record(folder)
        if record["status"] != "done" or not (folder / "model.bochner").exists():
            raise UnknownError(f"fit {number} has no model: it is {record['status']}. Wait for it, or run it again.")
        kept = read_json(folder / "spec.json")
        return FitCase(project, number, kept["spec"], kept["data"], kept["view"])

    def _task(self, project: Project, command: Command) -> dict[str, Any]:
        task: dict[str, Any] = {"folder": str(project.folder), "argv": list(command.argv)}
        return task if command.out is None else {**task, "out": str(project.folder / command.out)}

    def _map_task(self, case: FitCase, options: Mapping[str, Any]) -> dict[str, Any]:
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

    def _job_folder(self, name: str, number: str, job: str) -> Path:
        folder = self.shelf.project(name).fit_folder(number) / "jobs" / job
        if not job.isdecimal() or not folder.is_dir():
            raise UnknownError(f"fit {number} has no job {job[:40]!r}; look at its list of jobs.")
        return folder

    def _job(self, folder: Path) -> dict[str, Any]:
        return self.jobs.record(folder)

    def _last_done(self, folder: Path) -> dict[str, dict[str, Any]]:
        """Jobs that ended well, the last of each kind."""
        found = [self._job(one) for one in sorted((folder / "jobs").iterdir(), key=_by_number)]
        return {job["what"]: job for job in found if job.get("status") == "done"}

    def _cached(self, target: Path, view: str, project: Project, given: Mapping[str, Any]) -> dict[str, Any]:
        """A view that is kept in a file, as long as it is asked for in the same way of the same files."""
        asked = json.dumps(given, sort_keys=True) + _stamps(project.folder, given)
        kept = read_json(target)
        if kept.get("asked") == asked:
            return dict(kept["value"])
        value = self._view(view, project, given)
        write_json(target, {"asked": asked, "value": value, **{k: value[k] for k in ("scores_by_kind",) if k in value}})
        return value

    def _view(self, view: str, project: Project, given: Mapping[str, Any]) -> dict[str, Any]:
        """A view by a worker."""
        target = project.cache / f"{view}-{time.monotonic_ns()}.json"
        try:
            self._run(project, {"folder": str(project.folder), "view": view, "given": given}, target)
            return read_json(target)
        finally:
            target.unlink(missing_ok=True)

    def _run(self, project: Project, task: Mapping[str, Any], target: Path) -> None:
        """Let a worker do a view, and wait for it."""
        log = project.cache / f"{target.stem}-{time.monotonic_ns()}.log"
        worker = self.workers.start({**task, "result": str(target), "log": str(log)})
        code = worker.wait(limits.VIEW_SECONDS)
        if code is None:
            self.workers.stop(worker)
        words = "" if code == 0 else _why_no_view(code, log)
        log.unlink(missing_ok=True)
        if code or not target.exists():
            raise InputError(words or "the view was not written; is the disk full?")

    def _recover(self, project: Project) -> None:
        """Tell what was open when an earlier server ended, and clear what it left half done."""
        for number in project.fit_names:
            folder = project.fits / number
            self.jobs.recover(folder)
            for one in (folder / "jobs").glob("*"):
                self.jobs.recover(one)
        for part in (project.cache.glob("*"), project.data.glob(".*.partial")):
            for path in part:
                path.unlink(missing_ok=True)


def _how(given: Mapping[str, Any]) -> dict[str, Any]:
    """How a file is to be read, out of what was given."""
    return {key: given[key] for key in ("layer", "coords", "crs") if given.get(key)}


def _whole_numbers(given: Any, name: str) -> list[int]:
    if given is None:
        return []
    if isinstance(given, list) and all(isinstance(one, int) and not isinstance(one, bool) for one in given):
        return given
    raise InputError(f"{name} is {str(given)[:40]!r}; needed is a list of row numbers.")


def _template(case: FitCase) -> str | None:
    """The image whose pixels a map has, if the data are one."""
    return case.file(case.data) if case.view["kind"] == "image" else None


def _why_no_view(code: int | None, log: Path) -> str:
    """What to say of a view that was not made."""
    if code is None:
        return f"the view takes more than {limits.VIEW_SECONDS} s; ask for larger pixels."
    return why_failed(code, log)


def downloads_in(folder: Path) -> list[str]:
    """Files of a fit that may be handed on."""
    found = [path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")]
    return sorted(path.name for path in found if path.name not in PRIVATE)


def problems_of_nothing() -> list[str]:
    """What a project without data lacks."""
    return problems_of({}, None, ())


def _stamps(folder: Path, given: Any) -> str:
    """When the files that a view is made from were last written."""
    if isinstance(given, Mapping):
        return "".join(_stamps(folder, value) for value in given.values())
    path = folder / given if isinstance(given, str) and given else None
    try:
        return "" if path is None else f" {path.stat().st_mtime_ns}"
    except (OSError, ValueError):
        return ""


def _next_folder(jobs: Path) -> Path:
    jobs.mkdir(exist_ok=True)
    number = 1 + max((int(one.name) for one in jobs.iterdir() if one.name.isdecimal()), default=0)
    folder = jobs / str(number)
    folder.mkdir()
    return folder


def _by_number(path: Path) -> tuple[int, str]:
    return len(path.name), path.name
