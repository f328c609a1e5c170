"""The site as readers meet it, in Chromium: served on this machine, and from files."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import pytest
import transcript
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page
from report.html import browser

DOCS = Path(__file__).parents[2] / "docs"
# A picture, transcripts and blocks of data, a wide table. Of a page of ten times that axe says the same.
LOOKED_AT = ("index.html", "guides/rosters.html", "comparison.html")
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


class Silent(SimpleHTTPRequestHandler):
    """Serves a folder, and tells nobody."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that it has there
        """Nothing is said."""


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    """The address of the site on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.opened() as started:
        yield started


@contextmanager
def reading(chromium: Browser, root: str, **options: Any) -> Iterator[Page]:
    """A window of its own. What a page complains of, or asks of another place than `root`, is an error."""
    said: list[str] = []
    context = chromium.new_context(**options)
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(root) else said.append(request.url))
    yield page
    context.close()
    assert said == []


def searched(page: Page, words: str) -> str:
    """Type into the search; return where its first answer leads."""
    page.click(".md-search__input")
    page.keyboard.type(words)
    first = page.locator(".md-search-result__item a").first
    first.wait_for()
    return str(first.get_attribute("href"))


@pytest.mark.parametrize("way", ["file", "server"])
def test_the_search_finds_a_page(chromium: Browser, site: Path, served: str, way: str) -> None:
    """From files there is no network at all; from a server, no other host is asked."""
    root = served if way == "server" else f"{site.as_uri()}/"
    with reading(chromium, root, offline=way == "file") as page:
        page.goto(f"{root}index.html")

        assert f"{root}guides/forget.html" in searched(page, "stop managing somebody")


def test_axe_finds_nothing(chromium: Browser, served: str) -> None:
    """Names of controls, order of headings, contrast of every colour, in light and in dark."""
    wrong = []
    for name in LOOKED_AT:
        with reading(chromium, served) as page:
            page.goto(f"{served}{name}")
            for scheme in SCHEMES:
                page.emulate_media(color_scheme=scheme)
                page.wait_for_function(
                    "want => document.body.dataset.mdColorScheme === want", arg=SHADES[scheme]
                )
                found = Axe().run(page).response["violations"]
                wrong += [(name, scheme, one["id"], one["nodes"][0]["html"][:200]) for one in found]

    assert wrong == []


SHADES = {"light": "default", "dark": "slate"}


def test_light_and_dark_follow_the_system(chromium: Browser, served: str) -> None:
    """Until somebody chooses one of them by the button beside the search."""
    seen = set()
    for scheme in SCHEMES:
        with reading(chromium, served, color_scheme=scheme) as page:
            page.goto(f"{served}index.html")
            seen.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            page.locator("form[data-md-component=palette] label:visible").click()
            assert page.evaluate("document.body.dataset.mdColorScheme") == "default"

    assert len(seen) == len(SCHEMES)


@pytest.mark.parametrize("name", [*LOOKED_AT, "tutorial.html"])
def test_a_phone_of_360_pixels_does_not_scroll_sideways(chromium: Browser, served: str, name: str) -> None:
    """Tables and transcripts scroll within themselves."""
    with reading(chromium, served, viewport={"width": 360, "height": 740}) as page:
        page.goto(f"{served}{name}")

        assert page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize("name", ["tutorial", "guides/rosters"])
def test_a_transcript_is_copied_as_its_commands(chromium: Browser, served: str, name: str) -> None:
    """What is pasted into a shell is what the test of the page runs: no prompt, no output."""
    written = [
        "\n".join(step.command for step in block)
        for block in transcript.blocks((DOCS / f"{name}.md").read_text(encoding="utf-8"))
    ]
    with reading(chromium, served, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.goto(f"{served}{name}.html")
        copied = page.locator(".language-console").evaluate_all("all => all.map(one => one.dataset.copy)")
        page.locator(".language-console").first.scroll_into_view_if_needed()
        page.locator(".language-console .md-code__button").first.click()
        page.locator(".md-dialog--active").wait_for()

        assert copied == written
        assert page.evaluate("navigator.clipboard.readText()") == written[0]
