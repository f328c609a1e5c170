"""The file around a page, and the lists in it: what every page shares, whatever it is about.

Belongs here: the frame with its policy: the one script and the one style that stand in the file run, by their
hashes, and nothing is loaded from anywhere. Not here: what stands in the page (page.py, checks.py).
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import islice

from msgspec import Struct

from reconciler.report.html.markup import LINE, Html, joined, text

# Entries that a browser lays out together, once they come near the screen: fifty are a few screens.
_together = 50


class EntryList(Struct, frozen=True):
    """A list of the page. `name` is its id, and what the style and the script know it by.

    `entries` are made as they are asked for, once: a page may have 100,000 of them. `count` is their number.
    """

    name: str
    title: str
    count: int
    entries: Iterator[Html]
    about: str = ""
    label: str = ""  # of its box among the filters, where the title is long


def listed(section: EntryList) -> Iterator[Html]:
    """Yield a section; its entries in lists of fifty, of which a browser lays out those in sight."""
    about = f"<p>{text(section.about)}</p>" if section.about else ""
    yield Html(
        f'<section class="list {section.name}" id={section.name} aria-labelledby="h-{section.name}">'
        f'<header><h2 id="h-{section.name}">{text(section.title)} '
        f"<span>{section.count:,}</span></h2>{about}</header>"
    )
    while together := list(islice(section.entries, _together)):
        yield Html(f"<ul>{joined(together, LINE)}</ul>")
    yield Html("</section>")


def enumerated(parts: Sequence[Html]) -> Html:
    """`a`, `a and b`, `a, b and c`."""
    return joined(_and(parts))


def _and(parts: Sequence[Html]) -> Iterator[Html]:
    for at, part in enumerate(parts):
        yield Html(("" if at == 0 else " and " if at == len(parts) - 1 else ", ") + part)


def framed(title: str, body: Iterable[Html]) -> Iterator[str]:
    """Yield the file: the page with its policy, its style and its script. The title is text."""
    style, script = _packed("page.css"), _packed("page.js")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    )
    yield from body
    yield f"\n<script>{script}</script>\n</body>\n</html>\n"


def _hash(part: str) -> str:
    return f"'sha256-{b64encode(sha256(part.encode()).digest()).decode()}'"


@cache
def _packed(name: str) -> str:
    """Return the style or the script: it stands in the file as it is, and its hash in the policy."""
    return (files(__package__) / name).read_text("utf-8")
