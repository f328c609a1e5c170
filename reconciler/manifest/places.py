"""Places of fields, kept small: a file, the paths, and one integer each.

A hundred thousand entries have a million fields; a Place for each would cost more than the fields.
"""

from collections.abc import Iterator, Mapping, Sequence

from reconciler.model.documents import Place
from reconciler.parsing.build import unpack


class RowPlaces(Mapping[str, Place]):
    """The place of each field of a row of a roster. `cells`, by path, are the same for many rows."""

    __slots__ = ("_cells", "_file", "_row")

    def __init__(self, file: str, row: int, cells: Mapping[str, int]) -> None:
        self._file = file
        self._row = row
        self._cells = cells

    def __getitem__(self, path: str) -> Place:
        return Place(self._file, self._row, self._cells[path])

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)


class Places(Mapping[str, Place]):
    """The place of each path, made when it is asked for. `packed` are line << 32 | column."""

    __slots__ = ("_file", "_packed", "_paths")

    def __init__(self, file: str, paths: tuple[str, ...], packed: Sequence[int]) -> None:
        self._file = file
        self._paths = paths
        self._packed = packed

    def __getitem__(self, path: str) -> Place:
        try:
            return unpack(self._file, self._packed[self._paths.index(path)])
        except ValueError:
            raise KeyError(path) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)
