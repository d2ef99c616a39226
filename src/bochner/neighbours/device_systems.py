"""Small kriging systems on a device: all of a run at once, covariances by the tables that compiled loops use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bochner.arrays import FloatArray, IntArray
from bochner.device import Device
from bochner.device.accelerator import to_host
from bochner.kernels.radial_table import N_POWERS, PIECE_BITS
from bochner.neighbours import limits
from bochner.neighbours.compiled import CompiledKernel

_SHIFT = 52 - PIECE_BITS
_REST, _ONE = (1 << _SHIFT) - 1, 1023 << 52


@dataclass(frozen=True, eq=False)
class DeviceKernel:
    """A kernel as tensors: a sum of products of functions of squared scaled lags."""

    device: Device
    kernel: CompiledKernel

    def covariance(self, lags: Any) -> Any:
        """Covariance at lags (..., dim)."""
        variances, begins, *_ = self.kernel.form
        total = 0.0
        for t, variance in enumerate(variances):
            term = float(variance)
            for f in range(begins[t], begins[t + 1]):
                term = self._functions(f, lags, 1)[0] * term
            total = total + term
        return total

    def covariance_and_gradient(self, lags: Any) -> tuple[Any, Any]:
        """Covariance at lags (..., dim), and its derivatives in theta (n_theta, ...)."""
        variances, begins, *_ = self.kernel.form
        slopes, changes = self.kernel.form[5], self.kernel.form[6]
        total = lags.new_zeros(lags.shape[:-1])
        gradients = lags.new_zeros((len(self.kernel.at_zero) - 1, *lags.shape[:-1]))
        for t, variance in enumerate(variances):
            factors = [self._functions(f, lags, None) for f in range(begins[t], begins[t + 1])]
            whole = float(variance)
            for values in factors:
                whole = values[0] * whole
            total += whole
            for s in np.flatnonzero(slopes[:, 1] == t):
                theta, _, own, kind = (int(part) for part in slopes[s])
                if kind == 0:
                    gradients[theta] += whole
                    continue
                change = factors[own][kind] * float(variance)
                if kind == 1:  # the table holds -2 d rho / d q
                    change = change * self._quadratic(lags, changes[s]) * -0.5
                for f, values in enumerate(factors):
                    if f != own:
                        change = change * values[0]
                gradients[theta] += change
        return total, gradients

    @cached_property
    def _coefficients(self) -> Any:
        return self.device.tensor(self.kernel.form[4])

    def _quadratic(self, lags: Any, matrix: FloatArray) -> Any:
        return ((lags @ self.device.tensor(matrix)) * lags).sum(-1)

    def _functions(self, factor: int, lags: Any, n: int | None) -> list[Any]:
        """The first n functions of a factor's table at lags."""
        torch, form = self.device.torch, self.kernel.form
        q = self._quadratic(lags, form[2][factor])
        first, start, last = (int(part) for part in form[3][factor])
        bits = q.contiguous().view(torch.int64)
        piece = ((bits >> _SHIFT) - first).clamp_(0, last) + start
        u = ((bits & _REST) | _ONE).view(torch.float64)
        u = (u - 1.0) * 2.0 ** (PIECE_BITS + 1) - 1.0
        found = []
        for g in range(self._coefficients.shape[1] if n is None else n):
            table = self._coefficients[:, g]
            value = table[:, N_POWERS - 1][piece]
            for power in range(N_POWERS - 2, -1, -1):
                value = torch.addcmul(table[:, power][piece], value, u)
            found.append(value)
        return found


