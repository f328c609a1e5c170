"""Suggestions: the nearest name where a wrong one is harmless, and none where it reaches somebody else."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import reconciler
from reconciler.core.desired import value_forms
from reconciler.core.suggest import TOPICS, did_you_mean, find_nearest, find_suggestions
from reconciler.manifest.variables import ManifestVariables


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("AEST", ("Australia/Sydney", "Australia/Melbourne", "Australia/Brisbane")),
        ("aedt", ("Australia/Sydney", "Australia/Melbourne")),
        ("IST", ("Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem")),
        ("CST", ("America/Chicago", "Asia/Shanghai")),
        ("NZST", ("Pacific/Auckland",)),
        ("BST", ("Europe/London",)),
    ],
)
def test_an_abbreviation_names_the_zones_that_use_it(text: str, named: tuple[str, ...]) -> None:
    """`EST` is near to `AEST`, and fifteen hours away."""
    found = value_forms.check_zone(text)

    assert found is not None
    assert found.instead.startswith("write the name of a zone that uses this abbreviation: ")
    assert all(name in found.instead for name in named)
    assert "did you mean" not in found.instead


@pytest.mark.parametrize(
    "text", ["AET", "MESZ", "EST5", "Etc/GMT+15", "Etc/GMT+99", "GMT+99x", "XYZ", "America/Xxxxxxxxx"]
)
def test_what_no_zone_uses_names_none(text: str) -> None:
    """The nearest of short names is a guess."""
    found = value_forms.check_zone(text)

    assert found is not None
    assert found.instead == ""


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        ("Australia/Melburne", "did you mean Australia/Melbourne?"),
        ("europe/paris", "did you mean Europe/Paris?"),
        ("Melbourne", "did you mean Australia/Melbourne?"),
        ("New York", "did you mean America/New_York?"),
        ("Europe/Bukarest", "did you mean Europe/Bucharest or Europe/Budapest?"),
    ],
)
def test_a_place_is_found_by_its_name(text: str, guess: str) -> None:
    """A slip in the name of a city is no other offset."""
    assert value_forms.suggest_zone(text) == guess


@pytest.mark.parametrize(
    ("text", "both"),
    [
        ("Austrlia", {"Australia", "Austria"}),
        ("Austra", {"Australia", "Austria"}),
        ("Nigerr", {"Niger", "Nigeria"}),
        ("Irak", {"Iran", "Iraq"}),
        ("Slovnia", {"Slovakia", "Slovenia"}),
    ],
)
def test_countries_that_are_near_to_each_other_are_all_named(text: str, both: set[str]) -> None:
    """The country decides how a national number is read."""
    found = value_forms.check_country(text)

    assert found is not None
    assert both <= set(found.instead.removeprefix("did you mean ").removesuffix("?").split(" or "))


@pytest.mark.parametrize("text", ["AUX", "EN", "Chd", "Per", "Tog"])
def test_a_code_of_a_country_is_never_guessed(text: str) -> None:
    """Any code is near to many others."""
    found = value_forms.check_country(text)

    assert found is not None
    assert found.instead == ""


@pytest.mark.parametrize(
    ("wrong", "known"),
    [
        ("workMobilePhone3", ["workMobilePhone1", "workMobilePhone2"]),
        ("firstNam", ["firstName", "firstNamf"]),
        ("Mobil", ["Mobile", "Mobilo"]),
    ],
)
def test_of_two_that_are_as_near_neither_is_picked(wrong: str, known: list[str]) -> None:
    """Which of them comes first in an alphabet says nothing."""
    assert find_nearest("field", wrong, known) == ""
    assert did_you_mean("field", wrong, known) == f"did you mean {' or '.join(known)}?"


@pytest.mark.parametrize(
    ("topic", "wrong", "known"),
    [
        ("entity", "contact/ops/jane-do", "contact/ops/jane-doe"),
        ("entity", "contact/ops/jane-roe", "contact/ops/jane-doe"),
        ("entity", "device/ops/jane/phnoe", "device/ops/jane/phone"),
        ("workspace", "opps", "ops"),
        ("workspace", "ops-eu", "ops-us"),
        ("environment", "prod", "preprod"),
        ("directory", "staf", "staff"),
        ("callback", "on-cal", "on-call"),
        ("call", "A1", "A2"),
        ("call", "a1", "A1"),
    ],
)
def test_where_a_wrong_name_reaches_somebody_else_none_is_guessed(topic: str, wrong: str, known: str) -> None:
    """`forget contact/ops/jane-roe` with another person's name is one key away from being typed."""
    assert find_suggestions(topic, wrong, [known]) == ()


@pytest.mark.parametrize(
    ("wrong", "known"),
    [
        ("contact/ops/Jane_Doe", "contact/ops/jane-doe"),
        ("contact/ops/jane.doe", "contact/ops/jane-doe"),
        ("contact/ops/Zo\u00eb", "contact/ops/zoe"),
        ("contacts/ops/jane-doe", "contact/ops/jane-doe"),
    ],
)
def test_another_spelling_of_the_same_name_is_no_guess(wrong: str, known: str) -> None:
    """It can be nobody else's."""
    assert find_nearest("entity", wrong, [known, "contact/ops/jane-roe"]) == known


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("deviceToken", ""),
        ("timeZone", "timezone"),
        ("devceModel", "deviceModel"),
        ("pushtoken", "pushToken"),
    ],
)
def test_a_field_is_suggested_only_if_it_has_the_words_of_the_name(wrong: str, meant: str) -> None:
    """The value under a field that was guessed wrongly would be judged as well."""
    known = ("deviceName", "appId", "platform", "deviceOS", "deviceModel", "pushToken", "timezone")

    assert find_nearest("field", wrong, known) == meant


@pytest.mark.parametrize(
    "name", ["DEVICE_JANE_SMYTH", "DEVICE_JANE", "device_jane_smith", "DEVICE_JOHN_SMITH"]
)
def test_no_variable_is_suggested(name: str) -> None:
    """The token of somebody else's phone is near by its name."""
    _, wrong = ManifestVariables({"DEVICE_JANE_SMITH": "x"}, ["DEVICE_*", "device_*"]).fill(
        f"${{env:{name}}}"
    )

    assert wrong is not None
    assert wrong.unset == name
    assert wrong.hint == "set it in the environment of this command"


def _calls() -> Iterator[tuple[str, ast.Call]]:
    for file in Path(reconciler.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield file.as_posix(), node


def test_every_suggestion_says_of_what_it_speaks() -> None:
    """A new caller has to decide how far a guess may go."""
    ours = [
        (file, node)
        for file, node in _calls()
        if isinstance(node.func, ast.Name)
        and node.func.id in ("did_you_mean", "find_nearest")
        and not file.endswith(("core/suggest.py", "settings/layers.py", "cli/entry.py"))
    ]
    topics = {node.args[0].value for _, node in ours if isinstance(node.args[0], ast.Constant)}

    assert len(ours) > 20
    assert topics <= TOPICS.keys()
    others = [file for file, node in _calls() if getattr(node.func, "id", "") == "get_close_matches"]
    assert {file.rpartition("/")[2] for file in others} == {"fmt.py", "excerpt.py"}, (
        "they look for secrets to hide"
    )
