"""Cholesky factor on a device: as large as its memory; only vectors and blocks of rows travel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from bochner import archive
from bochner.arrays import FloatArray
from bochner.device import Device, DeviceMatrix
from bochner.device.accelerator import to_host
from bochner.exceptions import ConvergenceError
from bochner.solvers import limits
from bochner.solvers.base import Factor, Report
from bochner.solvers.cholesky import CholeskyFactor


class DeviceCholesky(Factor):
    """P = L L' on a device, columns scaled to a unit diagonal first; in a file it is the factor of the host."""

    def __init__(self, device: Device, root: Any, scale: FloatArray, n_trend: int, report: Report) -> None:
        self.device, self.root, self.scale, self.n_trend, self.report = device, root, scale, n_trend, report
        self._log_pivots = np.log(to_host(root.diagonal())) - np.log(scale)

    def solve(self, b: FloatArray) -> FloatArray:
        columns = self._scaled(b)
        return to_host(self.device.torch.cholesky_solve(columns, self.root)).reshape(b.shape) * self._scale_of(b)

    def logdet(self) -> float:
        return float(2 * np.sum(self._log_pivots))

    def trend_logdet(self) -> float:
        return float(2 * np.sum(self._log_pivots[len(self.scale) - self.n_trend :]))

    def quadratic_form(self, phi: FloatArray) -> FloatArray:
        out = np.empty(len(phi))

        def add(part: slice) -> None:
            out[part] = to_host(self.squared_length(self.device.tensor(phi[part])))

        self.device.in_blocks(add, len(phi), 24.0 * len(self.scale))
        return out

    def squared_length(self, rows: Any) -> Any:
        """Diagonal of phi P^-1 phi' for rows (n, p + q) that are there already."""
        torch = self.device.torch
        scaled = rows * self.device.tensor(self.scale)
        # X L' = phi, row by row
        whitened = torch.linalg.solve_triangular(self.root.T, scaled, upper=True, left=False)
        return whitened.square_().sum(dim=1)

    def draw(self, n_draws: int, rng: Generator) -> FloatArray:
        z = self.device.tensor(rng.standard_normal((len(self.scale), n_draws)))
        found = self.device.torch.linalg.solve_triangular(self.root.T, z, upper=True)
        return np.asarray(to_host(found) * self.scale[:, None])

    def as_dict(self) -> dict[str, Any]:
        """What a file holds."""
        return {
            "root": np.tril(to_host(self.root)),
            "scale": self.scale,
            "n_trend": self.n_trend,
            "report": self.report,
        }

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> CholeskyFactor:
        """The factor on the host, which any machine can use."""
        return CholeskyFactor(**fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return DeviceCholesky.from_dict, (self.as_dict(),)

    def _scaled(self, b: FloatArray) -> Any:
        return self.device.tensor((b * self._scale_of(b)).reshape(len(b), -1))

    def _scale_of(self, b: FloatArray) -> FloatArray:
        return self.scale if b.ndim == 1 else self.scale[:, None]


def device_factor(device: Device, precision: Any, n_trend: int, added: FloatArray | float) -> DeviceCholesky:
    """`cholesky_factor` on a device; a matrix that lies there already is not moved, and is written over."""
    own = isinstance(precision, DeviceMatrix)
    matrix = precision.lower if own else device.tensor(precision)
    diagonal = to_host(matrix.diagonal()) + added
    scale = 1 / np.sqrt(np.maximum(diagonal, 1e-300))
    there = device.tensor(scale)
    matrix = matrix.mul_(there) if own else matrix * there
    matrix *= there[:, None]
    for jitter in (0.0, limits.FACTOR_JITTER):
        matrix.diagonal().copy_(device.tensor(diagonal * scale * scale + jitter))
        root, failed = device.torch.linalg.cholesky_ex(matrix)
        if not int(failed):
            details = {"device": device.label, **({"jitter": jitter} if jitter else {})}
            return DeviceCholesky(device, root, scale, n_trend, Report("cholesky", len(scale), details))
    raise ConvergenceError(
        f"the precision matrix of {len(scale)} coefficients is not positive definite even after "
        f"{limits.FACTOR_JITTER:g} was added to its scaled diagonal; raise noise_variance, or drop collinear "
        f"covariates."
    )


archive.register(DeviceCholesky)
