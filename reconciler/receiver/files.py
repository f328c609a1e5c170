"""Files that hold what people replied: ours, private, and reached by no link. One rule for all of them.

Belongs here: what an existing file must be. Not here: making one (events.py, inbox.py).
"""

import os
import stat
from pathlib import Path


def unfit(path: Path, option: str, about: os.stat_result | None = None) -> tuple[str, str] | None:
    """Why an existing file may not be used, and what to do; None for a good one, and where there is none.

    `option` is the one that names it.

    `about` is what was opened, where that is done already: a name may lead elsewhere a moment later.
    Windows has neither these modes nor these owners; there it is only asked for a regular file.
    """
    try:
        about = about or path.lstat()
    except OSError:  # nothing there, or nothing that may be looked at: opening it will tell
        return None
    if stat.S_ISLNK(about.st_mode):
        return "it is a symbolic link", f"name the file itself with {option}"
    if not stat.S_ISREG(about.st_mode):
        return "it is not a regular file", f"name a file with {option}"
    if os.name != "posix":
        return None
    if about.st_nlink > 1:
        return "it has another name too (a hard link)", f"name a file of its own with {option}"
    if about.st_uid != os.geteuid():
        return "it belongs to another user", f"name a file of yours with {option}"
    if about.st_mode & 0o077:
        return f"others may read or write it (mode {stat.S_IMODE(about.st_mode):04o})", f"chmod 600 {path}"
    return None
