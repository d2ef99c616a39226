"""Domain: what a model is for, and what its coordinates mean to it."""

from __future__ import annotations

from dataclasses import dataclass

from bochner.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Domain:
    """Where predictions are wanted, which rows belong together, and which axes share a unit.

    Attributes
    ----------
    predict_at : array of shape (m, dim), optional
        Places that were asked for.
    likely : array of shape (m, dim), optional
        Places where a map would be drawn, if that is not the whole box of the coordinates: on the Earth's surface, say.
    groups : array of shape (n,), optional
        Number of the group (station, household) of each row, where rows of a group are to be held out together.
    shared : tuple of int, optional
        Number of the length scale that each axis has, where axes that are no directions of their own share one: those
        of chord coordinates on the sphere.
    last_is_time : bool
        Whether the last coordinate is a time, and those before it are space.
    """

    predict_at: FloatArray | None = None
    likely: FloatArray | None = None
    groups: IntArray | None = None
    shared: tuple[int, ...] | None = None
    last_is_time: bool = False

    @property
    def wanted(self) -> FloatArray | None:
        """Places to be predicted: those asked for, or the likely ones."""
        return self.likely if self.predict_at is None else self.predict_at
