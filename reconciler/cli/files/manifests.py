"""Manifests that this program writes: each file whole or not at all, and nobody's file overwritten.

They are checked in and reviewed, so they have the usual rights. Only writing belongs here.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from shutil import rmtree

from reconciler.cli import signals
from reconciler.errors import FileError
from reconciler.manifest.sources import SUFFIXES


def write_manifests(folder: Path, new: Mapping[str, bytes], grown: Mapping[str, tuple[bytes, bytes]]) -> None:
    """`folder` holds the new files, and each grown one as it is now. Raises FileError.

    Names are relative to the folder, with `/`. A folder that is not there yet appears whole. A new file takes
    nobody's place; `grown` has what was read of a file and what it becomes, and it is left alone where
    somebody has written it meanwhile.
    """
    try:
        if folder.exists():
            _into(folder, new)
            for name, (before, after) in grown.items():
                _grow(folder / name, before, after)
        else:
            _whole(folder, new)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise FileError(
            f"{folder.name}: cannot be written: {reason}.",
            next="check the folder and its permissions, then try again",
        ) from error


def _whole(folder: Path, new: Mapping[str, bytes]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = folder.with_name(f".{folder.name}.{token_hex(8)}")
    is_over = signals.before_the_end(lambda: rmtree(aside, ignore_errors=True))
    try:
        aside.mkdir()
        for name, data in new.items():
            _write(aside / name, data)
        aside.rename(folder)
    except BaseException:
        rmtree(aside, ignore_errors=True)
        raise
    finally:
        is_over()


def _into(folder: Path, new: Mapping[str, bytes]) -> None:
    # What manifests name comes first, or a manifest would name what is not there.
    for name, data in sorted(new.items(), key=lambda one: (one[0].endswith(SUFFIXES), one[0])):
        temporary = (folder / name).with_name(f".{Path(name).name}.{token_hex(8)}")
        try:
            _write(temporary, data)
            os.link(temporary, folder / name)  # never over a file that is there
        except FileExistsError:
            if "/" not in name:
                raise
            # What stands for a payload may be there from an earlier export, or be the real one by now.
        finally:
            temporary.unlink(missing_ok=True)


def _grow(path: Path, before: bytes, after: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{token_hex(8)}")
    try:
        _write(temporary, after)
        temporary.chmod(path.stat().st_mode & 0o777)
        if path.read_bytes() != before:
            what = f"{path.name}: was left as it is: somebody has changed it meanwhile."
            raise FileError(what, next="try again")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def files_in(folder: Path) -> Sequence[str]:
    """Return the names of what is in a folder; of one that is not there, none. Raises FileError."""
    if not folder.exists():
        return ()
    if not folder.is_dir():
        raise FileError(f"{folder.name}: is not a folder.", next="name a folder with --into")
    return sorted(one.name for one in folder.iterdir())
