# noqa: INP001 - hooks that mkdocs loads from mkdocs.yml; part of no package
"""What the site needs beyond docs/: pages of other folders, links that lead there, and a strict policy.

The pages are written for GitHub, where a link to `../CONTRIBUTING.md` works. Here such a page becomes one of
the site, a file of `examples/` and `schemas/` is copied, and any other link becomes its text.
"""

import base64
import hashlib
import html
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
# Pages that stand elsewhere, and where they are in the site.
PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/README.md": "examples/index.md",
    "tests/README.md": "tests.md",
}
COPIED = ("examples", "schemas")
_ELSEWHERE = {target: source for source, target in PAGES.items()}
_FENCE = re.compile(r"^( *)(`{3,})[^\n`]*\n.*?^\1\2$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\n]*)\]\((?P<to>[^()\s]+)\)")
_INLINE = re.compile(r"<script(?P<attributes>(?:\s(?!src=)[^>]*)?)>(?P<text>.*?)</script>", re.DOTALL)
_TRANSCRIPT = re.compile(r'<div class="language-console highlight">(?P<block>.*?)</div>', re.DOTALL)
_HEAD = '<meta charset="utf-8">'
_SEARCH = 'data-md-component="search" role="dialog"'  # which the theme gives no name


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of other folders, and the files that links lead to."""
    for source, target in PAGES.items():
        files.append(File.generated(config, target, abs_src_path=str(ROOT / source)))
    for folder in COPIED:
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.is_file() and name not in PAGES and ".reconciler" not in path.parts:
                files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """Let each link that leads out of docs/ lead to its place in the site, or be its text."""
    uri = page.file.src_uri
    place = _ELSEWHERE.get(uri, f"docs/{uri}")
    kept, last = [], 0
    for fence in _FENCE.finditer(markdown):
        kept += [
            _LINK.sub(lambda link: _led(link, place, uri, files), markdown[last : fence.start()]),
            fence[0],
        ]
        last = fence.end()
    return "".join([*kept, _LINK.sub(lambda link: _led(link, place, uri, files), markdown[last:])])


def _led(link: "re.Match[str]", place: str, uri: str, files: Files) -> str:
    target, hash_, anchor = link["to"].partition("#")
    if not target or re.match(r"[a-z][a-z0-9+.-]*:", target):
        return link[0]
    repository = posixpath.normpath(posixpath.join(posixpath.dirname(place), target))
    there = repository.removeprefix("docs/") if repository.startswith("docs/") else repository
    there = {**PAGES, "README.md": "index.md"}.get(repository, there)
    if repository.startswith("docs/") or files.get_file_from_path(there):
        return f"[{link['text']}]({posixpath.relpath(there, posixpath.dirname(uri) or '.')}{hash_}{anchor})"
    return link["text"] if "`" in link["text"] else f"{link['text']} (`{repository}`)"


def on_page_content(content: str, **_: Any) -> str:
    """Let a transcript be copied as its commands alone: neither prompts nor output can be pasted."""
    return _TRANSCRIPT.sub(_copied, content)


def _copied(block: "re.Match[str]") -> str:
    shown = html.unescape(re.sub(r"<[^>]+>", "", block["block"])).splitlines()
    commands: list[str] = []
    goes_on = False
    for line in shown:
        goes_on = line.startswith("$ ") or (goes_on and line.startswith("> "))
        if goes_on:
            commands.append(line[2:])
    text = html.escape("\n".join(commands)).replace("\n", "&#10;")
    return block[0].replace('class="language-console', f'data-copy="{text}" class="language-console', 1)


def on_post_page(output: str, **_: Any) -> str:
    """Write the policy into a page."""
    return _with_policy(output)


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """The same for the page of what is not there."""
    return _with_policy(output_content) if template_name.endswith(".html") else output_content


def _with_policy(page: str) -> str:
    """Return a page that may run the scripts that stand in it, load files of the site, and nothing else."""
    texts = {found["text"] for found in _INLINE.finditer(page) if "json" not in found["attributes"]}
    hashes = sorted(base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    scripts = " ".join(f"'sha256-{one}'" for one in hashes)
    policy = (
        f"default-src 'none'; script-src 'self' {scripts}; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; worker-src 'self'; form-action 'none'; base-uri 'none'"
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    assert page.count(_HEAD) == 1, "a page has one head"  # noqa: S101 - of the theme, or nothing holds
    return page.replace(_HEAD, f"{_HEAD}{meta}").replace(_SEARCH, f'{_SEARCH} aria-label="Search"')
