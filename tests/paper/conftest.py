"""One thread for the many small problems of the paper: more would only wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sklearn.cluster  # noqa: F401 - only libraries that are loaded have their threads limited

from bochner.resources import blas_threads


@pytest.fixture(autouse=True, scope="package")
def one_thread() -> Iterator[None]:
    with blas_threads(1):
        yield
