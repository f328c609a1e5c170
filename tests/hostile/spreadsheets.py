"""Spreadsheets that somebody wrote to do harm, more than two hundred: small files that ask for much.

`HOSTILE` has a maker for each by its name. Each takes a source of chance that is seeded by the name, so that
every run reads the same files. A family stands four times, in sizes of its own.
"""

import io
import struct
import zipfile
from collections.abc import Callable, Mapping
from random import Random
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OF = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEET, TEXTS, STYLES = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/styles.xml"
BOOK, RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
HEAD = '<row r="1"><c r="A1" t="str"><v>ID</v></c><c r="B1" t="str"><v>Name</v></c></row>'
MANIFEST = """version: 1
workspace: default
rosters:
  - {file: hr.xlsx, name: "{ID}", contacts: {firstName: "{Name}", lastName: "{Name}"}}
"""

Make = Callable[[Random], bytes]
Parts = Mapping[str, str | bytes]


def worksheet(rows: str, after: str = "") -> str:
    return f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData>{after}</worksheet>'


def cell(at: str, text: object, kind: str = "str", style: str = "") -> str:
    return f'<c r="{at}"{style} t="{kind}"><v>{text}</v></c>'


def row(number: int, text: object, kind: str = "str") -> str:
    return f'<row r="{number}">{cell(f"A{number}", number)}{cell(f"B{number}", text, kind)}</row>'


def letters(index: int) -> str:
    text = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        text = chr(65 + rest) + text
    return text


def parts(rows: str = "", *, after: str = "", **over: str | bytes) -> dict[str, str | bytes]:
    """The parts of a file of one sheet. `over` goes over sheet, texts, styles, book or relations."""
    book = f'<workbook xmlns="{MAIN}" xmlns:r="{OF}"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets>'
    related = f'<Relationships xmlns="{PACKAGE}/relationships">'
    related += f'<Relationship Id="r1" Type="{OF}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>'
    found: dict[str, str | bytes] = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"/>',
        BOOK: over.pop("book", book + "</workbook>"),
        RELATIONS: over.pop("relations", related),
        SHEET: over.pop("sheet", worksheet(HEAD + rows, after)),
    }
    for name, part in (("texts", TEXTS), ("styles", STYLES)):
        if name in over:
            found[part] = over.pop(name)
    assert not over, over
    return found


