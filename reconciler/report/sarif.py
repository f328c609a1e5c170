"""The report as SARIF 2.1.0: code scanning, and editors that show remarks beside the code.

A remark with a place in a manifest points there. One without has the address as its logical location; GitHub
lists only remarks that have a file. Source: OASIS, Static Analysis Results Interchange Format 2.1.0.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from reconciler.model.codes import CODES, Code
from reconciler.model.documents import openable_file
from reconciler.report.codes import code_lines
from reconciler.report.escaping import escape_ci_commands_in_json, escape_control
from reconciler.report.json import json_text
from reconciler.report.lines import plain
from reconciler.report.remarks import RULES, Remark, list_check_remarks, list_remarks
from reconciler.report.review_document import Review, Validated

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "%SRCROOT%"  # what a service takes for the root of the repository


def sarif(review: Review) -> str:
    """Return everything that needs attention, as one SARIF log with one run."""
    return sarif_log(list_remarks(review))


def sarif_log(found: Sequence[Remark]) -> str:
    """Return remarks as a SARIF log. Every rule that is named is described in it."""
    known = {_find_rule_id(one) for one in found}
    named = [rule for rule in (*RULES, *CODES) if rule in known]
    driver = {"name": "reconciler", "rules": [_describe_rule(rule) for rule in named]}
    positions = {rule: position for position, rule in enumerate(named)}
    results = [_make_result(one, positions[_find_rule_id(one)]) for one in found]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return escape_ci_commands_in_json(json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}))


def _find_rule_id(found: Remark) -> str:
    """Return what code scanning groups by: the code of a mistake, else the rule."""
    return found.code or found.rule


def _describe_rule(rule: str) -> Mapping[str, object]:
    if rule in CODES:
        return _describe_code_rule(CODES[rule])
    level, about = RULES[rule]
    return {
        "id": rule,
        "shortDescription": {"text": about},
        "defaultConfiguration": {"level": level},
    }


def _describe_code_rule(code: Code) -> Mapping[str, object]:
    """Return the rule of a mistake, with the help that `reconciler explain` prints."""
    return {
        "id": code.code,
        "shortDescription": {"text": _escape_message(code.title)},
        "fullDescription": {"text": _escape_message(code.means)},
        "help": {"text": plain(code_lines(code))},
        "defaultConfiguration": {"level": RULES["mistake"][0]},
    }


def _make_result(found: Remark, position: int) -> Mapping[str, object]:
    return {
        "ruleId": _find_rule_id(found),
        "ruleIndex": position,
        "level": found.level,
        "message": {"text": _escape_message(found.said)},
        "locations": _make_locations(found),
        "partialFingerprints": {"reconciler/v1": found.digest},
    }


def _escape_message(text: str) -> str:
    """Return text without the two things that a reader would act on: placeholders and embedded links."""
    return escape_control(text).replace("](", "] (").replace("{", "{{").replace("}", "}}")


def _make_locations(found: Remark) -> list[Mapping[str, object]]:
    about: dict[str, object] = {}
    if found.file:
        where: dict[str, object] = {"artifactLocation": _make_artifact_location(openable_file(found.file))}
        if found.line:
            column = {"startColumn": found.column} if found.column else {}
            where["region"] = {"startLine": found.line, **column}
        about["physicalLocation"] = where
    if found.subject:
        about["logicalLocations"] = [{"fullyQualifiedName": escape_control(found.subject)}]
    return [about] if about else []


def _make_artifact_location(file: str) -> Mapping[str, str]:
    path = quote(escape_control(file.replace("\\", "/")), safe="/")
    return {"uri": f"file://{path}"} if path.startswith("/") else {"uri": path, "uriBaseId": _ROOT}


def sarif_of_checks(result: Validated) -> str:
    """Return the mistakes and warnings as a SARIF log."""
    return sarif_log(list_check_remarks(result.problems, result.notices))
