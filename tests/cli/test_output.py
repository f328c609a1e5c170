import io
import os
import pty
import re
import subprocess
import sys

import msgspec
import pytest
from waiting import asleep, patience_s, readable

from reconciler.cli.console import error_text, output
from reconciler.errors import (
    InputError,
    ManifestError,
    Problem,
    ReconcilerError,
    Rejected,
    UnsafePlan,
)
from reconciler.report.lines import Style

ends_within_s = 25.0  # promised are 2; a busy machine takes longer, and what nobody ends takes for ever
HOSTILE = "Jane\x1b[2J\r\x07 [bold]x[/bold] [/x] \u202e\u200b\x9b\U000e0041"


def printed(code: str, *, env: dict[str, str] | None = None) -> str:
    """What a program of ours prints on stdout when that is a pipe."""
    program = f"from reconciler.cli.console import output\nfrom reconciler.report.lines import line\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", program], env=env or {}, capture_output=True, timeout=patience_s, check=True
    )
    assert done.stderr == b""
    return done.stdout.decode()


def seen(code: str, *, env: dict[str, str] | None = None) -> str:
    """What a program of ours prints when stdin, stdout and stderr are a terminal."""
    ours, theirs = pty.openpty()
    program = f"from reconciler.cli.console import output\nfrom reconciler.report.lines import line\n{code}"
    process = subprocess.Popen(
        [sys.executable, "-c", program], env=env or {}, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    found = b""
    try:
        while chunk := os.read(ours, 65_536):
            found += chunk
    except OSError:  # how a terminal says that the other side has gone
        pass
    finally:
        os.close(ours)
    assert process.wait(patience_s) == 0
    return found.decode()


def test_live_data_cannot_act_on_a_terminal() -> None:
    """Whoever may write a name may otherwise rewrite the line that counts the deletes."""
    shown = printed(f"output.data({HOSTILE!r})")

    assert shown == ("Jane\\x1b[2J\\r\\x07 [bold]x[/bold] [/x] \\u202e\\u200b\\x9b\\U000e0041\n")


def test_live_data_is_never_markup() -> None:
    """A console that reads markup shows `[bold]` as bold and falls over `[/x]`."""
    shown = seen(f"output.lines([line({HOSTILE!r})])")

    assert "[bold]x[/bold] [/x]" in shown
    assert "\x1b" not in shown


def test_json_stays_json_and_is_inert() -> None:
    """A report must be as safe to look at as to parse."""
    text = msgspec.json.encode({"name": HOSTILE}).decode()

    shown = printed(f"output.json({text!r})")

    assert msgspec.json.decode(shown) == {"name": HOSTILE}
    assert not any(character in shown for character in "\x1b\r\x07\u202e\u200b\x9b\U000e0041")


def test_nothing_printed_is_an_order_to_a_ci_runner() -> None:
    """Every way out: data, notes, lines with and without colour, errors, questions and JSON."""
    name = "::set-env name=BASH_ENV::x ##[group]"
    calm = r"\x3a:set-env name=BASH_ENV::x \x23#[group]"
    ways = (
        f"data({name!r})",
        f"lines([line({name!r})])",
        f"note({name!r})",
        f"note_lines([line({name!r})])",
        f"usage({name!r}, 'x', as_json=False)",
        f"failure(OutputLost({name!r}), as_json=False)",
        f"json({msgspec.json.encode(name).decode()!r})",
    )
    program = "import sys; from reconciler.cli.console.output import *; sys.stderr = sys.stdout"

    shown = printed("\n".join([program, *ways, f"sys.stdout.write(render_for_stdout([line({name!r})]))"]))

    assert "##[" not in shown
    assert not any(row.lstrip().startswith("::") for row in shown.splitlines())
    assert sum(row.removesuffix(" [E042]") == calm for row in shown.splitlines()) == len(ways)
    assert seen(f"output.lines([line(({name!r}, 'warn'))])").count(calm) == 1


STYLES: tuple[tuple[Style, str], ...] = (
    ("create", "\x1b[32m"),
    ("update", "\x1b[33m"),
    ("delete", "\x1b[31m"),
    ("warn", "\x1b[35m"),
)


@pytest.mark.parametrize(("style", "code"), STYLES)
def test_colour_is_for_terminals(style: Style, code: str) -> None:
    """A file full of escape codes is of no use to anybody."""
    program = f"output.lines([line(('x', {style!r}), ' y')])"

    assert printed(program) == "x y\n"
    assert seen(program) == f"{code}x\x1b[0m y\r\n"


@pytest.mark.parametrize(
    ("env", "terminal", "pipe"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"CI": "true"}, False, False),
        ({"CI": "true", "FORCE_COLOR": "1"}, True, True),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_colour_follows_the_environment(env: dict[str, str], *, terminal: bool, pipe: bool) -> None:
    """NO_COLOR, FORCE_COLOR and CI mean here what they mean everywhere."""
    program = "output.lines([line(('x', 'delete'))])"

    assert ("\x1b[31m" in seen(program, env=env)) is terminal
    assert ("\x1b[31m" in printed(program, env=env)) is pipe


def test_long_lines_are_not_broken() -> None:
    """An address that was cut in two cannot be copied."""
    assert seen("output.lines([line('x' * 500, ('y' * 500, 'delete'))])").count("\n") == 1


NARROW = """
import fcntl, struct, termios
fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
output.lines([line("  next: ", ("reconciler plan " * 8, "dim"))])
"""


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}])
def test_a_narrow_terminal_breaks_between_words(env: dict[str, str]) -> None:
    """A command that a terminal breaks within a word cannot be read, and not be copied."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", seen(NARROW, env=env))

    assert [len(part.rstrip()) <= 60 for part in text.splitlines()] == [True] * 3
    assert text.split() == ["next:", *["reconciler", "plan"] * 8]


def test_progress_is_for_terminals_alone() -> None:
    """A log would keep every step of the bar."""
    program = "with output.progress() as bars: bars.advance('contacts in [ops]', 3, 10)"

    assert printed(program) == ""
    assert "contacts in [ops] 3/10" in seen(program)
    assert "\x1b[3" not in seen(program, env={"NO_COLOR": "1"})
    assert seen(program, env={"CI": "1"}) == ""


def test_what_is_shown_in_place_hides_our_secrets_too() -> None:
    """Answers to a message that is followed are shown so, and anybody may have written them."""
    program = (
        "output.conceal(lambda pieces: [''.join(pieces).replace('canary', '(secret)')])\n"
        "with output.live() as screen: screen.update([line('jane wrote: ', ('my canary', 'dim'))])"
    )

    assert "my (secret)" in seen(program)
    assert "canary" not in seen(program)


def test_a_reader_who_left_is_no_error() -> None:
    """`reconciler plan | head -1` must not end in a traceback, nor change what the command found."""
    program = """
