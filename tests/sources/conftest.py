"""Rows of a smooth field, in every kind of source; small samples, so that few rows are many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bochner.kernels import Matern
from bochner.sources import limits

FIXED: dict[str, Any] = {
    "kernel": Matern(nu=1.5, length_scale=0.3),
    "noise_variance": 0.09,
    "tune": None,
    "features": "lattice",
    "n_frequencies": 60,
}


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample holds 300 rows, so that a source of more is read in parts."""
    monkeypatch.setattr(limits, "HELD_ROWS", 300)


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    """2,000 rows: x, y, a covariate and a response."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(size=(2_000, 2)), columns=["x", "y"])
    frame["height"] = rng.normal(size=len(frame))
    frame["z"] = np.sin(6 * frame.x) * np.cos(5 * frame.y) + 0.5 * frame.height + 3 + 0.3 * rng.normal(size=len(frame))
    frame["count"] = rng.poisson(np.exp(0.5 + np.sin(5 * frame.x))).astype(float)
    return frame


@pytest.fixture(scope="session")
def places() -> pd.DataFrame:
    """Places to be predicted."""
    rng = np.random.default_rng(1)
    return pd.DataFrame({"x": rng.uniform(size=40), "y": rng.uniform(size=40), "height": rng.normal(size=40)})


def write_parts(frame: pd.DataFrame, folder: Path, n: int = 5, seed: int | None = None) -> Path:
    """A folder of Parquet files, the rows shuffled if there is a seed."""
    folder.mkdir()
    order = np.arange(len(frame)) if seed is None else np.random.default_rng(seed).permutation(len(frame))
    for i, part in enumerate(np.array_split(order, n)):
        frame.iloc[part].to_parquet(folder / f"part-{i}.parquet", row_group_size=150, index=False)
    return folder
