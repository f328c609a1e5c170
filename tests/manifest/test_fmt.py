"""The canonical form of manifests: what moves, what stays, and what keeps a file as it is."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.export import Exported
from reconciler.manifest.entries import top_level_kinds
from reconciler.manifest.export import ROSTER_ROWS_MIN, build_export_files
from reconciler.manifest.fmt import (
    _find_difference,
    _find_lost_comment,
    diff_formatted,
    format_manifest,
    list_body_keys,
)
from reconciler.model.address import Address
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import Scope
from reconciler.parsing.display import UNFIT_CHARACTERS
from reconciler.parsing.tree import read_tree

EXAMPLES = Path(__file__).parents[2] / "examples"
HEAD = "version: 1\nworkspace: ops\n"


def form(text: str) -> str:
    """Return the canonical form of a text that has one."""
    result = format_manifest(text.encode(), "ops.yaml")
    assert result.problems == ()
    return result.data.decode()


def entry(body: str) -> str:
    """Return a manifest with one contact, whose lines are given."""
    return f"{HEAD}contacts:\n  jane:\n{body}"


def stays(text: str) -> None:
    """Refuse to change a text, and say why."""
    result = format_manifest(text.encode(), "ops.yaml")
    assert result.data == text.encode()
    assert result.problems


def test_fields_stand_in_the_order_of_their_row() -> None:
    """As an export writes them, whatever the order was; what the program should do comes last."""
    keys = list_body_keys("contact")
    text = entry("    meta: {tags: {b: x, a: z}, protect: true}\n    lastName: Doe\n    firstName: Jane\n")
    assert form(text) == entry(
        "    firstName: Jane\n    lastName: Doe\n    meta: {protect: true, tags: {b: x, a: z}}\n"
    )
    assert keys[:2] == ("firstName", "lastName")
    assert keys[-3:] == ("messagingOptions", "devices", "meta")


def test_names_that_an_author_chose_stay_in_the_order_of_the_author() -> None:
    """Entries, tags, custom fields and columns: their order is somebody's, and that of columns is content."""
    text = (
        f"{HEAD}tags: {{b: x, a: z}}\ncontacts:\n  sam: {{firstName: Sam}}\n"
        "  jane:\n    firstName: Jane\n    custom: {c: x, a: z}\n"
        "resources:\n  rota:\n    content:\n      rows:\n        - {week: one, first: jane}\n"
    )
    assert form(text) == text


def test_a_blank_line_ends_a_group_of_keys() -> None:
    """A key that left its group would leave its heading."""
    text = entry(
        "    # names\n    lastName: Doe\n    firstName: Jane\n\n"
        "    # what is hers\n\n    timezone: Australia/Melbourne\n    jobTitle: Nurse\n"
    )
    assert form(text) == entry(
        "    firstName: Jane\n    # names\n    lastName: Doe\n\n"
        "    # what is hers\n\n    jobTitle: Nurse\n    timezone: Australia/Melbourne\n"
    )


def test_comments_stay_at_what_they_speak_of() -> None:
    text = (
        "# of the file\n# yaml-language-server: $schema=x\nworkspace: ops   # beside\nversion: 1\n"
        "contacts:  # all of them\n    # about jane\n    jane:    # the boss\n"
        "        lastName: Doe      # by marriage\n          # above the first name\n"
        "        firstName: Jane\n        # jobTitle: Nurse\n"
        "    # about sam\n    sam: {firstName: Sam}  # new\n"
        "    # no more\n# the end\n"
    )
    assert form(text) == (
        "# of the file\n# yaml-language-server: $schema=x\nversion: 1\nworkspace: ops   # beside\n"
        "contacts:  # all of them\n  # about jane\n  jane:      # the boss\n"
        "    # above the first name\n    firstName: Jane\n"
        "    lastName: Doe          # by marriage\n    # jobTitle: Nurse\n"
        "  # about sam\n  sam: {firstName: Sam}    # new\n  # no more\n# the end\n"
    )


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("'Jane'", "Jane"),
        ('"Jane Doe"', "Jane Doe"),
        ("'it''s'", '"it\'s"'),
        ("it's", "it's"),
        ("'C:\\x'", "'C:\\x'"),
        ('"\\u00e9"', '"\\u00e9"'),
        ("no", '"no"'),
        ("NO", '"NO"'),
        ("y", '"y"'),
        ("012", '"012"'),
        ("1e3", '"1e3"'),
        ("0o17", '"0o17"'),
        ("12:30", '"12:30"'),
        ("2024-01-01", '"2024-01-01"'),
        ("+61491570156", '"+61491570156"'),
        ("+61 491 570 156", "+61 491 570 156"),
        ("true", "true"),
        ('"true"', '"true"'),
        ("${env:NAME}", "${env:NAME}"),
        ('""', '""'),
        ("' x '", '" x "'),
        ("'a: b'", '"a: b"'),
    ],
)
def test_quotes_stand_where_some_reader_of_yaml_needs_them(written: str, canonical: str) -> None:
    """A value is text to us, and a number, a date or a truth value to others where it looks like one."""
    assert form(entry(f"    firstName: {written}\n")) == entry(f"    firstName: {canonical}\n")


