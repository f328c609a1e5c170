"""The file around a page, and the lists in it: what every page shares, whatever it is about.

Belongs here: the frame with its policy: the one script and the one style that stand in the file run, by their
hashes, and nothing is loaded from anywhere. Not here: what stands in the page (page.py, checks.py).
"""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from msgspec import Struct

from reconciler.report.formats.html.markup import LINE, Html, joined, text

# Entries that a browser lays out together, once they come near the screen: fifty are a few screens.
_together = 50


class EntryList(Struct, frozen=True):
    """A list of the page. `name` is its id, and what the style and the script know it by."""

    name: str
    title: str
    entries: list[Html]
    about: str = ""
    label: str = ""  # of its box among the filters, where the title is long


def listed(section: EntryList) -> Html:
    """Return a section; its entries in lists of fifty, of which a browser lays out those in sight."""
    about = f"<p>{text(section.about)}</p>" if section.about else ""
    lists = joined(
        Html(f"<ul>{joined(section.entries[at : at + _together], LINE)}</ul>")
        for at in range(0, len(section.entries), _together)
    )
    return Html(
        f'<section class="list {section.name}" id={section.name} aria-labelledby="h-{section.name}">'
        f'<header><h2 id="h-{section.name}">{text(section.title)} '
        f"<span>{len(section.entries):,}</span></h2>{about}</header>{lists}</section>"
    )


def enumerated(parts: Sequence[Html]) -> Html:
    """`a`, `a and b`, `a, b and c`."""
    return joined(_and(parts))


def _and(parts: Sequence[Html]) -> Iterator[Html]:
    for at, part in enumerate(parts):
        yield Html(("" if at == 0 else " and " if at == len(parts) - 1 else ", ") + part)


def framed(title: str, body: Html) -> str:
    """Return the file: the page with its policy, its style and its script. The title is text."""
    style, script = _packed("page.css"), _packed("page.js")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _hash(part: str) -> str:
    return f"'sha256-{b64encode(sha256(part.encode()).digest()).decode()}'"


@cache
def _packed(name: str) -> str:
    """Return the style or the script: it stands in the file as it is, and its hash in the policy."""
    return (files(__package__) / name).read_text("utf-8")
