"""One studio that the tests of the server share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi", reason="fastapi is missing: pip install 'bochner[studio]'")
httpx = pytest.importorskip("httpx", reason="httpx is missing: pip install httpx")

from tests.studio.serving import Studio, studio_in  # noqa: E402


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with studio_in(tmp_path_factory.mktemp("projects")) as running:
        yield running
