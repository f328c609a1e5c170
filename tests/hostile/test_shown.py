"""Texts of other people in everything that we print: harmless, whole in JSON, and beside our own numbers."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from hostile import command, corpora
from hostile.corpora import Case
from msgspec import structs
from report.cases import DONE, EMPTY, OLD_HAND, PROTECTED

from reconciler.cli.console import error_text, output
from reconciler.errors import Rejected
from reconciler.model.address import contact_address
from reconciler.model.plans import Create, FieldChange, Plan, Update, Verdict
from reconciler.model.runs import Outcome
from reconciler.report.escaping import escape_control
from reconciler.report.json import plan_json
from reconciler.report.lines import Line
from reconciler.report.text import plain, plan_lines, run_lines
from reconciler.service.http.refusals import escape_service_words

JANE = contact_address("ops", "jane-doe")


def _plan(text: str) -> Plan:
    """A plan with this text wherever other people can write one."""
    changes = (
        Create(contact_address("ops", "new"), "a.yaml:1", {"firstName": text, "custom.x": text}),
        Update(JANE, "a.yaml:2", "9A01", (FieldChange("jobTitle", text, f"{text}!", "declared"),)),
        structs.replace(OLD_HAND, before={"firstName": text}, cascades=(text,)),
    )
    return structs.replace(EMPTY, changes=changes, skips=(structs.replace(PROTECTED, what=text),))


def _own(lines: Sequence[Line]) -> list[str]:
    """The lines that are ours alone: the counts and the last one."""
    text = plain(lines).splitlines()
    return [*(line for line in text if "1 delete" in line and "1 update" in line), text[-1]]


def said(case: Case, _folder: Path) -> str:
    """How the text is shown; everything around it is as it would be around a harmless one."""
    text = case.text
    for full in (False, True):
        lines = plan_lines(_plan(text), Verdict(), full=full)
        assert _own(lines) == _own(plan_lines(_plan("x"), Verdict(), full=full))
        require_harmless(plain(lines))
    outcome = Outcome(JANE, "update", "failed", what=text, next=text)
    require_harmless(plain(run_lines(structs.replace(DONE, outcomes=(outcome,)))))
    require_harmless(plain(error_text.error_lines(Rejected(f"GET /x: {text}.", next=text))))
    require_harmless(escape_service_words(text))
    coloured = _coloured(plan_lines(_plan(text), Verdict(), full=True))
    for code in (0, 1, 2, 31, 32, 33, 35):
        coloured = coloured.replace(f"\x1b[{code}m", "")
    require_harmless(coloured)
    _require_whole(text)
    safe = escape_control(text)
    return f"shown: {safe}" if len(safe) < 300 else f"shown: {len(safe)} characters"


def require_harmless(text: str) -> None:
    """Every character of every line is printed as itself, and moves nothing."""
    assert all(line.isprintable() for line in text.split("\n")), ascii(text)


def _require_whole(text: str) -> None:
    """JSON is inert too, and holds the text as it is."""
    try:
        told = plan_json(_plan(text), Verdict(), 0)
    except UnicodeEncodeError:
        assert any("\ud800" <= character <= "\udfff" for character in text)
        return
    sent = command.printed(lambda: output.json(told))
    require_harmless(sent)
    (create, *_) = json.loads(sent)["plan"]["changes"]
    assert create["fields"]["firstName"] == text


def _coloured(lines: Sequence[Line]) -> str:
    before = os.environ.get("FORCE_COLOR")
    os.environ["FORCE_COLOR"] = "1"
    try:
        return command.printed(lambda: output.lines(lines))
    finally:
        os.environ.pop("FORCE_COLOR")
        if before is not None:
            os.environ["FORCE_COLOR"] = before


@corpora.each("texts")
def test_every_text_meets_its_line(case: Case, tmp_path: Path) -> None:
    """Nothing that somebody calls himself clears a screen, hides a line or changes a number."""
    corpora.claim(case, "texts on a terminal", lambda: said(case, tmp_path))


def test_a_stream_that_is_no_terminal_gets_no_escape_at_all() -> None:
    """The claim about colours above would hold for a printer that never colours."""
    assert "\x1b[" in _coloured(plan_lines(_plan("x"), Verdict()))
    assert "\x1b[" not in command.printed(lambda: output.lines(plan_lines(_plan("x"), Verdict())))
