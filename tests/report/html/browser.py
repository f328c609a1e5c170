"""A real Chromium for the tests of pages: the system's own, as readers have one.

    with browser.opened() as chromium: ...      one browser until the end of the block

Where there is none these tests are skipped, and nowhere else: Chromium is no Python package, so no lock file
can bring it. CI has to have one (`.ci/run` installs it), so there they fail.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def found() -> str:
    """Return where the system's browser is, or ""."""
    return next(filter(None, map(shutil.which, NAMES)), "")


def needed() -> str:
    """Return where it is; skip the test where there is none, and fail where CI has none."""
    path = found()
    if not path and not os.environ.get("CI"):
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on PATH; apt-get install chromium brings one")
    assert path, f"CI needs a browser, and none of {', '.join(NAMES)} is on PATH"
    return path


@contextmanager
def opened() -> Iterator[Browser]:
    """Start the system's browser, and end it."""
    path = needed()
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        # Shared memory is small in containers; a page of 10,000 changes would not fit into it.
        browser = playwright.chromium.launch(executable_path=path, args=[*sandbox, "--disable-dev-shm-usage"])
        yield browser
        browser.close()
