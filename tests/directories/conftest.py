"""One LDAP server for all tests of a process that want one."""

from collections.abc import Iterator

import pytest
from directories.slapd import Slapd, serving


@pytest.fixture(scope="session")
def slapd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    with serving(tmp_path_factory.mktemp("slapd")) as server:
        yield server
