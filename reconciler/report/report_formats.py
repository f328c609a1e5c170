"""Which formats `--report FORMAT=FILE` knows, and where each is written: the only list of them.

A new format is a module beside this one, and a row. A module is loaded when a report of its format is asked
for: HTML brings Jinja2, and a command without reports needs none of them. Files are written by
cli/review_files.py.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from msgspec import Struct

from reconciler.report.review_document import Review, Validated


class ReportFormat(Struct, frozen=True):
    """A module below reconciler.report, and its functions of a Review and of what `validate` found.

    `pieces` is the function that yields the text of a review in pieces, where it may be long. A `shared`
    format holds no names and is for services of the machine: its file has the mode that the umask leaves.
    """

    module: str
    review: str
    validation: str
    pieces: str = ""
    shared: bool = False


REPORT_FORMATS: Mapping[str, ReportFormat] = {
    "markdown": ReportFormat("markdown", "markdown", "markdown_of_checks"),
    "comment": ReportFormat("markdown", "comment", "comment_of_checks"),
    "json": ReportFormat("json", "review_json", "json_of_checks", "review_json_pieces"),
    "text": ReportFormat("text", "text", "text_of_checks"),
    "junit": ReportFormat("junit", "junit", "junit_of_checks"),
    "sarif": ReportFormat("sarif", "sarif", "sarif_of_checks"),
    "github": ReportFormat("forge", "github", "github_of_checks"),
    "gitlab": ReportFormat("forge", "gitlab", "gitlab_of_checks"),
    "html": ReportFormat("html", "html", "html_of_checks", "html_pieces"),
    "prometheus": ReportFormat("metrics", "prometheus", "prometheus_of_checks", shared=True),
}


def _load_later(module: str, function: str) -> Callable[[Any], Any]:
    def render(source: Any) -> Any:
        return getattr(import_module(f"reconciler.report.{module}"), function)(source)

    return render


FORMATS: Mapping[str, Callable[[Review], str]] = {
    name: _load_later(one.module, one.review) for name, one in REPORT_FORMATS.items()
}
IN_PIECES: Mapping[str, Callable[[Review], Iterator[str]]] = {
    name: _load_later(one.module, one.pieces) for name, one in REPORT_FORMATS.items() if one.pieces
}
CHECKS: Mapping[str, Callable[[Validated], str]] = {
    name: _load_later(one.module, one.validation) for name, one in REPORT_FORMATS.items()
}
SHARED = frozenset(name for name, one in REPORT_FORMATS.items() if one.shared)
