"""Tally: what became of the pixels of a map."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass
class Tally:
    """Counts of pixels, and the error of interpolation.

    Attributes
    ----------
    n_predicted, n_missing, n_outside, n_observed : int
        Pixels that were predicted, lack an input, lie outside the polygons, keep their observed value.
    n_evaluated, n_interpolated : int
        Places at which the model was evaluated, and pixels that were interpolated between such places.
    n_verified : int
        Random pixels that were evaluated to check the interpolation.
    worst_error : float
        Their largest error, in standard deviations (of a probability: in itself).
    """

    n_predicted: int = 0
    n_missing: int = 0
    n_outside: int = 0
    n_observed: int = 0
    n_evaluated: int = 0
    n_interpolated: int = 0
    n_verified: int = 0
    worst_error: float = 0.0

    def add(self, other: Tally) -> None:
        """Count the pixels of another window, too."""
        for one in fields(self):
            mine, theirs = getattr(self, one.name), getattr(other, one.name)
            setattr(self, one.name, max(mine, theirs) if one.name == "worst_error" else mine + theirs)

    def describe(self) -> str:
        """How the pixels were computed, in one sentence."""
        if not self.n_interpolated:
            return "every pixel was computed from the model."
        share = self.n_interpolated / max(self.n_predicted, 1)
        return (
            f"{100 * share:.3g} % of the pixels were interpolated, from {self.n_evaluated:,} evaluations of the model; "
            f"largest error at {self.n_verified:,} random pixels: {self.worst_error:.1e} sd."
        )
