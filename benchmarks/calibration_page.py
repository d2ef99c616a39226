"""The page and the chart that `benchmarks/calibration.py` makes of its fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

HONEST = (0.92, 0.97)
ENOUGH = 8  # fields of a cell from which its own scatter says more than that of all cells of its kind
WHATS = {"latent": "surface", "new": "new observations"}
SCHEMES = ("exact", "lattice", "nystroem", "quasi")
REGIMES = {
    "held": "the true hyperparameters are given",
    "learned": "everything is learned, of fields drawn from the prior",
    "adverse": "everything is learned, of fields that are hard to learn",
}
COLOURS = {"exact": "#1b4965", "lattice": "#2a9d8f", "nystroem": "#e9a03b", "quasi": "#c8553d"}
Key = tuple[str, str, str, int]
Field = dict[str, Any]


class Measured:
    """The fields of one cell."""

    def __init__(self, key: Key, fields: list[Field]) -> None:
        self.regime, self.family, self.scheme, self.n = key
        self.failed = [f for f in fields if "error" in f]
        self.fields = [f for f in fields if "error" not in f]
        self.pooled: dict[str, float] = {}  # scatter of one field in cells of this kind

    def __len__(self) -> int:
        return len(self.fields)

    def mean(self, what: str) -> float:
        return float(np.mean([f[what] for f in self.fields]))

    def error(self, what: str) -> float:
        """Monte Carlo error of the mean over fields; places of one field are right or wrong together."""
        values = [f[what] for f in self.fields]
        own = len(values) >= ENOUGH or (not self.pooled and len(values) > 1)
        return float((np.std(values, ddof=1) if own else self.pooled.get(what, 0.1)) / np.sqrt(len(values)))

    @property
    def said(self) -> Counter[str]:
        """Fits in which `check()` said something, by how the sentence goes on."""
        return Counter(kind for f in self.fields for kind in {_kind(text) for text in f["check"]})

    @property
    def warned(self) -> int:
        return sum(bool(f["check"]) for f in self.fields)

    @property
    def name(self) -> str:
        return ", ".join(part for part in (self.family, self.scheme, f"{self.n:,} rows") if part)


def write(fields: list[Field], page: Path, chart: Path) -> None:
    """Page and chart of the fields measured so far."""
    cells = cells_of(fields)
    if not cells:
        return
    draw(cells, chart)
    page.write_text(text_of(cells, chart.name))
    print(f"{len(fields)} fields in {len(cells)} cells -> {page}, {chart}")


def cells_of(fields: Iterable[Field]) -> list[Measured]:
    """Fields by their cells."""
    by_key: dict[Key, list[Field]] = {}
    for field in fields:
        by_key.setdefault((field["regime"], field["family"], field["scheme"], field["n"]), []).append(field)
    cells = [cell for key, group in by_key.items() if len(cell := Measured(key, group))]
    for cell in cells:
        alike = [c for c in cells if (c.regime, c.n) == (cell.regime, cell.n)]
        cell.pooled = {what: scatter(alike, what) for what in WHATS}
    return cells


def scatter(cells: list[Measured], what: str) -> float:
    """Standard deviation of one field's share within its cell; over families where no cell has two fields."""
    groups = [[f[what] for f in c.fields] for c in cells if len(c) > 1]
    groups = groups or [[f[what] for c in cells for f in c.fields]]
    freedom = sum(len(g) - 1 for g in groups)
    return float(np.sqrt(sum((len(g) - 1) * np.var(g, ddof=1) for g in groups) / freedom)) if freedom else 0.1


def over_families(cells: list[Measured]) -> list[Measured]:
    """Cells of one way to learn, scheme and number of rows put together: many fields, and so a verdict."""
    by_key: dict[Key, list[Field]] = {}
    for cell in cells:
        by_key.setdefault((cell.regime, "", cell.scheme, cell.n), []).extend(cell.fields)
    return [Measured(key, fields) for key, fields in by_key.items()]


# -------------------------------------------------------------------------------------------------------------- words


