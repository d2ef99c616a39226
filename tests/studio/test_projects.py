"""State of a project: changed by many requests at once, none of which is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bochner.studio.projects import Shelf


def test_changes_at_once_are_all_kept(tmp_path: Path) -> None:
    project = Shelf(tmp_path).create("villages")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: project.change(**{f"value{i}": i}), range(40)))
    assert {f"value{i}": i for i in range(40)}.items() <= project.state.items()


def test_fits_begun_while_the_spec_changes_have_numbers_of_their_own(tmp_path: Path) -> None:
    project = Shelf(tmp_path).create("villages")
    with ThreadPoolExecutor(8) as pool:
        specs = [pool.submit(project.change, spec={"kernel": f"matern{i}"}) for i in range(20)]
        fits = [pool.submit(project.new_fit) for _ in range(20)]
    assert sorted(int(fit.result().name) for fit in fits) == list(range(1, 21))
    assert all(spec.exception() is None for spec in specs) and project.state["next_fit"] == 21


def test_a_folder_that_is_there_is_not_taken_for_a_new_fit(tmp_path: Path) -> None:
    project = Shelf(tmp_path).create("villages")
    project.new_fit()
    project.change(next_fit=1)
    assert project.new_fit().name == "2"


def test_projects_of_one_name_made_at_once_are_told_apart(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(Shelf(tmp_path).create, ["villages"] * 20))
    assert len({project.id for project in made}) == 20
