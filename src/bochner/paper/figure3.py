"""Figure 3: spectral densities, and the functions they make.

A kernel is a distribution of frequencies; a function drawn from it is a random sum of its waves, f(x) = Σ √mass (a
cos ωx + b sin ωx) with standard normal a and b. With two frequencies, 1 and 2 (A), every function repeats itself
after 2π (B). With 10 and 20 (C) it does so ten times as fast (D). Five frequencies (E) give more varied functions
(F). A Gaussian density (G) is the squared exponential kernel, whose functions are smooth (H); a Cauchy density (I) is
the Laplacian kernel, whose tail of high frequencies makes them rough (J).

The paper's text and caption do not agree on the letters of its panels; these are the five densities that the text
describes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.features import FourierMap
from bochner.frequencies import Frequencies, MonteCarlo
from bochner.kernels import Kernel, Laplacian, SquaredExponential, spectral_density
from bochner.paper import style
from bochner.paper.exhibit import Claim, Exhibit, Table
from bochner.random import generator

N_FREQUENCIES = 2_000
AXIS = np.linspace(0, 4 * np.pi, 801)


@dataclass(frozen=True)
class Spectrum:
    """A spectral density: frequencies of equal mass, or a kernel that has one."""

    name: str
    points: tuple[float, ...] = ()
    kernel: Kernel | None = None

    def waves(self) -> Frequencies:
        """Frequencies that stand for it."""
        if self.kernel is not None:
            return MonteCarlo().draw(self.kernel, N_FREQUENCIES, 1, generator(0, "figure 3"))
        n = len(self.points)
        return Frequencies(np.array(self.points)[:, None], np.full(n, 1 / n))


SPECTRA = (
    Spectrum("two frequencies, 1 and 2", (1.0, 2.0)),
    Spectrum("two frequencies, 10 and 20", (10.0, 20.0)),
    Spectrum("five frequencies", (1.0, 2.5, 4.0, 6.0, 9.0)),
    Spectrum("Gaussian: squared exponential kernel", kernel=SquaredExponential()),
    Spectrum("Cauchy: Laplacian kernel", kernel=Laplacian()),
)


def draw_functions(waves: Frequencies, n_draws: int, seed: int) -> FloatArray:
    """Functions from the prior with these waves, (n_draws, points): Phi c with c ~ N(0, I)."""
    phi = FourierMap(waves).block(AXIS[:, None])
    coef = generator(seed, "functions").standard_normal((phi.shape[1], n_draws))
    return np.asarray((phi @ coef).T)


def roughness(waves: Frequencies) -> float:
    """Root mean square change of a unit-variance function over a step of 0.1."""
    drop = waves.covariance(np.zeros((1, 1))) - waves.covariance(np.array([[0.1]]))
    return float(np.sqrt(2 * drop[0]))


def exhibit(seeds: int) -> Exhibit:
    """Figure 3: one density and three functions per row."""
    functions = [draw_functions(spectrum.waves(), 3, i) for i, spectrum in enumerate(SPECTRA)]
    steps = [roughness(spectrum.waves()) for spectrum in SPECTRA]
    turn = len(AXIS) // 2  # 2 pi
    repeats = float(np.max(np.abs(functions[0][:, turn:] - functions[0][:, : turn + 1])))
    claims = [
        Claim(
            "Two delta functions give strong periodicity.",
            f"With frequencies 1 and 2 the functions repeat after 2π to {repeats:.0e}.",
            repeats < 1e-9,
        ),
        Claim(
            "Higher frequencies give rougher sample paths: small changes in x cause greater changes in y.",
            f"Over a step of 0.1 a function of standard deviation 1 changes by {steps[0]:.2f} (frequencies 1, 2) and "
            f"by {steps[1]:.2f} (10, 20).",
            steps[1] > 3 * steps[0],
        ),
        Claim(
            "The Gaussian density gives smooth functions, the Cauchy density a high degree of roughness.",
            f"By {steps[3]:.2f} (Gaussian) and {steps[4]:.2f} (Cauchy), although the length scale is the same.",
            steps[4] > 2 * steps[3],
        ),
    ]
    table = Table(("density", "rms_change_over_0.1"), [(s.name, v) for s, v in zip(SPECTRA, steps, strict=True)])
    return Exhibit(__name__, claims, table, lambda: draw(functions), (draw_functions, Spectrum.waves, roughness))


@style.styled
def draw(functions: list[FloatArray]) -> Any:
    """Densities on the left, functions on the right."""
    figure, axes = style.panels(2, 5, width=11, height=2.5, width_ratios=(1, 2))
    for i, (spectrum, values) in enumerate(zip(SPECTRA, functions, strict=True)):
        left, right = axes[2 * i], axes[2 * i + 1]
        if spectrum.kernel is None:
            top = 1 / len(spectrum.points)
            for omega in spectrum.points:
                left.annotate(
                    "",
                    (omega, top),
                    (omega, 0),
                    arrowprops={"arrowstyle": "-|>", "color": style.BLUE, "lw": 2, "shrinkA": 0, "shrinkB": 0},
                )
            left.set(xlim=(0, 1.2 * max(spectrum.points)), ylim=(0, 1.25 * top), ylabel="mass")
        else:
            axis = np.linspace(0, 10, 300)
            left.fill_between(axis, 2 * spectral_density(spectrum.kernel, axis), color=style.BLUE, alpha=0.3)
            left.plot(axis, 2 * spectral_density(spectrum.kernel, axis), color=style.BLUE)
            left.set(xlim=(0, 10), ylim=(0, None), ylabel="density")
        for y, colour, width in zip(values, (style.BLUE, style.RED, style.GREEN), (2, 1.4, 1.4), strict=True):
            right.plot(AXIS, y, color=colour, linewidth=width)
        right.set(xlim=(0, AXIS[-1]), ylim=(-3.6, 3.6), ylabel="f(x)")
        left.set_xlabel("angular frequency ω")
        right.set_xlabel("x")
        style.title(right, spectrum.name)
    return figure
