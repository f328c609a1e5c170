"""A fresh project folder for each test."""

from pathlib import Path

import pytest
from manifest.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project with a folder for manifests."""
    return Project(tmp_path / "project")
