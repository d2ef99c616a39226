"""Story of the demo: its files, its commands and its end."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bochner.demo import DemoFiles, write_demo
from bochner.demo.country import NAME
from bochner.demo.villages import N_VILLAGES
from bochner.geo import grid_like, sample_raster
from bochner.outputs import complete_files, told_as_output

THRESHOLD = "20%"  # prevalence above which a district gets nets first, say
MODEL = """\
# What `bochner fit` and `bochner validate` are told; paths are relative to this file.
data = "data/villages.csv"
target = "positive"
family = "binomial"
trials = "examined"
kernel = "matern32"
output = "prevalence.bochner"

[covariate]
elevation = "data/elevation.tif"
rainfall = "data/rainfall.tif"
"""


@dataclass(frozen=True)
class Story:
    """The demo in a folder."""

    folder: Path
    files: DemoFiles

    @classmethod
    def begin(cls, folder: Path, seed: int) -> Story:
        """Write the data, the file that describes the model, and the commands."""
        story = cls(folder, write_demo(folder / "data", seed))
        lines = [f"# {text}\nbochner {shlex.join(arguments)}\n" for text, arguments in story.steps]
        for name, text in (("model.toml", MODEL), ("commands.sh", "\n".join(lines))):
            with complete_files(folder / name) as partial, told_as_output(folder / name):
                partial.write_text(text, encoding="utf-8")
        return story

    @property
    def introduction(self) -> str:
        return (
            f"{NAME}, a country that does not exist: people of {N_VILLAGES} villages were examined for malaria.\n"
            f"The data are in {self.files.folder}, the model is described in {self.folder / 'model.toml'}."
        )

    @property
    def steps(self) -> list[tuple[str, list[str]]]:
        """Sentences and the commands that they announce."""
        out, files = self.folder, self.files
        model, config = str(out / "prevalence.bochner"), str(out / "model.toml")
        rasters = ["--covariate", f"elevation={files.elevation}", "--covariate", f"rainfall={files.rainfall}"]
        limit = ["--exceed", THRESHOLD]
        inner = ["--within", str(files.country)]
        bands = [*limit, "--quantile", "0.025", "--quantile", "0.975"]
        shown = ["--data", str(files.villages), "--title", f"Malaria in {NAME}"]
        people = ["--areas", str(files.districts), "--weights", str(files.population)]
        return [
            ("Learn the model.", ["fit", "--config", config]),
            (
                "How good is it, 50 km from the nearest village?",
                ["validate", "--config", config, "--blocks", "50", *_scores("rmse", "crps", "coverage", "bias")],
            ),
            (
                "Map the prevalence, and where it is above 20 %.",
                ["map", model, "--resolution", "5km", *inner, *rasters, *bands, "-o", str(out / "prevalence.tif")],
            ),
            (
                "How many people are infected, district by district?",
                ["aggregate", model, *people, *rasters, *limit, "--points", "80", "-o", str(out / "districts.csv")],
            ),
            (
                "One page to hand on; it shows the villages because --data is given.",
                [
                    "report",
                    model,
                    *shown,
                    *inner,
                    *rasters,
                    *people,
                    "--points",
                    "80",
                    "--threshold",
                    THRESHOLD,
                    "-o",
                    str(out / "report.html"),
                ],
            ),
        ]

    def truth(self) -> str:
        """How the map compares with what was simulated."""
        grid = grid_like(self.folder / "prevalence.tif")
        truth = sample_raster(self.files.truth, grid)
        mean, lower, upper = (sample_raster(self.folder / "prevalence.tif", grid, band=b) for b in (1, 4, 5))
        known = np.isfinite(truth) & np.isfinite(mean)
        inside = np.mean((truth >= lower)[known] & (truth <= upper)[known])
        error = np.sqrt(np.mean((truth - mean)[known] ** 2))
        return (
            f"Against the truth, known here because all was simulated: the 95 % intervals hold the true prevalence of "
            f"{inside:.0%} of the pixels;\nthe map errs by {error:.3f} (root mean square), where the prevalence itself "
            f"varies by {truth[known].std():.3f} (sd)."
        )

    @property
    def ending(self) -> str:
        return "\n".join(
            [
                "Where to look:",
                f"  {self.folder / 'report.html'}      open it in a browser",
                f"  {self.folder / 'prevalence.tif'}   the map, for QGIS or any other GIS",
                f"  {self.folder / 'districts.csv'}    prevalence and number infected by district",
                f"  {self.folder / 'commands.sh'}      the commands, to be changed and run again",
            ]
        )


def _scores(*names: str) -> list[str]:
    return [word for name in names for word in ("--score", name)]
