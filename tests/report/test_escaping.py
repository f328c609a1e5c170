"""Live data can never act on a terminal: named payloads first, then any text at all."""

import json
from collections.abc import Mapping

import pytest
import tally
from hypothesis import given
from hypothesis import strategies as st
from report.strategies import calm

from reconciler.cli.console.output import inert_json
from reconciler.report.escaping import escape_ci_commands, escape_ci_commands_in_json, escape_control

# What somebody could put into a name, and what we show instead.
PAYLOADS: Mapping[str, tuple[str, str]] = {
    "clear screen": ("\x1b[2J", r"\x1b[2J"),
    "cursor home": ("\x1b[1;1H", r"\x1b[1;1H"),
    "cursor up over the counts": ("\x1b[5A0 deletes", r"\x1b[5A0 deletes"),
    "erase line": ("\x1b[2K", r"\x1b[2K"),
    "red": ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
    "conceal": ("\x1b[8mhidden", r"\x1b[8mhidden"),
    "alternate screen": ("\x1b[?1049h", r"\x1b[?1049h"),
    "bracketed paste": ("\x1b[?2004l", r"\x1b[?2004l"),
    "window title": ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
    "title report": ("\x1b[21t", r"\x1b[21t"),
    "hyperlink": ("\x1b]8;;https://evil.example\x1b\\x", r"\x1b]8;;https://evil.example\x1b\x"),
    "clipboard": ("\x1b]52;c;cm0gLXJm\x07", r"\x1b]52;c;cm0gLXJm\x07"),
    "device control string": ("\x1bP$q\x1b\\", "\\x1bP$q\\x1b\\"),
    "answerback": ("\x05", r"\x05"),
    "reset terminal": ("\x1bc", r"\x1bc"),
    "charset switch": ("\x0e", r"\x0e"),
    "charset switch back": ("\x0f", r"\x0f"),
    "one-byte CSI": ("\x9b2J", r"\x9b2J"),
    "one-byte OSC": ("\x9d0;x\x9c", r"\x9d0;x\x9c"),
    "one-byte DCS": ("\x90q", r"\x90q"),
    "next line": ("a\x85b", r"a\x85b"),
    "carriage return": ("41 deletes\r0", r"41 deletes\r0"),
    "backspace": ("41\x08\x080", r"41\x08\x080"),
    "line feed": ("a\n- contact/ops/x", r"a\n- contact/ops/x"),
    "both line ends": ("a\r\nb", r"a\r\nb"),
    "tab": ("a\tb", r"a\tb"),
    "vertical tab": ("a\x0bb", r"a\x0bb"),
    "form feed": ("a\x0cb", r"a\x0cb"),
    "null": ("a\x00b", r"a\x00b"),
    "bell": ("\x07", r"\x07"),
    "delete": ("a\x7fb", r"a\x7fb"),
    "escape alone": ("\x1b", r"\x1b"),
    "end of file": ("\x04\x1a", r"\x04\x1a"),
    "group separator": ("\x1d\x1e\x1f", r"\x1d\x1e\x1f"),
    "line separator": ("a\u2028b", r"a\u2028b"),
    "paragraph separator": ("a\u2029b", r"a\u2029b"),
    "right-to-left override": ("\u202egpj.exe", r"\u202egpj.exe"),
    "left-to-right override": ("\u202da", r"\u202da"),
    "right-to-left embedding": ("\u202ba", r"\u202ba"),
    "left-to-right embedding": ("\u202aa", r"\u202aa"),
    "pop direction": ("\u202c", r"\u202c"),
    "right-to-left isolate": ("\u2067a\u2069", r"\u2067a\u2069"),
    "left-to-right isolate": ("\u2066a", r"\u2066a"),
    "first strong isolate": ("\u2068a", r"\u2068a"),
    "right-to-left mark": ("\u200fa", r"\u200fa"),
    "left-to-right mark": ("\u200ea", r"\u200ea"),
    "arabic letter mark": ("\u061ca", r"\u061ca"),
    "zero-width space": ("ad\u200bmin", r"ad\u200bmin"),
    "zero-width non-joiner": ("ad\u200cmin", r"ad\u200cmin"),
    "zero-width joiner": ("ad\u200dmin", r"ad\u200dmin"),
    "word joiner": ("ad\u2060min", r"ad\u2060min"),
    "invisible times": ("a\u2062b", r"a\u2062b"),
    "byte order mark": ("\ufeffa", r"\ufeffa"),
    "soft hyphen": ("ad\xadmin", r"ad\xadmin"),
    "mongolian vowel separator": ("a\u180eb", r"a\u180eb"),
    "combining grapheme joiner": ("a\u034fb", r"a\u034fb"),
    "hangul filler": ("\u3164", r"\u3164"),
    "half-width hangul filler": ("\uffa0", r"\uffa0"),
    "hangul choseong filler": ("\u115f", r"\u115f"),
    "blank braille": ("\u2800", r"\u2800"),
    "no-break space": ("a\xa0b", r"a\xa0b"),
    "em space": ("a\u2003b", r"a\u2003b"),
    "ideographic space": ("近\u3000藤", r"近\u3000藤"),
    "interlinear annotation": ("a\ufff9b\ufffbc", r"a\ufff9b\ufffbc"),
    "tag characters": ("a\U000e0041\U000e007f", r"a\U000e0041\U000e007f"),
    "language tag": ("\U000e0001", r"\U000e0001"),
    "high surrogate": ("a\ud800b", r"a\ud800b"),
    "low surrogate": ("\udfff", r"\udfff"),
    "private use": ("\ue000", r"\ue000"),
    "private use beyond": ("\U0010fffd", r"\U0010fffd"),
    "noncharacter": ("\uffff", r"\uffff"),
    "a row of variation selectors": (
        "a\ufe01\ufe02\ufe03",
        r"a\ufe01\ufe02\ufe03".replace(r"\ufe01", "\ufe01"),
    ),
    "a tower of marks": ("e" + "\u0301" * 6, "e" + "\u0301" * 4 + r"\u0301\u0301"),
}

