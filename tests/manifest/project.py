"""A project folder to write manifests into, and the calls that read it as the program does."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from reconciler.core.desired.resolve import Resolved, resolve_desired
from reconciler.core.rules import Rules
from reconciler.directories.answers import ReadOnce
from reconciler.errors import Problem
from reconciler.manifest.load import LoadedManifests, load_manifests
from reconciler.model.directories import DirectorySetting
from reconciler.model.documents import Document

RULES = Rules(workspaces=frozenset({"ops", "default"}))


class Project:
    """A root folder with a `manifests` folder in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environ: dict[str, str] = {}
        self.variables: list[str] = []
        self.directories: dict[str, DirectorySetting] = {}
        (root / "manifests").mkdir(parents=True)

    def write(self, name: str, data: bytes | str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def manifest(self, body: bytes | str, name: str = "ops.yaml") -> None:
        text = body.encode() if isinstance(body, str) else body
        self.write(f"manifests/{name}", b"version: 1\nworkspace: ops\n" + text)

    def load(
        self,
        sources: Sequence[str] = ("manifests",),
        extra: Sequence[str] = (),
        asked: ReadOnce | None = None,
    ) -> LoadedManifests:
        return load_manifests(
            [Path(source) for source in sources],
            root=self.root,
            environ=self.environ,
            variables=self.variables,
            extra_contact_fields=extra,
            directories=asked or ReadOnce(self.directories),
        )

    def resolve(self, rules: Rules = RULES) -> Resolved:
        loaded = self.load()
        assert loaded.problems == ()
        return resolve_desired(loaded.manifests, rules)

    def problems(self, rules: Rules = RULES) -> tuple[Problem, ...]:
        """What `validate` would show."""
        loaded = self.load()
        return loaded.problems or resolve_desired(loaded.manifests, rules).problems

    def documents(self) -> Mapping[str, Document]:
        loaded = self.load()
        assert loaded.problems == ()
        return {document.name: document for manifest in loaded.manifests for document in manifest.documents}
