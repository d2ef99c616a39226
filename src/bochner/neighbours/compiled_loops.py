"""Loops over small kriging systems, compiled; imported when first needed, and kept compiled on disk.

Each function works on a run of systems and is told all by arrays; `compiled` prepares them. NumPy's versions
of the same (`batches`, `vecchia`) are the reference.
"""

# mypy: ignore-errors

from __future__ import annotations

import numba
import numpy as np

from bochner.kernels.radial_table import N_POWERS, PIECE_BITS
from bochner.neighbours import limits

# sums may be taken in any order and products be fused; infinities and NaN keep their meaning
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz", "arcp"}}
compiled = numba.njit(cache=True, **OPTIONS)
literal = numba.njit(cache=True, nogil=True, error_model="numpy")  # rounded as NumPy rounds: ties stay ties
# called by compiled ones alone, and written into them: left as calls, a loop just compiled and the same loop from the
# disk would call two versions of them, whose sums are rounded differently
inner = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True, **OPTIONS)

SHIFT = 52 - PIECE_BITS
REST = (1 << SHIFT) - 1
_ONE = 1023 << 52
WIDTH = 2.0 ** (PIECE_BITS + 1)
LAST_POWER = N_POWERS - 1
LEAST_PIVOT = limits.SMALLEST_PIVOT
LIFT = limits.LEAST_NOISE_SHARE
PACKED_AT_ONCE = limits.PACKED_AT_ONCE
MOST_LANES = limits.MOST_LANES
CROSS_AT_ONCE = limits.CROSS_AT_ONCE
U = numba.uint64


@inner
def _looked_up(q, bits, piece, n, first, start, last):
    """Piece of the table of each q, and, in q's place, where in it: u in [-1, 1]."""
    for p in range(n):
        i = (bits[p] >> SHIFT) - first
        piece[p] = start + min(max(i, 0), last)
        bits[p] = (bits[p] & REST) | _ONE
    for p in range(n):
        q[p] = (q[p] - 1.0) * WIDTH - 1.0


@inner
def _polynomial(c, i, x, x2, x4):
    low = (c[i] + c[i + U(1)] * x) + (c[i + U(2)] + c[i + U(3)] * x) * x2
    return low + ((c[i + U(4)] + c[i + U(5)] * x) + (c[i + U(6)] + c[i + U(7)] * x) * x2) * x4


@inner
def _evaluated(u, piece, n, coefficients, n_functions, values):
    """Functions of the table at places u of pieces, into values (n_functions, pairs)."""
    c, stride = coefficients.ravel(), U(N_POWERS * coefficients.shape[1])
    for p in range(n):
        i = U(piece[p]) * stride
        x = u[p]
        x2 = x * x
        x4 = x2 * x2
        values[0, p] = _polynomial(c, i, x, x2, x4)
        if n_functions > 1:
            values[1, p] = _polynomial(c, i + U(N_POWERS), x, x2, x4)
        if n_functions > 2:
            values[2, p] = _polynomial(c, i + U(2 * N_POWERS), x, x2, x4)
        for g in range(3, n_functions):
            values[g, p] = _polynomial(c, i + U(g * N_POWERS), x, x2, x4)


@inner
def _quadratic(lags, n, matrix, out):
    """tau' M tau of the first n lags (dim, ...)."""
    dim = len(lags)
    if dim == 2:
        a, b, c = matrix[0, 0], 2.0 * matrix[0, 1], matrix[1, 1]
        for p in range(n):
            out[p] = a * lags[0, p] ** 2 + b * lags[0, p] * lags[1, p] + c * lags[1, p] ** 2
        return
    for p in range(n):
        out[p] = 0.0
    for i in range(dim):
        if matrix[i, i] != 0.0:
            for p in range(n):
                out[p] += matrix[i, i] * lags[i, p] ** 2
        for j in range(i):
            if matrix[i, j] != 0.0:
                for p in range(n):
                    out[p] += 2.0 * matrix[i, j] * lags[i, p] * lags[j, p]


@inner
def _put(out, n, factor, x, fresh):
    """Factor x in place of `out`, or added to it."""
    if fresh:
        for p in range(n):
            out[p] = factor * x[p]
    else:
        for p in range(n):
            out[p] += factor * x[p]


@inner
def _once_told(slopes, theta):
    """Whether a derivative is one slope of one term."""
    n = 0
    for s in range(len(slopes)):
        n += slopes[s, 0] == theta
    return n == 1


