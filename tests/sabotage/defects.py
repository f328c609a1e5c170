"""The defects that the suite must notice: the rows of defects/*.toml. See defects/README.md."""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sabotage.anchors import Edit, NoPlaceError, Package

_FOLDER = Path(__file__).with_name("defects")


@dataclass(frozen=True, slots=True)
class Defect:
    """One mistake that somebody could make, and the tests of which one must fail then.

    `edits` change Python, or one text of `file`, which is empty then.
    """

    name: str
    file: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]

    def planted(self, package: Package, root: Path) -> dict[str, str]:
        """Return the text of each file that changes, by its path. NoPlaceError names the row."""
        with self._named():
            return _texts(root, self.file, self.edits) if self.file else package.planted(self.edits)

    def check(self, package: Package, root: Path) -> None:
        """Raise NoPlaceError where the row cannot be planted: quick enough for every row at once."""
        with self._named():
            _ = _texts(root, self.file, self.edits) if self.file else package.places(self.edits)

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except NoPlaceError as error:
            raise NoPlaceError(f"the row {self.name!r} no longer applies: {error}") from None


def _texts(root: Path, file: str, edits: tuple[Edit, ...]) -> dict[str, str]:
    text = (root / file).read_text(encoding="utf-8") if (root / file).is_file() else ""
    for edit in edits:
        if text.count(edit.old) != 1:
            raise NoPlaceError(f"`{edit.old}` is in {file} {text.count(edit.old)} times, not once")
        text = text.replace(edit.old, edit.new)
    return {file: text}


def defect(row: Mapping[str, Any]) -> Defect:
    """Return a row of a file as a value."""
    old, new = ([part] if isinstance(part, str) else part for part in (row["old"], row["new"]))
    within = row.get("in", "")
    edits = tuple(Edit(within, before, after) for before, after in zip(old, new, strict=True))
    assert ("in" in row) is not ("file" in row), f"{row['name']}: say `in`, or `file` for what is not Python"
    return Defect(row["name"], row.get("file", ""), edits, tuple(row["tests"]))


DEFECTS = tuple(
    defect(row)
    for path in sorted(_FOLDER.glob("*.toml"))
    for row in tomllib.loads(path.read_text(encoding="utf-8"))["defect"]
)
