"""A copy of the project in which one defect at a time is planted, or a change is tried.

Belongs here: the copy, planting, running. Not here: the defects (defects/), their places (anchors.py), and
the process that tries many of them (trial.py).
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sabotage.anchors import Package
from sabotage.defects import Defect

ROOT = Path(__file__).parents[2]

_COPIED = (
    "reconciler",
    "tests",
    "schemas",
    "examples",
    "docs",
    "README.md",
    "pyproject.toml",
    ".pre-commit-hooks.yaml",
)
# No test needs a plugin, and looking for those that are installed takes longer than most tests here.
_QUICKLY = ("--disable-plugin-autoload", "-p", "no:cacheprovider", "-p", "no:faulthandler")
minutes_max = 5  # a defect that makes a test hang is a row to be written otherwise


class Workshop:
    """The copy. What is planted is taken out again, whatever the tests said."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._plantings = 0
        for name in _COPIED:
            source, target = ROOT / name, folder / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis"))
            else:
                shutil.copy2(source, target)
        self._package = Package(folder)
        self.python_path = interpreter(folder)

    def run(self, tests: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        """Run these tests of the copy against the package of the copy."""
        return subprocess.run(
            [self.python_path, "-m", "pytest", "-x", "-q", "--no-header", *_QUICKLY, *tests],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=minutes_max * 60,
            check=False,
        )

    def python(self, *words: str, path: Path | None = None) -> None:
        """Run Python with these words in the copy; modules below `path` are found as well."""
        environ = {**os.environ, "PYTHONPATH": str(path)} if path else None
        done = subprocess.run(
            [self.python_path, *words],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            text=True,
            timeout=minutes_max * 60,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]

    def module_file(self) -> Path:
        """Where a process finds the package that is started elsewhere, with nothing in its environment."""
        found = subprocess.run(
            [self.python_path, "-c", "import reconciler; print(reconciler.__file__)"],
            cwd=self.folder.parent,
            env={},
            capture_output=True,
            text=True,
            check=True,
        )
        return Path(found.stdout.strip())

    @contextmanager
    def planted(self, defect: Defect) -> Iterator[None]:
        """Hold the defect in the copy."""
        planted = defect.planted(self._package, self.folder)
        before = {path: (self.folder / path).read_text(encoding="utf-8") for path in planted}
        self._write(planted)
        try:
            yield
        finally:
            self._write(before)

    def _write(self, texts: Mapping[str, str]) -> None:
        for name, text in texts.items():
            # Compiled files are believed by the second of their source: every writing gets one of its own.
            self._plantings += 1
            (self.folder / name).write_text(text, encoding="utf-8")
            stamp = 1_700_000_000 + self._plantings
            os.utime(self.folder / name, (stamp, stamp))


def interpreter(folder: Path) -> str:
    """Return a Python that finds the package of the copy, and all else where this one does.

    A variable would not do: tests start commands with an environment of their own.
    """
    builder = venv.EnvBuilder(symlinks=os.name != "nt")
    home = folder / ".venv"
    builder.create(home)
    context = builder.ensure_directories(home)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    # Not what sysconfig says of this interpreter: it may be that of a copy, which finds them elsewhere.
    found = [str(folder), *(path for path in sys.path if Path(path).name == "site-packages")]
    packages.joinpath("copy.pth").write_text("\n".join(found), encoding="utf-8")
    # Tests start linters that stand beside the interpreter. Our own command there would run what was copied.
    programs = Path(context.bin_path)
    for program in Path(sys.executable).parent.iterdir():
        if program.name != "reconciler" and not (programs / program.name).exists():
            (programs / program.name).symlink_to(program)
    return str(context.env_exe)
