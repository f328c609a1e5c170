"""The static pages of `reconciler status`, and its metrics: what they say, and that they name nobody."""

import json
import re
import shutil
import subprocess
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml
from core.test_status import ASKED, NOW, ORIGIN, STACKS, hour, ops, run, synced
from msgspec import structs
from report.reviews import ACTING
from report.test_prometheus import samples
from words import says

from reconciler.core.views.status import HEALTH_STATES, SYNC_STATES, StackRows, StoreStatus, judge_stacks
from reconciler.model.automation import Pause
from reconciler.report.metrics import STATUS_METRICS, prometheus_of_status
from reconciler.report.status_pages import INDEX, PAGE_NAMES, describe_age, marked_by, page_name, status_pages

MONITORING = Path(__file__).parents[2] / "examples" / "monitoring"
MARK = "0123456789abcdef"
# Every element and attribute that a page may have: nothing that loads or acts, but a link to another page.
ELEMENTS = {
    "a", "b", "body", "code", "dd", "div", "dl", "dt", "em", "footer", "h1", "h2", "h3", "head", "header",
    "html", "li", "main", "meta", "p", "section", "small", "span", "strong", "style", "title", "ul",
}  # fmt: skip
ATTRIBUTES = {
    "aria-labelledby", "charset", "class", "content", "href", "http-equiv", "id", "lang", "name",
}  # fmt: skip


def shown(*names: str) -> StoreStatus:
    """Return a status of the stacks of these cases, each under the words of its case."""
    named = {name: re.sub("[^a-z]+", "-", name) for name in names or STACKS}
    return judge_stacks([structs.replace(STACKS[name][0], stack=word) for name, word in named.items()], NOW)


def pages(status: StoreStatus) -> dict[str, str]:
    return dict(status_pages(status, MARK))


