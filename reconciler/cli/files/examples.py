"""The examples that are shipped with the program: the same files as in its repository, and no second copy.

Belongs here: where they are. Not here: what is made of them.
"""

from importlib.resources import files
from pathlib import Path

from reconciler.errors import FileError

_PACKAGE = "reconciler"


def example(name: str) -> Path:
    """Return the folder of an example, such as `quickstart` or `ci/github`. Raises FileError."""
    package = Path(str(files(_PACKAGE)))
    packed = package / "data" / "examples" / name
    found = packed if packed.is_dir() else package.parent / "examples" / name
    if not found.is_dir():
        raise FileError(f"the example {name} is not installed.", next="install reconciler again")
    return found
