"""Whatever a directory sends: rows, or a reason of ours. No other error reaches whoever reads a roster."""

import json
from contextlib import suppress
from typing import Any

from directories.ldap_liar import attribute, entry
from directories.scim_service import LIST, USER, user
from hypothesis import given
from hypothesis import strategies as st

from reconciler.directories.answers import AnswerRows, ChangedError, DirectoryFailed
from reconciler.directories.ldap_search import EntryColumns
from reconciler.directories.ldap_wire import NotBer, parse_message, read_header, split_elements
from reconciler.directories.scim_http import parse_body
from reconciler.directories.scim_users import PageWalk, ResourceColumns, parse_list_page

ENTRY = entry("uid=jane,dc=example", attribute("mail", "jane@example.com", "x"), attribute("cn;lang-de", ""))(
    1
)


def is_a_table(answer: AnswerRows) -> bool:
    """Whether it keeps what readers of it rely on."""
    wide = len(answer.header)
    unusable = all(
        row < len(answer.rows) and column < wide and held
        for row, cells in answer.unusable.items()
        for column, held in cells.items()
    )
    texts = all(type(cell) is str for row in answer.rows for cell in row)
    return (
        unusable
        and texts
        and len(set(answer.header)) == wide
        and {len(row) for row in answer.rows} <= {wide}
        and len(answer.names) == len(answer.rows)
        and all(name.isprintable() for name in answer.names)
    )


@given(st.lists(st.tuples(st.integers(0, len(ENTRY) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_damaged_entry_of_ldap_is_an_entry_or_refused(damage: list[tuple[int, int]]) -> None:
    frame = bytearray(ENTRY)
    for at, byte in damage:
        frame[at] = byte
    columns = EntryColumns(("mail", "cn"))
    with suppress(NotBer, DirectoryFailed):
        start, end = read_header(frame)
        columns.take(parse_message(bytes(frame[start:end]))[1].body)
        assert is_a_table(columns.answer())


@given(st.binary(max_size=60))
def test_bytes_are_elements_that_fill_them_or_refused(data: bytes) -> None:
    with suppress(NotBer):
        assert sum(len(content) for _, content in split_elements(data)) < max(len(data), 1)


NAMES = ["schemas", "totalResults", "Resources", "itemsPerPage", "startIndex", "nextCursor", "id", "emails"]
KEYS = st.sampled_from([*NAMES, "type", "primary", "value", "meta", "a", "a.b", "b", ""]) | st.text(
    max_size=3
)
LEAVES = st.none() | st.booleans() | st.integers(-2, 5) | st.floats(allow_nan=False) | st.text(max_size=3)
TYPES = st.sampled_from([LIST, USER, "work", "primary"])
VALUES = st.recursive(
    LEAVES | TYPES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4)
)
USERS = st.dictionaries(KEYS, VALUES, max_size=5).map(lambda more: {**user(0), **more})


@given(st.dictionaries(KEYS, VALUES, max_size=5), st.lists(USERS | VALUES, max_size=3))
def test_an_answer_of_scim_is_a_page_of_users_or_refused(more: dict[str, Any], people: list[Any]) -> None:
    honest = {"schemas": [LIST], "totalResults": len(people), "Resources": people}
    columns, walk = ResourceColumns(()), PageWalk("auto", 3, rows_max=100)
    with suppress(DirectoryFailed, ChangedError):
        page = parse_list_page(parse_body(json.dumps({**honest, **more}).encode()), 3)
        walk.after(page)
        for resource in page.resources:
            columns.take(resource)
        assert is_a_table(columns.answer())
