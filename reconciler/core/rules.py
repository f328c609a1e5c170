"""What the settings say about resolving and planning, as one value: read once, passed to every verb.

Not here: limits of the guard (core/review/guard.py), and anything about how the service is called.
"""

from msgspec import Struct, structs

from reconciler.model.kinds import KINDS
from reconciler.model.settings import Checks, Identity, Settings

Key = tuple[str, ...]  # paths that must all be equal


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


def rules_of(settings: Settings) -> Rules:
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
