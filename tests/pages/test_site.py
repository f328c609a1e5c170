"""The site of the pages, as files: built without a warning, whole, and asking nothing of anybody else."""

import html
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from project.test_docs import _blocks, _pages, _prose

# The addresses of other hosts that pages lead to. They are not asked for here: say why each is needed.
ELSEWHERE = {
    "https://age-encryption.org/v1": "the format of encrypted plans",
    "https://github.com/yaml/yaml-test-suite": "where the cases of YAML come from",
    "https://www.conftest.dev": "a program that policy.check may call",
    "https://keepachangelog.com": "the form of the list of changes",
    "https://www.openpolicyagent.org": "a program that policy.check may call",
    "https://www.standardwebhooks.com": "how notifications are signed",
    "https://opentelemetry.io/docs/specs/otel/protocol/exporter/": "where telemetry goes, by variables",
    "https://pre-commit.com": "what runs the hooks that a project gets",
    "https://semver.org": "what the numbers of versions mean",
}
# What a page loads by itself, and what it leads to, by element and attribute.
LOADS = {
    ("audio", "src"),
    ("embed", "src"),
    ("iframe", "src"),
    ("img", "src"),
    ("img", "srcset"),
    ("link", "href"),
    ("object", "data"),
    ("script", "src"),
    ("source", "src"),
    ("video", "src"),
}
LEADS = ("a", "href")
# Markdown that a reader of the site would see as it was typed.
RAW = re.compile(
    r"^\|[^\n]*\||^[-*] \S|\[[^\]\n]{2,60}\]\([^)\n]*\)|`[^`\n]{1,50}`|\*\*[^*\n]{2,40}\*\*|^#{1,6} \S",
    re.MULTILINE,
)


class Document(HTMLParser):
    """What one page of the site names: ids, links, what it loads, its policy, its text outside of code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.policy = ""
        self.acting: list[str] = []
        self.texts: list[str] = []
        self._silent = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self._silent += tag in {"code", "script", "style"}
        self.ids |= {named[name] for name in ("id", "name") if named.get(name)}
        for name, value in named.items():
            if (tag, name) in LOADS and named.get("rel") not in {"next", "prev"}:
                self.loaded.append(value)
            elif (tag, name) == LEADS or tag == "link":
                self.links.append(value) if name == "href" else None
            elif name.startswith("on") or name == "style":
                self.acting.append(f"<{tag} {name}>")
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"]

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in {"code", "script", "style"}

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.texts.append(data)


@cache
def document(path: Path) -> Document:
    return Document(path.read_text(encoding="utf-8"))


def pages(site: Path) -> list[Path]:
    found = sorted(path for path in site.rglob("*.html"))
    assert len(found) > 30
    return found


def broken(site: Path, page: Path, link: str) -> str:
    """Say what is wrong with a link, or ""; of another host only its scheme is looked at."""
    parts = urlsplit(html.unescape(link))
    if parts.scheme or parts.netloc:
        return "" if link in ELSEWHERE else "an address of another host that is not in the list"
    base = site if parts.path.startswith("/") else page.parent
    target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else page
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file() or not target.is_relative_to(site):
        return "there is no such file"
    anchor = unquote(parts.fragment)
    if anchor and anchor not in document(target).ids:
        return "there is no such anchor"
    return ""


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    """A page, and a heading of it: GitHub and the site make the same anchors."""
    wrong = [
        f"{page.relative_to(site)}: {link}: {why}"
        for page in pages(site)
        for link in (*document(page).links, *document(page).loaded)
        if (why := broken(site, page, link))
    ]

    assert wrong == []


def test_no_page_loads_anything_of_another_host(site: Path) -> None:
    """Nobody learns who reads them, and they work where there is no network."""
    found = [
        (page.name, one)
        for page in pages(site)
        for one in document(page).loaded
        if urlsplit(one).scheme not in {"", "data"} or urlsplit(one).netloc
    ]
    styles = [
        path
        for path in site.rglob("*.css")
        if re.search(r"(?:url\(|@import )[\"']?(?:https?:)?//", path.read_text())
    ]

    assert (found, styles) == ([], [])


def test_every_page_allows_its_own_scripts_and_no_others(site: Path) -> None:
    """That browsers heed it is held in test_browser.py: a script that one refuses is an error there."""
    for page in pages(site):
        policy = dict(part.strip().split(" ", 1) for part in document(page).policy.split(";"))
        assert policy["default-src"] == "'none'"
        assert all(word == "'self'" or word.startswith("'sha256-") for word in policy["script-src"].split())
        assert policy["style-src"] == policy["connect-src"] == "'self'"
        assert document(page).acting == []


def test_no_page_shows_markdown(site: Path) -> None:
    """A list or a table that one reader of Markdown takes and another does not."""
    found = [
        (page.name, seen[0])
        for page in pages(site)
        for text in document(page).texts
        if (seen := RAW.search(text))
    ]

    assert found == []


def test_addresses_of_other_hosts_are_known_and_encrypted() -> None:
    """They are listed by hand, so that nobody adds one in passing; none is asked for by a test."""
    named = {
        found.rstrip(".,")
        for page in _pages()
        for found in re.findall(r"\]\((https?://[^)\s]+)\)", _prose(page))
    }

    assert {one for one in named if one not in ELSEWHERE} == set()
    assert {one for one in ELSEWHERE if not one.startswith("https://") or one not in named} == set()


@pytest.mark.parametrize("text", ["| a | b |", "- one", "see [x y](z.md)", "`code`", "**bold**", "## Head"])
def test_markdown_that_is_shown_is_noticed(text: str) -> None:
    assert RAW.search(text)


# Commands in pages that people follow.

FOLLOWED = ("docs/tutorial.md", "docs/index.md", "docs/comparison.md", "docs/guides/")
SHELL = ("", "sh", "bash", "shell", "zsh", "console")
NOT_RUN = re.compile(r"<!-- not run: \S.{20,} -->\n\s*$")


def test_every_command_of_a_guide_is_run() -> None:
    """Blocks of `console` are, by test_docs.py. Whatever else holds commands says why it is not."""
    excused: list[str] = []
    wrong: list[str] = []
    for block in _blocks(*SHELL):
        name = block.page.relative_to(Path(__file__).parents[2]).as_posix()
        if not name.startswith(FOLLOWED) or block.language == "console":
            continue
        before = "\n".join(block.page.read_text(encoding="utf-8").splitlines()[: block.line - 1]) + "\n"
        (excused if NOT_RUN.search(before) else wrong).append(name)

    secrets = "docs/guides/secrets.md"
    assert (sorted(excused), wrong) == ([secrets, secrets, "docs/tutorial.md"], [])