def text_of(cells: list[Measured], chart: str) -> str:
    """The whole page."""
    out = [(cell, what) for cell in cells for what in WHATS if not _honest(cell, what)]
    out = sorted(out, key=lambda o: -abs(o[0].mean(o[1]) - 0.95))
    clear = [(cell, what) for cell, what in out if _clear(cell, what)]
    chance = [(cell, what) for cell, what in out if not _clear(cell, what)]
    parts = [
        INTRODUCTION.format(
            n_fits=f"{sum(map(len, cells)):,}",
            n_cells=len(cells),
            n_all=2 * len(cells),
            n_honest=2 * len(cells) - len(out),
            n_clear=len(clear),
            n_chance=len(chance),
            counted=_counted(cells),
            chart=chart,
        ),
        _pooled(over_families(cells)),
        *(_table(regime, [c for c in cells if c.regime == regime]) for regime in REGIMES),
        _uniform(cells),
        OUTSIDE,
        *(_sentence(group, what) for group, what in _together(clear, _why)),
        _explained(chance),
    ]
    failed = [f"- {c.name} ({c.regime}): {c.failed[0]['error']}" for c in cells if c.failed]
    if failed:
        parts += ["\n## Fits that ended in an error\n", *failed]
    return "\n".join(parts) + "\n"


INTRODUCTION = """# Calibration, cell by cell

Made by `make calibration` (`benchmarks/calibration.py`); every number below is measured, the bad ones too. Fields are
drawn from the **exact** kernel with hyperparameters from a prior, responses from the family, and the posterior is asked
at 100 other places. If it is right, the rank of the truth in it is uniform (simulation-based calibration), and so is
the PIT of a new observation (randomised for counts, so that intervals of a Bernoulli response can be judged at all);
95 % intervals then hold 95 %. A cell is a way to learn x a family x a scheme x a number of rows; {n_fits} fits in
{n_cells} cells: {counted}.

Each cell has two shares, of the surface and of new observations. {n_honest} of {n_all} lie within .92 and .97. A share
outside is judged by its Monte Carlo error, since places of one field are right or wrong together and cells have few
fields: {n_clear} lie outside by more than two standard errors, each with a sentence below; {n_chance} do not, and are
listed with what `check()` said. The standard error is of the scatter between fields within cells of the same way to
learn and number of rows, or of the cell's own from eight fields on. Cells that are missing have not been measured;
`make calibration` goes on where it stopped, and `make calibration ARGS="--times 5"` takes five times as many fields.

The prior: smoothness 1/2, 3/2 or 5/2, range .08 to .8 of the side of the square, variance .5 to 2, noise sd .1 to 1.5
(of other families: dispersions, or effects of single rows, in proportion). Adverse fields are at its corners and
beyond: rough with a range of .03, or smooth with a range of 1.5, each with little noise and with much; the first field
of a cell is rough with little noise, the second rough with much, the third and fourth are smooth.

![Shares inside 95 % intervals, every cell](_static/{chart})
"""
OUTSIDE = """## Cells outside .92 to .97

One line each, worst first: the share, its Monte Carlo error, why, and what `check()` said of those fits. That “rows
hardly predict each other” it says of fits in which a row correlates with what the others say of it by less than the
smaller of .25 and four standard errors: `python benchmarks/hidden_fields.py` found it said of none of 102 fields that
rows can show (plain ones, with very unequal sizes, with a covariate) and of 13 of 28 hidden ones of 300 rows. Of the 7
hidden surfaces of which less than .85 lay inside it is said of 6, and of the seventh `check()` says something else.
"""


def _counted(cells: list[Measured]) -> str:
    """How many fields cells have, by their numbers of rows."""
    told = []
    for n in sorted({c.n for c in cells}):
        numbers = sorted({len(c) for c in cells if c.n == n})
        fields = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        many = f"field{'s' if numbers[-1] > 1 else ''}"
        told.append(f"{fields} {many} in each of {sum(c.n == n for c in cells)} cells of {n:,} rows")
    return ", ".join(told)


