"""Files of variables: what is written comes back, and what is read is what a shell would make of it."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from waiting import patience_s

from reconciler.core.envfile import BadEnvLine, EnvVariable, format_env, mistakes_max, parse_env

# Whatever a value may be, and more: line breaks and quotes too. A NUL is in no variable of any system.
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True)

# A line that a shell reads as one value, and this value.
READ = {
    "A=plain": "plain",
    "export A=plain": "plain",
    "  A=plain  # said by nobody": "plain",
    "A=a#b": "a#b",
    "A=": "",
    "A=''": "",
    "A=b=c==": "b=c==",
    "A='it'\\''s'": "it's",
    'A="it\'s"': "it's",
    'A="a\\"b\\\\c\\$d\\`e\\f"': 'a"b\\c$d`e\\f',
    "A=a\\ b": "a b",
    "A=a'b c'\"d e\"": "ab cd e",
    "A='#no comment'": "#no comment",
    "A=münchen": "münchen",
    "A='two\nlines'": "two\nlines",
    'A="one\\\nline"': "oneline",
    "A=[a]{b,c}*?!": "[a]{b,c}*?!",
}
# Lines that are no value, or more than one.
REFUSED = (
    "A=$HOME",
    'A="$HOME"',
    "A=`id`",
    'A="`id`"',
    "A=$(id)",
    "A=~",
    "A=a b",
    "A=a; id",
    "A=a & id",
    "A=a > b",
    "A=(a b)",
    "A='open",
    'A="open',
    "A=a\\",
    "A = a",
    "1A=a",
    "A-B=a",
    "A",
    "canary",
    "\ufeffA=a",
    "A=a\r",
    "A='a'\r",
    "A=a\0b",
    "A='a\0b'",
)


@given(st.dictionaries(NAMES, TEXTS))
@example({"A": "'", "B": "\n", "C": "\r\n", "D": "# =", "E": "\\'", "F": "", "G": " "})
def test_every_text_that_is_written_comes_back(values: dict[str, str]) -> None:
    """A token that came back as another one would be sent, and somebody would not be reached."""
    found = list(parse_env(format_env(values)))

    assert [(one.name, one.value) for one in found if isinstance(one, EnvVariable)] == sorted(values.items())
    assert len(found) == len(values)


def test_a_line_of_a_comment_gives_nothing() -> None:
    """What nobody can read is a comment until somebody fills it in."""
    assert list(parse_env(format_env({"CALLBACK_KEY": None}))) == []


@pytest.mark.parametrize("line", READ)
def test_what_is_read_is_what_a_shell_reads(line: str, tmp_path: Path) -> None:
    """The same file may be sourced by a job: both have to see the same values."""
    (tmp_path / "x.env").write_text(f"{line}\n")
    command = ["/bin/sh", "-c", f'. {tmp_path / "x.env"}; printf %s. "$A"']
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=patience_s)

    found = list(parse_env(line))

    assert found == [EnvVariable("A", READ[line], 1)] == list(parse_env(f"{line}\n"))
    assert done.stdout == f"{READ[line]}."


@pytest.mark.parametrize("line", REFUSED)
def test_what_a_shell_would_expand_or_split_is_a_mistake(line: str) -> None:
    """Nothing is guessed; the text is a secret, and no mistake quotes it. What follows is read."""
    bad, *rest = parse_env(f"# first\n{line}\nB=b\n")

    assert isinstance(bad, BadEnvLine)
    assert bad.line == 2
    assert "canary" not in f"{bad.what}{bad.next}"
    assert rest in ([EnvVariable("B", "b", 3)], [])
    assert rest or "quotation" in bad.what or line == "A=a\\"


def test_lines_are_counted_over_values_of_several() -> None:
    """A number that is off by one sends somebody to the wrong secret."""
    assert [one.line for one in parse_env("A='1\n2\n3'\n\nB=b\n?\n")] == [1, 5, 6]


def test_a_file_of_something_else_is_given_up_soon() -> None:
    """A binary file by mistake: a few mistakes say as much as a million."""
    assert len(list(parse_env("?\n" * 100_000))) == mistakes_max


def test_no_assignment_shows_its_value() -> None:
    """A traceback or a debugger shows the repr."""
    assert "canary" not in repr(EnvVariable("A", "canary", 1))
