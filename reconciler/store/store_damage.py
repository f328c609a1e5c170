"""What is said of a store that is lost, damaged, or not the one that it was: one wording for every database.

Starting anew is harmless where nothing is under way: identity fields are looked up at the service before
every create.
"""

from pathlib import Path

from reconciler.errors import StoreError

RESTORE = (
    "restore the store from a copy, or move it away (a file with those beside it that begin with its name): "
    "what is live is then recognized by its identity fields"
)


def replaced_store_error(name: str) -> StoreError:
    """Return the error for a store that was removed or replaced while this process was using it."""
    return StoreError(
        f"the store {name} was removed or replaced while this run was using it; nothing more is sent.",
        next="let no other program touch the store's folder; then: reconciler resume, or plan again",
    )


def missing_store_error(path: Path, marker: Path, what: str) -> StoreError:
    """Return the error for a store that a marker speaks of, and that is `what`: not there, empty, another."""
    return StoreError(
        f"the store {path} is {what}, and {marker.name} beside it says that there was one; "
        "it is not taken for an empty one.",
        next=f"restore {path.name} from a copy. If it is lost for good, wait until no run is under way and "
        f"remove {marker}: the next run begins a new store; what is live is known by its identity fields",
    )
