"""Projects whose manifests are kept, and what comes of them with the cache and without it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import structs

from reconciler import pipeline
from reconciler.errors import ManifestError
from reconciler.manifest.cache import ManifestCache
from reconciler.model.secrets import Secret
from reconciler.model.settings import Auth, Service, Settings, WorkspaceRef
from reconciler.model.snapshots import Desired

AUTH = Auth(Secret("demo"), Secret("demo"), Secret("demo-key"))
WORKSPACES = {alias: WorkspaceRef(alias) for alias in ("ops", "lab")}


class KeptProject:
    """A project folder, a home beside it, and settings that keep what manifests declare, however little."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.home = folder / "home"
        self.environ = {"HOME": str(self.home), "TOKEN": "token-of-the-environment"}
        for path in (self.root / "manifests", self.home):
            path.mkdir(parents=True)
            path.chmod(0o700)
        self.root.chmod(0o700)
        self.settings = Settings(
            root=str(self.root),
            manifests=(str(self.root / "manifests"),),
            service=Service(base_url="http://127.0.0.1:8480", auth=AUTH),
            workspaces=WORKSPACES,
            store="sqlite:///" + str(self.root / ".reconciler" / "store.db"),
            variables=("TOKEN",),
            caches=True,
        )

    @property
    def cache(self) -> Path:
        return self.root / ".reconciler" / "cache"

    @property
    def key(self) -> Path:
        return self.home / ".local" / "state" / "reconciler" / "cache.key"

    @property
    def entries(self) -> list[Path]:
        return sorted(self.cache.glob("*.part")) if self.cache.is_dir() else []

    def write(self, name: str, text: str | bytes) -> None:
        path = self.root / "manifests" / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)

    def kept(self) -> ManifestCache:
        return ManifestCache(self.settings, self.environ, least=0)

    def taken(self) -> Desired | None:
        """What the cache alone declares."""
        found = self.kept().load()
        return None if found is None else found.desired

    def through(self, cache: ManifestCache | None = None) -> Any:
        """What a command gets that uses the cache, as `outcome` has it."""
        cache = cache or self.kept()
        found = cache.load()
        if found is not None:
            return plain(found.desired)
        return outcome(self.settings, self.environ, cache)

    def fresh(self) -> Any:
        """What a command gets with --no-cache."""
        return outcome(structs.replace(self.settings, caches=False), self.environ)


def outcome(settings: Settings, environ: Mapping[str, str], cache: ManifestCache | None = None) -> Any:
    """Everything that is declared, or every mistake."""
    try:
        return plain(pipeline.resolve_manifests(settings, environ, cache=cache).desired)
    except ManifestError as error:
        return error.problems


def plain(desired: Desired) -> Any:
    """Everything of it, in its order: equality of maps alone would not see another order."""
    entities = [
        (address, list(one.fields.items()), structs.astuple(structs.replace(one, fields={})))
        for address, one in desired.entities.items()
    ]
    return entities, desired.scopes, desired.notices, list(desired.removed.items()), desired.consents


def no_rights_matter() -> bool:
    """Whether this process may read what nobody may."""
    return os.geteuid() == 0
