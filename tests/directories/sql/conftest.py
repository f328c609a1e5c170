"""A project to write manifests into."""

from pathlib import Path

import pytest
from manifest.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")
