"""Values of variables as the text of a file that a shell reads: `set -a; . ./FILE`. Pure."""

import re
from collections.abc import Mapping

from reconciler.model.documents import Scalar

_HEAD = """\
# Written by `reconciler export`: the values of variables that the manifests name. These are secrets.
# Load them with: set -a; . ./FILE; set +a
"""
# Of a value without any other sign nothing means anything to a shell, nor to what reads such files otherwise.
_PLAIN = re.compile(r"[A-Za-z0-9_:./+=@-]+")


def env_text(values: Mapping[str, Scalar | None]) -> str:
    """Return a line for each variable, by name. One whose value nobody can read is a comment to fill in."""
    return _HEAD + "".join(_line(name, value) for name, value in sorted(values.items()))


def _line(name: str, value: Scalar | None) -> str:
    if value is None:
        return f"# {name}=   (it can never be read back: write its value here)\n"
    return f"{name}={_quoted(str(value))}\n"


def _quoted(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    # Nothing is expanded between these quotes; one of them ends, is written, and begins again.
    return "'" + value.replace("'", "'\\''") + "'"
