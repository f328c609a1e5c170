"""Which workspace of the service an alias means: the one with the id and the name that the settings give."""

import pytest

from reconciler.core.rules import find_alias, resolve_workspace
from reconciler.errors import SettingsError
from reconciler.model.plans import Workspace
from reconciler.model.settings import WorkspaceRef

LIVE = (Workspace("", "1", "Operations"), Workspace("", "2", "People"), Workspace("", "3", "People"))


@pytest.mark.parametrize(
    ("ref", "wanted"),
    [
        (WorkspaceRef("1"), "1"),
        (WorkspaceRef(name="Operations"), "1"),
        (WorkspaceRef("3", "People"), "3"),
    ],
)
def test_an_alias_means_the_one_that_fits(ref: WorkspaceRef, wanted: str) -> None:
    found = resolve_workspace("ops", ref, LIVE)

    assert (found.alias, found.id) == ("ops", wanted)


@pytest.mark.parametrize(
    ("ref", "why"),
    [
        (WorkspaceRef("9"), "no workspace with id '9'"),
        (WorkspaceRef("1", "People"), "no workspace with id '1' and name 'People'"),
        (WorkspaceRef(name="People"), "more than one workspace with name 'People'"),
    ],
)
def test_a_workspace_has_the_id_and_the_name_of_the_settings(ref: WorkspaceRef, why: str) -> None:
    """An id that was copied from another account, or a name that was given twice, leads nowhere."""
    with pytest.raises(SettingsError, match=why) as raised:
        resolve_workspace("ops", ref, LIVE)

    assert "Operations (1)" in raised.value.next


def test_a_workspace_is_listed_with_its_alias() -> None:
    aliases = {"default": WorkspaceRef(), "ops": WorkspaceRef(name="Operations")}

    assert [find_alias(one, aliases) for one in LIVE] == ["ops", "", ""]