def pack(files: Parts, kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", kind) as file:
        for name, text in files.items():
            file.writestr(name, text)
    return held.getvalue()


def made(rows: str = "", *, after: str = "", **over: str | bytes) -> bytes:
    return pack(parts(rows, after=after, **over))


def texts(inner: str) -> str:
    return f'<sst xmlns="{MAIN}">{inner}</sst>'


def styles(inner: str) -> str:
    return f'<styleSheet xmlns="{MAIN}">{inner}</styleSheet>'


def listed(sheets: str, relations: str = "") -> bytes:
    book = f'<workbook xmlns="{MAIN}" xmlns:r="{OF}"><sheets>{sheets}</sheets></workbook>'
    return made(
        book=book, relations=f'<Relationships xmlns="{PACKAGE}/relationships">{relations}</Relationships>'
    )


def related(number: int, target: str = "worksheets/sheet1.xml", more: str = "") -> str:
    return f'<Relationship Id="r{number}" Type="{OF}/worksheet" Target="{target}"{more}/>'


# Each family has four sizes or forms: `size` goes through its list.
FAMILIES: dict[str, tuple[Callable[[Random, int], bytes], tuple[int, ...]]] = {
    "cells that never close": (
        lambda _, n: made(sheet=worksheet('<c r="A1" ' * n + "<f>")),
        (200, 20_000, 200_000, 2_000_000),
    ),
    "cells that open and never close": (
        lambda _, n: made(sheet=worksheet(f'<row r="1">{"<c r=" + chr(34) + "A1" + chr(34) + ">"}' * n)),
        (200, 20_000, 200_000, 1_000_000),
    ),
    "rows in rows": (
        lambda _, n: made(sheet=worksheet('<row r="1">' * n)),
        (50, 5_000, 500_000, 2_000_000),
    ),
    "one text in many cells": (
        lambda _, n: made(
            "".join(row(at, 0, "s") for at in range(2, n)), texts=texts(f"<si><t>{'y' * 30_000}</t></si>")
        ),
        (1_000, 10_000, 50_000, 200_000),
    ),
    "a text as long as the file": (
        lambda _, n: made(row(2, 0, "s"), texts=texts(f"<si><t>{'y' * n}</t></si>")),
        (32_768, 1_000_000, 30_000_000, 100_000_000),
    ),
    "a long value": (
        lambda _, n: made(row(2, "y" * n)),
        (32_768, 1_000_000, 30_000_000, 100_000_000),
    ),
    "a long number": (lambda _, n: made(row(2, "9" * n, "n")), (400, 5_000, 1_000_000, 30_000_000)),
    "a number with a long exponent": (
        lambda _, n: made(row(2, "1e" + "9" * n, "n")),
        (3, 10, 60, 1_000_000),
    ),
    "rich text of many runs": (
        lambda _, n: made(f'<row r="2"><c r="A2" t="inlineStr"><is>{"<r><t>a</t></r>" * n}</is></c></row>'),
        (1_000, 30_000, 300_000, 1_000_000),
    ),
    "shared rich text of many runs": (
        lambda _, n: made(row(2, 0, "s"), texts=texts(f"<si>{'<r><rPr/><t>a</t></r>' * n}</si>")),
        (1_000, 30_000, 300_000, 1_000_000),
    ),
    "shared texts that nobody shows": (
        lambda chance, n: made(
            row(2, 0, "s"),
            texts=texts("".join(f"<si><t>{chance.randrange(10**9)}</t></si>" for _ in range(n))),
        ),
        (1_000, 10_000, 100_000, 200_000),
    ),
    "shared texts that are empty": (
        lambda _, n: made(row(2, 0, "s"), texts=texts("<si/>" * n)),
        (1_000, 100_000, 1_000_000, 6_000_000),
    ),
    "shared texts that are alike": (
        lambda _, n: made(row(2, 0, "s"), texts=texts("<si><t>ab</t></si>" * n)),
        (1_000, 100_000, 1_000_000, 4_000_000),
    ),
    "spaces": (lambda _, n: made(after=" " * n), (10_000, 1_000_000, 30_000_000, 200_000_000)),
    "a comment": (lambda _, n: made(after=f"<!--{'x' * n}-->"), (10_000, 2_000_000, 30_000_000, 100_000_000)),
    "many comments": (lambda _, n: made(after="<!---->" * n), (10_000, 100_000, 1_000_000, 4_000_000)),
    "an instruction": (
        lambda _, n: made(after=f"<?x {'x' * n}?>"),
        (10_000, 2_000_000, 30_000_000, 60_000_000),
    ),
    "a long attribute": (
        lambda _, n: made(f'<row r="2"><c r="A2" x="{"x" * n}"/></row>'),
        (10_000, 900_000, 3_000_000, 30_000_000),
    ),
    "many attributes": (
        lambda _, n: made(
            f'<row r="2"><c r="A2" {" ".join(f"x{at}={chr(34) * 2}" for at in range(n))}/></row>'
        ),
        (100, 10_000, 60_000, 300_000),
    ),
    "a long name": (lambda _, n: made(after=f"<{'x' * n}/>"), (10_000, 900_000, 3_000_000, 30_000_000)),
    "elements in elements": (
        lambda _, n: made(after="<x>" * n + "</x>" * n),
        (101, 10_000, 1_000_000, 4_000_000),
    ),
    "elements in elements of a text": (
        lambda _, n: made(row(2, 0, "s"), texts=texts("<si>" + "<x>" * n + "</x>" * n + "</si>")),
        (101, 10_000, 1_000_000, 4_000_000),
    ),
    "elements in elements of the styles": (
        lambda _, n: made(row(2, 0), styles=styles("<x>" * n + "</x>" * n)),
        (101, 10_000, 1_000_000, 4_000_000),
    ),
    "empty elements": (lambda _, n: made(after="<x/>" * n), (10_000, 100_000, 2_000_000, 8_000_000)),
    "references to letters": (
        lambda _, n: made(row(2, "&#97;" * n)),
        (10_000, 100_000, 1_000_000, 6_000_000),
    ),
    "rows that hold nothing": (
        lambda _, n: made("".join(f'<row r="{at}"/>' for at in range(2, n))),
        (1_000, 10_000, 100_000, 1_048_577),
    ),
    "cells that hold nothing": (
        lambda _, n: made(
            "".join(
                f'<row r="{at}">' + "".join(f'<c r="{letters(one)}{at}"/>' for one in range(n)) + "</row>"
                for at in range(2, 60)
            )
        ),
        (100, 1_000, 5_000, 16_384),
    ),
    "a column far off in every row": (
        lambda _, n: made("".join(f'<row r="{at}">{cell(f"XFD{at}", 1)}</row>' for at in range(2, n))),
        (10, 1_000, 10_000, 100_000),
    ),
    "rows under a wide header": (
        lambda _, n: made(
            sheet=worksheet(
                f'<row r="1">{"".join(cell(f"{letters(at)}1", at) for at in range(16_384))}</row>'
                + "".join(f'<row r="{at}">{cell(f"A{at}", 1)}</row>' for at in range(2, n))
            )
        ),
        (10, 400, 1_000, 50_000),
    ),
    "a header of many columns": (
        lambda _, n: made(
            sheet=worksheet(f'<row r="1">{"".join(cell(f"{letters(at)}1", at) for at in range(n))}</row>')
        ),
        (1_000, 16_384, 16_385, 18_278),
    ),
    "columns without a name": (
        lambda _, n: made(f'<row r="2">{"".join(cell(f"{letters(at)}2", at) for at in range(n))}</row>'),
        (100, 1_000, 10_000, 16_384),
    ),
    "merged cells": (
        lambda _, n: made(
            row(2, "x"),
            after="<mergeCells>"
            + "".join(f'<mergeCell ref="A{at}:XFD{at}"/>' for at in range(n))
            + "</mergeCells>",
        ),
        (1, 1_000, 100_000, 500_000),
    ),
    "formulas in a chain": (
        lambda _, n: made(
            "".join(f'<row r="{at}"><c r="A{at}"><f>A{at - 1}+1</f></c></row>' for at in range(2, n))
        ),
        (100, 1_000, 10_000, 50_000),
    ),
    "array formulas side by side": (
        lambda _, n: made(
            f'<row r="3">{"".join(_array(f"{letters(at)}3", "XFD1048576") for at in range(n))}</row>'
        ),
        (10, 19, 100, 16_000),
    ),
    "cells within many formulas": (
        lambda _, n: made(
            '<row r="2">'
            + "".join(_array(f"{letters(at)}2", f"{letters(at)}1048576") for at in range(19))
            + "</row>"
            + "".join(
                f'<row r="{at}">{"".join(cell(f"{c}{at}", 1, "n") for c in "XYZ")}</row>'
                for at in range(3, n)
            )
        ),
        (100, 1_000, 10_000, 60_000),
    ),
    "array formulas below each other": (
        lambda _, n: made("".join(f'<row r="{at}">{_array(f"A{at}", f"B{at}")}</row>' for at in range(2, n))),
        (100, 1_000, 10_000, 60_000),
    ),
    "formulas that are not where they say": (
        lambda _, n: made(f'<row r="2">{_array("A2", "B" * n + "3")}</row>'),
        (4, 10_000, 1_000_000, 30_000_000),
    ),
    "parts whose names differ in case": (
        lambda _, n: pack({**parts(row(2, "x")), **{f"xl/{'aA'[at % 2]}{at // 2}": "" for at in range(n)}}),
        (100, 5_000, 9_000, 60_000),
    ),
    "a long formula": (
        lambda _, n: made(f'<row r="2"><c r="A2"><f>{"(" * n}</f><v>1</v></c></row>'),
        (1_000, 100_000, 10_000_000, 60_000_000),
    ),
    "a format that goes back": (
        lambda _, n: made(
            f'<row r="2">{cell("A2", 1, "n", " s=" + chr(34) + "1" + chr(34))}</row>',
            styles=styles(
                f'<numFmts><numFmt numFmtId="200" formatCode="{"_" * n}&quot;"/></numFmts>'
                '<cellXfs><xf numFmtId="0"/><xf numFmtId="200"/></cellXfs>'
            ),
        ),
        (30, 60, 250, 100_000),
    ),
    "a format of many sections": (
        lambda _, n: made(
            f'<row r="2">{cell("A2", "x", "str", " s=" + chr(34) + "1" + chr(34))}</row>',
            styles=styles(
                f'<numFmts><numFmt numFmtId="200" formatCode="{"[" * n}0;@"/></numFmts>'
                '<cellXfs><xf numFmtId="0"/><xf numFmtId="200"/></cellXfs>'
            ),
        ),
        (30, 60, 250, 100_000),
    ),
    "many styles": (
        lambda _, n: made(
            row(2, "x"),
            styles=styles(
                "<numFmts>"
                + "".join(f'<numFmt numFmtId="{at}" formatCode="0;{at}"/>' for at in range(200, n))
                + '</numFmts><cellXfs><xf numFmtId="300"/>'
                + "<xf/>" * n
                + "</cellXfs>"
            ),
        ),
        (1_000, 10_000, 60_000, 300_000),
    ),
    "many sheets of one part": (
        lambda _, n: listed(
            "".join(f'<sheet name="s{at}" sheetId="{at}" r:id="r1"/>' for at in range(n)), related(1)
        ),
        (100, 1_000, 60_000, 150_000),
    ),
    "many relations": (
        lambda _, n: listed(
            '<sheet name="S" sheetId="1" r:id="r1"/>', "".join(related(at) for at in range(n))
        ),
        (100, 1_000, 20_000, 60_000),
    ),
    "parts that nobody reads": (
        lambda _, n: pack({**parts(row(2, "x")), **{f"xl/media/{at}": "" for at in range(n)}}),
        (100, 5_000, 20_000, 60_000),
    ),
    "a file cut off": (
        lambda chance, n: (data := made("".join(row(at, chance.random()) for at in range(2, 500))))[
            : len(data) * n // 100
        ],
        (1, 50, 90, 99),
    ),
    "a file with other bytes": (
        lambda chance, n: _changed(made("".join(row(at, chance.random()) for at in range(2, 50))), chance, n),
        (1, 10, 100, 1_000),
    ),
}


def _array(at: str, last: str) -> str:
    """A cell whose formula fills all up to another one."""
    return f'<c r="{at}"><f t="array" ref="{at}:{last}">1</f><v>1</v></c>'


def _changed(data: bytes, chance: Random, times: int) -> bytes:
    changed = bytearray(data)
    for _ in range(times):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _entry_changed(offset: int, value: bytes, part: str = SHEET, rows: str = "") -> bytes:
    """A file in whose list of parts an entry says something else: at `offset` of its record."""
    data = bytearray(made(rows or row(2, "x")))
    name = data.rindex(part.encode())
    begin = name - 46
    assert data[begin : begin + 4] == b"PK\x01\x02"
    data[begin + offset : begin + offset + len(value)] = value
    return bytes(data)


def _twice(part: str, first: str, then: str) -> bytes:
    """A file that has a part twice."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts(row(2, "x")).items():
            file.writestr(name, text if name != part else first)
        info = zipfile.ZipInfo(part)
        info.compress_type = zipfile.ZIP_DEFLATED
        file.NameToInfo.pop(part, None)
        file.writestr(info, then)
    return held.getvalue()


def _nested(depth: int) -> bytes:
    data = made(row(2, "x"))
    for _ in range(depth):
        data = pack({"hr.xlsx": data})
    return data


def _of_links() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        for name, text in parts(row(2, "x"), sheet="/etc/passwd").items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o120777 << 16) if name == SHEET else 0
            file.writestr(info, text)
    return held.getvalue()


def _zip64() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts(row(2, "x")).items():
            with file.open(name, "w", force_zip64=True) as part:
                part.write(text.encode() if isinstance(text, str) else text)
    return held.getvalue()


def _bomb(part: str, megabytes: int) -> bytes:
    """A part of nothing but one letter; written piece by piece, for it is larger than what may be held."""
    held, piece = io.BytesIO(), b"y" * 1024 * 1024
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, text in parts(row(2, "x")).items():
            if name != part:
                file.writestr(name, text)
        with file.open(part, "w") as bomb:
            for _ in range(megabytes):
                bomb.write(piece)
    return held.getvalue()


DOCTYPES = {
    "entities of entities": "<!DOCTYPE a [<!ENTITY a 'x'>"
    + "".join(f"<!ENTITY {chr(98 + at)} '{f'&{chr(97 + at)};' * 10}'>" for at in range(9))
    + "]>",
    "an entity of a file": "<!DOCTYPE a [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>",
    "an entity of an address": "<!DOCTYPE a [<!ENTITY a SYSTEM 'http://127.0.0.1:9/'>]>",
    "a parameter entity": "<!DOCTYPE a [<!ENTITY % a SYSTEM 'http://127.0.0.1:9/'>%a;]>",
    "an outer document type": "<!DOCTYPE a SYSTEM 'http://127.0.0.1:9/'>",
    "a long entity": f"<!DOCTYPE a [<!ENTITY a '{'x' * 100_000}'>]>",
}
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "utf-7", "cp037", "shift_jis")
PLACES = (
    "", "A0", "A", "1", "A01", "a2", "A-2", "A2:B2", "$A$2", "AAAA2", "XFE2", "A1048577",
    "A99999999999999999999", "A" * 100_000 + "2", "A" + "2" * 100_000, "\u04102", "A\u0662", "B2",
)  # fmt: skip
VALUES = (
    ("n", "nan"), ("n", "inf"), ("n", "1e999"), ("n", "0x10"), ("n", "1_0"), ("n", "\u0661"), ("n", ""),
    ("s", "-1"), ("s", "1e3"), ("s", "99999999999999999999"), ("s", "\u0661"), ("s", ""), ("s", "x"),
    ("b", "2"), ("d", "9999-99-99"), ("zz", "x"), ("e", ""), ("inlineStr", "x"), ("", "x"), ("N", "1"),
)  # fmt: skip


def _sized(make: Callable[[Random, int], bytes], size: int) -> Make:
    return lambda chance: make(chance, size)


def _declared(prolog: str, place: str) -> Make:
    return lambda _: made(row(2, "&a;"), **{place: prolog + str(parts(row(2, "&a;"))[SHEET])})


def _encoded(name: str) -> Make:
    text = f'<?xml version="1.0" encoding="{name}"?>{worksheet(HEAD + row(2, "x"))}'
    return lambda _: made(sheet=text.encode(name))


def _placed(at: str) -> Make:
    return lambda _: made(f'<row r="2">{cell(at, "x")}</row>')


def _valued(kind: str, value: str) -> Make:
    return lambda _: made(row(2, value, kind))


def _bombed(part: str, megabytes: int) -> Make:
    return lambda _: _bomb(part, megabytes)


HOSTILE: dict[str, Make] = {
    **{f"{name}: {size}": _sized(make, size) for name, (make, sizes) in FAMILIES.items() for size in sizes},
    **{
        f"{name} in the {place}": _declared(prolog, place)
        for name, prolog in DOCTYPES.items()
        for place in ("sheet", "book")
    },
    **{f"a sheet in {name}": _encoded(name) for name in ENCODINGS},
    **{f"a cell at {place[:9]!a}": _placed(place) for place in PLACES},
    **{f"a value {value[:9]!a} of the type {kind!r}": _valued(kind, value) for kind, value in VALUES},
    **{
        f"a bomb of {size} MiB as {part}": _bombed(part, size)
        for part in (SHEET, TEXTS, STYLES, BOOK, RELATIONS)
        for size in (40, 600)
    },
}
HOSTILE |= {
    "nothing": lambda _: b"",
    "an end of a list without a list": lambda _: b"PK\x05\x06" + bytes(18),
    "an end that lies about its list": lambda _: b"PK\x05\x06" + b"\xff" * 18,
    "another sheet beside the first": lambda _: _twice(SHEET, worksheet(HEAD), worksheet(HEAD + row(2, "y"))),
    "another list of sheets": lambda _: _twice(BOOK, str(parts()[BOOK]), "<workbook/>"),
    "zips in zips": lambda _: _nested(50),
    "a sheet that is a link": lambda _: _of_links(),
    "sizes of eight bytes": lambda _: _zip64(),
    "an encrypted part": lambda _: _entry_changed(8, b"\x01\x00"),
    "a part packed as nobody does": lambda _: _entry_changed(10, b"\x63\x00"),
    "a part packed with bzip2": lambda _: pack(parts(row(2, "x")), zipfile.ZIP_BZIP2),
    "a part packed with lzma": lambda _: pack(parts(row(2, "x")), zipfile.ZIP_LZMA),
    "a version of zip to come": lambda _: _entry_changed(6, b"\xff\x00"),
    "a size that is too small": lambda _: _entry_changed(24, struct.pack("<I", 10)),
    "a size that is too large": lambda _: _entry_changed(24, struct.pack("<I", 2**31)),
    "a packed size that is too large": lambda _: _entry_changed(20, struct.pack("<I", 2**31)),
    "a sum that is wrong": lambda _: _entry_changed(16, b"\0\0\0\0"),
    "a part that begins elsewhere": lambda _: _entry_changed(42, struct.pack("<I", 7)),
    "a part beyond the end": lambda _: _entry_changed(42, struct.pack("<I", 2**31)),
    "a name that goes up": lambda _: pack({**parts(row(2, "x")), "../../etc/passwd": "x"}),
    "a name from the root": lambda _: pack({**parts(row(2, "x")), "/etc/passwd": "x"}),
    "a target that goes up": lambda _: made(relations=_one(related(1, "../../../../etc/worksheets/passwd"))),
    "a target outside": lambda _: made(
        relations=_one(related(1, "http://127.0.0.1:9/worksheets/a.xml", ' TargetMode="External"'))
    ),
    "a target that is the list": lambda _: made(relations=_one(related(1, "workbook.xml"))),
    "a target that is itself": lambda _: made(relations=_one(related(1, "_rels/workbook.xml.rels"))),
    "shared texts that are the sheet": lambda _: made(
        row(2, 0, "s"),
        relations=_one(
            related(1) + f'<Relationship Id="r2" Type="{OF}/sharedStrings" Target="worksheets/sheet1.xml"/>'
        ),
    ),
    "a date before all days": lambda _: made(
        f'<row r="2">{cell("A2", -1e300, "n", " s=" + chr(34) + "1" + chr(34))}</row>',
        styles=styles('<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'),
    ),
    "a style that is not there": lambda _: made(
        f'<row r="2">{cell("A2", 1, "n", " s=" + chr(34) + "9" * 5000 + chr(34))}</row>'
    ),
    "a huge dimension": lambda _: made(
        sheet=worksheet(HEAD + row(2, "x")).replace(
            "<sheetData>", '<dimension ref="A1:XFD1048576"/><sheetData>'
        )
    ),
    "two tables of cells": lambda _: made(
        sheet=worksheet(HEAD + row(2, "x"), f"<sheetData>{row(2, 'y')}</sheetData>")
    ),
    "characters that are none": lambda _: made(row(2, "&#0;")),
    "half a pair": lambda _: made(row(2, "_xD800__xDFFF_")),
    "invisible characters": lambda _: made(row(2, "a\u202eb\u200b")),
    "a name of a sheet that is long": lambda _: listed(
        f'<sheet name="{"x" * 900_000}" sheetId="1" r:id="r1"/>', related(1)
    ),
    "a name that acts on a terminal": lambda _: listed(
        f'<sheet name="{escape("a&#27;[2J")}" sheetId="1" r:id="r1"/>', related(1)
    ),
}


def _one(relations: str) -> str:
    return f'<Relationships xmlns="{PACKAGE}/relationships">{relations}</Relationships>'
