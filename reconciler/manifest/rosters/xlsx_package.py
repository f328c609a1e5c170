"""The parts of an .xlsx file, unpacked and parsed piece by piece: what they may cost follows from the file.

The file is a zip of XML, and a small one can say much: deflate writes a thousand bytes as one, a text that
many cells share is written once, a row of nothing takes six letters. So each limit here is counted while a
part is read, against the bytes that the file really has, and nothing is unpacked as a whole.

Source: ECMA-376, part 2 (packages; 6.2.2, names that differ in case are one part); APPNOTE.TXT of PKWARE, 4.3
(which record begins an entry of the list).
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Protocol
from xml.parsers import expat

from reconciler.files.project_files import Unreadable

UNPACKED_MAX = 512 * 1024 * 1024  # bytes of the parts that are read
# Sheets of people compress to a tenth; one that compresses to less than a hundredth only repeats itself.
_FREE_BYTES, RATIO_MAX = 32 * 1024 * 1024, 100
# An element of a sheet takes two bytes and more when it is packed: its place differs from all others.
_FREE_ELEMENTS, _ELEMENTS_A_BYTE = 2 * 1024 * 1024, 2
_TOKEN_MAX = 1024 * 1024  # bytes of one tag, comment or reference; expat holds each as a whole
_DEPTH_MAX = 100  # elements within elements; a sheet has seven, extensions of it hardly twenty
_ENTRIES_MAX = 10_000  # parts of one file; each is an object in memory before any is chosen
_AT_ONCE = 64 * 1024  # bytes that are parsed at once
_ENTRY = b"PK\x01\x02"  # begins each entry of the list of parts
_KINDS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})  # the only ones of which an .xlsx file may be

SAVE_HINT = "open it in a spreadsheet program and save it as .xlsx, or export it as `CSV UTF-8`"
REMOVE_HINT = "remove data that no contact needs, or export it as `CSV UTF-8`"
# What the libraries for zip and XML raise over other bytes: found by damaging a file thousands of times.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    expat.ExpatError,
    EOFError,
    LookupError,
    OSError,
    ValueError,
)


class PartReader(Protocol):
    """Receives the elements of one part. `elements` counts those begun, `depth` those that are open."""

    elements: int

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Receive the start of an element."""

    def end(self, name: str) -> None:
        """Receive the end of an element."""

    def text(self, text: str) -> None:
        """Receive a piece of a text."""


class XlsxPackage:
    """An .xlsx file and what may be read of it still. Raises Unreadable where that is not enough."""

    def __init__(self, data: bytes, name: str) -> None:
        self.name = name
        self.unpacked = 0  # bytes so far
        self._size = len(data)
        self._elements_left = _FREE_ELEMENTS + _ELEMENTS_A_BYTE * len(data)
        if data.count(_ENTRY) > _ENTRIES_MAX:
            raise self.refusal(f"has more than {_ENTRIES_MAX:,} parts, which is the limit.", REMOVE_HINT)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except _DAMAGED as error:
            raise self.damage() from error
        except RuntimeError as error:
            raise self._locked() from error
        self._parts: dict[str, zipfile.ZipInfo | None] = {}
        for one in self._zip.infolist():
            name = one.filename.lower()
            self._parts[name] = None if name in self._parts else one

    def __contains__(self, part: str) -> bool:
        return part.lower() in self._parts

    def refusal(self, what: str, hint: str = SAVE_HINT) -> Unreadable:
        """Return the mistake of the whole file; `what` continues a sentence that begins with its name."""
        return Unreadable(f"{self.name} {what}", hint, code="E511")

    @staticmethod
    def mistake(what: str, hint: str) -> Unreadable:
        """Return the mistake of a part; `what` is the whole sentence."""
        return Unreadable(what, hint, code="E511")

    def damage(self) -> Unreadable:
        """Return the mistake of a damaged file."""
        return self.refusal("is damaged or not an .xlsx file.")

    def _locked(self) -> Unreadable:
        return self.refusal(
            "is encrypted, or compressed in an unsupported way.", "save it as .xlsx, without a password"
        )

    def parse(self, part: str, reader: PartReader, bytes_max: int = UNPACKED_MAX) -> Iterator[None]:
        """Feed the part to the reader; yield after each piece, so that it is never whole in memory.

        Names are as they are written, with their prefix: with the whole address before each of a million
        cells, reading takes half as long again.
        """
        info = self._parts[part.lower()]
        if info is None:
            raise self.refusal(f"has the part {part} twice.")
        self._require_modest(info, bytes_max)
        try:
            if info.compress_type not in _KINDS:
                raise self.damage()
            with self._zip.open(info) as file:
                yield from self._parsed(file, reader)
        except _DAMAGED as error:
            raise self.damage() from error
        except RuntimeError as error:  # zipfile's word for a password and for a later version
            raise self._locked() from error

    def _require_modest(self, info: zipfile.ZipInfo, bytes_max: int) -> None:
        """Refuse a part because of its header; nothing more of it is unpacked."""
        if self.unpacked + info.file_size > bytes_max:
            what = f"has more than {bytes_max:,} bytes when it is unpacked, which is the limit."
            raise self.refusal(what, REMOVE_HINT)
        packed = min(info.compress_size, self._size)
        if info.file_size > max(_FREE_BYTES, RATIO_MAX * packed):
            what = f"unpacks to more than {RATIO_MAX} times its size, which is the limit."
            raise self.refusal(what, REMOVE_HINT)

    def _parsed(self, file: IO[bytes], reader: PartReader) -> Iterator[None]:
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.buffer_size = _AT_ONCE
        parser.StartElementHandler = reader.start
        parser.EndElementHandler = reader.end
        parser.CharacterDataHandler = reader.text
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.XmlDeclHandler = self._require_utf8
        fed = 0
        elements = reader.elements
        while data := file.read(_AT_ONCE):
            if not fed and data[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise self._not_utf8()
            fed += len(data)
            self.unpacked += len(data)
            parser.Parse(data)
            if fed - parser.CurrentByteIndex > _TOKEN_MAX:
                what = f"has a tag or a comment of more than {_TOKEN_MAX:,} bytes, which is the limit."
                raise self.refusal(what, REMOVE_HINT)
            self._elements_left -= reader.elements - elements
            elements = reader.elements
            if self._elements_left < 0:
                raise self.refusal("contains more cells and markup than its size explains.", REMOVE_HINT)
            yield
        parser.Parse(b"", True)
        yield

    def _refuse_doctype(self, *_: object) -> None:
        raise self.refusal("has a DOCTYPE, which is not allowed.")

    def _require_utf8(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "us-ascii"):
            raise self._not_utf8()

    def _not_utf8(self) -> Unreadable:
        return self.refusal("has a sheet that is not UTF-8.")

    def require_depth(self, depth: int) -> None:
        """Refuse elements within elements within elements, without an end."""
        if depth > _DEPTH_MAX:
            raise self.refusal(f"has more than {_DEPTH_MAX} elements inside each other.")


class OutlineReader:
    """A reader that calls one function with each element and the names of its ancestors."""

    def __init__(self, package: XlsxPackage, take: Callable[[tuple[str, ...], dict[str, str]], None]) -> None:
        self.elements = 0
        self._package = package
        self._take = take
        self._path: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Receive the start of an element."""
        self.elements += 1
        self._path.append(name.rpartition(":")[2])
        self._package.require_depth(len(self._path))
        self._take(tuple(self._path), attributes)

    def end(self, _: str) -> None:
        """Receive the end of an element."""
        self._path.pop()

    def text(self, _: str) -> None:
        """Leave out the texts."""
