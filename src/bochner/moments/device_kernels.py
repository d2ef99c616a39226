"""Waves cut into bytes by one kernel of Triton's: phases, cosines, sines and their slices never reach the memory.

Triton comes with PyTorch where there is CUDA on Linux; elsewhere `device_sums` does the same step by step, slower.
"""

# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _store_slices(value, a, b, c, at, inside):
    """Numbers in [-1, 1] as whole numbers a + b / 254 + c / 254^2, in units of 1 / 127."""
    rest = value * 127.0
    whole = tl.floor(rest + 0.5)
    tl.store(a + at, whole.to(tl.int8), mask=inside)
    rest = (rest - whole) * 254.0
    whole = tl.floor(rest + 0.5)
    tl.store(b + at, whole.to(tl.int8), mask=inside)
    rest = (rest - whole) * 254.0
    tl.store(c + at, tl.floor(rest + 0.5).to(tl.int8), mask=inside)


@triton.jit
def _wave_slices(
    turns_per_unit, coords, root, a, b, c, m, n, stride,
    DIM: tl.constexpr, WEIGHTED: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    wave = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    row = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    turns = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float64)
    for d in tl.static_range(DIM):
        w = tl.load(turns_per_unit + wave * DIM + d, mask=wave < m, other=0.0)
        x = tl.load(coords + d * n + row, mask=row < n, other=0.0)
        turns += w[:, None] * x[None, :]
    turns -= tl.floor(turns + 0.5)  # whole turns are removed in float64, before any rounding
    phase = (turns * 6.283185307179586).to(tl.float32)
    cosine, sine = tl.cos(phase), tl.sin(phase)
    if WEIGHTED:
        weight = tl.load(root + row, mask=row < n, other=0.0)
        cosine, sine = cosine * weight[None, :], sine * weight[None, :]
    inside = (wave < m)[:, None] & (row < n)[None, :]
    at = wave.to(tl.int64)[:, None] * stride + row.to(tl.int64)[None, :]
    _store_slices(cosine, a, b, c, at, inside)
    _store_slices(sine, a, b, c, at + m.to(tl.int64) * stride, inside)


def wave_slices(turns_per_unit, coords, root, slices):
    """Write cosines and sines of waves (m, dim) at places (dim, n), times root (n,) if given, as bytes into slices."""
    m, dim = turns_per_unit.shape
    n = coords.shape[1]
    a, b, c = slices
    block_m, block_n = 16, 128
    grid = (triton.cdiv(m, block_m), triton.cdiv(n, block_n))
    _wave_slices[grid](
        turns_per_unit, coords, coords if root is None else root, a, b, c, m, n, a.stride(0),
        DIM=dim, WEIGHTED=root is not None, BLOCK_M=block_m, BLOCK_N=block_n,
    )  # fmt: skip