def _pooled(cells: list[Measured]) -> str:
    """Shares over all families, where there are fields enough for a verdict."""
    lines = [
        "## Over all families\n",
        "The same shares over the fields of all families, with their standard errors: surface / new observations; bold "
        "where outside .92 to .97 by more than two standard errors.\n",
        "| | rows | fields | " + " | ".join(SCHEMES) + " |",
        "|---|---:|---:|" + "---:|" * len(SCHEMES),
    ]
    for regime in REGIMES:
        for n in sorted({c.n for c in cells if c.regime == regime}):
            row = {c.scheme: c for c in cells if (c.regime, c.n) == (regime, n)}
            numbers = sorted({len(c) for c in row.values()})
            shown = " | ".join(_judged(row.get(s)) for s in SCHEMES)
            lines.append(f"| {regime} | {n:,} | {'-'.join(map(str, numbers[:: max(len(numbers) - 1, 1)]))} | {shown} |")
    return "\n".join(lines) + "\n"


def _judged(cell: Measured | None) -> str:
    if cell is None:
        return ""
    shown = {w: f"{_number(cell.mean(w))} ± {_number(cell.error(w))}" for w in WHATS}
    return " / ".join(f"**{shown[w]}**" if _clear(cell, w) else shown[w] for w in WHATS)


def _explained(out: list[tuple[Measured, str]]) -> str:
    """Shares outside that so few fields explain, with what `check()` said of those fits."""
    if not out:
        return ""
    lines = [
        "\n## Outside, by no more than chance explains\n",
        "Within two standard errors of .92 to .97: so few fields do not tell such a share from an honest one. What is "
        "known to matter to cells of the kind is said above and in [coverage](coverage.md).\n",
        "| | family | rows | fields | of | share | ± | `check()` |",
        "|---|---|---:|---:|---|---|---:|---|",
    ]
    for group, what in _together(out, lambda cell, what: ""):
        one = group[0]
        parts = (one.regime, one.family, f"{one.n:,}", f"{len(one)}", WHATS[what], _by_scheme(group, what))
        lines.append(f"| {' | '.join(parts)} | {_number(one.error(what))} | {_told(group)} |")
    return "\n".join(lines) + "\n"


def _together(out: list[tuple[Measured, str]], why: Callable[[Measured, str], str]) -> list[tuple[list[Measured], str]]:
    """Schemes whose shares lie outside for one reason, in one line: they had the same fields."""
    groups: dict[Any, list[Measured]] = {}
    for cell, what in out:
        groups.setdefault((cell.regime, cell.family, cell.n, len(cell), what, why(cell, what)), []).append(cell)
    return [(sorted(group, key=lambda c: SCHEMES.index(c.scheme)), key[4]) for key, group in groups.items()]


def _by_scheme(group: list[Measured], what: str) -> str:
    """Shares of schemes; those of one share together."""
    by_share: dict[str, list[str]] = {}
    for cell in group:
        by_share.setdefault(_number(cell.mean(what)), []).append(cell.scheme)
    return ", ".join(f"**{share}** {' '.join(names)}" for share, names in by_share.items())


def _table(regime: str, cells: list[Measured]) -> str:
    if not cells:
        return f"## {regime.capitalize()}: {REGIMES[regime]}\n\nNot measured yet.\n"
    lines = [
        f"## {regime.capitalize()}: {REGIMES[regime]}\n",
        "Surface / new observations; bold where outside .92 to .97.\n",
        "| family | rows | fields | " + " | ".join(SCHEMES) + " |",
        "|---|---:|---:|" + "---:|" * len(SCHEMES),
    ]
    for family in dict.fromkeys(c.family for c in cells):
        for n in sorted({c.n for c in cells if c.family == family}):
            row = {c.scheme: c for c in cells if (c.family, c.n) == (family, n)}
            numbers = sorted({len(c) for c in row.values()})
            shown = " | ".join(_shares(row.get(s)) for s in SCHEMES)
            lines.append(f"| {family} | {n:,} | {'-'.join(map(str, numbers[:: max(len(numbers) - 1, 1)]))} | {shown} |")
    return "\n".join(lines) + "\n"


def _shares(cell: Measured | None) -> str:
    if cell is None:
        return ""
    return " / ".join(_number(cell.mean(w)) if _honest(cell, w) else f"**{_number(cell.mean(w))}**" for w in WHATS)


