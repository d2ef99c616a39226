"""Desk: what the page asks for of projects, their data and their models; knows nothing of HTTP."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bochner.exceptions import InputError
from bochner.studio.commands import fit_command
from bochner.studio.drawer import python_of, shell_of
from bochner.studio.fit_desk import FitDesk
from bochner.studio.jobs import Jobs
from bochner.studio.projects import CHANGING, Project, Shelf, checked_name, read_json, tidy_name
from bochner.studio.specification import cautions_of, checked_spec, problems_of, toml_of
from bochner.studio.uploads import BESIDE
from bochner.studio.views import Views
from bochner.studio.workers import Workers

EXAMPLES = ("country", "image")


class Desk:
    """Everything that the server can do."""

    def __init__(self, root: Path) -> None:
        self.shelf = Shelf(root)
        self.workers = Workers()
        self.views = Views(self.workers)
        self.jobs = Jobs(self.workers)
        self.fits = FitDesk(self.shelf, self.jobs, self.views)
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
                made = self.views.made("example", project, {"which": str(example), "into": str(project.data)})
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
            "commands": self._next_line(project),
            "fits": [self.fits.state(name, number) for number in project.fit_names],
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
        made = self.views.made("mend", project, {**given, "counts": state["view"].get("counts")})
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
            try:
                view = self._described(project, data, {**how, "counts": counts})
                project.change(view=view, data={"file": data, **how})
            except InputError as error:  # an image whose CRS is not known, say
                project.change(view={**project.state["view"], "complaint": str(error)})
        project.change(spec=spec)
        return self.told_spec(project)

    def _outdated(self, project: Project, spec: Mapping[str, Any]) -> bool:
        """Whether the data must be looked at again: other coordinates, or counts that were not yet compared."""
        data, view = project.state.get("data"), project.state.get("view")
        if data is None or view is None:
            return False
        if view.get("complaint"):
            return True
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
            nothing = {"toml": "", "commands": [], "python": "", "cautions": []}
            return {"spec": spec, **nothing, "problems": problems_of({}, None, ())}
        files = [one["name"] for one in project.files]
        return {
            "spec": spec,
            "toml": toml_of(spec, data["file"]),
            "commands": self._next_line(project),
            "python": python_of(spec, data["file"], view, str(state["next_fit"])),
            "problems": problems_of(spec, view, files),
            "cautions": [] if view is None else cautions_of(spec, view),
        }

    def estimate(self, name: str) -> dict[str, Any]:
        """Memory and time of the fit that the spec asks for."""
        project = self.shelf.project(name)
        state = project.state
        if state.get("spec") is None or state.get("view") is None:
            raise InputError("no data were chosen yet; choose a file of the project first.")
        spec, view = state["spec"], state["view"]
        dim = 3 if view["kind"] == "stack" else max(2, len(spec["coords"]))
        return self.views.made("estimate", project, {"spec": spec, "n_rows": view["n_rows"], "dim": dim})

    def start_fit(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Put a fit of the present spec into the queue."""
        with CHANGING:  # the spec that was looked at is the one that is fitted
            told = self.told_spec(self.shelf.project(name))
            if told["problems"]:
                raise InputError(" ".join(told["problems"]))
            return self.fits.start(name, told["toml"], None if not given.get("name") else str(given["name"]))

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
            "shell": shell_of(project.folder, self.fits.lines(project, number)),
            "toml": (folder / "model.toml").read_text(encoding="utf-8"),
        }

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
        return self.views.made("describe", project, {"file": f"data/{file}", **how})

    def _next_line(self, project: Project) -> list[str]:
        """The line that a shell runs for the present spec."""
        return [fit_command(str(project.state["next_fit"])).line] if project.state.get("spec") else []

    def _recover(self, project: Project) -> None:
        """Tell what was open when an earlier server ended, and clear what it left half done."""
        self.fits.recover(project)
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
