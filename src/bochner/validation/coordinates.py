"""Places: the coordinates in a table, which rows share a place, and how far apart places lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from bochner.arrays import FloatArray, IntArray, as_coords
from bochner.exceptions import ColumnError, InputError
from bochner.resources import n_threads
from bochner.spelling import nearest_name


def coords_of(table: Any, columns: Any = None, name: str = "X") -> FloatArray:
    """Coordinates (n, dim) held by an array, a DataFrame or a GeoDataFrame.

    Parameters
    ----------
    table : array-like or DataFrame
        One line per row of the data.
    columns : name, index, or sequence of them, optional
        The columns that are coordinates. Default: all, or the points of a GeoDataFrame.
    """
    if columns is not None:
        selected = [columns] if isinstance(columns, str) or np.ndim(columns) == 0 else list(columns)
        coords = as_coords(np.column_stack([_column(table, column, name) for column in selected]), name=name)
    elif hasattr(getattr(table, "geometry", None), "x"):
        coords = as_coords(np.column_stack([table.geometry.x, table.geometry.y]), name=name)
    else:
        coords = as_coords(np.asarray(table), name=name)
    if not coords.size:
        raise InputError(f"{name} has shape {coords.shape}; needed is at least one row and one coordinate.")
    return coords


def labels_of(table: FloatArray) -> IntArray:
    """Integer label of every row, equal for equal rows, in lexicographic order."""
    labels = np.zeros(len(table), dtype=np.intp)
    for column in table.T:
        code = np.unique(column, return_inverse=True)[1]
        labels = np.unique(labels * (code.max() + 1) + code, return_inverse=True)[1]
    return labels


def distinct(coords: FloatArray) -> tuple[FloatArray, IntArray]:
    """Distinct places, and for every row the number of its place."""
    labels = labels_of(coords)
    first = np.unique(labels, return_index=True)[1]
    return coords[first], labels


def distance_to(coords: FloatArray, places: FloatArray) -> FloatArray:
    """Distance from every row of coords to the nearest of the places."""
    if len(places) == 1:  # no tree: leave-one-out comes here once per row
        return np.asarray(np.linalg.norm(coords - places, axis=1))
    distance: FloatArray = cKDTree(places).query(coords, workers=n_threads())[0]
    return distance


def spacing(places: FloatArray) -> FloatArray:
    """Local spacing: distance of each place to its 2 dim-th nearest other place.

    On a regular grid this is the step: inside it a place has 2 dim neighbours. Infinite for one place alone.
    """
    n, dim = places.shape
    if n == 1:
        return np.array([np.inf])
    rank = [1 + min(2 * dim, n - 1)]
    distance: FloatArray = cKDTree(places).query(places, k=rank, workers=n_threads())[0][:, 0]
    return distance


def _column(table: Any, column: Any, name: str) -> Any:
    names = getattr(table, "columns", None)
    if names is None:
        return _array_column(np.asarray(table), column, name)
    known = list(names)
    if column in known:
        return np.asarray(table[column])
    if isinstance(column, (int, np.integer)) and -len(known) <= column < len(known):
        return np.asarray(table[known[column]])
    nearest = nearest_name(str(column), map(str, known), cutoff=0.0)
    raise ColumnError(f"{name} has no column {column!r}; did you mean {nearest!r}?")


def _array_column(array: np.ndarray, column: Any, name: str) -> np.ndarray:
    if array.ndim != 2:
        raise InputError(f"{name} has shape {array.shape}; needed is (n, columns) to choose coordinates from.")
    if not isinstance(column, (int, np.integer)):
        raise ColumnError(f"{name} is an array, whose columns have no names; give an index instead of {column!r}.")
    if not -array.shape[1] <= column < array.shape[1]:
        raise ColumnError(f"{name} has {array.shape[1]} columns; there is no column {column}.")
    return np.asarray(array[:, column])
