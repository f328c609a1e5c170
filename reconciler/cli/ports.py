"""Why a port of this machine cannot be used, for the commands that listen on one."""

import errno
from collections.abc import Mapping

from reconciler.errors import FileError

# What is wrong with the port, and what to do next, by the error of the operating system.
_REFUSALS: Mapping[int, tuple[str, str]] = {
    errno.EADDRINUSE: (
        "the port {port} of {host} is in use.",
        "stop the program that uses it, or choose another: reconciler {command} --port 0",
    ),
    errno.EACCES: (
        "the port {port} is for administrators only.",
        "choose one above 1023: --port {example}",
    ),
}


def explain_refused_port(
    error: OSError, host: str, port: int, *, command: str, example: int
) -> FileError | None:
    """Return the error that names the port, or None where something else is wrong.

    `command` is what was typed behind `reconciler`, `example` a port that it may use.
    """
    refusal = _REFUSALS.get(error.errno or 0)
    if refusal is None:
        return None
    what, step = (text.format(port=port, host=host, command=command, example=example) for text in refusal)
    return FileError(what, next=step)
