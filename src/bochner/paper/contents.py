"""The contents: the sections of the paper in its order, and what is shown in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from bochner.exceptions import InputError
from bochner.paper.exhibit import Exhibit
from bochner.resources import blas_threads


@dataclass(frozen=True)
class Section:
    """A section of the paper: its title, how it leads on from the last, and the names of its exhibits."""

    title: str
    text: str
    names: tuple[str, ...]


SECTIONS = (
    Section(
        "Linear regression",
        "A spatial problem is a regression: places and covariates in, a response out. The simplest model is linear, "
        "y = Xw plus noise, and least squares finds the coefficients that bring Xw closest to y. It is unbiased, and "
        "the best of all unbiased linear estimators. It also breaks easily.",
        ("collinearity",),
    ),
    Section(
        "The bias-variance trade-off",
        "Fitting the data closely is not the aim; predicting new data is. A flexible model follows the noise, a rigid "
        "one misses the signal, and the best lies between.",
        ("figure1", "bias_variance"),
    ),
    Section(
        "Ridge regression and its dual",
        "Ridge adds λ|w|² to the squared loss and so prefers small coefficients: w = (X'X + λI)⁻¹X'y. It always has a "
        "solution, and λ slides between bias and variance. The same solution can be written with one number per row "
        "instead of one per column; then only inner products of rows appear.",
        ("primal_dual",),
    ),
    Section(
        "Non-linear regression",
        "To bend the model, transform the columns and leave it linear. All equations stay as they are, with Φ(X) in "
        "place of X.",
        ("figure2",),
    ),
    Section(
        "Kernel methods",
        "The dual needs inner products only, so a function that gives the inner products of infinitely many columns is "
        "as good as the columns. That function is a kernel, and kernel ridge regression is (K + λI)⁻¹y.",
        ("kernel_trick",),
    ),
    Section(
        "The big N problem",
        "The price is a matrix with a row and a column for every observation.",
        ("cost",),
    ),
    Section(
        "Random Fourier features",
        "Bochner's theorem: a shift-invariant kernel is the Fourier transform of a distribution of frequencies. Draw m "
        "frequencies from it, take their cosines and sines as columns, and a *linear* model on these 2m columns is, "
        "nearly, the kernel model.",
        ("figure3", "table1", "uniform_convergence", "enough_features", "woodbury"),
    ),
    Section(
        "Beyond the linear model",
        "The columns can serve any model that is linear in its predictor. The first step beyond a single best fit is a "
        "distribution over fits.",
        ("posterior_is_ridge",),
    ),
    Section(
        "A toy example",
        "Longitude, latitude, a bowl-shaped surface and noise: the whole story on 100 points.",
        ("figure4", "table2", "figure5"),
    ),
    Section(
        "Advanced methods",
        "Where random Fourier features fall short, and what is done about it: columns and frequencies that look at "
        "the data, frequencies that are spread evenly, frequencies that are orthogonal, spectra that vary in space.",
        (
            *("fine_scale", "nystroem_vs_rff", "quasi", "leverage", "orthogonal", "structured", "nonstationary"),
            *("learned", "schemes"),
        ),
    ),
)
NAMES = tuple(name for section in SECTIONS for name in section.names)


def make(name: str, seeds: int = 50) -> Exhibit:
    """One exhibit, computed.

    Parameters
    ----------
    name : str
        One of `NAMES`, e.g. ``"table2"`` or ``"figure5"``.
    seeds : int
        How many simulated data sets to average over, at least 2; claims that need fewer take fewer.
    """
    (checked,) = choose([name])
    check_seeds(seeds)
    module = import_module(f"bochner.paper.{checked}")
    with blas_threads(1):  # many small problems: threads would only wait for each other
        made: Exhibit = module.exhibit(seeds)
    return made


def choose(only: Sequence[str]) -> list[str]:
    """Names asked for, in the order of the paper; all of them when none is."""
    unknown = [name for name in only if name not in NAMES]
    if unknown:
        raise InputError(f"there is no exhibit {unknown[0]!r}; choose from {', '.join(NAMES)}.")
    return [name for name in NAMES if not only or name in only]


def check_seeds(seeds: int) -> None:
    """Refuse numbers of seeds without a spread."""
    if seeds < 2:
        raise InputError(f"seeds is {seeds}; needed are at least 2, for a spread.")
