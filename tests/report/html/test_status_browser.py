"""The pages of `reconciler status` in Chromium: accessible, light and dark, and whole on a phone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from msgspec import structs
from playwright.sync_api import Browser
from report.html import browser
from report.test_status_pages import MARK, shown

from reconciler.core.views.status import StoreStatus
from reconciler.report.status_pages import INDEX, page_name, status_pages

LONG = "x" * 64  # the longest name of a stack
# WCAG 2.2.1 asks for no refresh that nobody can stop, and excepts what shows an event in real time: without
# the refresh a screen would go on showing what is long past.
EXCEPTED = {"meta-refresh"}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.opened() as started:
        yield started


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StoreStatus]:
    """A folder of pages about a stack in every state, one of them with the longest name."""
    folder, status = tmp_path_factory.mktemp("site"), shown()
    status = structs.replace(
        status, stacks=(structs.replace(status.stacks[0], stack=LONG), *status.stacks[1:])
    )
    for name, text in status_pages(status, MARK):
        (folder / name).write_text(text, "utf-8")
    return folder, status


def files(site: tuple[Path, StoreStatus]) -> list[Path]:
    """Return the index, and pages of the worst, of one in between and of one that is well."""
    folder, status = site
    picked = (status.stacks[0], status.stacks[len(status.stacks) // 2], status.stacks[-1])
    return [folder / INDEX, *(folder / page_name(one) for one in picked)]


def test_axe_finds_nothing(chromium: Browser, site: tuple[Path, StoreStatus]) -> None:
    """Names of links, order of headings, contrast of every colour, in light and in dark."""
    page = chromium.new_page()
    for file in files(site):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.goto(file.as_uri())
            found = [one for one in Axe().run(page).response["violations"] if one["id"] not in EXCEPTED]

            assert [
                (file.name, scheme, one["id"], [node["html"] for node in one["nodes"]]) for one in found
            ] == []
    page.close()


@pytest.mark.parametrize("width", [360, 1280])
def test_no_page_scrolls_sideways_and_asks_for_anything(
    chromium: Browser, site: tuple[Path, StoreStatus], width: int
) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 740})
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: asked.append(message.text))
    for file in files(site):
        page.goto(file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") == width, file.name
    context.close()

    assert asked == [file.as_uri() for file in files(site)]


def test_the_worst_is_in_sight_and_leads_to_its_page(
    chromium: Browser, site: tuple[Path, StoreStatus]
) -> None:
    """On a phone, at night: the headline and the first stack stand on the first screen."""
    folder, status = site
    context = chromium.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto((folder / INDEX).as_uri())
    first = page.locator(".needed li").first
    box = first.bounding_box()

    assert box is not None
    assert box["y"] + box["height"] < 844
    assert "in doubt" in first.inner_text()
    first.click()
    assert page.url == (folder / page_name(status.stacks[0])).as_uri()
    assert page.locator("h1").inner_text().startswith(f"{LONG} is in doubt")
    context.close()
