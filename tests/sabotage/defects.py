"""The defects that the suite must notice: one row each, by the part in which it would be made."""

from sabotage.workshop import Defect

_READING = (
    Defect(
        "short page is the end",
        "reconciler/service/paging.py",
        "            while page.rows and got < wanted:",
        "            while False and got < wanted:",
        ("tests/service/test_paging.py::test_a_server_that_gives_fewer_rows_than_asked_for_loses_none",
         "tests/service/test_paging.py::test_a_short_page_in_the_middle_is_no_end"),
    ),
    Defect(
        "unknown shape is an empty list",
        "reconciler/service/paging.py",
        '        raise BadBody(f"it is no page of {asked.collection} that we know")',
        "        return Page((), None, last=True)",
        ("tests/service/test_page_forms.py",),
    ),
)

DEFECTS = (*_READING,)