def _uniform(cells: list[Measured]) -> str:
    """Ranks of the surface in tenths, over all families and sizes."""
    lines = [
        "## Ranks of the surface\n",
        "Share of the true values in each tenth of their posterior, over all families and numbers of rows. Uniform is "
        ".10 everywhere; more at both ends is a posterior too narrow, more in the middle one too wide. The last column "
        "is the variance of the ranks over that of uniform ones.\n",
        "| | scheme | " + " | ".join(f"{i / 10:.1f}" for i in range(10)) + " | spread |",
        "|---|---|" + "---:|" * 11,
    ]
    for regime in REGIMES:
        for scheme in SCHEMES:
            fields = [f for c in cells if (c.regime, c.scheme) == (regime, scheme) for f in c.fields]
            if fields:
                counts = np.sum([f["latent_ranks"] for f in fields], axis=0)
                shares = " | ".join(_number(share) for share in counts / counts.sum())
                spread = np.mean([f["spread"] for f in fields])
                lines.append(f"| {regime} | {scheme} | {shares} | {spread:.2f} |")
    return "\n".join(lines) + "\n"


def _sentence(group: list[Measured], what: str) -> str:
    one = group[0]
    head = f"- {one.regime}, {one.family}, {one.n:,} rows, {WHATS[what]}: {_by_scheme(group, what)}"
    fields = f"{len(one)} field{'s' if len(one) > 1 else ''}"
    return f"{head} (± {_number(one.error(what))}, {fields}): {_why(one, what)} `check()`: {_told(group)}."


def _told(group: list[Measured]) -> str:
    """What `check()` said of the fits of some schemes."""
    by_text: dict[str, list[str]] = {}
    for cell in group:
        kinds = "; ".join(f"“{kind}” in {count}" for kind, count in cell.said.most_common(2))
        text = f"speaks in {cell.warned} of {len(cell)} ({kinds})" if cell.warned else "silent"
        by_text.setdefault(text, []).append(cell.scheme)
    return ", ".join(text if len(by_text) == 1 else f"{' '.join(names)} {text}" for text, names in by_text.items())


def _why(cell: Measured, what: str) -> str:
    """Why a cell lies outside, as far as its parts tell."""
    low = cell.mean(what) < 0.95
    return next((text for applies, text in REASONS if applies(cell, low)), "on the careful side.")


ADDITIVE = ("gaussian", "student")
DISPERSED = ("student", "negative-binomial", "gamma")
REASONS = (
    (
        lambda c, low: low and c.scheme == "quasi" and c.n > 50,
        "a finite number of random waves, pinned down by the rows, has no doubt left about what lies between them.",
    ),
    (
        lambda c, low: low and c.regime == "held" and c.family not in ADDITIVE,
        "Laplace's approximation puts a Gaussian at the mode, and few counts leave a skewed posterior.",
    ),
    (
        lambda c, low: low and c.regime == "adverse" and c.family == "bernoulli" and c.n > 500,
        "Laplace's evidence favours weak and smooth fields of single trials: of this one it puts the truth 12 nats"
        " below what it learns, and 5 above when taken to the next order, as `check()` takes it.",
    ),
    (
        lambda c, low: low and c.regime == "adverse",
        "the range is no longer than the spacing of the rows, or the noise hides the field: what is learned as smooth,"
        " or as noise, is field in truth.",
    ),
    (
        lambda c, low: low and c.regime == "held",
        "everything is known, so that nothing but the draw of the fields is left to explain it.",
    ),
    (
        lambda c, low: low and c.n >= 500 and c.scheme in ("lattice", "nystroem") and c.family not in ADDITIVE,
        "a smooth field is learned on waves, which hold no rough one of such a range; the exact kernel judges it, too.",
    ),
    (
        lambda c, low: low and c.n >= 500,
        "the hyperparameters are those of the largest evidence, whose doubt many rows leave small, but not nothing.",
    ),
    (
        lambda c, low: low and c.family in DISPERSED,
        "few rows do not pin the hyperparameters down: sets around the best are averaged over, with one dispersion for"
        " all of them, and carry only part of that doubt.",
    ),
    (
        lambda c, low: low and c.family not in ADDITIVE and c.n > 200,
        "beyond 200 rows of counts or classes sets around the best are averaged over, which carry only part of the"
        " doubt.",
    ),
    (
        lambda c, low: low and c.regime == "learned",
        "few rows do not pin the hyperparameters down: a grid of them is averaged over, under a prior that favours long"
        " ranges and little field where the rows do not say otherwise.",
    ),
    (
        lambda c, low: not low and c.scheme in ("lattice", "nystroem"),
        "what waves or landmarks leave out is carried as if nothing were known of it: on the careful side.",
    ),
    (
        lambda c, low: not low and c.regime != "held",
        "the doubt about the hyperparameters is carried, and more than these fields need: on the careful side.",
    ),
)


