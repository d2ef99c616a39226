"""One thread for the many small problems of the paper: more would only wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sklearn.cluster  # noqa: F401 - only libraries that are loaded have their threads limited

from bochner.threads import threads_for


@pytest.fixture(autouse=True, scope="package")
def one_thread() -> Iterator[None]:
    with threads_for(1):
        yield
