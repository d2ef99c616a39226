"""Spectrum figure: the kernel as a distribution of waves, and the waves that the model uses."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import KernelError
from bochner.frequencies import Frequencies, QuasiMonteCarlo
from bochner.kernels import Kernel, spectral_density
from bochner.maps import limits
from bochner.maps.mappable import Mappable, mappable
from bochner.maps.plots.style import BLUE, GREY, ORANGE, panels, styled
from bochner.random import generator


@styled
def plot_spectrum(model: Mappable, *, axes: Any = None) -> Any:
    """Spectral density of the kernel with the frequencies in use, and the variance that both hold up to a frequency.

    Parameters
    ----------
    model : SpatialRegressor
        Fitted, with a shift-invariant kernel.
    axes : two Axes, optional
        Default: a new figure.
    """
    fitted = mappable(model).fitted_
    kernel, dim = fitted.model.kernel, fitted.model.dim
    if not all(leaf.has_waves for leaf in kernel.leaves()):
        raise KernelError("the kernel is not shift-invariant, so it has no spectral density to plot.")
    waves = fitted.model.posterior.waves
    reference = QuasiMonteCarlo().draw(kernel, limits.DRAWN_FREQUENCIES, dim, generator(0, "spectrum"))
    figure, (density, share) = panels(2, width=4.6, height=3.8, axes=axes)
    reach = _reach(reference, waves)
    _density(density, kernel, dim, reach, waves)
    _share(share, reference, waves, reach)
    unit = fitted.layout.placement.unit
    for ax in (density, share):
        ax.set_xlabel(f"angular frequency (radians per {unit or 'unit'})")
        top = ax.secondary_xaxis("top", functions=(_wavelength, _wavelength))
        top.set_xlabel(f"wavelength ({unit})" if unit else "wavelength")
        top.tick_params(length=2.5)
    return figure


def _density(ax: Any, kernel: Kernel, dim: int, reach: tuple[float, float], waves: Frequencies | None) -> None:
    radius = np.geomspace(*reach, 240)
    direction = generator(0, "directions").normal(size=(48, dim))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    omega = (radius[:, None, None] * direction).reshape(-1, dim)
    values = spectral_density(kernel, omega).reshape(len(radius), -1)
    mean = values.mean(axis=1)
    with np.errstate(divide="ignore"):
        turned = np.ptp(np.log(np.maximum(values, 1e-300)), axis=1).max() > 0.05
    if turned:
        low, high = np.maximum(values.min(axis=1), 1e-12 * mean.max()), values.max(axis=1)
        ax.fill_between(radius, low, high, color=BLUE, alpha=0.14, linewidth=0, label="by direction")
    ax.plot(radius, mean, color=BLUE, label="kernel")
    ax.set(xscale="log", yscale="log", ylabel="spectral density", title="Spectral density", xlim=reach)
    ax.set_ylim(max(mean.min(), 1e-8 * mean.max()) / 2, 3 * values.max())
    if waves is not None:
        norm = _norms(waves)
        ax.plot(norm, np.full(len(norm), 0.03), "|", color=ORANGE, alpha=min(1.0, 40 / len(norm) ** 0.5 / 3),
                markersize=9, transform=ax.get_xaxis_transform(), label=f"{waves.n:,} waves")  # fmt: skip
    ax.grid(axis="y")
    ax.legend(loc="upper right")


def _share(ax: Any, reference: Frequencies, waves: Frequencies | None, reach: tuple[float, float]) -> None:
    total = float(reference.mass.sum())
    ax.plot(*_cumulative(reference, total), color=BLUE, label="kernel")
    if waves is not None:
        x, y = _cumulative(waves, total)
        ax.step(np.r_[reach[0], x, reach[1]], np.r_[0, y, y[-1]], where="post", color=ORANGE, linewidth=1.4,
                label=f"waves: {100 * y[-1]:.3g} % of the variance")  # fmt: skip
    ax.axhline(1, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)))
    ax.set(xscale="log", ylabel="share of the variance", title="Variance up to a frequency", xlim=reach, ylim=(0, 1.05))
    ax.grid(axis="y")
    ax.legend(loc="upper left", bbox_to_anchor=(0, 0.95))


def _cumulative(waves: Frequencies, total: float) -> tuple[FloatArray, FloatArray]:
    norm = _norms(waves)
    order = np.argsort(norm)
    return norm[order], np.cumsum(waves.mass[order]) / total


def _reach(reference: Frequencies, waves: Frequencies | None) -> tuple[float, float]:
    norm = _norms(reference)
    low, high = np.quantile(norm, [0.002, limits.SHOWN_VARIANCE])
    if waves is not None:
        high = max(high, 1.1 * float(_norms(waves).max()))
    return float(low), float(high)


def _norms(waves: Frequencies) -> FloatArray:
    norm = np.linalg.norm(waves.omega, axis=1)
    return np.where(norm > 0, norm, np.min(norm[norm > 0], initial=np.inf) / 2)


def _wavelength(omega: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return 2 * np.pi / np.asarray(omega, dtype=float)