def _kind(text: str) -> str:
    """A finding without its numbers."""
    for words in (
        "too few waves",
        "leave out a rough part of the field",
        "standard deviations are too small",
        "stopped at a bound",
        "outliers",
        "say little of the ran",
        "close to each other",
        "hardly predict each other",
        "rougher field with a larger variance",
        "rough fields were not judged",
    ):
        if words in text:
            return f"{words}ge" if words.endswith("the ran") else words  # what is kept of a finding ends there
    return text.split(":")[0]


def _honest(cell: Measured, what: str) -> bool:
    return HONEST[0] <= round(cell.mean(what), 3) <= HONEST[1]


def _clear(cell: Measured, what: str) -> bool:
    """Whether a cell lies outside by more than two standard errors."""
    share, error = cell.mean(what), 2 * cell.error(what)
    return share + error < HONEST[0] or share - error > HONEST[1]


def _number(share: float) -> str:
    return f"{share:.2f}".removeprefix("0") if share < 1 else "1.00"


# -------------------------------------------------------------------------------------------------------------- chart


def draw(cells: list[Measured], chart: Path) -> None:
    """One panel for each regime and kind of interval; a point for each cell, with two standard errors."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "calibration"
    import matplotlib.pyplot as plt

    regimes = [r for r in REGIMES if any(c.regime == r for c in cells)]
    families = list(dict.fromkeys(c.family for c in cells))
    figure, axes = plt.subplots(
        len(regimes), 2, figsize=(10.5, 2.9 * len(regimes)), sharex="col", sharey="row", squeeze=False
    )
    sizes = sorted({c.n for c in cells})
    for row, regime in zip(axes, regimes, strict=True):
        for panel, what in zip(row, WHATS, strict=True):
            panel.axhspan(*HONEST, color="#d9e8df", zorder=0, lw=0)
            panel.axhline(0.95, color="#7a9a86", lw=0.8, zorder=1)
            for cell in (c for c in cells if c.regime == regime):
                place = families.index(cell.family) + 0.26 * (sizes.index(cell.n) - 0.5 * (len(sizes) - 1))
                place += 0.055 * (SCHEMES.index(cell.scheme) - 1.5)
                share = cell.mean(what)
                panel.plot(
                    [place] * 2,
                    np.clip([share - 2 * cell.error(what), share + 2 * cell.error(what)], 0, 1),
                    color=COLOURS[cell.scheme],
                    lw=0.8,
                    alpha=0.6,
                )
                panel.plot(place, share, "o", color=COLOURS[cell.scheme], ms=3.2, mew=0)
            lowest = min(c.mean(w) for c in cells if c.regime == regime for w in WHATS)
            panel.set_ylim(min(0.85, lowest - 0.03), 1.01)
            panel.set_xticks(range(len(families)), families, fontsize=8, rotation=18, ha="right")
            panel.tick_params(axis="y", labelsize=8)
            panel.set_title(
                f"{regime}: {'surface' if what == 'latent' else 'new observations'}", fontsize=9.5, loc="left"
            )
            for side in ("top", "right"):
                panel.spines[side].set_visible(False)
    handles = [plt.Line2D([], [], color=c, marker="o", ls="", ms=5, label=s) for s, c in COLOURS.items()]
    rows = ", ".join(f"{n:,}" for n in sizes)
    figure.legend(handles=handles, ncols=4, loc="lower center", frameon=False, fontsize=9)
    figure.suptitle(
        f"Share of true values inside 95 % intervals; within a family, from left to right, {rows} rows", fontsize=10.5
    )
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    chart.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(chart, metadata={"Date": None})
    plt.close(figure)