from reconciler.cli.console import output
for _ in range(9999):
    output.data("x" * 99)
raise SystemExit(2)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()

    assert (process.returncode, said) == (2, "")


def test_a_reader_who_left_half_way_ends_a_text_in_pieces() -> None:
    """`reconciler plan --format json | head -1`: nothing more of it is made, and nothing is said."""
    program = """
from reconciler.cli.console import output
made = []
def pieces():
    for number in range(9999):
        made.append(number)
        yield "x" * 9999 + chr(10)
read = output.json_pieces(pieces())
raise SystemExit(2 if not read and len(made) < 9999 else 3)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()

    assert (process.returncode, said) == (2, "")


@pytest.mark.parametrize("printed_before", [0, 1, 9999])
def test_no_error_follows_half_a_document(printed_before: int) -> None:
    """What fails while JSON is made is told on stderr alone; before its first line it is JSON as ever."""
    program = f"""
from reconciler.cli.console import output
from reconciler.errors import ReconcilerError
def pieces():
    for number in range({printed_before}):
        yield '{{"half": 1,' + chr(10)
    raise MemoryError
try:
    output.json_pieces(pieces())
except MemoryError:
    output.failure(ReconcilerError("no memory is left."), as_json=True)
output.json('{{"whole": 1}}')
output.failure(ReconcilerError("another one."), as_json=True)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ended.stdout.count('"half"') == printed_before
    assert ended.stdout.count("no memory is left.") == (printed_before == 0)
    assert ended.stderr.count("no memory is left.") == 1
    assert "another one." in ended.stdout


