"""Wheel and source distribution: the same bytes wherever they are built, and what is in them, by rule."""

import hashlib
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath

import pytest
from installing import MOMENT, ROOT, built, once, repository, run, shared, wheel

# Where each folder of the repository is in the wheel, below the package.
PACKED = {
    "reconciler": "reconciler",
    "schemas": "reconciler/data/schemas",
    "examples": "reconciler/data/examples",
}
ELSEWHERE = (
    {"umask": 0o000, "TZ": "Pacific/Auckland", "LC_ALL": "C", "folder": "a"},
    {"umask": 0o077, "TZ": "America/Lima", "LC_ALL": "tr_TR.UTF-8", "folder": "another one, ünlike"},
)


@pytest.fixture(scope="module")
def common(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared(tmp_path_factory)


def files_of(folder: str = "") -> set[str]:
    """What belongs to the repository below a folder."""
    told = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", folder or ".", cwd=ROOT)
    return {name for name in told.stdout.split("\0") if name and (ROOT / name).is_file()}


def digests(folder: Path) -> Mapping[str, str]:
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in folder.iterdir()}


def test_two_clones_build_the_same_bytes(common: Path, tmp_path: Path) -> None:
    """Whoever rebuilds a release can tell that it is this commit, and nothing else, that was published."""
    origin = once(common / "repository", repository)
    found = [digests(built(common))]
    for place in ELSEWHERE:
        clone = tmp_path / str(place["folder"])
        assert run("git", "clone", "-q", origin, clone, cwd=tmp_path).returncode == 0
        (clone / "reconciler" / "planted.py").write_text("raise SystemExit('not committed')\n")
        (clone / "README.md").write_text("changed, and not committed\n")
        subprocess.run(
            [sys.executable, str(clone / "script" / "build.py")],
            cwd=tmp_path,
            env={**os.environ, "TZ": str(place["TZ"]), "LC_ALL": str(place["LC_ALL"])},
            umask=int(str(place["umask"])),
            capture_output=True,
            check=True,
        )
        found.append(digests(clone / "dist"))

    assert found[0] == found[1] == found[2]
    assert {PurePosixPath(name).suffix for name in found[0]} == {".gz", ".whl"}


def test_the_wheel_holds_the_package_what_it_reads_and_what_it_is_made_of(common: Path) -> None:
    """By rule: a module that is forgotten fails here, and so does a test that is shipped."""
    with zipfile.ZipFile(wheel(common)) as archive:
        names = {PurePosixPath(one) for one in archive.namelist()}
        modes = {one.external_attr >> 16 & 0o777 for one in archive.infolist()}
        times = {one.date_time[:3] for one in archive.infolist()}
    about = PurePosixPath(next(str(one.parts[0]) for one in names if one.parts[0].endswith(".dist-info")))
    packed = {
        PurePosixPath(place, name.removeprefix(f"{folder}/"))
        for folder, place in PACKED.items()
        for name in files_of(folder)
    }
    page = PurePosixPath(str(about).replace(".dist-info", ".data"), "data/share/man/man1/reconciler.1")
    told = {about / name for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")}

    assert names == packed | told | {page, about / "licenses/LICENSE", about / "sboms/sbom.cdx.json"}
    assert modes <= {0o644, 0o755}
    assert times == {tuple(int(part) for part in MOMENT[:10].split("-"))}


def test_the_source_distribution_is_the_repository(common: Path) -> None:
    """Who builds from source, as distributions do, has the tests, the locks and the scripts too."""
    (file,) = built(common).glob("*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert names == files_of() | {"PKG-INFO"}


def test_the_metadata_name_versions_extras_and_licence(common: Path) -> None:
    with zipfile.ZipFile(wheel(common)) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        told = HeaderParser().parsestr(archive.read(name).decode())

    assert told["License-Expression"] == "Apache-2.0"
    assert told["Requires-Python"] == ">=3.11"
    assert "all" in (told.get_all("Provides-Extra") or [])
    assert [one for one in told.get_all("Requires-Dist") or [] if "@" in one or "://" in one] == []


def test_what_cannot_be_built_is_told(common: Path) -> None:
    here = once(common / "repository", repository)

    done = run(sys.executable, here / "script" / "build.py", "v9.9", cwd=here)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("v9.9 cannot be built: ")
    assert "next: " in done.stderr
    assert not (here / "dist").exists()
