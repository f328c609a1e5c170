"""Law: a field counts as often as it was set back since its owner edited it last, in whatever order."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.planning.notices import count_set_back
from reconciler.model.plans import Cause, FieldChange
from reconciler.model.snapshots import Flap

BEGINS = datetime(2026, 3, 1, tzinfo=UTC)
PATHS = ("jobTitle", "title", "custom.badge")
CAUSES: tuple[Cause, ...] = ("drifted", "declared", "both", "unknown")
runs = st.lists(st.dictionaries(st.sampled_from(PATHS), st.sampled_from(CAUSES), max_size=3), max_size=8)


@given(runs)
def test_a_field_counts_the_runs_that_set_it_back_since_its_owner_edited_it(
    history: list[dict[str, Cause]],
) -> None:
    """Counted path by path; runs that do not touch a field leave its count alone."""
    moments = [(BEGINS + timedelta(days=day)).isoformat() for day in range(len(history))]
    counts: dict[str, Flap] = {}
    for moment, run in zip(moments, history, strict=True):
        fields = tuple(FieldChange(path, "b", "a", cause) for path, cause in run.items())
        counts = count_set_back(counts, fields, moment)

    for path in PATHS:
        own = [day for day, run in enumerate(history) if run.get(path, "drifted") != "drifted"]
        since = own[-1] + 1 if own else 0
        back = [day for day in range(since, len(history)) if history[day].get(path) == "drifted"]
        expected = Flap(len(back), moments[back[0]], moments[back[-1]]) if back else None
        assert counts.get(path) == expected
