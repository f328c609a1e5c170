"""Under whose name rows are kept."""

from msgspec import Struct


class Owner(Struct, frozen=True):
    """An origin and a stack: rows of others are neither seen nor touched."""

    origin: str
    stack: str

    def key(self) -> dict[str, str]:
        """The columns that say so."""
        return {"origin": self.origin, "stack": self.stack}
