"""Request: what `bochner simulate` is to draw, checked before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bochner.exceptions import InputError
from bochner.formats import MAPS, WRITABLE
from bochner.outputs import check_writable


@dataclass(frozen=True)
class Request:
    """What is to be drawn; the options of `bochner simulate`."""

    model: Path | None
    at: Path | None
    like: Path | None
    bounds: str | None
    resolution: str | None
    n_draws: int
    kernel: str | None
    mean: float
    noise_variance: float
    family: str | None
    dispersion: float | None
    sizes: Mapping[str, str | None]
    covariate: Sequence[str]
    latent: bool
    coords: str | None
    crs: str | None
    layer: str | None
    seed: int

    def check(self, output: Path) -> None:
        """Refuse what cannot be drawn, before any work is done."""
        places = [self.at is not None, self.like is not None, self.resolution is not None]
        if sum(places) != 1:
            raise InputError("say where to draw: --at FILE, --like RASTER, or --resolution R with --bounds W,S,E,N.")
        if self.resolution is not None and self.bounds is None and self.model is None:
            raise InputError("--resolution was given without --bounds; a prior has no data to take a box from.")
        if (self.model is None) == (self.kernel is None):
            raise InputError("give either a MODEL file, or a prior by --kernel, e.g. 'matern32(length_scale=50)'.")
        if self.model is not None and (self.family is not None or self.dispersion is not None):
            raise InputError("--family and --dispersion describe a prior; a MODEL has its own: leave them out.")
        check_writable(output, (*WRITABLE, *MAPS), (self.model, self.at, self.like))
        if output.suffix.lower() in MAPS and self.at is not None:
            raise InputError(
                f"{output.name} is a raster, and --at gives single places; draw on a grid, or write a table."
            )