def test_json_in_pieces_is_printed_as_the_whole_is() -> None:
    """What acts on a terminal, what orders a runner, what is secret: wherever a piece ends."""
    program = """
from reconciler.cli.console import output
from reconciler.model.secrets import Secret
from reconciler.model.settings import Auth
from reconciler.service.http.auth import Credentials
output.conceal(Credentials(Auth(Secret("u"), Secret("two words"), Secret("a-key-of-ours"))).conceal_pieces)
lines = ['{', ' "##[group]\\u202e": "a-key-of-ours",', ' "b": "two', 'words"', '}']
"""
    in_pieces = printed(f"{program}output.json_pieces(one + chr(10) for one in lines)")

    assert in_pieces == printed(f"{program}output.json(chr(10).join(lines))")
    assert in_pieces.count("(secret)") == 2


@pytest.mark.parametrize(
    "printing",
    ["data('x')", "json('[]')", "json_pieces(['[' + chr(10)] * 2)", "json_pieces(['[' * 99999] * 9)"],
)
def test_a_full_disk_under_stdout_is_an_error(printing: str) -> None:
    """A plan that was redirected and lost must not look like success."""
    program = f"""
from reconciler.cli.console import output
from reconciler.errors import FileError
try:
    output.{printing}
except FileError as error:
    output.failure(error, as_json=True)
    raise SystemExit(1)
"""
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device, not a path of ours
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=patience_s,
            check=False,
        )

    assert done.returncode == 1
    assert done.stderr == (
        "standard output cannot be written: no space left on device. [E042]\n"
        "  next: free space, or write elsewhere\n"
    )


def test_letters_that_the_terminal_does_not_know_are_escaped() -> None:
    """An old locale must not turn a name into a traceback."""
    shown = printed("output.data('Zoë 漢')", env={"PYTHONIOENCODING": "ascii"})

    assert shown == "Zo\\xeb \\u6f22\n"


def test_only_the_word_yes_is_yes() -> None:
    """Enter, y and the end of input are all no."""
    answers = []
    for answer in ("yes\n", "YES \n", "y\n", "\n", ""):
        done = subprocess.run(
            [sys.executable, "-c", "from reconciler.cli.console import output; print(output.confirm('Go?'))"],
            input=answer,
            capture_output=True,
            text=True,
            timeout=patience_s,
            check=True,
        )
        assert done.stderr == "Go? [yes/no] "
        answers.append(done.stdout.strip())

    assert answers == ["True", "True", "False", "False", "False"]


def test_an_error_says_problems_sentence_and_next() -> None:
    """The last line is what a person sees first: it is the way on."""
    problem = Problem("a.yaml", 3, 7, "fristName is not a field.", "did you mean firstName?", code="E208")
    error = ManifestError("the manifests hold 1 mistake.", next="mend it", problems=(problem,))

    assert shown(error) == (
        "a.yaml:3:7: fristName is not a field. [E208]\n  next: did you mean firstName?\n"
        "the manifests hold 1 mistake. [E002]\n  next: mend it\n"
    )


def test_a_refused_plan_shows_every_reason() -> None:
    """One consent for one reason must not come as a surprise at the next."""
    error = UnsafePlan("the plan is refused.", next="look", reasons=("12 deletes of 20.", "9 creates of 10."))

    assert (
        shown(error) == "the plan is refused. [E012]\n  12 deletes of 20.\n  9 creates of 10.\n  next: look\n"
    )


