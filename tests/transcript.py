"""Transcripts of a page: the blocks fenced as ```console, run in order against a sandbox of their own.

A line that begins with `$ ` is a command, `> ` behind it carries it on, everything else is what it prints
(stdout and stderr as they come). Where a block shows output it must be the whole of it; `…` stands for any
text within a line, and alone on a line for any lines. A command has to succeed, unless `$ echo $?` follows.

All commands of a page share one shell, which starts in a folder that holds a copy of `examples/` and the
command as `.venv/bin/reconciler`, also on the PATH. `reconciler sandbox` is started beside the shell, on a
free port; the ports 8480 to 8489 of commands, settings and output mean free ones. Nothing of this machine's
environment is seen.
"""

import re
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import warm
from copies import copied

ROOT = Path(__file__).parents[1]
written_ports = [str(port) for port in range(8480, 8490)]  # 8480 is the default of `reconciler sandbox`
command_timeout_s = 60.0  # seconds for one command of a page; the slowest takes three

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_END = re.compile(r"\n?@@(?P<code>[0-9]+)@@\n\Z")


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a page: the line where it stands, its text, and the output shown for it."""

    line: int
    command: str
    output: str


@dataclass(frozen=True, slots=True)
class Told:
    """What a command did."""

    code: int
    output: str


def blocks(page: str) -> list[list[Step]]:
    """Return the steps of every transcript in a page, block by block."""
    return [
        list(_steps(found[1], page.count("\n", 0, found.start(1)) + 1)) for found in _BLOCK.finditer(page)
    ]


def _steps(block: str, first: int) -> Iterator[Step]:
    start, command = 0, ""
    output: list[str] = []
    for number, line in enumerate(block.splitlines(), first):
        if line.startswith("$ "):
            if command:
                yield Step(start, command, "\n".join(output))
            start, command, output = number, line[2:], []
        elif line.startswith("> ") and command and not output:
            command += f"\n{line[2:]}"
        else:
            assert command, f"line {number}: a transcript begins with a command"
            output.append(line)
    if command:
        yield Step(start, command, "\n".join(output))


def matches(shown: str, told: str) -> bool:
    """Whether a command told what is shown of it. Spaces at the ends of lines do not count."""
    pieces = []
    for line in (line.rstrip() for line in shown.strip("\n").splitlines()):
        whole = r"(?:[^\n]*\n)*?" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r"\n"
        pieces.append(whole)
    plain = "\n".join(line.rstrip() for line in told.strip("\n").splitlines())
    return re.fullmatch("".join(pieces), f"{plain}\n") is not None


def run_page(page: str, folder: Path) -> Iterator[str]:
    """Run the transcripts of a page in `folder`, an empty one; yield what is wrong, with its line."""
    with _shell(folder) as shell:
        for block in blocks(page):
            for step, after in zip(block, [*block[1:], None], strict=True):
                told = shell.run(step.command)
                forgiven = after is not None and after.command == "echo $?"
                if told.code and not forgiven:
                    yield f"line {step.line}: {step.command}: ended with {told.code}:\n{told.output}"
                elif step.output and not matches(step.output, told.output):
                    front = f"line {step.line}: {step.command}: the page shows"
                    yield f"{front}\n{step.output}\nand it is\n{told.output}"


@contextmanager
def _shell(folder: Path) -> "Iterator[_Shell]":
    ports = dict(zip(written_ports, _free_ports(len(written_ports)), strict=True))
    copied(ROOT / "examples", folder / "examples")
    for file in (folder / "examples").rglob("reconciler.yaml"):
        file.write_text(_replaced(file.read_text(encoding="utf-8"), ports), encoding="utf-8")
    (folder / ".git").mkdir()  # settings are looked for upwards, and not beyond this
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    python = shlex.quote(sys.executable)
    program, door = warm.in_a_shell(python)
    _program(programs / "reconciler", program)
    # Pages speak of curl, which a machine need not have: as much of it as they use.
    _program(programs / "curl", f'exec {python} -c {shlex.quote(_CURL)} "$@"')
    shell = _Shell(folder, ports, programs, door)
    try:
        yield shell
    finally:
        shell.close()


_CURL = """
import base64, sys, urllib.request
silent, u, user, address, d, data = sys.argv[1:]
assert (silent, u, d) == ("-s", "-u", "-d"), "only `curl -s -u USER:PASSWORD ADDRESS -d DATA` is known here"
request = urllib.request.Request(address, data.encode())
request.add_header("Authorization", "Basic " + base64.b64encode(user.encode()).decode())
print(urllib.request.urlopen(request).read().decode(), end="")
"""


def _program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def _free_ports(count: int) -> list[str]:
    """Return ports that nobody listens on, all different."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [str(one.getsockname()[1]) for one in sockets]


def _replaced(text: str, ports: Mapping[str, str]) -> str:
    return re.sub(rf"\b({'|'.join(ports)})\b", lambda found: ports[found[1]], text)


class _Shell:
    """One `sh`, and the sandboxes beside it."""

    def __init__(self, folder: Path, ports: Mapping[str, str], programs: Path, door: int) -> None:
        self._folder = folder
        self._ports = ports
        self._environ = {
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            "RECONCILER_LOCK_IN_SERVICE": "never",  # it waits for real seconds
        }
        self._sandboxes: list[warm.Command] = []
        self._process = subprocess.Popen(
            ["sh"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            env=self._environ,
            cwd=folder,
            pass_fds=[door],
        )

    def run(self, command: str) -> Told:
        """Run one command to its end, or start a sandbox; ports are those of the page again in the output."""
        command = _replaced(command, self._ports)
        if re.match(r"(\S*/)?reconciler sandbox\b", command):
            return self._sandbox(shlex.split(command.rstrip(" &"), comments=True))
        assert self._process.stdin is not None
        # Standard input is this very script, which no command may read.
        self._process.stdin.write(
            f"{{\n{command}\n}} </dev/null\n__code=$?; printf '\\n@@%s@@\\n' $__code; (exit $__code)\n"
        )
        self._process.stdin.flush()
        timer = threading.Timer(command_timeout_s, self._process.kill)
        timer.start()
        try:
            return self._told()
        finally:
            timer.cancel()

    def _told(self) -> Told:
        assert self._process.stdout is not None
        text = ""
        for line in self._process.stdout:
            text += line
            if found := _END.search(text):
                return Told(int(found["code"]), self._as_written(text[: found.start()]))
        return Told(-1, f"{text}\nthe shell ended, or the command took over {command_timeout_s:g} s")

    def _sandbox(self, words: list[str]) -> Told:
        port = [] if "--port" in words else ["--port", self._ports[written_ports[0]]]
        process = warm.start(
            *(*words[1:], *port),
            cwd=self._folder,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        self._sandboxes.append(process)
        assert process.stdout is not None
        ready = process.stdout.readline()
        code = 0 if ready.startswith("sandbox ready at") else process.wait(command_timeout_s)
        return Told(code, self._as_written(ready))

    def _as_written(self, text: str) -> str:
        return _replaced(text, {port: written for written, port in self._ports.items()})

    def close(self) -> None:
        """End what was started here."""
        started: tuple[warm.Command | subprocess.Popen[str], ...] = (*self._sandboxes, self._process)
        for process in started:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            if process.stdout is not None:
                process.stdout.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
