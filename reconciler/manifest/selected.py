"""The manifests that a selection needs: those of its workspaces, and those of which that is not known.

A plan with `--only workspace:ops` reads the manifests and rosters of ops, and so the lists and records of ops
alone. The others are not even checked.
"""

from collections.abc import Collection
from pathlib import Path

from msgspec import structs

from reconciler.instrumentation import step_log
from reconciler.manifest.sources import find_manifests, read_manifest
from reconciler.manifest.workspace_names import find_workspace_names
from reconciler.model.settings import Settings


def select_manifests(settings: Settings, workspaces: Collection[str]) -> tuple[Settings, frozenset[str]]:
    """Return the settings with the manifests alone that may be about these workspaces.

    The second value are the workspaces whose manifests are left out.

    All of them where `workspaces` is empty, where one of these has no manifest, so that a mistake in its name
    is found, and where not all manifests can be found.
    """
    root = Path(settings.root).resolve()
    sources = [Path(path) for path in settings.manifests] if workspaces else []
    found, problems = find_manifests(sources, root)
    if problems:
        return settings, frozenset()
    wanted, known, unread = [], set[str](), set[str]()
    for source in found:
        data = read_manifest(source)
        names = find_workspace_names(data) if isinstance(data, bytes) else frozenset[str]()
        if not names or not names.isdisjoint(workspaces):
            wanted.append(source)
            known |= names
        else:
            unread |= names
    if not known.issuperset(workspaces):
        return settings, frozenset()
    others = tuple(str(one.path) for one in found if one not in wanted)
    step_log.info("manifests of the selected workspaces: %d of %d", len(wanted), len(found))
    # No roster and no payload may name a manifest, whether it is read or not.
    narrowed = structs.replace(
        settings,
        manifests=tuple(str(one.found) for one in wanted),
        private_files=(*settings.private_files, *others),
    )
    return narrowed, frozenset(unread)
