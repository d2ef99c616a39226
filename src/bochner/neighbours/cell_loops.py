"""Loops over kriging systems of some fifty rows and more, one at a time; compiled.

A system is the upper triangle of its covariance, with values and covariances with targets as further columns: once
its factor stands in its place, these are whitened. Four rows are taken from four others at once, so that each entry
that is read serves four products; rows are filled up to a multiple of four by rows that say nothing.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from bochner.neighbours import limits
from bochner.neighbours.compiled_loops import LEAST_PIVOT, U, _covariances, _gather, _workspace, compiled, inner

PAIRS_AT_ONCE = limits.CROSS_AT_ONCE
TARGETS_AT_ONCE = limits.CELL_TARGETS_AT_ONCE


@inner
def _filled(k):
    """Rows of a system of k, and of those that say nothing."""
    return (k + 3) // 4 * 4


@inner
def _four_by_four(upper, i, m, first, stop):
    """From rows i to i + 3 what rows m to m + 3 of the factor explain, in some columns."""
    a, b, c, d = upper[m], upper[m + 1], upper[m + 2], upper[m + 3]
    p, q, r, s = upper[i], upper[i + 1], upper[i + 2], upper[i + 3]
    ap, aq, ar, as_ = a[i], a[i + 1], a[i + 2], a[i + 3]
    bp, bq, br, bs = b[i], b[i + 1], b[i + 2], b[i + 3]
    cp, cq, cr, cs = c[i], c[i + 1], c[i + 2], c[i + 3]
    dp, dq, dr, ds = d[i], d[i + 1], d[i + 2], d[i + 3]
    for j in range(first, stop):
        w, x, y, z = a[U(j)], b[U(j)], c[U(j)], d[U(j)]
        p[U(j)] -= ap * w + bp * x + cp * y + dp * z
        q[U(j)] -= aq * w + bq * x + cq * y + dq * z
        r[U(j)] -= ar * w + br * x + cr * y + dr * z
        s[U(j)] -= as_ * w + bs * x + cs * y + ds * z


@inner
def _eliminated(upper, diagonal, k, begin, stop):
    """Columns from `begin` on: U in place of C = U'U, where `begin` is 0, and U^-T of all that stand beyond k.

    Pivots are kept from zero by their share of the diagonal; whether none had to be kept from a negative one.
    """
    sound = True
    for block in range(0, k, 4):
        first = max(block, begin)
        for m in range(0, block, 4):
            _four_by_four(upper, block, m, first, stop)
        for i in range(block, block + 4):
            row = upper[i]
            for m in range(block, i):
                factor, other = upper[m, i], upper[m]
                for j in range(max(i, first), stop):
                    row[U(j)] -= factor * other[U(j)]
            if begin == 0:
                sound = sound and row[i] > 0.0
                row[i] = np.sqrt(max(row[i], LEAST_PIVOT * diagonal[i]))
            share = 1.0 / row[i]
            for j in range(max(i + 1, first), stop):
                row[U(j)] *= share
    return sound


@inner
def _covered(form, places, k, begin, stop, upper, at, lags, covariance, work):
    """Covariances of places (dim, ...) in the upper rows: of each of the first k with those after it.

    Of these, with places `begin` to `stop`; those beyond the first k stand in columns from `at` on.
    """
    dim, nothing, i = len(places), np.empty((0, 1)), 0
    while i < k:
        p, last = 0, i
        while last < k and (p == 0 or p + stop - max(last + 1, begin) <= PAIRS_AT_ONCE):
            for d in range(dim):
                here, others, out = places[d, last], places[d], lags[d]
                shift = p - max(last + 1, begin)
                for j in range(max(last + 1, begin), stop):
                    out[U(j + shift)] = here - others[U(j)]
            p += stop - max(last + 1, begin)
            last += 1
        _covariances(lags, p, form, work, covariance, nothing)
        p = 0
        while i < last:
            row = upper[i]
            for j in range(max(i + 1, begin), k):
                row[U(j)] = covariance[U(p)]
                p += 1
            for j in range(at, at + stop - max(k, begin)):
                row[U(j)] = covariance[U(p)]
                p += 1
            i += 1


@inner
def _begun(upper, diagonal, k, filled, at_zero, variances, own):
    """Diagonals of the upper rows, and those that say nothing."""
    for i in range(filled):
        diagonal[i] = at_zero + variances[own[i]] if i < k else 1.0
        upper[i, i] = diagonal[i]
    for j in range(k, filled):
        for i in range(j):
            upper[i, j] = 0.0
        for c in range(filled, upper.shape[1]):
            upper[j, c] = 0.0


@compiled
def krige_cells(form, at_zero, known, variances, values, targets, rows, begins, here, starts, mean, explained):
    """Means (n, v) and explained variances (n,) of targets in cells, each with the rows that its targets share.

    Cell c has rows[begins[c] : begins[c + 1]] and targets here[starts[c] : starts[c + 1]]. Whether all were solved.
    """
    dim, v = known.shape[1], values.shape[1]
    most_rows, most_targets = 0, 0
    for c in range(len(begins) - 1):
        most_rows = max(most_rows, begins[c + 1] - begins[c])
        most_targets = max(most_targets, starts[c + 1] - starts[c])
    most_targets = min(most_targets, TARGETS_AT_ONCE)
    n_lags, most = PAIRS_AT_ONCE + most_rows + most_targets, _filled(most_rows)
    lags, covariance, work = np.empty((dim, n_lags)), np.empty(n_lags), _workspace(form, n_lags, False)
    places, diagonal = np.empty((dim, most_rows + most_targets)), np.empty(most)
    upper, total = np.empty((most, most + v + most_targets)), np.empty(most_targets)
    for c in range(len(begins) - 1):
        own, asked = rows[begins[c] : begins[c + 1]], here[starts[c] : starts[c + 1]]
        k = len(own)
        filled = _filled(k)
        beside = filled + v  # the values come first: of many targets, some at a time are put after them
        _gather(known, own, k, places)
        _begun(upper, diagonal, k, filled, at_zero[0], variances, own)
        for i in range(k):
            for s in range(v):
                upper[i, filled + s] = values[own[i], s]
        for first in range(0, len(asked), TARGETS_AT_ONCE):
            some = asked[first : first + TARGETS_AT_ONCE]
            t = len(some)
            for d in range(dim):
                for j in range(t):
                    places[d, k + j] = targets[some[j], d]
            _covered(form, places, k, k if first else 0, k + t, upper, beside, lags, covariance, work)
            if not _eliminated(upper, diagonal, filled, beside if first else 0, beside + t):
                return False
            _explained(upper, k, filled, v, some, total, mean, explained)
    return True


@inner
def _explained(upper, k, at, v, asked, total, mean, explained):
    """Sums over rows of whitened covariances, squared, and by the whitened values that stand before them."""
    t = len(asked)
    total[:t] = 0.0
    for i in range(k):
        row = upper[i, at + v :]
        for j in range(t):
            total[U(j)] += row[U(j)] * row[U(j)]
    for j in range(t):
        explained[asked[j]] = total[j]
    for s in range(v):
        total[:t] = 0.0
        for i in range(k):
            value, row = upper[i, at + s], upper[i, at + v :]
            for j in range(t):
                total[U(j)] += row[U(j)] * value
        for j in range(t):
            mean[asked[j], s] = total[j]


@compiled
def krige_singly(form, at_zero, known, variances, values, targets, given, mean, variance):
    """Mean and variance at targets (m, dim), each from its own rows (m, k) of the known, -1 for none."""
    (m, most), dim = given.shape, known.shape[1]
    n_lags, filled = PAIRS_AT_ONCE + most + 1, _filled(most)
    lags, covariance, work = np.empty((dim, n_lags)), np.empty(n_lags), _workspace(form, n_lags, False)
    places, diagonal = np.empty((dim, most + 1)), np.empty(filled)
    upper, own = np.empty((filled, filled + 2)), np.empty(most, np.int64)
    for c in range(m):
        k = 0
        for i in range(most):
            if given[c, i] >= 0:
                own[k] = given[c, i]
                k += 1
        filled = _filled(k)
        _gather(known, own, k, places)
        for d in range(dim):
            places[d, k] = targets[c, d]
        _begun(upper, diagonal, k, filled, at_zero[0], variances, own)
        for i in range(k):
            upper[i, filled] = values[own[i]]
        _covered(form, places, k, 0, k + 1, upper, filled + 1, lags, covariance, work)
        _eliminated(upper, diagonal, filled, 0, filled + 2)
        total, explained = 0.0, 0.0
        for i in range(k):
            total += upper[i, filled] * upper[i, filled + 1]
            explained += upper[i, filled + 1] ** 2
        mean[c], variance[c] = total, max(at_zero[0] - explained, LEAST_PIVOT * at_zero[0])
