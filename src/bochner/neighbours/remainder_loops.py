"""Loops over pairs of places that are near: a kernel less a smooth function that is known on a grid of lags; compiled.

Places have three axes here; those that are missing come first, and are zero.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from bochner.neighbours import limits
from bochner.neighbours.compiled_loops import U, _covariances, _workspace, compiled, inner

AT_ONCE = limits.CROSS_AT_ONCE


@inner
def _lagrange(u):
    """Weights of six nodes at -2 ... 3, for a place u in [0, 1]."""
    a, b, d, e, f = u + 2.0, u + 1.0, u - 1.0, u - 2.0, u - 3.0
    low, middle, high = a * b, u * d, e * f
    inner_high, low_inner = middle * high, low * middle
    return (
        b * inner_high * (-1.0 / 120.0),
        a * inner_high * (1.0 / 24.0),
        low * d * high * (-1.0 / 12.0),
        low * u * high * (1.0 / 12.0),
        low_inner * f * (-1.0 / 24.0),
        low_inner * e * (1.0 / 120.0),
    )


@inner
def _line(flat, at, w):
    low = w[0] * flat[at] + w[1] * flat[at + U(1)] + w[2] * flat[at + U(2)]
    return low + (w[3] * flat[at + U(3)] + w[4] * flat[at + U(4)] + w[5] * flat[at + U(5)])


@inner
def _plane(flat, at, stride, v, w):
    """Lines of six along one axis, combined along another."""
    low = v[0] * _line(flat, at, w) + v[1] * _line(flat, at + stride, w) + v[2] * _line(flat, at + U(2) * stride, w)
    at += U(3) * stride
    high = v[3] * _line(flat, at, w) + v[4] * _line(flat, at + stride, w) + v[5] * _line(flat, at + U(2) * stride, w)
    return low + high


@inner
def _less_grid(lags, n, grid, middle, nodes_per_unit, out):
    """Take the function on the grid from `out`, at the first n lags (3, ...)."""
    size1, size2 = grid.shape[1], grid.shape[2]
    flat, stride, sheet = grid.ravel(), U(size2), U(size1 * size2)
    fx, fy, fz = nodes_per_unit[0], nodes_per_unit[1], nodes_per_unit[2]
    for p in range(n):
        z = lags[2, p] * fz + middle
        k = np.floor(z)
        w, at = _lagrange(z - k), U(k - 2.0)
        if size1 == 1:
            out[p] -= _line(flat, at, w)
            continue
        y = lags[1, p] * fy + middle
        j = np.floor(y)
        v = _lagrange(y - j)
        at += U(j - 2.0) * stride
        if grid.shape[0] == 1:
            out[p] -= _plane(flat, at, stride, v, w)
            continue
        x = lags[0, p] * fx + middle
        i = np.floor(x)
        u = _lagrange(x - i)
        at += U(i - 2.0) * sheet
        low = u[0] * _plane(flat, at, stride, v, w) + u[1] * _plane(flat, at + sheet, stride, v, w)
        at += U(2) * sheet
        low += u[2] * _plane(flat, at, stride, v, w) + u[3] * _plane(flat, at + sheet, stride, v, w)
        at += U(2) * sheet
        out[p] -= low + u[4] * _plane(flat, at, stride, v, w) + u[5] * _plane(flat, at + sheet, stride, v, w)


@compiled
def remainders(form, grid, middle, nodes_per_unit, lags, out):
    """Kernel less grid at lags (3, n)."""
    dim, n = form[2].shape[1], lags.shape[1]
    nothing, work = np.empty((0, 1)), _workspace(form, AT_ONCE, False)
    for first in range(0, n, AT_ONCE):
        m = min(AT_ONCE, n - first)
        some, here = lags[:, first : first + m], out[first : first + m]
        _covariances(some[3 - dim :], m, form, work, here, nothing)
        _less_grid(some, m, grid, middle, nodes_per_unit, here)


@inner
def _bins_around(place, radius, counts, low, begin, end):
    """First and last bin within reach of a place, along each axis; none are where the last comes before the first."""
    side = radius / 2.0
    for d in range(3):
        at = place[d] - low[d]
        begin[d] = np.int64(max(np.floor((at - radius) / side), 0.0))
        end[d] = np.int64(min(np.floor((at + radius) / side), counts[d] - 1.0))


@compiled
def near_counts(radius, places, starts, counts, low, first, out):
    """How many rows lie within the radius of those from `first` on, themselves among them; see `near_products`."""
    begin, end, reach = np.empty(3, np.int64), np.empty(3, np.int64), radius * radius
    for t in range(len(out)):
        place, found = places[:, first + t], 0
        x, y, z = place[0], place[1], place[2]
        _bins_around(place, radius, counts, low, begin, end)
        for i in range(begin[0], end[0] + 1):
            for j in range(begin[1], end[1] + 1):
                line = (i * counts[1] + j) * counts[2]
                for r in range(starts[line + begin[2]], starts[line + end[2] + 1]):
                    a, b, c = x - places[0, r], y - places[1, r], z - places[2, r]
                    found += a * a + b * b + c * c <= reach
        out[t] = found


@inner
def _put(lags, n, form, work, grid, middle, nodes_per_unit, values, nothing, slot, data):
    """Values of the first n pairs, each in its slot."""
    dim = form[2].shape[1]
    _covariances(lags[3 - dim :], n, form, work, values, nothing)
    _less_grid(lags, n, grid, middle, nodes_per_unit, values)
    for p in range(n):
        data[slot[p]] = values[p]


@compiled
def near_matrix(
    form, grid, middle, nodes_per_unit, scale, radius, places, starts, counts, low, order, first, last, pointer,
    index, data,
):  # fmt: skip
    """Kernel less grid between rows that are near, as a sparse matrix: its rows order[first] to order[last - 1].

    `order` says which row each of the sorted places is; `pointer`, `index` and `data` are those of the whole matrix.
    """
    lags, values, nothing = np.empty((3, AT_ONCE)), np.empty(AT_ONCE), np.empty((0, 1))
    slot, work = np.empty(AT_ONCE, np.int64), _workspace(form, AT_ONCE, False)
    begin, end, reach, n = np.empty(3, np.int64), np.empty(3, np.int64), radius * radius, 0
    for t in range(first, last):
        place, at = places[:, t], np.int64(pointer[order[t]])
        x, y, z = place[0], place[1], place[2]
        _bins_around(place, radius, counts, low, begin, end)
        for i in range(begin[0], end[0] + 1):
            for j in range(begin[1], end[1] + 1):
                line = (i * counts[1] + j) * counts[2]
                for r in range(starts[line + begin[2]], starts[line + end[2] + 1]):
                    a, b, c = x - places[0, r], y - places[1, r], z - places[2, r]
                    if a * a + b * b + c * c > reach:
                        continue
                    lags[0, n], lags[1, n], lags[2, n] = a * scale[0], b * scale[1], c * scale[2]
                    slot[n], index[at] = at, order[r]
                    n, at = n + 1, at + 1
                    if n == AT_ONCE:
                        _put(lags, n, form, work, grid, middle, nodes_per_unit, values, nothing, slot, data)
                        n = 0
    _put(lags, n, form, work, grid, middle, nodes_per_unit, values, nothing, slot, data)


@compiled
def row_products(pointer, index, data, columns, out):
    """Rows of a sparse matrix times columns (n, q)."""
    q = columns.shape[1]
    for i in range(len(out)):
        if q == 2:
            first, second = 0.0, 0.0
            for p in range(pointer[i], pointer[i + 1]):
                first += data[p] * columns[index[p], 0]
                second += data[p] * columns[index[p], 1]
            out[i, 0], out[i, 1] = first, second
            continue
        for c in range(q):
            total = 0.0
            for p in range(pointer[i], pointer[i + 1]):
                total += data[p] * columns[index[p], c]
            out[i, c] = total


@inner
def _flush(lags, n, form, work, grid, middle, nodes_per_unit, values, nothing, owner, row, columns, out):
    """Add what the first n pairs say."""
    dim = form[2].shape[1]
    _covariances(lags[3 - dim :], n, form, work, values, nothing)
    _less_grid(lags, n, grid, middle, nodes_per_unit, values)
    for p in range(n):
        for c in range(columns.shape[1]):
            out[owner[p], c] += values[p] * columns[row[p], c]


@compiled
def near_products(
    form, grid, middle, nodes_per_unit, scale, radius, places, starts, counts, low, columns, targets, out
):
    """Sums (m, q) over rows near each target of kernel less grid, times columns (n, q).

    Rows are sorted by the bin they are in, of side radius / 2 in units of `scale`: bin (i, j, k) of `counts` begins
    at starts[(i counts_1 + j) counts_2 + k], and the first bin at `low`. Places and targets (3, ...), in these units.
    """
    lags, values, nothing = np.empty((3, AT_ONCE)), np.empty(AT_ONCE), np.empty((0, 1))
    owner, row, work = np.empty(AT_ONCE, np.int64), np.empty(AT_ONCE, np.int64), _workspace(form, AT_ONCE, False)
    begin, end, reach, n = np.empty(3, np.int64), np.empty(3, np.int64), radius * radius, 0
    for t in range(targets.shape[1]):
        x, y, z = targets[0, t], targets[1, t], targets[2, t]
        _bins_around(targets[:, t], radius, counts, low, begin, end)
        if end[2] < begin[2]:
            continue
        for i in range(begin[0], end[0] + 1):
            for j in range(begin[1], end[1] + 1):
                line = (i * counts[1] + j) * counts[2]
                for r in range(starts[line + begin[2]], starts[line + end[2] + 1]):
                    a, b, c = x - places[0, r], y - places[1, r], z - places[2, r]
                    if a * a + b * b + c * c > reach:
                        continue
                    lags[0, n], lags[1, n], lags[2, n] = a * scale[0], b * scale[1], c * scale[2]
                    owner[n], row[n] = t, r
                    n += 1
                    if n == AT_ONCE:
                        _flush(
                            lags, n, form, work, grid, middle, nodes_per_unit, values, nothing, owner, row,
                            columns, out,
                        )  # fmt: skip
                        n = 0
    _flush(lags, n, form, work, grid, middle, nodes_per_unit, values, nothing, owner, row, columns, out)
