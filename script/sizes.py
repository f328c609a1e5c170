# noqa: INP001 - a script, started by script/sizes; part of no package
"""Download what is locked for this machine, and print what each extra brings and how much that is.

With --write the table is put into docs/install.md. What an extra brings is counted beside the base, which
every installation has; what two extras bring is counted with both.
"""

import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from locked import LOCK, needed
from packaging.utils import canonicalize_name

from reconciler.extras import EXTRAS

PAGE = Path(__file__).parents[1] / "docs" / "install.md"
BEGIN, END = "<!-- script/sizes --write -->\n", "<!-- end of script/sizes -->\n"
_MIB = 1024 * 1024
_DOWNLOAD = (
    "-I -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes"
)


def downloaded() -> Mapping[str, int]:
    """Return the bytes of the file that this machine gets of each package in the lock."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(  # noqa: S603 - our own environment
            [sys.executable, *_DOWNLOAD.split(), "--dest", folder, "--requirement", str(LOCK)], check=True
        )
        files = [*Path(folder).iterdir()]
        return {canonicalize_name(one.name.split("-")[0]): one.stat().st_size for one in files}


def table(sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield the lines of the table, the base first."""
    base = needed()
    yield "| extra | for | packages | MiB |\n"
    yield "|---|---|---|---|\n"
    yield _row("(none)", "plan, apply, and all else that is not named below", base, sizes)
    for name, extra in EXTRAS.items():
        yield _row(f"`{name}`", extra.use, needed([name]) - base, sizes)
    yield _row("`all`", "all of it", needed(EXTRAS), sizes)


def _row(name: str, what: str, packages: frozenset[str], sizes: Mapping[str, int]) -> str:
    here = packages & set(sizes)  # of those of other platforms nothing is downloaded
    mib = sum(sizes[one] for one in here) / _MIB
    return f"| {name} | {what} | {len(here)} | {mib:.1f} |\n"


def main() -> None:
    """Print the table, and put it into the page where that is asked for."""
    machine = f"{platform.system()} on {platform.machine()}, Python {platform.python_version()}"
    text = f"{''.join(table(downloaded()))}\nMeasured on {machine}.\n"
    sys.stdout.write(text)
    if "--write" in sys.argv[1:]:
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}{text}{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
