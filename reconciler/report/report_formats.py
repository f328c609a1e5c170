"""Which formats `--report FORMAT=FILE` knows. The only place that lists them.

Not here: how any of them looks, and writing files (cli/files/reports.py).
"""

from collections.abc import Callable, Iterator, Mapping

from reconciler.report import validation
from reconciler.report.forge import github, gitlab
from reconciler.report.html import html, html_of_checks, html_pieces
from reconciler.report.json import review_json, review_json_pieces
from reconciler.report.junit import junit
from reconciler.report.markdown import markdown
from reconciler.report.metrics import prometheus
from reconciler.report.review_document import Review
from reconciler.report.sarif import sarif
from reconciler.report.text import text
from reconciler.report.validation import Validated

FORMATS: Mapping[str, Callable[[Review], str]] = {
    "markdown": markdown,
    "json": review_json,
    "text": text,
    "junit": junit,
    "sarif": sarif,
    "github": github,
    "gitlab": gitlab,
    "html": html,
    "prometheus": prometheus,
}

# Those that hold every change with its fields: the same text in pieces, so that nobody has to hold all of it.
IN_PIECES: Mapping[str, Callable[[Review], Iterator[str]]] = {"json": review_json_pieces, "html": html_pieces}

# Those of `validate`, which has mistakes and no plan.
CHECKS: Mapping[str, Callable[[Validated], str]] = {
    "markdown": validation.markdown,
    "json": validation.json,
    "text": validation.text,
    "junit": validation.junit,
    "sarif": validation.sarif,
    "github": validation.github,
    "gitlab": validation.gitlab,
    "html": html_of_checks,
    "prometheus": validation.prometheus,
}

# Those that name nobody, for services of the machine: written with the rights that the umask leaves.
SHARED = frozenset({"prometheus"})
