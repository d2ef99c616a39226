"""The choice of features: which scheme, how many waves, in which precision, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import InputError, MemoryLimitError, PartError
from bochner.features import FeatureMap, FourierMap, NystroemMap, choose_landmarks, wave_dtype
from bochner.frequencies import RULES, choose_number, rule_named
from bochner.inference.observed.observations import Observations
from bochner.kernels import Kernel, spectral_terms, total_variance
from bochner.random import generator

EXACT_ROWS = 3_000  # a dense factor of this size takes about a second
EXACT_ROWS_BEYOND = 5_000  # the same beyond 3 dimensions, where no lattice is cheaper
MAX_FREQUENCIES = 2_048  # 4,096 columns: a Gram of 134 MB, a factor in a few seconds
ADAPTIVE = ("leverage", "learned", "nonstationary")  # that look at the data
KINDS = ("exact", "nystroem", "lattice", *RULES, *ADAPTIVE)


@dataclass(frozen=True)
class Spec:
    """What the user asked of the features."""

    features: str = "auto"
    n_frequencies: int | str = "auto"
    tolerance: float = 1e-3
    dtype: str = "auto"
    memory_limit: int | None = None
    seed: int = 0


def choose_kind(spec: Spec, kernel: Kernel, n_rows: int, dim: int) -> tuple[str, str]:
    """Scheme of features and the reason for it."""
    needed = 5 * 8 * n_rows**2
    fits = spec.memory_limit is None or needed <= spec.memory_limit
    if spec.features == "exact" and not fits:
        raise MemoryLimitError(
            f"the exact kernel of {n_rows:,} rows needs about {needed / 1e9:.1f} GB, more than memory_limit="
            f"{spec.memory_limit / 1e9:.1f} GB; use features='auto', or raise the limit."  # type: ignore[operator]
        )
    if spec.features != "auto":
        if spec.features not in KINDS:
            raise InputError(f"features={spec.features!r} is not known; choose from {('auto', *KINDS)}.")
        if spec.features == "lattice" and dim > 3:
            raise PartError(f"features='lattice' with {dim} coordinates; it needs 1 to 3. Use features='orthogonal'.")
        if spec.features == "lattice" or spec.features in ADAPTIVE:
            spectral_terms(kernel)
        return spec.features, f"{spec.features}: as asked"
    most = EXACT_ROWS if dim <= 3 else EXACT_ROWS_BEYOND
    if n_rows <= most and fits:
        return "exact", f"exact: {n_rows:,} distinct rows, at most {most:,}, so nothing need be approximated"
    if not kernel.stationary:
        return "nystroem", "nystroem: the kernel is not shift-invariant, so it has no Fourier features"
    if dim <= 3:
        return "lattice", f"lattice: {n_rows:,} rows in {dim} dimension(s), where equispaced waves err least"
    return "orthogonal", f"orthogonal: {n_rows:,} rows in {dim} dimensions, where orthogonal waves err least"


def number_of_waves(
    kind: str, spec: Spec, kernel: Kernel, n_rows: int, extent: FloatArray
) -> tuple[int, str, float | None]:
    """Number of frequencies (or landmarks), the reason, and the measured kernel error if there is one."""
    if spec.n_frequencies != "auto":
        m = checked_number(spec.n_frequencies)
        return m, f"{m:,}: as asked", None
    if kind == "nystroem":
        m = int(min(n_rows, 1_000))
        return m, f"{m:,} landmarks: at most 1,000; their missing variance is carried", None
    m, error, reason = choose_number(
        rule_named(kind), kernel, len(extent), extent, spec.tolerance, spec.seed, MAX_FREQUENCIES
    )
    return m, reason, error


def build_features(
    kind: str, spec: Spec, kernel: Kernel, n_waves: int, obs: Observations, noise_variance: float
) -> tuple[FeatureMap, str]:
    """Feature map of a scheme for a kernel, and the reason for its precision."""
    if kind == "nystroem":
        landmarks = choose_landmarks(obs.rows.coords, n_waves, obs.weight, spec.seed)
        return NystroemMap.at(kernel, landmarks), "float64: Nystroem features"
    spectral_terms(kernel)
    dim = obs.rows.coords.shape[1]
    frequencies = rule_named(kind).draw(kernel, n_waves, dim, generator(spec.seed, "frequencies"))
    dtype, reason = dtype_of(spec, kernel, obs.total, noise_variance)
    return FourierMap(frequencies, dtype), reason


def dtype_of(spec: Spec, kernel: Kernel, n: float, noise_variance: float) -> tuple[Any, str]:
    """Precision of the waves, and the reason for it."""
    if spec.dtype != "auto":
        return np.dtype(spec.dtype).type, f"{spec.dtype}: as asked"
    dtype = wave_dtype(n, total_variance(kernel), noise_variance)
    if dtype is np.float32 and n > 10_000:
        return dtype, "float32 waves, float64 sums: rounding stays far below the noise"
    if dtype is np.float32:
        return np.float64, "float64: few rows, so nothing is gained by less"
    return np.float64, "float64: the noise is too small for rounded waves"


def checked_number(value: Any) -> int:
    """Number of frequencies that was asked for."""
    if isinstance(value, (bool, str)) or int(value) != value or value < 1:
        raise PartError(f"n_frequencies={value!r}; needed is 'auto' or an integer >= 1.")
    return int(value)
