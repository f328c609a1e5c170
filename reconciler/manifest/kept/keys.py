"""The key that seals what is kept: one for each account, in its home and never in a project.

A project's folder comes and goes: a CI server restores it from what another job left, a colleague sends it,
a backup holds it. Whoever wrote such a folder must not decide what reviewed manifests mean, so what proves an
entry is not in there. Nothing else is sealed with this key, and whoever can read it is this account, or root.
"""

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from reconciler.ownership import Folder

NAME = "cache.key"
_BYTES = 32
_FOLDER = "reconciler"


def key_of(
    environ: Mapping[str, str], *, make: bool, chance: Callable[[int], bytes] = secrets.token_bytes
) -> bytes | None:
    """Return the key of this account, made where `make` says so; None where there is none."""
    state = state_folder(environ)
    if state is None:
        return None
    folder = Folder(state, (_FOLDER,))
    found = folder.read(NAME, bytes_max=_BYTES)
    if found is None and make:
        try:
            state.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return None
        folder.write(NAME, [chance(_BYTES)], once=True)
        found = folder.read(NAME, bytes_max=_BYTES)
    return found if found is not None and len(found) == _BYTES else None


def state_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder for what programs keep between runs, by the XDG base directory specification."""
    for name, below in (("XDG_STATE_HOME", ()), ("HOME", (".local", "state"))):
        path = Path(environ.get(name, ""))
        if path.is_absolute() and "\0" not in str(path):
            return path.joinpath(*below)
    return None
