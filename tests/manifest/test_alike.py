"""Entries that differ in their values alone are read by what the parser says of one of them."""

import pytest
from manifest.alike_files import describe, list_documents

from reconciler.manifest.alike import AlikeReader, learn_form
from reconciler.manifest.cutting import cut_sections
from reconciler.manifest.entries import name_entry
from reconciler.parsing.tree import Tree, read_tree

HEAD = "version: 1\nworkspace: ops\ncontacts:\n"
COUNT = 12


def _read(text: str, reader: AlikeReader | None = None) -> Tree | None:
    """What is read by forms; it has to be what the parser reads."""
    data = text.encode()
    whole = read_tree(data, "a.yaml", subject=name_entry)
    reader = reader or AlikeReader(least=1)
    found = reader.read_alike(data, "a.yaml", cut_sections(data))
    assert describe(reader.read(data, "a.yaml", cut_sections(data))) == describe(whole)
    assert found is None or describe(found) == describe(whole)
    assert found is None or list_documents(found) == list_documents(whole)
    return found


def _entries(form: str, count: int = COUNT) -> list[str]:
    return [form.replace("NAME", f"n{number}").replace("VALUE", f"x {number}") for number in range(count)]


ALIKE = {
    "texts without quotes": "  NAME:\n    firstName: VALUE\n    lastName: VALUE\n",
    "texts in quotes": "  NAME:\n    firstName: \"VALUE\"\n    lastName: 'VALUE'\n",
    "empty texts, and the same ones": '  NAME:\n    firstName: ""\n    lastName: VALUE\n',
    "mappings in brackets": '  NAME:\n    custom: {employeeId: "VALUE"}\n    jobTitle: "a\\\\b"\n',
    "mappings and lists below": "  NAME:\n    meta:\n      ignore:\n      - a\n    custom:\n      a: VALUE\n",
    "flags below": "  NAME:\n    messagingOptions:\n      sms: {enabled: 'true'}\n    jobTitle: VALUE\n",
    "constants": "  NAME:\n    jobTitle: a, b\n    department: a, b\n    firstName: VALUE\n",
    "comments and empty lines": "  NAME: # one\n\n    # more\n    firstName: VALUE\n",
    "other line ends": "  NAME:\r\n    firstName: VALUE\r\n    lastName: 'VALUE'\r\n",
}


@pytest.mark.parametrize("name", ALIKE)
def test_entries_of_one_form_are_read_by_it(name: str) -> None:
    """With their values, their order and their positions."""
    end = "\r\n" if "\r" in ALIKE[name] else "\n"
    found = _read(HEAD.replace("\n", end) + "".join(_entries(ALIKE[name])))

    assert found is not None
    assert len(found.value["contacts"]) == len(list_documents(found)) == COUNT


DOUBTFUL = {
    "a block text": "  NAME:\n    firstName: VALUE\n    lastName: |\n      VALUE\n",
    "a key behind a value": '  NAME:\n    custom: {a: "VALUE", b: "VALUE"}\n',
    "a secret": "  NAME:\n    password: VALUE\n",
    "a value in a comment": "  NAME:\n    firstName: VALUE # it: 'VALUE'\n    lastName: a\n",
    "a part of a value": "  NAME:\n    firstName: VALUE\n      and more\n",
    "a key that occurs twice": "  NAME:\n    firstName: VALUE\n    firstName: VALUE\n",
    "a null": "  NAME:\n    firstName: VALUE\n    lastName:\n",
    "an anchor": "  NAME:\n    firstName: VALUE\n    lastName: &a b\n",
    "no mapping": "  NAME: 'VALUE'\n",
    "two entries": "  NAME:\n    firstName: VALUE\n  ? b\n  : c\n",
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_form_that_leaves_a_doubt_is_not_learned(name: str) -> None:
    """The parser reads each of its entries."""
    assert learn_form("contacts", 2, DOUBTFUL[name].replace("NAME", "n").replace("VALUE", "x")) is None
    _read(HEAD + "".join(_entries(DOUBTFUL[name])))


PLAIN = "  NAME:\n    firstName: VALUE\n    lastName: 'VALUE'\n"
ODD = {
    "a null": _entries(PLAIN)[0].replace("x 0", "null", 1),
    "a comment": _entries(PLAIN)[0].replace("x 0", "x #0", 1),
    "a mapping": _entries(PLAIN)[0].replace("x 0", "x: 0", 1),
    "an alias": _entries(PLAIN)[0].replace("x 0", "*x", 1),
    "brackets": _entries(PLAIN)[0].replace("x 0", "{x: y}", 1),
    "a quote": _entries(PLAIN)[0].replace("'x 0'", "'x''0'"),
    "a long text": _entries(PLAIN)[0].replace("x 0", "x" * 2000, 1),
    "a name that is null": _entries(PLAIN)[0].replace("n0", "null"),
    "a name of a secret": _entries(PLAIN)[0].replace("n0", "password"),
    "a name that occurs twice": _entries(PLAIN)[0].replace("n0", "n7"),
    "a longer last line": _entries(PLAIN)[0] + "      and more\n",
    "a tab": _entries(PLAIN)[0].replace("    lastName", "\tlastName"),
    "another document": "---\n" + _entries(PLAIN)[0],
    "bytes that are no text": _entries(PLAIN)[0].replace("x 0", "\x80", 1),
}


@pytest.mark.parametrize("name", ODD)
def test_an_entry_of_no_form_means_what_the_parser_reads(name: str) -> None:
    """Among others of a form, at the beginning, in the middle and at the end."""
    others = _entries(PLAIN)[1:]
    for at in (0, 6, len(others)):
        _read(HEAD + "".join([*others[:at], ODD[name], *others[at:]]))


def test_what_only_seems_to_be_a_section_is_not_read_as_one() -> None:
    """The parser says where entries stand: here they are a text, and in brackets."""
    people = "".join(_entries(PLAIN))

    assert _read(f"version: 1\nworkspace: 'a\ncontacts:\n{people}'\n") is None
    assert _read(f"version: 1\nworkspace: ops\ncontacts:\n  {{a: {{firstName: b}},\n{people}  }}\n") is None


def test_a_form_serves_the_next_file_too() -> None:
    """Manifests of one author are written alike."""
    reader = AlikeReader(least=1)
    assert _read(HEAD + "".join(_entries(PLAIN)), reader) is not None

    assert _read(HEAD + "".join(_entries(PLAIN, 2)), reader) is not None
    assert _read(HEAD + "".join(_entries(PLAIN, 2)), AlikeReader(least=1)) is None


def test_few_entries_are_parsed() -> None:
    """Their sample would cost more than it spares."""
    data = (HEAD + "".join(_entries(PLAIN))).encode()

    assert AlikeReader().read_alike(data, "a.yaml", cut_sections(data)) is None


def test_an_encrypted_file_is_refused() -> None:
    """What says that it is encrypted may stand in its values alone."""
    people = [one.replace("'x", "'ENC[AES256_GCM,data:x") for one in _entries(PLAIN)]

    assert _read("".join([HEAD, *people, "sops: {version: 3}\n"])) is None


def test_a_file_in_an_unfinished_merge_is_refused() -> None:
    """Whatever its entries look like."""
    people = _entries(PLAIN)
    text = "".join([HEAD, "<<<<<<< ours\n", *people[:6], "=======\n", *people[6:], ">>>>>>> theirs\n"])

    assert _read(text) is None
