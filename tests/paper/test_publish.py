"""Files and the page: what `reproduce` writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bochner.exceptions import InputError
from bochner.paper import NAMES, Claim, Exhibit, Table, make, reproduce
from bochner.paper.page import listing, prose

SLOW = {"cost", "primal_dual", "woodbury", "enough_features", "fine_scale"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two exhibits, published."""
    where = tmp_path_factory.mktemp("paper") / "out"
    reproduce(where, seeds=3, only=["figure1", "table2"])
    return where


def test_every_exhibit_has_its_files(folder: Path) -> None:
    expected = {f"{name}.{kind}" for name in ("figure1", "table2") for kind in ("png", "svg", "csv", "md")}
    assert {path.name for path in folder.iterdir()} == expected | {"index.html"}
    assert all(path.stat().st_size > 100 for path in folder.iterdir())


def test_page_stands_alone_and_links_to_files_beside_it(folder: Path) -> None:
    page = (folder / "index.html").read_text(encoding="utf-8")
    images = re.findall(r'<img src="([^"]+)"', page)
    assert images == ["figure1.svg", "table2.svg"]
    assert all((folder / name).is_file() for name in images)
    linked = re.findall(r'href="([^"]+)"', page)
    outside = [link for link in linked if link.startswith("http")]
    assert outside == ["https://arxiv.org/abs/1902.08679"]
    assert "<script" not in page and "<link" not in page


def test_page_shows_the_code_and_the_papers_numbers(folder: Path) -> None:
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "fit_models" in page and '<span class="keyword">def</span>' in page
    assert "2.26" in page and "2.73" in page
    assert "The bias-variance trade-off" in page
    assert "Advanced methods" not in page  # nothing was asked for there


def test_figures_and_tables_repeat_to_the_last_bit(folder: Path, tmp_path: Path) -> None:
    reproduce(tmp_path, seeds=3, only=["figure1", "table2"])
    for name in ("figure1.svg", "figure1.csv", "table2.svg", "table2.csv", "index.html"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SLOW])
def test_every_exhibit_tells_what_it_shows(name: str) -> None:
    """A title, a story, claims, numbers, code, and a figure whose axes are labelled."""
    import matplotlib.pyplot as plt

    exhibit = make(name, seeds=2)
    assert exhibit.name == name
    assert exhibit.title and exhibit.story and exhibit.claims and exhibit.table.rows
    assert "def " in exhibit.source()
    assert all(len(row) == len(exhibit.table.columns) for row in exhibit.table.rows)
    figure = exhibit.draw()
    for ax in figure.axes:
        inside = ax.get_label() == "inset_axes"
        bar = ax.get_label() == "<colorbar>"
        assert inside or bar or ax.get_xlabel(), f"{name}: an x axis has no label"
        shared = ax.get_shared_y_axes().get_siblings(ax)
        assert inside or any(other.get_ylabel() for other in shared) or name == "table2", f"{name}: y axis has no label"
    plt.close(figure)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SLOW))
def test_every_slow_exhibit_tells_what_it_shows(name: str) -> None:
    test_every_exhibit_tells_what_it_shows(name)


def test_unknown_names_are_refused_with_the_list() -> None:
    with pytest.raises(InputError, match=r"there is no exhibit 'tabel2'; choose from .*table2"):
        make("tabel2")
    with pytest.raises(InputError, match="at least 2"):
        make("table2", seeds=1)


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="is a file"):
        reproduce(tmp_path / "out", only=["figure4"])


def test_names_follow_the_paper_and_are_files() -> None:
    package = Path(__import__("bochner.paper").paper.__file__).parent
    assert len(NAMES) == len(set(NAMES))
    assert all((package / f"{name}.py").is_file() for name in NAMES)
    pages = Path(__file__).resolve().parents[2] / "docs" / "gallery" / "paper"
    assert {path.stem.removeprefix("plot_") for path in pages.glob("plot_*.py")} == set(NAMES)


def test_verdicts() -> None:
    claims = [Claim("a", "b", True), Claim("a", "b", True, corrected=True), Claim("a", "b", False)]
    assert [claim.verdict for claim in claims] == ["holds", "holds, corrected", "fails"]
    assert not Exhibit("bochner.paper.figure1", claims, Table(("x",), [(1,)]), lambda: None, ()).holds


def test_prose_and_listing_escape_html() -> None:
    assert prose("`a < b` and *so*") == "<code>a &lt; b</code> and <em>so</em>"
    marked = str(listing('x = "<b>"  # 1 < 2\n'))
    assert '<span class="string">&quot;&lt;b&gt;&quot;</span>' in marked
    assert '<span class="comment"># 1 &lt; 2</span>' in marked


def test_table_writes_itself() -> None:
    table = Table(("name", "value"), [("a|b", 1 / 3), ("c", 2)])
    assert table.csv() == "name,value\na|b,0.333333\nc,2\n"
    assert table.markdown() == "| name | value |\n| --- | --- |\n| a\\|b | 0.333 |\n| c | 2 |\n"
