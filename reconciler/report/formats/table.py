"""Which formats `--report FORMAT=FILE` knows. The only place that lists them.

Not here: how any of them looks, and writing files (cli/files/reports.py).
"""

from collections.abc import Callable, Iterator, Mapping

from reconciler.report.formats import checks
from reconciler.report.formats.checks import Validated
from reconciler.report.formats.github import github
from reconciler.report.formats.gitlab import gitlab
from reconciler.report.formats.html import html, html_of_checks, html_pieces
from reconciler.report.formats.json import json, json_pieces
from reconciler.report.formats.junit import junit
from reconciler.report.formats.markdown import markdown
from reconciler.report.formats.prometheus import prometheus
from reconciler.report.formats.sarif import sarif
from reconciler.report.formats.text import text
from reconciler.report.plan.review import Review

FORMATS: Mapping[str, Callable[[Review], str]] = {
    "markdown": markdown,
    "json": json,
    "text": text,
    "junit": junit,
    "sarif": sarif,
    "github": github,
    "gitlab": gitlab,
    "html": html,
    "prometheus": prometheus,
}

# Those that hold every change with its fields: the same text in pieces, so that nobody has to hold all of it.
IN_PIECES: Mapping[str, Callable[[Review], Iterator[str]]] = {"json": json_pieces, "html": html_pieces}

# Those of `validate`, which has mistakes and no plan.
CHECKS: Mapping[str, Callable[[Validated], str]] = {
    "markdown": checks.markdown,
    "json": checks.json,
    "text": checks.text,
    "junit": checks.junit,
    "sarif": checks.sarif,
    "github": checks.github,
    "gitlab": checks.gitlab,
    "html": html_of_checks,
    "prometheus": checks.prometheus,
}

# Those that name nobody, for services of the machine: written with the rights that the umask leaves.
SHARED = frozenset({"prometheus"})
