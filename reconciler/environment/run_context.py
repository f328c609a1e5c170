"""Where this process runs: commit, trace id, container and region, from the environment and the machine.

Every source is taken only when what it says has the right form; none of them can fail a run.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from reconciler.environment.checkout import Checkout, read_checkout
from reconciler.model.runs import Context
from reconciler.version import __version__

# As in schemas/common.schema.json (a test holds the two together).
COMMIT = re.compile(r"[0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?", re.ASCII)  # by SHA-1, or by SHA-256
TRACE = re.compile(r"1-[0-9a-fA-F]{8}-[0-9a-fA-F]{24}", re.ASCII)
REGION = re.compile(r"[a-z]{2}-[a-z]+-[1-9][0-9]*", re.ASCII)
CONTAINER = re.compile(r"[0-9a-f]{64}", re.ASCII)
SHORT_CONTAINER = re.compile(r"[0-9a-f]{12}", re.ASCII)

# W3C Trace Context; a version after 00 may have more at its end.
TRACEPARENT = re.compile(
    r"(?:00(?=.{53}\Z)|(?!00|ff)[0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?",
    re.ASCII,
)

# Names under which build systems tell the commit, and clouds their region.
_COMMITS = ("GITHUB_SHA", "CI_COMMIT_SHA", "BUILD_SOURCEVERSION", "GIT_COMMIT")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION", "CLOUD_REGION")
DIRTY = "+dirty"  # behind the commit: something was read that it does not hold
UNCHECKED = "+unchecked"  # a repository is there, and its commit could not be read


def read_context(
    environ: Mapping[str, str],
    root: Path,
    *,
    random: Callable[[int], str],
    recorded: str = "",
    checkout: Checkout | None = None,
) -> Context:
    """Return the context of a run in the project at `root`. `random(n)` gives n random octets in hexadecimal.

    A trace id of the caller is kept, so that the run joins its trace: that of TRACEPARENT, else of X-Ray's
    variable. Else it is that of the trace which is `recorded` of this command, else one is made.
    The commit is the one that is checked out, as `checkout` says where it was asked before, with `+dirty`
    where something was read that it does not hold. Where none can be read it is the build system's, with
    `+unchecked` where there is a repository that it should have been compared with.
    """
    tree = read_checkout(root) if checkout is None else checkout
    return Context(
        program=__version__,
        commit=_format_commit(tree) or _commit_of_build(tree, environ),
        trace_id=_trace_id(_parent_trace(environ.get("TRACEPARENT", "")))
        or _match_or_empty(TRACE, environ.get("_X_AMZN_TRACE_ID", ""))
        or _trace_id(recorded)
        or _trace_id(f"{int(time.time()):08x}{random(12)}"),
        container=_match_or_empty(
            CONTAINER, _read_proc_lines(Path("/proc/self/mountinfo"), of="/containers/")
        )
        or _first_match(SHORT_CONTAINER, (environ.get("HOSTNAME", ""),)),
        region=_first_match(REGION, (environ.get(name, "") for name in _REGIONS)),
    )


def is_in_ci(environ: Mapping[str, str]) -> bool:
    """Whether a build system runs this: `CI` is set, and says neither 0 nor false."""
    return environ.get("CI", "").lower() not in ("", "0", "false")


def _format_commit(tree: Checkout) -> str:
    known = _first_match(COMMIT, (tree.commit,))
    return known + DIRTY if known and tree.dirty else known


def _commit_of_build(tree: Checkout, environ: Mapping[str, str]) -> str:
    """Return the commit that the build system names, where none can be read."""
    known = _first_match(COMMIT, (environ.get(name, "") for name in _COMMITS))
    return known + UNCHECKED if known and tree.silent else known


def _parent_trace(text: str) -> str:
    """Return the trace that a TRACEPARENT names, or ""."""
    found = TRACEPARENT.fullmatch(text.strip())
    return found[1] if found else ""


def _trace_id(digits: str) -> str:
    """Return the 32 hexadecimal digits of a trace as X-Ray writes them, which are the same; "" for none."""
    return f"1-{digits[:8]}-{digits[8:]}" if digits else ""


def _first_match(pattern: re.Pattern[str], texts: Iterable[str]) -> str:
    return next((text for text in texts if pattern.fullmatch(text)), "")


def _match_or_empty(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[0] if found else ""


def _read_proc_lines(path: Path, *, of: str) -> str:
    """Return the lines of a file that speak `of` something; nothing where it cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(line for line in lines if of in line)
