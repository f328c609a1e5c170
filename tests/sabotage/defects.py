"""The defects that the suite must notice: the rows of defects.toml, where texts stand as in the code."""

import tomllib
from pathlib import Path

from sabotage.workshop import Defect

_ROWS = tomllib.loads(Path(__file__).with_name("defects.toml").read_text(encoding="utf-8"))["defect"]
DEFECTS = tuple(Defect(**{**row, "tests": tuple(row["tests"])}) for row in _ROWS)
