"""What has to be known of one scope before it is planned.

Belongs here: that value. Not here: reading it from the service (scopes.py).
"""

from collections.abc import Mapping

from msgspec import Struct

from reconciler.core.compare.diff import paths_to_read
from reconciler.core.compare.identity import fields_beside
from reconciler.core.rules import Rules
from reconciler.model.address import Address
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import DeletedEntity, Entity, RecordedEntity, Scope


class ReadRequest(Struct, frozen=True):
    """What has to be known of one scope: what is declared, what is recorded, and under which rules.

    With `everyone` also who else is there.
    """

    scope: Scope
    workspace: str  # the service's id; empty: the default workspace
    entities: Mapping[Address, Entity]
    records: Mapping[Address, RecordedEntity]
    rules: Rules
    everyone: bool = False
    deleted: tuple[DeletedEntity, ...] = ()  # what we deleted: whether its list shows it is told
    salt: str = ""  # of the store: keys the digests of what was deleted

    @property
    def unrecorded(self) -> list[Entity]:
        """Declared entities that no record points at: found by identity, or not there yet."""
        return [entity for address, entity in self.entities.items() if address not in self.records]

    @property
    def paths(self) -> frozenset[str]:
        """Every path that a match or a comparison may look at."""
        keys = self.rules.keys(self.scope.kind)
        identities = {path for key in keys for path in (*key, *fields_beside(key))}
        records = {str(address): record for address, record in self.records.items()}
        return paths_to_read(self.entities.values(), records) | identities | self._shown

    @property
    def _shown(self) -> frozenset[str]:
        """What a list of everybody shows of each, where a row may show it."""
        return frozenset(KINDS[self.scope.kind].presented) if self.everyone else frozenset()
