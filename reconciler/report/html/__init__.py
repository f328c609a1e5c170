"""A review as one self-contained HTML file: page.py is the whole, and calls the others.

checks.py is the page of `validate`; markup.py escapes; sentences.py says what matters most; entries.py shows
one change, and difference.py cuts its texts into what stays, goes and comes; charts.py counts; controls.py is
for search and filters; runs.py tells how a run ended; page.css and page.js stand in the file that frame.py
makes.
"""

from reconciler.report.html.checks import html_of_checks
from reconciler.report.html.page import html, html_pieces

__all__ = ["html", "html_of_checks", "html_pieces"]
