"""Gradient of the evidence in waves on a device: features and their slopes are made there, sums come back."""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray
from bochner.device import Device
from bochner.device.accelerator import to_host
from bochner.features import FourierMap
from bochner.inference.fits.linear import LinearFit, row_precision
from bochner.inference.observed.observations import Observations


def device_gradient(
    device: Device, fit: LinearFit, obs: Observations, covariance: FloatArray, implicit: FloatArray | None
) -> tuple[FloatArray, FloatArray, float]:
    """Gradient in omega (m, dim), log mass (m,) and log noise variance, as `feature_slopes` and `wave_slopes` have it.

    `covariance` (p + q, p + q) is that of the coefficients.
    """
    features, noise_variance = fit.posterior.features, fit.noise_variance
    assert isinstance(features, FourierMap)
    torch, waves, (m, dim) = device.torch, features.on_device(device), features.frequencies.omega.shape
    p, n = 2 * m, len(obs)
    coef, spread_by = device.tensor(fit.posterior.coef), device.tensor(covariance)
    b = np.zeros(n) if implicit is None else implicit
    b_coef = device.tensor(np.zeros(p) if implicit is None else features.adjoint(obs.rows.coords, b))
    precision = row_precision(features, obs, noise_variance)
    by_omega, by_log_mass, by_noise = device.zeros(m, dim), device.zeros(m), device.zeros(1)

    def add(part: slice) -> None:
        phi, coords = waves(obs.rows.coords[part]), device.tensor(obs.rows.coords[part])
        columns = torch.cat([phi, device.tensor(obs.rows.trend[part])], dim=1)
        prec, bent = device.tensor(precision[part]), device.tensor(b[part])
        alpha = prec * (device.tensor(obs.y[part]) - columns @ coef)
        spread = columns @ spread_by
        pi = prec - prec**2 * (spread * columns).sum(dim=1)
        g = torch.outer(alpha + bent, coef[:p]) + torch.outer(alpha, b_coef) - prec[:, None] * spread[:, :p]
        (cosines, sines), (by_cosines, by_sines) = phi.split(m, dim=1), g.split(m, dim=1)
        phase = by_sines * cosines - by_cosines * sines
        size = by_cosines * cosines + by_sines * sines
        rows = (alpha**2 - pi + 2 * alpha * bent) / device.tensor(obs.weight[part])
        sums = phase.T @ coords, 0.5 * size.sum(dim=0), 0.5 * noise_variance * rows.sum()
        for total, more in zip((by_omega, by_log_mass, by_noise), sums, strict=True):
            total.add_(more)

    device.in_blocks(add, n, 80.0 * p)
    return to_host(by_omega), to_host(by_log_mass), float(by_noise)
