"""Maps on demand: which grid is asked for, what it will take, and what a report draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import disk_usage
from typing import Any

from bochner import SpatialRegressor
from bochner.arrays import FloatArray
from bochner.cli._spec import box_of
from bochner.cli._stacks import read_stack
from bochner.exceptions import ColumnError, InputError
from bochner.geo import RasterGrid, agreed_crs, crs_text, grid_like, read_areas
from bochner.geo.stacks import Stack
from bochner.maps import estimate_map, make_grid, plot_map
from bochner.outputs import complete_files, told_as_output


@dataclass(frozen=True)
class MapRequest:
    """The grid of a map, and the options that follow from how it was asked for."""

    model: SpatialRegressor
    grid: RasterGrid
    options: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        model: SpatialRegressor,
        resolution: str | None,
        like: Path | None,
        within: Path | None,
        bounds: str | None,
        fill_only: bool = False,
        layer: str | None = None,
        crs: str | None = None,
    ) -> MapRequest:
        areas = None if within is None else read_areas(within)
        box = None if bounds is None else box_of(bounds)
        stack = _template_stack(model, like, layer, crs) if like is not None and (fill_only or layer) else None
        template: Any = like
        if like is not None and crs is not None:
            found = grid_like(like)
            template = replace(found, crs=agreed_crs(found.crs, crs, like.name))
        if stack is not None and crs is None:
            template = _even_grid(stack, like)
        grid = make_grid(model, resolution, like=template, within=areas, bounds=box)
        options = {"within": areas}
        if fill_only and stack is not None:
            options["observed"] = _image(stack, like)
        return cls(model, grid, options)

    @property
    def crs(self) -> str | None:
        """CRS of the map, as text."""
        return crs_text(self.grid.crs)

    def forecast(self, options: Mapping[str, Any], output: Path) -> list[str]:
        """Memory and time that the map will take, as notes for the user; refused where the disk cannot hold it.

        Pixels without a value take next to no room once they are compressed, others nearly all of it.
        """
        found, free = estimate_map(self.model, self.grid, **options), disk_usage(output.parent).free
        needed = found.covered * found.file_bytes
        if needed > free:
            raise InputError(
                f"the map has {found.n_pixels:,} pixels and would need {needed / 1e9:,.1f} GB of disk, but "
                f"{output.parent.resolve()} has {free / 1e9:,.1f} GB left; take larger pixels (--resolution), a "
                f"smaller region (--within, --bounds), or another disk."
            )
        full = f"the disk has {free / 1e9:,.1f} GB left, which may not do; take larger pixels, or another disk"
        return [str(found), *([full] if found.file_bytes > free else [])]


def draw_picture(
    model: SpatialRegressor, request: MapRequest, options: Mapping[str, Any], title: str, label: str, output: Path
) -> None:
    """Draw a map for a slide: mean and sd, or mean and exceedance, with title, scale bar, legend and outlines."""
    wanted = {key: value for key, value in options.items() if key not in ("memory_limit", "observed")}
    names = [f"exceedance_{t:.12g}" for t in options["exceed"]]
    bands = ["mean", *(names or ["sd"])]
    figure = plot_map(
        model, like=request.grid, bands=bands, label=label, title=title, percent=model.family_.is_share, **wanted
    )
    with complete_files(output) as partial, told_as_output(output):
        figure.savefig(partial, dpi=PICTURE_DPI, bbox_inches="tight", facecolor="white")


PICTURE_DPI = 200


def _template_stack(model: SpatialRegressor, like: Path, layer: str | None, crs: str | None) -> Stack:
    """The variable of a template that the model was fitted to, or the only one."""
    target = model.fitted_.layout.roles.get("target")
    try:
        return read_stack(like, target, layer, crs)
    except ColumnError:
        return read_stack(like, None, layer, crs)


def _even_grid(stack: Stack, like: Path | None) -> RasterGrid:
    if stack.grid is None:
        raise InputError(f"the pixels of {like} are not evenly spaced; fill it with: bochner fill {like} -o OUT")
    return stack.grid


def _image(stack: Stack, like: Path | None) -> FloatArray:
    if stack.along is not None:
        raise InputError(
            f"{like} has {len(stack.labels)} images along {stack.along!r}; choose one with --layer, or fill them all "
            f"with: bochner fill {like} -o OUT"
        )
    return stack.images[0]


def check_offset(model: SpatialRegressor, given: Mapping[str, Any], command: str) -> None:
    """Refuse to predict without the offset that a model was fitted with."""
    name = model.fitted_.layout.roles.get("offset")
    if name is not None and "offset" not in given:
        way = "give it with --offset, a number or a raster" if command == "map" else "predict single places instead"
        raise InputError(f"the model was fitted with the offset {name!r}, which {command} was not given; {way}.")