class Page(HTMLParser):
    """Elements, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self._within = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._within = tag
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        if self._within != "style":
            self.words.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._within = "" if tag == "style" else self._within

    @property
    def text(self) -> str:
        return re.sub(" +(?=[.,;:])", "", " ".join(" ".join(self.words).split()))

    def values(self, tag: str, name: str) -> list[str]:
        return [value for one, attribute, value in self.attributes if (one, attribute) == (tag, name)]


def test_the_index_begins_with_what_needs_somebody_and_links_every_stack() -> None:
    status = shown("a partial apply", "a pause", "an apply of everything", "a run that is under way")
    made = pages(status)
    index = Page(made[INDEX])

    assert "1 of 4 stacks needs somebody." in index.text
    assert (
        index.text.index("Somebody has to look 1")
        < index.text.index("Worth knowing 1")
        < index.text.index("Synced and healthy 2")
    )
    assert "a-partial-apply failing out of sync for 3 h" in index.text
    assert "next: reconciler history, then reconciler plan" in index.text
    assert index.values("a", "href") == [page_name(one) for one in status.stacks]
    assert set(made) == {INDEX, *index.values("a", "href")}
    assert [*made][-1] == INDEX


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("an apply of everything",), "The stack is synced and healthy."),
        (("an apply of everything", "a run that is under way"), "All stacks are synced and healthy."),
        (("an apply of everything", "a pause"), "Nobody is needed; 1 of 2 stacks is not synced."),
        (("a partial apply", "a wrong policy"), "2 of 2 stacks need somebody."),
    ],
)
def test_the_headline_says_whether_somebody_is_needed(names: tuple[str, ...], said: str) -> None:
    assert said in Page(pages(shown(*names))[INDEX]).text


def test_the_page_of_a_stack_says_what_is_wrong_what_to_do_and_what_ran() -> None:
    counts = {"create applied": 12, "update failed": 3}
    rows = StackRows(
        ORIGIN,
        "prod",
        (ops(9),),
        (structs.replace(run(9, 6), counts=counts, commit="4f" * 20), run(8)),
        results=(),
    )
    status = judge_stacks([rows], NOW)
    page = Page(pages(status)[page_name(status.stacks[0])])

    assert "prod is failing and out of sync. for 3 h It was applied in part." in page.text
    assert "next: reconciler history, then reconciler plan" in page.text
    assert "Last complete read 2026-03-02 09:00:00 UTC" in page.text
    assert "apply, partial, 12 changes applied, 3 not · commit 4f4f4f4f4f · run run-9" in page.text
    assert "apply, done" in page.text
    assert page.values("a", "href") == [INDEX]


@pytest.mark.parametrize("name", STACKS)
def test_a_page_loads_nothing_runs_nothing_and_comes_again(name: str) -> None:
    for text in pages(shown(name)).values():
        page = Page(text)
        assert set(page.tags) <= ELEMENTS
        assert {attribute for _, attribute, _ in page.attributes} <= ATTRIBUTES
        (style,) = re.findall("<style>(.*?)</style>", text, re.DOTALL)
        digest = b64encode(sha256(style.encode()).digest()).decode()
        assert page.values("meta", "content")[0] == (
            f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        )
        assert "url(" not in style
        assert "@import" not in style
        assert '<meta http-equiv="refresh" content="60">' in text
        assert marked_by(text) == MARK
        assert all(PAGE_NAMES.fullmatch(link) or link == INDEX for link in page.values("a", "href"))


def test_no_page_and_no_metric_names_a_person() -> None:
    """What a person or a sync wrote may name somebody, and so do the names of approvers."""
    result = structs.replace(synced(11, 9), reason="contact/ops/jane-doe is protected")
    rows = StackRows(
        ORIGIN,
        "prod",
        results=(result,),
        questions=(structs.replace(ASKED, danger="contact/ops/sam-lee"),),
        pause=Pause(hour(9), hour(20), "Jane is on leave", "ada on build-7"),
    )
    status = judge_stacks([rows, structs.replace(rows, stack="other", pause=None)], NOW)
    text = " ".join(Page(one).text for one in pages(status).values()) + prometheus_of_status(status)

    assert [name for name in ("jane", "doe", "sam", "lee", "ada", "anna", "ben") if says(text, name)] == []
    assert "paused" in text
    assert "A change waits for approval." in text


def test_text_that_tries_to_act_is_read_as_it_was_written() -> None:
    """Names of stacks and workspaces come from rows that somebody else may have written."""
    acting = " ".join(ACTING)
    rows = StackRows(ORIGIN, acting, (structs.replace(ops(9), workspace=acting),), (run(9),))
    made = pages(judge_stacks([rows], NOW))

    for name, text in made.items():
        assert PAGE_NAMES.fullmatch(name) or name == INDEX
        assert set(Page(text).tags) <= ELEMENTS


def test_two_stacks_of_one_name_have_pages_of_their_own() -> None:
    rows = STACKS["an apply of everything"][0]
    status = judge_stacks([rows, structs.replace(rows, origin="https://other.example.com")], NOW)

    made = pages(status)
    assert len(made) == 3
    assert "https://other.example.com" in Page(made[INDEX]).text
    assert ORIGIN not in Page(pages(shown("an apply of everything"))[INDEX]).text, "one service needs no name"


@pytest.mark.parametrize(
    ("since", "said"),
    [(hour(9), "3 h"), ("2026-03-02T11:12:30+00:00", "47 min"), ("2026-03-02T11:59:58+00:00", "2 s"),
     ("2026-03-02T06:48:00+00:00", "5 h 12 min"), ("2026-02-20T12:00:00+00:00", "10 days"), ("", "")],
)  # fmt: skip
def test_an_age_is_said_in_the_units_that_matter(since: str, said: str) -> None:
    assert describe_age(since, hour(12)) == said


# --- Metrics, the dashboard and the rules -----------------------------------------------------------------


def test_every_series_has_its_stack_and_stands_once() -> None:
    found = [*samples(prometheus_of_status(shown()))]
    series = [(one.name, tuple(sorted(one.labels.items()))) for one in found]

    assert len(series) == len(set(series))
    assert {one.labels["command"] for one in found} == {"status"}
    assert {one.name for one in found if "stack" not in one.labels} == {"reconciler_status_timestamp_seconds"}
    assert {one.name for one in found} == {
        f"reconciler_{name}" for name in (*STATUS_METRICS, "status_timestamp_seconds")
    }


def test_a_state_is_one_of_its_words_and_the_numbers_are_those_of_the_status() -> None:
    status = shown()
    found = [*samples(prometheus_of_status(status))]
    for name, states in (("sync_state", SYNC_STATES), ("health_state", HEALTH_STATES)):
        for one in status.stacks:
            mine = [
                each
                for each in found
                if (each.name, each.labels.get("stack")) == (f"reconciler_{name}", one.stack)
            ]
            assert [each.labels["state"] for each in mine] == [*states]
            finding = one.sync if name == "sync_state" else one.health
            assert [each.labels["state"] for each in mine if each.value == 1] == [finding.state]
    numbers = {
        (one.labels["stack"], one.name): one.value
        for one in found
        if "stack" in one.labels and "state" not in one.labels
    }
    for stack in status.stacks:
        assert numbers[stack.stack, "reconciler_in_doubt"] == stack.in_doubt
        assert numbers[stack.stack, "reconciler_approvals_waiting"] == stack.approvals_open
        assert numbers[stack.stack, "reconciler_stale"] == stack.stale
        assert (numbers[stack.stack, "reconciler_last_success_timestamp_seconds"] > 0) is (
            stack.last_good != ""
        )


def test_who_fails_and_is_silent_is_stale_too() -> None:
    """The state says the worse of both; an alert about silence must not depend on it."""
    rows = StackRows(ORIGIN, "prod", results=(synced(8, 1),), expect_every_s=3600)

    (found,) = judge_stacks([rows], NOW).stacks

    assert (found.health.state, found.stale) == ("failing", True)


def named_metrics(text: str) -> set[str]:
    return set(re.findall(r"\breconciler_[a-z_]+", text))


def expressions() -> dict[str, str]:
    """Return every expression of the rules and of the dashboard, by where it stands."""
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text("utf-8"))
    found = {one["alert"]: one["expr"] for group in rules["groups"] for one in group["rules"]}
    board = json.loads((MONITORING / "dashboard.json").read_text("utf-8"))
    for panel in board["panels"]:
        found |= {f"{panel['title']} {one['refId']}": one["expr"] for one in panel.get("targets", ())}
    return found


def test_every_metric_that_a_rule_or_a_panel_names_is_written() -> None:
    """An alert about a metric that nobody writes is silent for ever."""
    status = shown()
    written = {one.name: set(one.labels) for one in samples(prometheus_of_status(status))}

    for place, expression in expressions().items():
        assert named_metrics(expression), place
        assert named_metrics(expression) <= set(written), place
        for name, matchers in re.findall(r"(reconciler_[a-z_]+)\{([^}]*)\}", expression):
            labels = set(re.findall(r"(\w+)(?:=~|!~|!=|=)", matchers))
            assert labels <= written[name], place
            for state in re.findall(r'state(?:=|=~)"([^"]*)"', matchers):
                assert set(state.split("|")) <= {*SYNC_STATES, *HEALTH_STATES}, place


def test_the_rules_raise_their_alarms_when_they_should() -> None:
    """Where `promtool` is on PATH it runs the cases; elsewhere their names are held against the rules."""
    cases = Path(__file__).with_name("alerts_test.yml")
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text("utf-8"))["groups"][0]["rules"]
    run_cases = [
        one for test in yaml.safe_load(cases.read_text("utf-8"))["tests"] for one in test["alert_rule_test"]
    ]
    raised = {one["alertname"] for one in run_cases if one.get("exp_alerts")}
    promtool = shutil.which("promtool")
    done = subprocess.run([promtool, "test", "rules", cases], check=False) if promtool else None

    assert {one["alert"] for one in rules if one["labels"]["severity"] == "page"} <= raised
    assert raised <= {one["alert"] for one in rules}
    assert done is None or done.returncode == 0


def test_every_state_that_needs_somebody_has_an_alert() -> None:
    """Also the file that nobody writes any more, and a question that nobody answers."""
    rules = " ".join(one for place, one in expressions().items() if place[0].isupper())

    for name in (
        "in_doubt",
        "stale",
        "approvals_waiting",
        "undelivered_notifications",
        "status_timestamp_seconds",
    ):
        assert f"reconciler_{name}" in rules
    assert 'state="failing"' in rules
    assert 'state="unknown"' in rules