def test_blocks_are_indented_by_two_and_brackets_over_several_lines_become_blocks() -> None:
    text = (
        f"{HEAD}removed:\n  contacts:\n  - jane\n"
        "contacts: {\n  sam: {firstName: Sam}, # new\n  # above\n  ann: {\n    }\n  }\n"
    )
    assert form(text) == (
        f"{HEAD}removed:\n  contacts:\n    - jane\n"
        "contacts:\n  sam: {firstName: Sam}  # new\n  # above\n  ann: {}\n"
    )


def test_texts_of_several_lines_keep_their_lines() -> None:
    text = (
        f"{HEAD}resources:\n    rota:\n        name: rota.csv\n        content:\n            text: |4\n"
        "                    indented\n                first\n\n\n        mimeType: text/csv\n"
        "    note:\n        name: >-\n           a\n           b\n        mimeType: a\n          b\n"
    )
    after = form(text)
    assert read_tree(after.encode(), "a.yaml").value == read_tree(text.encode(), "a.yaml").value
    assert "text: |2\n          " in after
    assert "name: >-\n      a\n      b\n" in after
    assert "mimeType: a\n      b\n" in after


def test_line_ends_stay_and_the_byte_order_mark_goes() -> None:
    """A file of Windows stays one; every line ends as the first one does."""
    text = entry("    firstName: 'Jane'\n    jobTitle: x").replace("\n", "\r\n")
    result = format_manifest(text.encode("utf-8-sig"), "a.yaml")
    assert result.data.decode() == entry("    firstName: Jane\n    jobTitle: x\n").replace("\n", "\r\n")


def test_a_marker_of_the_document_stays_and_blank_lines_are_single() -> None:
    text = f"# above\n---\n\n\n{HEAD}\n\n\ncontacts: {{}}\n\n...\n"
    assert form(text) == f"# above\n---\n{HEAD}\ncontacts: {{}}\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "# only a comment\n",
        "- a\n",
        entry("    firstName: &a Jane\n    lastName: *a\n"),
        entry("    <<: {firstName: Jane}\n"),
        entry("    firstName: !!str Jane\n"),
        entry("    firstName: Jane\n    firstName: Ann\n"),
        entry("    firstName:\n"),
        entry("\tfirstName: Jane\n"),
        entry("    firstName: Ja\u202ene\n"),
        entry("    firstName: Jane # \u202e\n"),
        entry("    firstName: Ja\x1b[2Jne\n"),
        f"{HEAD}---\n{HEAD}",
        "version: 1\nstack: ops\nservice: {base_url: x}\n",
        entry("    firstName: {\n"),
    ],
)
def test_what_cannot_be_read_stays_as_it_is(text: str) -> None:
    """Our reader judges, not a library that would take it: no alias is written out, no key of two dropped."""
    stays(text)


def test_a_form_that_would_not_be_read_again_keeps_the_file_as_it_is() -> None:
    """A key over two lines can only be written with a question mark, which is not done."""
    text = entry('    custom:\n      ? "two\n        words"\n      : x\n')
    result = format_manifest(text.encode(), "ops.yaml")
    assert result.data == text.encode()
    (problem,) = result.problems
    assert "would change the meaning of this; the file is unchanged" in problem.what
    assert problem.next