HARMLESS = (
    "",
    "Jane Doe",
    "近藤",
    "é",
    "e\u0301",
    "Zoë Šimůnková-O'Neil",
    "Ω≈ç√",
    "שלום",
    "مرحبا",
    "नमस्ते",
    "สวัสดี",
    "🚒 ✈\ufe0f 1\ufe0f\u20e3",
    "[bold]not markup[/bold] [/x] {curly} `code` <b>",
    "+61491570156",
    "a\\nb",
    "→ … —",
)


@pytest.mark.parametrize(("text", "safe"), PAYLOADS.values(), ids=PAYLOADS.keys())
def test_a_payload_is_shown_as_what_it_is(text: str, safe: str) -> None:
    """The reader sees that there is something, and what; the terminal sees letters."""
    assert escape_control(text) == safe
    assert escape_control(text).isprintable()
    tally.count("bad inputs", "texts on a terminal")


def test_there_are_sixty_named_payloads_at_least() -> None:
    """Promise P17 counts them."""
    assert len(PAYLOADS) >= 60


@pytest.mark.parametrize("text", HARMLESS)
def test_what_people_write_is_unchanged(text: str) -> None:
    """Names of all scripts have to be readable; escapes are for what acts or hides."""
    assert escape_control(text) == text


@pytest.mark.parametrize(
    "code", [*range(0x20), *range(0x7F, 0xA1), *range(0x2028, 0x202F), *range(0x2066, 0x2070)]
)
def test_every_control_and_direction_character_is_escaped(code: int) -> None:
    assert escape_control(f"a{chr(code)}b").isascii()


@calm
@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=60), st.integers(0, 30))
def test_any_text_becomes_printable_and_stays_so(text: str, limit: int) -> None:
    """Printable, on one line, not longer than asked for, and the same when it passes twice."""
    safe = escape_control(text, limit=limit)

    assert safe.isprintable()
    assert safe.isascii() or safe.encode()
    assert not limit or len(safe) <= limit
    assert escape_control(safe, limit=limit) == safe


@calm
@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_printable_ascii_is_never_touched(text: str) -> None:
    assert escape_control(text) == text


def test_a_cut_text_ends_in_an_ellipsis() -> None:
    """A cut value must show that it was cut."""
    assert escape_control("0123456789", limit=10) == "0123456789"
    assert escape_control("0123456789a", limit=10) == "012345678…"
    assert escape_control("\x1b" * 10, limit=10) == r"\x1b\x1b\…"


# --- Commands of CI services: a runner reads the output of a job, and obeys some lines of it --------------
#
# The readers here are written after the runners' own: none of them may find a command in what we print.


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