@inner
def _covariances(lags, n, form, work, covariance, gradients):
    """Covariance at the first n lags (dim, ...), and its derivatives (n_theta, ...), none if that is empty.

    Of one term alone that in the log variance is left out: it is the covariance.
    """
    variances, begins, metrics, tables, coefficients, slopes, changes = form
    values, u, bits, piece, other = work
    n_functions = coefficients.shape[1]
    for theta in range(len(gradients)):
        if not _once_told(slopes, theta):
            gradients[theta, :n] = 0.0
    for t in range(len(variances)):
        begin, end = begins[t], begins[t + 1]
        for f in range(begin, end):
            _quadratic(lags, n, metrics[f], u)
            _looked_up(u, bits, piece, n, tables[f, 0], tables[f, 1], tables[f, 2])
            _evaluated(u, piece, n, coefficients, n_functions if len(gradients) else 1, values[f])
        whole = values[begin, 0]
        if end > begin + 1:
            whole = other
            for p in range(n):
                whole[p] = values[begin, 0, p] * values[begin + 1, 0, p]
            for f in range(begin + 2, end):
                for p in range(n):
                    whole[p] *= values[f, 0, p]
        _put(covariance, n, variances[t], whole, t == 0)
        if len(gradients) == 0:
            continue
        for s in range(len(slopes)):
            theta, term, factor, kind = slopes[s, 0], slopes[s, 1], slopes[s, 2], slopes[s, 3]
            if term != t:
                continue
            gradient, fresh = gradients[theta], _once_told(slopes, theta)
            if kind == 0:
                if len(variances) > 1:  # else it is the covariance itself
                    _put(gradient, n, variances[t], whole, fresh)
                continue
            own, weight = values[begin + factor, kind], variances[t]
            if kind == 1:  # d q / d theta, and -1/2 of the slope: the table holds -2 d rho / d q
                _quadratic(lags, n, changes[s], u)
                weight *= -0.5
                for p in range(n):
                    u[p] *= own[p]
                own = u
            elif end > begin + 1:
                for p in range(n):
                    u[p] = own[p]
                own = u
            for f in range(begin, end):
                if f != begin + factor:
                    for p in range(n):
                        u[p] *= values[f, 0, p]
            _put(gradient, n, weight, own, fresh)


@inner
def _workspace(form, n, with_gradients):
    """Room for the functions of every factor at n lags."""
    n_functions = form[4].shape[1] if with_gradients else 1
    u = np.empty(n)
    values = np.empty((form[2].shape[0], n_functions, n))
    return values, u, u.view(np.int64), np.empty(n, np.int64), np.empty(n)


# Systems side by side: entry i of system b of a group stands at i B + b, so that the innermost loops run along systems
# and the compiler makes vectors of them. U: indices that are known not to be negative.


@inner
def _gather(coords, rows, n, places):
    """Places (dim, ...) of the first n rows; absent rows, -1, are put at the first."""
    for d in range(coords.shape[1]):
        for i in range(n):
            places[d, i] = coords[max(rows[i], 0), d]


@inner
def _lags(places, k, n_lanes, lags):
    """Lags (dim, pairs B) of the pairs i > j of k places, row by row."""
    for d in range(len(places)):
        x, out = places[d], lags[d]
        p = 0
        for i in range(1, k):
            here = i * n_lanes
            for j in range(i):
                there = j * n_lanes
                for b in range(n_lanes):
                    out[U(p + b)] = x[U(here + b)] - x[U(there + b)]
                p += n_lanes


@inner
def _without_absent(rows, k, n_lanes, packed):
    """Zero in packed pairs (pairs B) of which one end is absent."""
    p = 0
    for i in range(1, k):
        for j in range(i):
            for b in range(n_lanes):
                if rows[i * n_lanes + b] < 0 or rows[j * n_lanes + b] < 0:
                    packed[p + b] = 0.0
            p += n_lanes


@inner
def _placed(covariance, diagonal, k, width, n_lanes, upper):
    """Packed pairs i > j and diagonals (k B) into the upper triangles of matrices (k, width, B)."""
    p = 0
    for i in range(k):
        for j in range(i):
            at = (j * width + i) * n_lanes
            for b in range(n_lanes):
                upper[U(at + b)] = covariance[U(p + b)]
            p += n_lanes
        at = (i * width + i) * n_lanes
        for b in range(n_lanes):
            upper[U(at + b)] = diagonal[U(i * n_lanes + b)]


