"""A stage of one's own for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from lies.stage import Stage, stage


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Stage]:
    """A sandbox with nobody in it, a proxy before it, an empty project."""
    with stage(tmp_path / "project") as found:
        yield found
