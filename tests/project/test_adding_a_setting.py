"""A new setting is one field of one file; its default, check, variable, schema and docs follow."""

import shutil
from pathlib import Path

from sabotage.workshop import ROOT, Workshop

FILE = Path("reconciler") / "model" / "settings.py"
BEFORE = "    recipients_max: Annotated["
ADDED = """\
    adopted_max: Annotated[
        int, Setting("Adoptions", "Refuse to adopt more entities than this at once.", COUNT)
    ] = 50
"""


def test_one_field_is_a_setting(tmp_path: Path) -> None:
    """The law over every setting runs in a copy, where the new field is one of them."""
    workshop = Workshop(tmp_path / "copy")
    shutil.copytree(ROOT / "script", workshop.folder / "script")
    file = workshop.folder / FILE
    source = file.read_text("utf-8")
    assert source.count(BEFORE) == 1
    file.write_text(source.replace(BEFORE, ADDED + BEFORE), "utf-8")

    stale = workshop.run(["tests/cli/test_each_setting.py", "-k", "shipped or adopted_max"])
    assert stale.returncode == 1
    assert "the_shipped_schema_is" in stale.stdout

    workshop.python("script/generate_schemas.py")
    workshop.python("script/generate_reference.py")

    done = workshop.run(["tests/cli/test_each_setting.py", "-k", "shipped or adopted_max"])
    assert done.returncode == 0, done.stdout[-3000:]
    assert "7 passed" in done.stdout
