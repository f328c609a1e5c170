"""What we print is an order to nobody. The runners of CI services read a job's output, and obey some of it.

The readers here are written after the runners' own: what each of them takes for an order, it must not find.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.cli.console.output import inert_json
from reconciler.report.escaping import escape_ci_commands, escape_ci_commands_in_json, escape_control


def github(line: str) -> bool:
    """Two colons at the start, after any space; in the older form `##[` anywhere."""
    return line.lstrip().startswith("::") or "##[" in line


def azure(line: str) -> bool:
    """Its commands and its marks for the log."""
    return "##vso[" in line or "##[" in line


def teamcity(line: str) -> bool:
    return "##teamcity[" in line


def obeyed(text: str) -> list[str]:
    """The lines that one of them would carry out, wherever it sees the end of a line."""
    return [line for line in text.splitlines() if github(line) or azure(line) or teamcity(line)]


ORDERS = [
    "::set-env name=BASH_ENV::env.sh",
    "  ::add-mask::e",
    "\t::stop-commands::x",
    "\u3000::error::x",
    "a\n::warning file=x::y",
    "a\r::debug::x",
    "a\r\n ::group::x",
    "a\x85::endgroup::",
    ":::notice::x",
    "##[command]x",
    "Jane ##[set-env name=PATH;]x",
    "###[section]x",
    "##vso[task.setvariable variable=PATH]x",
    "#####vso[task.complete]x",
    "##teamcity[setParameter name='x']",
]


@pytest.mark.parametrize("text", ORDERS)
def test_no_order_in_a_text_is_obeyed(text: str) -> None:
    """A contact's name, a file's name or an error of the service would set variables of the next step."""
    assert obeyed(text)

    assert obeyed(escape_ci_commands(text)) == []
    assert obeyed(escape_ci_commands(escape_control(text))) == []


@pytest.mark.parametrize("text", ORDERS)
def test_no_order_in_json_is_obeyed_and_it_means_the_same(text: str) -> None:
    printed = inert_json(json.dumps({"name": text, "names": [text]}, indent=2, ensure_ascii=False))

    assert obeyed(printed) == []
    assert json.loads(printed) == {"name": text, "names": [text]}


@given(st.text(st.sampled_from(" \t\n\r:#[]avso\\x\x85\u2028")))
def test_nothing_that_is_printed_is_an_order(text: str) -> None:
    """Whatever stands before, between and after the characters of one."""
    assert obeyed(escape_ci_commands(text)) == []
    assert obeyed(escape_ci_commands_in_json(json.dumps([text]))) == []
    assert json.loads(escape_ci_commands_in_json(json.dumps([text]))) == [text]


@pytest.mark.parametrize(
    "text", ["a::b", "fe80::1", "# Heading", "## [link]", "#[x]", "C#", "12:30", ": x", "x ::"]
)
def test_what_is_no_order_is_shown_as_it_is(text: str) -> None:
    """Addresses, times and headings are read by people."""
    assert escape_ci_commands(text) == text


def test_an_order_is_still_readable() -> None:
    assert escape_ci_commands("::error::Jane") == r"\x3a:error::Jane"
    assert escape_ci_commands("##[error]Jane") == r"\x23#[error]Jane"
