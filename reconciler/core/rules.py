"""What the settings say about resolving and planning, and which workspace an alias of them means (rule S4).

Limits of the guard are in core/review/guard.py.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, structs

from reconciler.errors import SettingsError
from reconciler.model.kind import Key
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Workspace
from reconciler.model.settings import Checks, Identity, Settings, WorkspaceRef


class Rules(Struct, frozen=True):
    """The rules of one project.

    `mark` is the name of a custom field, or empty. `workspaces` are the known aliases. `device_limit` is how
    many devices of one app a contact may have.
    """

    stack: str = "default"
    identity: Identity = Identity()
    mark: str = ""
    adopt: bool = True
    workspaces: frozenset[str] = frozenset({"default"})
    device_limit: int = 3
    checks: Checks = Checks()

    def __post_init__(self) -> None:
        """Let the identity read phone numbers in the country of the checks, where an entity names none."""
        if self.identity.region != self.checks.region:
            structs.force_setattr(self, "identity", structs.replace(self.identity, region=self.checks.region))

    @property
    def mark_path(self) -> str:
        """The path of the ownership mark, or ""."""
        return f"custom.{self.mark}" if self.mark else ""

    def mark_of(self, kind: str) -> str:
        """Return the path of the mark for a kind that may carry it, else "" (rule X5)."""
        return self.mark_path if KINDS[kind].marked else ""

    def mark_text(self, name: str) -> str:
        """Return what the mark of an entity of ours says: the stack, so that stacks keep apart."""
        return f"{self.stack}/{name}"

    def keys(self, kind: str) -> tuple[Key, ...]:
        """Return the identities to try, in order: our mark, then the fields of the settings (rule M2)."""
        mark = self.mark_of(kind)
        return (*(((mark,),) if mark else ()), *self.identity.of(kind))


def make_rules(settings: Settings) -> Rules:
    """Return the rules that these settings say. The alias `default` is known without them (rule S4)."""
    return Rules(
        settings.stack,
        settings.identity,
        settings.mark,
        adopt=settings.adopt == "always",
        workspaces=frozenset(settings.workspaces) | {"default"},
        device_limit=settings.device_limit,
        checks=settings.checks,
    )


# --- Which workspace of the service an alias means (rule S4) --------------------------------------


_listed_max = 10  # workspaces of the service that an error names


def resolve_workspace(alias: str, ref: WorkspaceRef, live: Sequence[Workspace]) -> Workspace:
    """Return the one workspace that has the id and the name of the settings, as far as they are given.

    `live` are all that the service has. Raises SettingsError where none fits, or several do.
    """
    fits = [one for one in live if _matches_ref(ref, one)]
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
            alias
            for alias, ref in aliases.items()
            if alias not in ("default", one.alias) and _matches_ref(ref, one)
        )
        if one.id and (other := next(others, "")):
            raise SettingsError(
                f"the workspaces {one.alias} and {other} are the same workspace at the service: "
                f"{one.name} ({one.id}).",
                next="keep one alias, and declare all its entities there; the records move with them",
            )


def find_alias(found: Workspace, aliases: Mapping[str, WorkspaceRef]) -> str:
    """Return the first alias that may mean a workspace of the service; "" for none."""
    # `default` has neither id nor name, so every workspace would fit it.
    named = (alias for alias, ref in aliases.items() if alias != "default" and _matches_ref(ref, found))
    return next(named, "")


def _matches_ref(ref: WorkspaceRef, found: Workspace) -> bool:
    return ref.id in ("", found.id) and ref.name in ("", found.name)
