"""Manifests that this program writes: in which order, and what of a folder may be there already.

An export holds everybody who is live, so what it writes is its owner's alone, also a file that was there.
What is only formatted keeps its rights. Not here: how a file is written (whole.py).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from reconciler.errors import FileError
from reconciler.files.atomic_files import make_folder, private_mode, write_folder, write_new, write_over
from reconciler.manifest.sources import MANIFEST_SUFFIXES


def write_manifests(
    folder: Path,
    new: Mapping[str, bytes],
    grown: Mapping[str, tuple[bytes, bytes]],
    *,
    private: bool = False,
) -> None:
    """`folder` holds the new files, and each grown one as it is now. Raises FileError.

    New files are private; with `private` the grown ones become so.

    Names are relative to the folder, with `/`. A folder that is not there yet appears whole. A new file takes
    nobody's place; `grown` has what was read of a file and what it becomes, and it is left alone where
    somebody has written it meanwhile.
    """
    if not folder.exists():
        write_folder(folder, new)
        return
    # What manifests name comes first, or a manifest would name what is not there.
    for name, data in sorted(new.items(), key=lambda one: (one[0].endswith(MANIFEST_SUFFIXES), one[0])):
        make_folder((folder / name).parent, mode=0o777)
        # What stands for a payload may be there from an earlier export, or be the real one by now.
        if not write_new(folder / name, data, mode=private_mode) and "/" not in name:
            raise FileError(
                f"{folder / name}: was left as it is: somebody has made it meanwhile.", next="try again"
            )
    for name, (before, after) in grown.items():
        write_over(folder / name, before, after, private=private)


def files_in(folder: Path) -> Sequence[str]:
    """Return the names of what is in a folder; of one that is not there, none. Raises FileError."""
    if not folder.exists():
        return ()
    if not folder.is_dir():
        raise FileError(f"{folder.name}: is not a folder.", next="name a folder with --into")
    return sorted(one.name for one in folder.iterdir())