def vecchia_sums(
    kernel: DeviceKernel,
    arrays: tuple[FloatArray, ...],
    targets: IntArray,
    neighbours: IntArray,
    counts: FloatArray,
) -> tuple[float, FloatArray, FloatArray, FloatArray] | None:
    """Sums of `Vecchia` over all targets, the halves of the Gram's slopes last; None if a system cannot be factored.

    `arrays`: places, columns, noise and its slope of each row.
    """
    device = kernel.device
    torch, n_theta, p = device.torch, len(kernel.kernel.at_zero), arrays[1].shape[1]
    coords, columns, noise, d_noise = (device.tensor(a) for a in arrays)
    k = neighbours.shape[1] + 1
    density, slopes = device.zeros(1), device.zeros(n_theta)
    gram, half, failed = device.zeros(p, p), device.zeros(n_theta, p, p), []

    def add(part: slice) -> None:
        rows = device.tensor(np.column_stack([neighbours[part], targets[part]]))
        many = device.tensor(counts[part])
        present = rows >= 0
        at = rows.clamp(min=0)
        places = coords[at]
        covariance, gradients = kernel.covariance_and_gradient(places[:, :, None] - places[:, None, :])
        both = present[:, :, None] & present[:, None, :]
        covariance, gradients = covariance * both, gradients * both
        covariance.diagonal(dim1=1, dim2=2).mul_(1 + limits.LEAST_NOISE_SHARE)
        covariance.diagonal(dim1=1, dim2=2).add_(torch.where(present, noise[at], 1.0))
        root, wrong = torch.linalg.cholesky_ex(covariance)
        failed.append(bool(wrong.any()))
        z = torch.linalg.solve_triangular(root, columns[at] * present[:, :, None], upper=False)
        last = z.new_zeros((len(rows), k, 1))
        last[:, -1] = 1.0
        solved = torch.linalg.solve_triangular(root.mT, torch.cat([z, last], dim=2), upper=True)
        w, white = solved[:, :, -1], z[:, -1]
        # C w is a multiple of the last unit vector; hence dw = -C^-1 dC w + w (w' dC w) / 2
        slope = 0.5 * white[:, None, :] * w[:, :, None] - solved[:, :, :-1]
        d_w = torch.einsum("tbij,bj->tbi", gradients, w)
        d_w = torch.cat([d_w, (torch.where(present, d_noise[at], 0.0) * w)[None]])
        d_white = torch.einsum("bkp,tbk->tbp", slope, d_w)
        density.sub_((many * torch.log(root[:, -1, -1])).sum())
        slopes.sub_(0.5 * torch.einsum("bk,tbk,b->t", w, d_w, many))
        gram.add_(torch.einsum("b,bp,br->pr", many, white, white))
        half.add_(torch.einsum("b,tbp,br->tpr", many, d_white, white))

    device.in_blocks(add, len(targets), 8.0 * k * k * (12 + 3 * n_theta))
    if any(failed):
        return None
    return float(density), to_host(slopes), to_host(gram), to_host(half)


def krige_cells(
    kernel: DeviceKernel,
    known: FloatArray,
    variances: FloatArray,
    values: FloatArray,
    targets: FloatArray,
    cells: list[tuple[IntArray, IntArray]],
    prior: FloatArray,
) -> tuple[FloatArray, FloatArray] | None:
    """Means (m, k) and variances (m,) at targets of cells, each with the rows that its targets share.

    None if a system cannot be factored.
    """
    device = kernel.device
    torch, k = device.torch, max(len(rows) for rows, _ in cells)
    cells = sorted(cells, key=lambda cell: len(cell[1]))
    places, noise, fields, wanted = (device.tensor(a) for a in (known, variances, values, targets))
    mean, spread = device.empty(len(targets), values.shape[1]), device.empty(len(targets))
    failed: list[bool] = []

    def add(part: slice) -> None:
        some = cells[part]
        most = len(some[-1][1])
        rows = device.tensor(np.stack([np.pad(r, (0, k - len(r)), constant_values=-1) for r, _ in some]))
        here = device.tensor(np.stack([np.pad(t, (0, most - len(t)), mode="edge") for _, t in some]))
        present, at = rows >= 0, rows.clamp(min=0)
        near, asked = places[at], wanted[here]
        covariance = kernel.covariance(near[:, :, None] - near[:, None, :])
        covariance = covariance * (present[:, :, None] & present[:, None, :])
        covariance.diagonal(dim1=1, dim2=2).add_(torch.where(present, noise[at], 1.0))
        root, wrong = torch.linalg.cholesky_ex(covariance)
        failed.append(bool(wrong.any()))
        cross = kernel.covariance(near[:, :, None] - asked[:, None, :]) * present[:, :, None]
        right = torch.cat([cross, fields[at] * present[:, :, None]], dim=2)
        whitened = torch.linalg.solve_triangular(root, right, upper=False)
        cross, white = whitened[:, :, :most], whitened[:, :, most:]
        # places that stand twice, to fill a cell up, are written twice the same
        mean[here] = cross.mT @ white
        spread[here] = cross.square().sum(1)

    rows_per_cell = len(targets) / len(cells)
    device.in_blocks(add, len(cells), 8.0 * k * (6 * k + 8 * rows_per_cell), most=limits.DEVICE_CELLS)
    if any(failed):
        return None
    return to_host(mean), np.maximum(prior - to_host(spread), 0.0)
