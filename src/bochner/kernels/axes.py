"""Axes: which coordinates a kernel sees."""

from __future__ import annotations

from dataclasses import dataclass

from bochner.exceptions import KernelError


@dataclass(frozen=True)
class Axes:
    """Some of the coordinate axes: only those named, or all without those named. Negative ones count from the end."""

    only: tuple[int, ...] | None = None
    without: tuple[int, ...] = ()

    def of(self, dim: int) -> tuple[int, ...]:
        """The axes among `dim`, as indices from 0."""
        named = self.without if self.only is None else self.only
        if any(not -dim <= a < dim for a in named) or len({a % dim for a in named}) < len(named):
            raise KernelError(
                f"axes {named} for {dim} coordinates; needed are different numbers from {-dim} to {dim - 1}."
            )
        if self.only is not None:
            return tuple(a % dim for a in self.only)
        hidden = {a % dim for a in self.without}
        left = tuple(a for a in range(dim) if a not in hidden)
        if not left:
            raise KernelError(f"all but axes {self.without} of {dim} coordinates leaves none; needed is one more.")
        return left

    def inner(self, axis: int | Axes | None) -> int | Axes:
        """Axis of the full coordinates that is `axis` of the ones seen; these themselves where it cannot be said."""
        if isinstance(axis, int) and self.only is not None:
            return self.only[axis]
        if isinstance(axis, int) and axis >= 0 and all(a < 0 for a in self.without):
            return axis
        if isinstance(axis, Axes) and axis.only is not None and self.only is not None:
            return Axes(tuple(self.only[a] for a in axis.only))
        return self