def shown(error: ReconcilerError) -> str:
    from reconciler.report.lines import plain  # noqa: PLC0415 - beside its one use

    return plain(error_text.error_lines(error))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            InputError("no.", next="yes", problems=(Problem("a", 1, 2, "w", "n", code="E100"),)),
            {
                "version": 1,
                "outcome": "invalid",
                "exit_code": 3,
                "code": "E001",
                "error": {"kind": "InputError", "message": "no.", "next": "yes"},
                "problems": [{"file": "a", "line": 1, "column": 2, "what": "w", "next": "n", "code": "E100"}],
            },
        ),
        (
            Rejected("no.", method="PUT", path="/contacts/1", status=422, code="X"),
            {
                "version": 1,
                "outcome": "failed",
                "exit_code": 1,
                "code": "E029",
                "error": {
                    "kind": "Rejected",
                    "message": "no.",
                    "next": "",
                    "method": "PUT",
                    "path": "/contacts/1",
                    "status": 422,
                    "code": "X",
                },
                "problems": [],
            },
        ),
        (
            UnsafePlan("no.", reasons=("r",)),
            {
                "version": 1,
                "outcome": "refused",
                "exit_code": 7,
                "code": "E012",
                "error": {"kind": "UnsafePlan", "message": "no.", "next": "", "reasons": ["r"]},
                "problems": [],
            },
        ),
    ],
)
def test_an_error_in_json_has_one_form(error: ReconcilerError, expected: object) -> None:
    """Programs read the outcome's word and the next step, not a sentence."""
    assert msgspec.json.decode(error_text.error_json(error)) == expected


def test_a_stream_without_a_descriptor_can_be_silenced() -> None:
    """Streams are replaced in tests and in notebooks."""
    output.silence_stream(io.StringIO())
    output.silence_stream(None)


def test_plain_lines_need_no_colour_library() -> None:
    """Rich takes 60 ms, and most output goes to pipes."""
    program = "output.lines([line('x')]); import sys; print('rich' in sys.modules)"

    assert printed(program) == "x\nFalse\n"


def test_a_thousand_mistakes_are_shown_and_the_others_counted() -> None:
    """Thousands of messages cannot be read; that there are more must be said."""
    problems = tuple(Problem("a.yaml", number, 0, "wrong.", code="E100") for number in range(1, 1202))
    error = InputError("the settings cannot be used.", problems=problems)

    lines = shown(error).splitlines()
    document = msgspec.json.decode(error_text.error_json(error))

    assert [one for one in lines if one.startswith("a.yaml:")] == [
        f"a.yaml:{n}: wrong. [E100]" for n in range(1, 1001)
    ]
    assert lines[1000:] == ["and 201 more", "the settings cannot be used. [E001]"]
    assert (len(document["problems"]), document["more"]) == (1000, 201)


ASKING = """
import os, signal, sys, threading
from reconciler.cli.console.output import confirm
def take():
    os.read({told}, 1)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
threading.Thread(target=take, daemon=True).start()
try:
    confirm("Carry out this plan?")
except KeyboardInterrupt:
    os._exit(130)
"""


def test_a_signal_that_ends_no_read_ends_the_question() -> None:
    """Another thread got it, or it came between the question and the read: a person would wait for ever."""
    told, tell = os.pipe()
    screen, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", ASKING.format(told=told)],
        stdin=terminal,
        stderr=terminal,
        pass_fds=[told],
    ) as process:
        try:
            shown = b""
            while b"[yes/no] " not in shown:
                assert readable(screen)
                shown += os.read(screen, 4096)
            asleep(process)  # a signal that comes before that is heard by whoever does not look for it, too
            os.write(tell, b"x")
            assert process.wait(ends_within_s) == 130
        finally:
            process.kill()
            for number in (told, tell, screen, terminal):
                os.close(number)