@inner
def _factorise(upper, k, width, n_lanes, smallest):
    """U with U'U = C in place of C, and U^-T of the further columns of upper (k, width, B)."""
    row = width * n_lanes
    for i in range(k):
        pivot = (i * width + i) * n_lanes
        for b in range(n_lanes):
            smallest[U(b)] = LEAST_PIVOT * upper[U(pivot + b)]
        for m in range(0, i - 1, 2):  # two rows at once: every entry is read and written half as often
            first = (m * width + i) * n_lanes
            second = first + row
            for j in range(i, width):
                here, above = (i * width + j) * n_lanes, (m * width + j) * n_lanes
                below = above + row
                for b in range(n_lanes):
                    upper[U(here + b)] -= (
                        upper[U(first + b)] * upper[U(above + b)] + upper[U(second + b)] * upper[U(below + b)]
                    )
        if i % 2:
            first = ((i - 1) * width + i) * n_lanes
            for j in range(i, width):
                here, above = (i * width + j) * n_lanes, ((i - 1) * width + j) * n_lanes
                for b in range(n_lanes):
                    upper[U(here + b)] -= upper[U(first + b)] * upper[U(above + b)]
        for b in range(n_lanes):
            upper[U(pivot + b)] = np.sqrt(max(upper[U(pivot + b)], smallest[U(b)]))
            smallest[U(b)] = 1.0 / upper[U(pivot + b)]
        for j in range(i + 1, width):
            here = (i * width + j) * n_lanes
            for b in range(n_lanes):
                upper[U(here + b)] *= smallest[U(b)]


@inner
def _solve_upper(upper, k, width, n_lanes, z):
    """U^-1 z in place of z (k B)."""
    for i in range(k - 1, -1, -1):
        here = i * n_lanes
        for j in range(i + 1, k):
            at, there = (i * width + j) * n_lanes, j * n_lanes
            for b in range(n_lanes):
                z[U(here + b)] -= upper[U(at + b)] * z[U(there + b)]
        pivot = (i * width + i) * n_lanes
        for b in range(n_lanes):
            z[U(here + b)] /= upper[U(pivot + b)]


@inner
def _last_weights(upper, k, width, n_lanes, w):
    """w = U^-1 e_k, (k B)."""
    last = (k - 1) * n_lanes
    for i in range(last + n_lanes):
        w[i] = 0.0 if i < last else 1.0
    _solve_upper(upper, k, width, n_lanes, w)


@inner
def _group(neighbours, targets, first, n_lanes, rows):
    """Rows (k B) of a group of systems, the targets last; whether some are absent."""
    k, absent = neighbours.shape[1], False
    for b in range(n_lanes):
        for i in range(k):
            row = neighbours[first + b, i]
            rows[i * n_lanes + b] = row
            absent |= row < 0
        rows[k * n_lanes + b] = targets[first + b]
    return absent


