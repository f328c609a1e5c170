# noqa: INP001 - a script, started by script/sizes; part of no package
"""Download what is locked for this machine, and print what each extra brings and how much that is.

Two sizes: that of the files that pip downloads, and that on disk, unpacked and without compiled files; these
come with the first start and are about as large again for the modules that are loaded.

With --write the table is put into docs/install.md. What an extra brings is counted beside the base, which
every installation has; what two extras bring is counted with both.
"""

import platform
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from locked import LOCK, needed
from packaging.utils import canonicalize_name

from reconciler.extras import EXTRAS

PAGE = Path(__file__).parents[1] / "docs" / "install.md"
BEGIN, END = "<!-- script/sizes --write -->\n", "<!-- end of script/sizes -->\n"
_MIB = 1024 * 1024
_DOWNLOAD = (
    "-I -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes"
)


class Size(NamedTuple):
    """Bytes of one package: of its wheel, and of what the wheel holds."""

    download: int
    disk: int


def downloaded() -> Mapping[str, Size]:
    """Return the size of each package in the lock that this machine gets."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(  # noqa: S603 - our own environment
            [sys.executable, *_DOWNLOAD.split(), "--dest", folder, "--requirement", str(LOCK)], check=True
        )
        files = [*Path(folder).iterdir()]
        return {canonicalize_name(one.name.split("-")[0]): _size_of(one) for one in files}


def _size_of(wheel: Path) -> Size:
    with zipfile.ZipFile(wheel) as archive:
        return Size(wheel.stat().st_size, sum(one.file_size for one in archive.infolist()))


def table(sizes: Mapping[str, Size]) -> Iterator[str]:
    """Yield the lines of the table, the base first."""
    base = needed()
    yield "| extra | for | packages | MiB, download | MiB, on disk |\n"
    yield "|---|---|---|---|---|\n"
    yield _row("(none)", "plan, apply, and all else that is not named below", base, sizes)
    for name, extra in EXTRAS.items():
        yield _row(f"`{name}`", extra.use, needed([name]) - base, sizes)
    yield _row("`all`", "all of it", needed(EXTRAS), sizes)


def _row(name: str, what: str, packages: frozenset[str], sizes: Mapping[str, Size]) -> str:
    here = packages & set(sizes)  # of those of other platforms nothing is downloaded
    download, disk = (sum(part) / _MIB for part in zip(*(sizes[one] for one in here), strict=True))
    return f"| {name} | {what} | {len(here)} | {download:.1f} | {disk:.1f} |\n"


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