def test_every_difference_of_meaning_is_seen() -> None:
    """The last defence, whatever goes wrong before it: values, keys, their order where it is the author's."""
    before = read_tree(f"{HEAD}tags: {{a: x, b: y}}\nremoved: {{contacts: [a, b]}}\n".encode(), "a.yaml")
    others = {
        "value": f"{HEAD}tags: {{a: x, b: z}}\nremoved: {{contacts: [a, b]}}\n",
        "order of names": f"{HEAD}tags: {{b: y, a: x}}\nremoved: {{contacts: [a, b]}}\n",
        "order of items": f"{HEAD}tags: {{a: x, b: y}}\nremoved: {{contacts: [b, a]}}\n",
        "less": f"{HEAD}tags: {{a: x, b: y}}\nremoved: {{contacts: [a]}}\n",
        "more": f"{HEAD}tags: {{a: x, b: y}}\nremoved: {{contacts: [a, b], devices: [a/b]}}\n",
        "shape": f"{HEAD}tags: {{a: x, b: {{}}}}\nremoved: {{contacts: [a, b]}}\n",
        "broken": f"{HEAD}tags: {{\n",
    }
    seen = {
        why for why, text in others.items() if _find_difference(before, read_tree(text.encode(), "a.yaml"))
    }
    assert seen == set(others)
    same = f"removed: {{contacts: [a, b]}}\n{HEAD}tags: {{a: x, b: y}}\n"
    assert _find_difference(before, read_tree(same.encode(), "a.yaml")) is None


def test_a_comment_that_is_not_there_any_more_is_seen() -> None:
    assert _find_lost_comment("a.yaml", ["# a", "# a"], f"# a\n{HEAD}")
    assert _find_lost_comment("a.yaml", [], f"# a\n{HEAD}")
    assert _find_lost_comment("a.yaml", ["# a"], f"# a\n{HEAD}") is None


texts = st.text(max_size=12).filter(lambda text: not UNFIT_CHARACTERS.search(text))


@given(st.data())
def test_what_an_export_writes_is_canonical(data: st.DataObject) -> None:
    """Otherwise the first commit after an export would be rewritten by the next hook."""
    for kind in top_level_kinds().values():
        paths = [field.name for field in kind.declarable if not kind.structured.get(field.name)]
        paths = [path for path in paths if path != kind.content]
        if kind.custom:
            paths += [f"{kind.custom}.{name}" for name in ("b", "a", "no", "0010")]
        if "messagingOptions" in kind.structured:
            paths += ["messagingOptions.sms.primary", "messagingOptions.email.enabled"]
        count = data.draw(st.sampled_from([1, 2, ROSTER_ROWS_MIN]))
        chosen = data.draw(
            st.dictionaries(st.sampled_from(paths), st.one_of(texts, st.booleans()), min_size=1)
        )
        ignored = tuple(chosen)[: data.draw(st.integers(0, 2))] if count < ROSTER_ROWS_MIN else ()
        entries = [
            Exported(
                Address(f"{kind.name}/ops/n{number}"),
                "B2",
                chosen,
                content=bool(kind.content),
                ignored=ignored,
            )
            for number in range(count)
        ]
        for file in build_export_files(Scope(kind.name, "ops"), entries):
            if file.name.endswith(".yaml"):
                result = format_manifest(file.data, file.name)
                assert result.problems == ()
                assert result.data == file.data


def test_the_examples_are_canonical() -> None:
    """What people copy is what `fmt` would make of it."""
    files = [one for one in EXAMPLES.rglob("*.yaml") if "manifests" in one.parts]
    assert files
    assert [
        one.name for one in files if format_manifest(one.read_bytes(), one.name).data != one.read_bytes()
    ] == []


def test_secrets_do_not_stand_in_a_difference() -> None:
    """A diff is printed where everybody may read it, in CI above all; references are no secrets."""
    secret = "the-secret-0815"
    text = entry(
        f'    secretAnswer: "{secret}\n      {secret}"\n    password: {secret}\n    lastName: Doe\n'
        "    devices:\n      a: {status: x, pushToken: '${env:TOKEN}', appId: y}\n    firstName: Jane\n"
    )
    shown = "\n".join(diff_formatted("ops.yaml", text.encode(), form(text).encode()))
    assert secret not in shown
    assert "(secret)" in shown
    assert "${env:TOKEN}" in shown
    assert "+    firstName: Jane" in shown


def test_json_on_one_line_is_formatted_as_the_yaml_that_it_is() -> None:
    value = {"version": "1", "workspace": "ops", "contacts": {"jane": {"firstName": "Jane", "custom": {}}}}
    assert form(json.dumps(value)) == (
        'version: "1"\nworkspace: ops\ncontacts: {jane: {firstName: Jane, custom: {}}}\n'
    )


def test_every_kind_has_an_order() -> None:
    for kind in KINDS.values():
        assert {field.name for field in kind.keys} < {*list_body_keys(kind.name)}