@inner
def _lanes(k):
    """Systems side by side: as many as stay in the processor's cache."""
    return min(max(PACKED_AT_ONCE // max(k * (k - 1) // 2, 1), 4), MOST_LANES)


@compiled
def vecchia_sums(
    form, at_zero, coords, columns, noise, d_noise, targets, neighbours, counts, out, d_out, gram, d_gram, each
):  # fmt: skip
    """Add the sums of `Vecchia` over some targets: log density and its slopes, Gram and its slopes.

    Slopes of the log density of each target and its last column, (t, n_theta), are written down unless that is empty.
    """
    k, n_theta, q, dim = neighbours.shape[1] + 1, d_out.shape[0], columns.shape[1], coords.shape[1]
    most, n_pairs, n_kernel, width = _lanes(k), k * (k - 1) // 2, n_theta - 1, k + q
    rows, places, lags = np.empty(k * most, np.int64), np.empty((dim, k * most)), np.empty((dim, n_pairs * most))
    covariance, gradients = np.empty(n_pairs * most), np.empty((n_kernel, n_pairs * most))
    upper, diagonal, smallest = np.zeros(k * width * most), np.empty(k * most), np.empty(most)
    w, z, white = np.empty(k * most), np.empty((q, k * most)), np.empty((q, most))
    moved, slope = np.empty((n_theta, k * most)), np.empty(most)
    work = _workspace(form, n_pairs * most, True)
    for first in range(0, len(targets), most):
        n_lanes = min(most, len(targets) - first)
        absent = _group(neighbours, targets, first, n_lanes, rows)
        m = n_pairs * n_lanes
        _gather(coords, rows, k * n_lanes, places)
        _lags(places, k, n_lanes, lags)
        _covariances(lags, m, form, work, covariance, gradients)
        if absent:
            _without_absent(rows, k, n_lanes, covariance)
            for s in range(n_kernel):
                _without_absent(rows, k, n_lanes, gradients[s])
        for i in range(k * n_lanes):
            row, at = rows[i], (i // n_lanes * width + k) * n_lanes + i % n_lanes
            diagonal[i] = 1.0 if row < 0 else at_zero[0] * (1.0 + LIFT) + noise[row]
            for c in range(q):
                upper[at + c * n_lanes] = 0.0 if row < 0 else columns[row, c]
        _placed(covariance, diagonal, k, width, n_lanes, upper)
        _factorise(upper, k, width, n_lanes, smallest)
        _last_weights(upper, k, width, n_lanes, w)
        for c in range(q):
            _slope_of_column(upper, k, width, n_lanes, c, w, z[c], white[c])
        last = ((k - 1) * width + k - 1) * n_lanes
        for b in range(n_lanes):
            out[0] -= counts[first + b] * np.log(upper[last + b])
        for a in range(q):
            for c in range(q):
                for b in range(n_lanes):
                    gram[a, c] += counts[first + b] * white[a, b] * white[c, b]
        for i in range(k * n_lanes):
            moved[n_kernel, i] = 0.0 if rows[i] < 0 else d_noise[rows[i]] * w[i]
        for s in range(n_kernel):
            if len(form[0]) == 1 and at_zero[1 + s] != 0.0:  # K w = C w - noise w, and U' e_k is C w
                for i in range(k * n_lanes):
                    moved[s, i] = 0.0 if rows[i] < 0 else -noise[rows[i]] * w[i]
                for b in range(n_lanes):
                    moved[s, (k - 1) * n_lanes + b] += upper[last + b]
                continue
            _moved(gradients[s], at_zero[1 + s] * (1.0 + LIFT), w, k, n_lanes, moved[s])
        for s in range(n_theta):
            for c in range(q + 1):
                _along(w if c == q else z[c], moved[s], k, n_lanes, slope)
                if c == q:
                    for b in range(n_lanes):
                        d_out[s] -= 0.5 * counts[first + b] * slope[b]
                else:
                    for a in range(q):
                        for b in range(n_lanes):
                            d_gram[s, c, a] += counts[first + b] * slope[b] * white[a, b]
                if len(each):
                    for b in range(n_lanes):
                        own = 0.5 if c == q else (white[c, b] if c == q - 1 else 0.0)
                        each[first + b, s] = (each[first + b, s] if c else 0.0) - own * slope[b]


@inner
def _slope_of_column(upper, k, width, n_lanes, c, w, z, white):
    """w'y / 2 w - C^-1 y of a column y, whitened in `upper`: what a change dC w does to w'y.

    C w is a multiple of the last unit vector; hence dw = -C^-1 dC w + w (w' dC w) / 2.
    """
    for i in range(k):
        at, here = (i * width + k + c) * n_lanes, i * n_lanes
        for b in range(n_lanes):
            z[U(here + b)] = upper[U(at + b)]
    for b in range(n_lanes):
        white[b] = z[(k - 1) * n_lanes + b]
    _solve_upper(upper, k, width, n_lanes, z)
    for i in range(k):
        here = i * n_lanes
        for b in range(n_lanes):
            z[U(here + b)] = 0.5 * white[U(b)] * w[U(here + b)] - z[U(here + b)]


@inner
def _moved(gradient, at_zero, w, k, n_lanes, moved):
    """dC w (k B), where dC has packed entries and one number on its diagonal; where a row is absent w is zero."""
    for i in range(k * n_lanes):
        moved[U(i)] = at_zero * w[U(i)]
    p = 0
    for i in range(1, k):
        here = i * n_lanes
        for j in range(i):
            there = j * n_lanes
            for b in range(n_lanes):
                moved[U(here + b)] += gradient[U(p + b)] * w[U(there + b)]
            for b in range(n_lanes):
                moved[U(there + b)] += gradient[U(p + b)] * w[U(here + b)]
            p += n_lanes


@inner
def _along(a, moved, k, n_lanes, slope):
    """a' dC w of each system, (B,)."""
    for b in range(n_lanes):
        slope[U(b)] = 0.0
    for i in range(0, k * n_lanes, n_lanes):
        for b in range(n_lanes):
            slope[U(b)] += a[U(i + b)] * moved[U(i + b)]


@compiled
def whitening(form, at_zero, coords, noise, targets, neighbours, columns, values):
    """Rows of the sparse inverse root: (t, k + 1) columns, -1 where there is none, and values; the target last."""
    k, dim = neighbours.shape[1] + 1, coords.shape[1]
    most, n_pairs = _lanes(k), k * (k - 1) // 2
    rows, places, lags = np.empty(k * most, np.int64), np.empty((dim, k * most)), np.empty((dim, n_pairs * most))
    covariance, nothing = np.empty(n_pairs * most), np.empty((0, n_pairs * most))
    upper, diagonal, smallest = np.zeros(k * k * most), np.empty(k * most), np.empty(most)
    w, work = np.empty(k * most), _workspace(form, n_pairs * most, False)
    for first in range(0, len(targets), most):
        n_lanes = min(most, len(targets) - first)
        absent = _group(neighbours, targets, first, n_lanes, rows)
        m = n_pairs * n_lanes
        _gather(coords, rows, k * n_lanes, places)
        _lags(places, k, n_lanes, lags)
        _covariances(lags, m, form, work, covariance, nothing)
        if absent:
            _without_absent(rows, k, n_lanes, covariance)
        for i in range(k * n_lanes):
            diagonal[i] = 1.0 if rows[i] < 0 else at_zero[0] + noise[rows[i]]
        _placed(covariance, diagonal, k, k, n_lanes, upper)
        _factorise(upper, k, k, n_lanes, smallest)
        _last_weights(upper, k, k, n_lanes, w)
        for i in range(k):
            for b in range(n_lanes):
                columns[first + b, i] = rows[i * n_lanes + b]
                values[first + b, i] = w[i * n_lanes + b]


@compiled
def kriging(form, at_zero, coords, noise, residual, targets, given, mean, variance):
    """Mean and variance at targets (m, dim) from given rows (m, k), -1 for none."""
    k, dim = given.shape[1] + 1, coords.shape[1]
    most, n_pairs, width = _lanes(k), k * (k - 1) // 2, k + 1
    rows, places, lags = np.empty(k * most, np.int64), np.empty((dim, k * most)), np.empty((dim, n_pairs * most))
    covariance, nothing = np.empty(n_pairs * most), np.empty((0, n_pairs * most))
    upper, diagonal, smallest = np.zeros(k * width * most), np.empty(k * most), np.empty(most)
    work, itself = _workspace(form, n_pairs * most, False), np.zeros(len(targets), np.int64)
    for first in range(0, len(targets), most):
        n_lanes = min(most, len(targets) - first)
        absent = _group(given, itself, first, n_lanes, rows)
        m, last = n_pairs * n_lanes, (k - 1) * n_lanes
        _gather(coords, rows, last, places)
        for b in range(n_lanes):
            for d in range(dim):
                places[d, last + b] = targets[first + b, d]
        _lags(places, k, n_lanes, lags)
        _covariances(lags, m, form, work, covariance, nothing)
        if absent:
            _without_absent(rows, k, n_lanes, covariance)
        for i in range(k * n_lanes):
            row, at = rows[i], (i // n_lanes * width + k) * n_lanes + i % n_lanes
            diagonal[i] = 1.0 if row < 0 else at_zero[0] + (noise[row] if i < last else 0.0)
            upper[at] = 0.0 if row < 0 or i >= last else residual[row]
        _placed(covariance, diagonal, k, width, n_lanes, upper)
        _factorise(upper, k, width, n_lanes, smallest)
        # column k - 1 is U^-T k*, column k the whitened residual; the last pivot is the conditional sd
        for b in range(n_lanes):
            total = 0.0
            for i in range(k - 1):
                total += upper[(i * width + k - 1) * n_lanes + b] * upper[(i * width + k) * n_lanes + b]
            mean[first + b] = total
            variance[first + b] = upper[((k - 1) * width + k - 1) * n_lanes + b] ** 2


@compiled
def cross_covariance(form, x, z, out):
    """Covariances (n m,) of places x with places z, some rows at a time."""
    n, m, dim = len(x), len(z), x.shape[1]
    at_once = max(1, CROSS_AT_ONCE // max(m, 1))
    lags, nothing = np.empty((dim, at_once * m)), np.empty((0, 1))
    work = _workspace(form, at_once * m, False)
    for first in range(0, n, at_once):
        rows = min(at_once, n - first)
        for d in range(dim):
            for i in range(rows):
                here, start = x[first + i, d], i * m
                for j in range(m):
                    lags[d, U(start + j)] = here - z[j, d]
        _covariances(lags, rows * m, form, work, out[first * m : (first + rows) * m], nothing)
