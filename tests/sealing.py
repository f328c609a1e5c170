"""Plan files in the hands of somebody who edits them: changed and, where wanted, sealed again.

Sealing again is what a seal cannot prevent: everybody can compute it. What stands against it is
tested with files that this module makes.
"""

import json
from pathlib import Path
from typing import Any

from msgspec import structs

from reconciler.core.planning.fingerprint import fingerprint
from reconciler.core.review.saved_plans import PlanFile, open_plan_file, seal_plan
from reconciler.model.encoding import decode_json
from reconciler.model.plans import Plan
from reconciler.version import __version__


def resealed(plan: Plan, *, program: str = __version__, **edited: Any) -> bytes:
    """Return the file of `plan` with some parts edited, its fingerprint and its seal made to fit."""
    edited_plan = structs.replace(plan, **edited)
    fit = structs.replace(edited_plan, fingerprint=fingerprint(edited_plan))
    return seal_plan(fit, program)


def reseal(document: Any) -> bytes | None:
    """Return the file that holds this edited JSON, sealed again; None where it holds no plan at all."""
    try:
        plan = open_plan_file(decode_json(json.dumps(document), PlanFile))
    except ValueError:
        return None
    return resealed(plan)


def edit(path: Path, **edited: Any) -> None:
    """Change parts of a plan file as somebody would who knows how it is sealed."""
    path.write_bytes(resealed(open_plan_file(decode_json(path.read_bytes(), PlanFile)), **edited))
