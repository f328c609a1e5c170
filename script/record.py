# noqa: INP001 - a script, started by script/record; part of no package
"""Make the pictures of the README: what a terminal shows of real commands, and the HTML report in a browser.

The commands run against a sandbox of their own, in a copy of examples/quickstart. What differs from run to
run (ids, digests, times) is `…` in the picture, as it is in the transcripts of the pages, so that two
recordings are the same bytes. The SVG names no font of another host: it is drawn with what the reader has.
"""

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import CONSOLE_SVG_FORMAT, Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
WIDTH = 100  # columns
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
EDIT = "sed -i.bak 's/jobTitle: Engineer/jobTitle: Senior Engineer/' manifests/team.yaml"
SHOWN = (  # a command, and how many lines of it are left out in the middle, from which line on
    ("reconciler plan", (11, 26)),
    ("reconciler apply --yes", (1, 38)),
    (EDIT, None),
    ("reconciler plan", None),
)
VARIES = (  # what no two runs share
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:8480"),
    (re.compile(r"(fingerprint )[0-9a-f]{4} [0-9a-f]{4}"), r"\1…"),
    (re.compile(r"(run )[0-9a-f-]{36}"), r"\1…"),
    (re.compile(r"(trace )[0-9a-f-]+"), r"\1…"),
    (re.compile(r"(history \d+:)[0-9a-f]+"), r"\1…"),
    (re.compile(r"\d+ calls \(\d+ GET"), "… calls (… GET"),  # one more for each look that was too old
    (re.compile(r", \d+ writes? held back"), ""),
    (re.compile(r"\b(?:under 1|\d+(?:\.\d+)?) (m?s)\b"), r"… \1"),
)
# The theme of rich, less the fonts that it would fetch.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace(
    "font-family: Fira Code, monospace", "font-family: ui-monospace, Menlo, Consolas, monospace"
)


@contextmanager
def project() -> "Iterator[tuple[Path, Mapping[str, str]]]":
    """A copy of the quickstart with a sandbox of its own, and the environment of its commands."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder) / "quickstart"
        shutil.copytree(ROOT / "examples" / "quickstart", here, ignore=shutil.ignore_patterns(".reconciler"))
        environ = {
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": folder,
            "LANG": "C.UTF-8",
            "COLUMNS": str(WIDTH),
            "FORCE_COLOR": "1",
            "SVC_USER": "demo",
            "SVC_PASSWORD": "demo",
            "SVC_API_KEY": "demo-key",
            "RECONCILER_LOCK_IN_SERVICE": "never",  # it waits for real seconds, and is not shown here
        }
        words = [sys.executable, "-m", "reconciler", "sandbox", "--port", "0"]
        with subprocess.Popen(  # noqa: S603 - our own command
            words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environ, cwd=here
        ) as sandbox:
            try:
                assert sandbox.stdout is not None  # noqa: S101 - asked for
                address = sandbox.stdout.readline().split()[-1]
                settings = here / "reconciler.yaml"
                settings.write_text(settings.read_text().replace("http://127.0.0.1:8480", address))
                for path in (here, *here.rglob("*")):  # the program reads no settings that others may write
                    path.chmod(0o755 if path.is_dir() else 0o644)
                yield here, environ
            finally:
                sandbox.send_signal(signal.SIGTERM)


def told(command: str, here: Path, environ: Mapping[str, str]) -> str:
    """Run a command; return what it prints, in colours."""
    words = ["sh", "-c", command]
    done = subprocess.run(words, cwd=here, env=environ, capture_output=True, text=True, check=True)  # noqa: S603 - our own commands
    return done.stdout + done.stderr


def terminal(here: Path, environ: Mapping[str, str]) -> str:
    """Return the recording as SVG."""
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    for command, cut in SHOWN:
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")), soft_wrap=True)
        lines = told(command, here, environ).rstrip().splitlines()
        if cut:
            lines[slice(*cut)] = ["…"]
        for line in lines:
            console.print(Text.from_ansi(_steady(line)), soft_wrap=True)
        console.print()
    return console.export_svg(title="reconciler", code_format=FORMAT, unique_id="terminal")


def _steady(line: str) -> str:
    for pattern, instead in VARIES:
        line = pattern.sub(instead, line)
    return line


def report(here: Path, environ: Mapping[str, str]) -> bytes:
    """Return a picture of the HTML report as PNG: of the plan at the end of the recording, and a delete."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), "")
    if not browser:
        sys.exit(f"script/record: the picture of the report needs a browser, one of {', '.join(BROWSERS)}.")
    told("sed -i.bak '/^  ada-king:/,/^$/d' manifests/team.yaml", here, environ)
    told("reconciler plan --report html=plan.html --show-values", here, environ)
    page_file = here / "plan.html"
    page_file.write_text(_steady(page_file.read_text(encoding="utf-8")), encoding="utf-8")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=browser, args=arguments)
        page = started.new_page(viewport={"width": 1000, "height": 1000}, color_scheme="light")
        page.goto(page_file.as_uri())
        picture = page.screenshot()
        started.close()
    return picture


def main(arguments: list[str]) -> None:
    """Make what was asked for, or both pictures in their places."""
    chosen = dict(zip(arguments[::2], arguments[1::2], strict=True))
    places = chosen or {"--svg": str(IMAGES / "terminal.svg"), "--png": str(IMAGES / "report.png")}
    with project() as (here, environ):
        recording = terminal(here, environ)
        if "--svg" in places:
            Path(places["--svg"]).write_text(recording, encoding="utf-8")
        if "--png" in places:
            Path(places["--png"]).write_bytes(report(here, environ))


if __name__ == "__main__":
    main(sys.argv[1:])
