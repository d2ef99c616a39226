"""Methods of a model that draw maps: their work is done by the room above, `bochner.maps`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sklearn.utils import estimator_html_repr


def _above(name: str, room: str = "maps") -> Any:
    # Users look for these on the model. The room of maps knows models, not the other way round: it is found by name,
    # and only when asked for.
    return getattr(import_module(f"bochner.{room}"), name)


class Mapped:
    """Grids and figures of a fitted model."""

    def predict_grid(self, resolution: Any = None, *, like: Any = None, within: Any = None, **options: Any) -> Any:
        """Predictions on a grid, as an xarray Dataset: mean, sd, and what `options` ask for.

        Parameters
        ----------
        resolution : str or float
            ``"5km"``, ``"0.05deg"``, or a number in units of the data's CRS.
        like : path or dataset
            A raster whose grid is taken instead.
        within : path or GeoDataFrame
            Polygons that the map is cut to.
        **options
            As in `bochner.maps.predict_grid`: `covariates`, `exceed`, `quantiles`, `include_noise`, ...
        """
        return _above("predict_grid")(self, resolution, like=like, within=within, **options)

    def fill(self, array: Any, *, return_std: bool = False, **options: Any) -> Any:
        """The gaps of an image or a stack of images, an xarray DataArray, filled by the mean.

        Observed values, dimensions, their order and their coordinates are kept. With `return_std` a pair: the filled
        array and the standard deviations, 0 where a value was observed. Of a Dataset the answer is one, too.

        Parameters
        ----------
        array : DataArray or Dataset
            Over the coordinates of the model: lon and lat, x and y, and time if the model has it.
        return_std : bool
        **options
            As in `bochner.maps.fill`: `crs`, `covariates`, `target`, `include_noise`.
        """
        return _above("fill")(self, array, return_std=return_std, **options)

    def plot(self, resolution: Any = None, **options: Any) -> Any:
        """Figure of mean and sd over the data, nothing asked for; see `bochner.maps.plot`."""
        return _above("plot")(self, resolution, **options)

    def _repr_html_(self) -> str:
        """What was learned, with a small map, where a notebook shows the model."""
        known = hasattr(self, "fitted_") or hasattr(self, "models_")
        return str(_above("card", "report")(self) if known else estimator_html_repr(self))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """The same for front ends that ask for all formats at once."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def plot_map(self, *args: Any, **options: Any) -> Any:
        """Figure of mean and sd; see `bochner.maps.plot_map`."""
        return _above("plot_map")(self, *args, **options)

    def plot_variogram(self, **options: Any) -> Any:
        """Empirical variogram and that of the model; see `bochner.maps.plot_variogram`."""
        return _above("plot_variogram")(self, **options)

    def plot_calibration(self, **options: Any) -> Any:
        """Held-out predictions against what was observed; see `bochner.maps.plot_calibration`."""
        return _above("plot_calibration")(self, **options)

    def plot_spectrum(self, **options: Any) -> Any:
        """Spectral density of the kernel and the waves in use; see `bochner.maps.plot_spectrum`."""
        return _above("plot_spectrum")(self, **options)
