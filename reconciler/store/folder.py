"""The folder in which stores and inboxes lie: closed to others, and out of git's sight.

What is in there is people's data, and belongs into no commit. Nothing here opens what is in it.
"""

import os
from contextlib import suppress
from pathlib import Path

NAME = ".reconciler"  # the one that the settings' defaults name

_IGNORE = "*\n"  # git takes nothing of this folder, this file included


def make_private(folder: Path) -> None:
    """The folder exists, made with 0700 whatever the umask; an older one keeps its rights. Raises OSError.

    Ours is also kept out of git: `git add` of everything would commit the store. A .gitignore that is there
    already is left as it is, and where none can be written nothing fails.
    """
    if not folder.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    if folder.name == NAME:
        with suppress(OSError):
            # Closed to others as all that lies here is: no exception to know about.
            descriptor = os.open(folder / ".gitignore", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                if hasattr(os, "fchmod"):
                    os.fchmod(descriptor, 0o600)  # whatever the umask is
                file.write(_IGNORE)
