"""How stacks stand, as static pages: an index, and a page for each stack. They load nothing and run nothing.

Templates: templates/status.html and templates/stack.html, with the style and the components of the report
(html.py), and templates/status.css. A page says when it was made, and loads itself again each minute, so a
screen on a wall shows what was written last.

Anybody may be let see them: they hold the program's own words, counts, times, commits, and the names of
stacks and workspaces. They hold no address, no name of an approver, and no reason that a person wrote.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from hashlib import sha256
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from reconciler.core.views.status import StackStatus, StoreStatus
from reconciler.report.html import page_environment, quote_hash, read_static
from reconciler.report.status_text import describe_run, short_commit
from reconciler.report.values import moment_text

INDEX = "index.html"
PAGE_NAMES = re.compile(r"stack-[a-z0-9._-]+-[0-9a-f]{8}\.html", re.ASCII)  # of stacks
refresh_s = 60

_minute_s, _hour_s, _day_s = 60, 3_600, 86_400
_days_from_s = 2 * _day_s  # from here on an age is said in days

# Which colour a state has: classes of the report's own style.
_TONES = {
    "in doubt": "bad",
    "failing": "bad",
    "stale": "bad",
    "unknown": "bad",
    "progressing": "good",
    "healthy": "good",
    "synced": "good",
}


def status_pages(status: StoreStatus, mark: str) -> Iterator[tuple[str, str]]:
    """Yield each page with the name of its file, the index last: it never leads to a page that is not there.

    `mark` stands in every page, so that it is known again (`marked_by`).
    """
    shared = {
        "status": status,
        "mark": mark,
        "style": _style(),
        "policy": _policy(),
        "refresh": refresh_s,
    }
    for one in status.stacks:
        yield page_name(one), _render("stack.html", stack=one, **shared)
    lists = (
        ("needed", "Somebody has to look", [one for one in status.stacks if one.needs_somebody]),
        (
            "differs",
            "Worth knowing",
            [one for one in status.stacks if not one.fine and not one.needs_somebody],
        ),
        ("well", "Synced and healthy", [one for one in status.stacks if one.fine]),
    )
    yield INDEX, _render("status.html", lists=[one for one in lists if one[2]], **shared)


def page_name(one: StackStatus) -> str:
    """Return the name of the file of a stack, which stays the same: links to it hold."""
    known = sha256(f"{one.service} {one.stack}".encode(errors="backslashreplace")).hexdigest()[:8]
    return f"stack-{re.sub('[^a-z0-9._-]', '-', one.stack)}-{known}.html"


def marked_by(text: str) -> str:
    """Return the mark of a page of ours, or ""."""
    found = re.search(r'<meta name="generator" content="reconciler status ([0-9a-f]+)">', text)
    return found[1] if found else ""


def describe_age(since: str, at: str) -> str:
    """Return how long before `at` a moment was: `3 days`, `5 h 12 min`, `7 s`; "" where it is not known."""
    if not since:
        return ""
    seconds = max(0, int((datetime.fromisoformat(at) - datetime.fromisoformat(since)).total_seconds()))
    minutes, hours = seconds // _minute_s, seconds // _hour_s
    if seconds >= _days_from_s:
        return f"{seconds // _day_s:,} days"
    if hours:
        return f"{hours} h {minutes % 60} min" if minutes % 60 else f"{hours} h"
    return f"{minutes} min" if minutes else f"{seconds} s"


def _render(template: str, **values: Any) -> str:
    text: str = _status_environment().get_template(template).render(**values)
    return text + "\n"


@cache
def _status_environment() -> Environment:
    made = page_environment().overlay()
    made.filters |= {"moment": moment_text, "commit": short_commit, "page": page_name}
    made.globals |= {"age": describe_age, "tones": _TONES, "describe_run": describe_run, "index": INDEX}
    return made


@cache
def _style() -> Markup:
    return Markup(read_static("page.css") + read_static("status.css"))  # noqa: S704 - files of ours


def _policy() -> Markup:
    rules = f"default-src 'none'; style-src {quote_hash(_style())}; base-uri 'none'; form-action 'none'"
    return Markup(rules)  # noqa: S704 - words of ours and a digest
