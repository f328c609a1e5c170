"""Which workspace of the service an alias of the settings means (planning rule S4)."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from reconciler.errors import SettingsError
from reconciler.model.plans import Workspace
from reconciler.model.settings import WorkspaceRef

_listed_max = 10  # workspaces of the service that an error names


def meant(alias: str, ref: WorkspaceRef, live: Sequence[Workspace]) -> Workspace:
    """Return the one workspace that has the id and the name of the settings, as far as they are given.

    `live` are all that the service has. Raises SettingsError where none fits, or several do.
    """
    fits = [one for one in live if _fits(ref, one)]
    # S4: an id copied from another account, or a name given twice, is refused before anything else.
    if len(fits) == 1:
        return structs.replace(fits[0], alias=alias)
    wanted = " and ".join(f"{key} {value!r}" for key, value in (("id", ref.id), ("name", ref.name)) if value)
    several = "more than one workspace" if fits else "no workspace"
    known = ", ".join(f"{one.name} ({one.id})" for one in live[:_listed_max])
    raise SettingsError(
        f"workspace {alias}: the service has {several} with {wanted}.",
        next=f"it has {known or 'none but the default one'}",
    )


def check_one_alias(found: Iterable[Workspace], aliases: Mapping[str, WorkspaceRef]) -> None:
    """Return where no other alias of the settings means one of these workspaces. Raises SettingsError.

    Records are kept by the workspace's id: under two aliases each would delete what the other declares. The
    settings refuse two with one id or one name by themselves; here one may have an id, and one its name.
    """
    for one in found:
        others = (
            alias for alias, ref in aliases.items() if alias not in ("default", one.alias) and _fits(ref, one)
        )
        if one.id and (other := next(others, "")):
            raise SettingsError(
                f"the workspaces {one.alias} and {other} are one at the service: {one.name} ({one.id}).",
                next="keep one alias, and declare everything of it there; its records go with it",
            )


def alias_of(found: Workspace, aliases: Mapping[str, WorkspaceRef]) -> str:
    """Return the first alias that may mean a workspace of the service; "" for none."""
    # `default` has neither id nor name, so every workspace would fit it.
    named = (alias for alias, ref in aliases.items() if alias != "default" and _fits(ref, found))
    return next(named, "")


def _fits(ref: WorkspaceRef, found: Workspace) -> bool:
    return ref.id in ("", found.id) and ref.name in ("", found.name)
