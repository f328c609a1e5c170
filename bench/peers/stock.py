"""The stock way: PyYAML, jsonschema, httpx and DeepDiff, as a team would write it in an afternoon.

    python stock.py BASE_URL FOLDER        prints how many people differ

Reads every page one after the other, validates every entry, matches by e-mail address and compares.
"""

import sys
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import yaml
from deepdiff import DeepDiff

_PAGE = 20
_TYPE = "application/vnd.service.contact-v1+json"
_TEXTS = (
    "firstName",
    "lastName",
    "workEmailAddress1",
    "workMobilePhone1",
    "workCountry",
    "jobTitle",
    "department",
)
_SCHEMA = {
    "type": "object",
    "required": ["firstName", "lastName", "workEmailAddress1"],
    "properties": {
        **{key: {"type": "string", "minLength": 1, "maxLength": 255} for key in _TEXTS},
        "custom": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "additionalProperties": False,
}


def declared(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the people of the manifests by their e-mail address."""
    validator = jsonschema.Draft202012Validator(_SCHEMA)
    found = {}
    for path in sorted(folder.glob("*.yaml")):
        for entry in yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)[
            "contacts"
        ].values():
            validator.validate(entry)
            found[entry["workEmailAddress1"]] = entry
    return found


def live(base_url: str) -> dict[str, dict[str, Any]]:
    """Return the people of the service by their e-mail address."""
    found: dict[str, dict[str, Any]] = {}
    asked = {"limit": _PAGE, "fields": ",".join((*_TEXTS, "customFields"))}
    headers = {"x-api-key": "demo-key", "Accept": _TYPE}
    with httpx.Client(base_url=base_url, headers=headers, auth=("demo", "demo")) as client:
        while True:
            answer = client.get("/contacts", params={**asked, "offset": len(found)})
            rows = answer.json().get("contacts", []) if answer.status_code == httpx.codes.OK else []
            for row in rows:
                custom = {one["fieldName"]: one["fieldValue"] for one in row.get("customFields", [])}
                found[row["workEmailAddress1"]] = {**{key: row[key] for key in _TEXTS}, "custom": custom}
            if len(rows) < _PAGE:
                return found


def main(base_url: str, folder: str) -> None:
    """Compare, and print the number of differences."""
    there = live(base_url)
    print(sum(bool(DeepDiff(there.get(key), entry)) for key, entry in declared(Path(folder)).items()))


if __name__ == "__main__":
    main(*sys.argv[1:])
