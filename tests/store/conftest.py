"""The databases that a store can lie in: what is claimed about a store holds for each of them."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import postgres
import pytest


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """The URL of a fresh empty database on a real server."""
    with postgres.database() as url:
        yield url


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody can reach, which those of the test run are not."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a store that does not exist yet, once for each database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url
