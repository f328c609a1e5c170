"""What a directory answered that a plan was made of, in words."""

from reconciler.model.documents import DirectoryAnswer
from reconciler.report.lines import count

_digest_shown = 12  # hexadecimal digits: enough to tell two answers apart by eye


def answer_words(answer: DirectoryAnswer) -> str:
    """Return `from directory staff: 1,234 rows, sha256 ab12cd34ef56`, and the rows before."""
    told = (
        f"from directory {answer.name}: {count(answer.rows, 'row')}, sha256 {answer.digest[:_digest_shown]}"
    )
    return f"{told} ({answer.before:,} at the last apply)" if answer.before not in (0, answer.rows) else told
