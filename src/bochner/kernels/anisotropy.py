"""Rotated anisotropy: length scales along axes of any direction.

A rotated kernel is a kernel of s = |W tau|, W = diag(1 / l) R', where the columns of R are its axes. What
is tuned is the symmetric matrix B = R diag(log l) R': it has no angle that loses its meaning where
the length scales are equal.
"""

from __future__ import annotations

import numpy as np

from bochner.arrays import FloatArray
from bochner.exceptions import KernelError

Rotation = float | tuple[float, ...]


def axes(rotation: Rotation, dim: int) -> FloatArray:
    """Rotation matrix R: from an angle in radians in 2-D, from a rotation vector in 3-D."""
    from scipy.spatial.transform import Rotation as Spatial

    known = np.asarray(rotation).dtype.kind in "iuf" and bool(np.all(np.isfinite(rotation)))
    if known and dim == 2 and np.ndim(rotation) == 0:
        c, s = np.cos(rotation), np.sin(rotation)
        return np.array([[c, -s], [s, c]])
    if known and dim == 3 and np.shape(rotation) == (3,):
        return np.asarray(Spatial.from_rotvec(np.asarray(rotation, dtype=float)).as_matrix())
    raise KernelError(
        f"rotation={rotation!r} for {dim} coordinates; needed is a finite angle in radians in 2-D, or a rotation "
        f"vector of three numbers in 3-D."
    )


def whitening(length_scale: tuple[float, ...], rotation: Rotation) -> FloatArray:
    """W with s = |W tau|, shape (dim, dim)."""
    dim = len(length_scale)
    return np.asarray(axes(rotation, dim).T / np.asarray(length_scale)[:, None])


def turned(places: FloatArray, w: FloatArray) -> FloatArray:
    """W x for places x (..., dim), column by column: for so few columns the threads of a matrix product only wait."""
    out = np.empty(places.shape)
    for i, row in enumerate(w):
        np.multiply(places[..., 0], row[0], out=out[..., i])
        for j in range(1, len(row)):
            out[..., i] += row[j] * places[..., j]
    return out


def stretch_of(length_scale: tuple[float, ...], rotation: Rotation) -> FloatArray:
    """Independent entries of B: its mean diagonal first, then what differs from it."""
    dim = len(length_scale)
    r = axes(rotation, dim)
    b = (r * np.log(length_scale)) @ r.T
    mean = np.trace(b) / dim
    return np.r_[mean, np.diag(b)[:-1] - mean, b[np.triu_indices(dim, 1)]]


def unstretch(entries: FloatArray) -> tuple[tuple[float, ...], Rotation]:
    """Length scales, longest first, and rotation from the entries of B."""
    from scipy.spatial.transform import Rotation as Spatial

    log_scales, r = np.linalg.eigh(matrix(entries))
    log_scales, r = log_scales[::-1], r[:, ::-1]
    scales = tuple(float(v) for v in np.exp(log_scales))
    if len(scales) == 2:
        return scales, float(np.arctan(r[1, 0] / r[0, 0]) if r[0, 0] else np.pi / 2)
    r = r * np.array([1.0, 1.0, np.sign(np.linalg.det(r))])
    return scales, tuple(float(v) for v in Spatial.from_matrix(r).as_rotvec())


def matrix(entries: FloatArray) -> FloatArray:
    """B from its independent entries."""
    dim = int((np.sqrt(8 * len(entries) + 1) - 1) / 2)
    mean, diagonal, above = entries[0], entries[1:dim], entries[dim:]
    b = np.diag(np.r_[diagonal, -np.sum(diagonal)] + mean)
    b[np.triu_indices(dim, 1)] = above
    return np.asarray(np.triu(b) + np.triu(b, 1).T)


def metric_gradient(entries: FloatArray) -> list[FloatArray]:
    """Derivatives of W'W = exp(-2 B) in each entry of B, by divided differences of its eigenvalues."""
    values, vectors = np.linalg.eigh(matrix(entries))
    fall = np.exp(-2 * values)
    apart = values[:, None] - values
    close = np.abs(apart) < 1e-7
    divided = np.where(close, -(fall[:, None] + fall), (fall[:, None] - fall) / np.where(close, 1.0, apart))
    changes = (vectors.T @ matrix(e) @ vectors for e in np.eye(len(entries)))
    return [np.asarray(vectors @ (divided * change) @ vectors.T) for change in changes]
