"""Whether a text has what a pattern says, in time that grows with the text, whoever wrote the pattern.

The patterns of a profile are data of a project, changed in pull requests. Python reads `(a+)+` by going back
over every way to read it, which takes years for forty letters, so such a pattern is never given to it. Those
of our own schemas look ahead, which the linear engine cannot; they go over nothing twice.
"""

import re
from functools import lru_cache

import jsonschema_rs

_KEPT_MAX = 4_096  # compiled patterns; a profile and all schemas have fewer


def is_linear_pattern(pattern: str) -> bool:
    """Whether a pattern can be judged in linear time: it looks neither ahead nor back, and is small."""
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
