"""Matching a text with a pattern in linear time, also with patterns that we did not write.

The patterns of a profile are data of a project, changed in pull requests. Python's engine backtracks: for
`(a+)+` and forty letters it would need years. So it only gets the patterns that the linear engine refuses:
those of our own schemas that look ahead, which do not backtrack.
"""

import re
from functools import lru_cache

import jsonschema_rs

_KEPT_MAX = 4_096  # compiled patterns; a profile and all schemas have fewer


def is_linear_pattern(pattern: str) -> bool:
    """Whether a pattern can be matched in linear time: it looks neither ahead nor behind, and is small."""
    return _compile_linear(pattern) is not None


def matches_pattern(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text."""
    judge = _compile_linear(pattern)
    return bool(re.search(pattern, text)) if judge is None else judge.is_valid(text)


@lru_cache(maxsize=_KEPT_MAX)
def _compile_linear(pattern: str) -> jsonschema_rs.Draft202012Validator | None:
    try:
        return jsonschema_rs.Draft202012Validator(
            {"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions()
        )
    except ValueError:
        return None
