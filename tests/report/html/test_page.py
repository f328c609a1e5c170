"""The HTML report as a parser reads it: closed to the outside, in order, and text of others is text."""

import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html.parser import HTMLParser

import effort
import growth
import pytest
from hostile import corpora
from hostile.corpora import Case
from hypothesis import given, settings
from laws.worlds import CANARY, World, worlds
from msgspec import structs
from report import cases
from report.html.large import plan_of
from report.reviews import ACTING, REVIEWS, SAFE, acting, acting_run, reviews
from report.strategies import calm

from reconciler.errors import ManifestError, Problem
from reconciler.model.address import contact_address, device_address
from reconciler.model.plans import Create, Delete, FieldChange, Update, Verdict
from reconciler.report.escaping import escape_control
from reconciler.report.html import compare_words, html, html_of_checks, piece_max
from reconciler.report.review_document import Review, Validated

# Every element that a report may have, and every attribute. None of them names an address or acts by itself.
ELEMENTS = {
    "b", "body", "button", "caption", "code", "dd", "del", "details", "div", "dl", "dt", "em",
    "fieldset", "footer", "form", "h1", "h2", "h3", "head", "header", "html", "i", "input", "ins",
    "label", "legend", "li", "main", "meta", "option", "output", "p", "rect", "s", "script",
    "section", "select", "small", "span", "strong", "style", "summary", "svg", "table", "tbody",
    "td", "th", "thead", "title", "tr", "ul", "wbr",
}  # fmt: skip
ATTRIBUTES = {
    "aria-hidden", "aria-label", "aria-labelledby", "autocomplete", "charset", "checked", "class",
    "content", "focusable", "for", "height", "hidden", "http-equiv", "id", "lang", "name", "open",
    "placeholder", "preserveaspectratio", "role", "scope", "spellcheck", "type", "value",
    "viewbox", "width", "x",
}  # fmt: skip
MISTAKES = Validated(
    (
        Problem(
            "manifests/ops.yaml",
            14,
            7,
            "contact/ops/jane-doe: fristName is not a field of a contact.",
            "did you mean firstName?",
            code="E201",
        ),
        Problem("manifests/ops.yaml", 30, 0, "contact/ops/sam-lee: this is declared twice.", code="E100"),
        Problem(
            "people/staff.csv",
            3,
            2,
            "contact/ops/1042: the e-mail address is empty.",
            "fill it in",
            code="E100",
        ),
    ),
    (cases.TYPO,),
)
EVERY = [*REVIEWS.values(), *map(acting, ACTING), *map(acting_run, ACTING)]


class Page(HTMLParser):
    """Elements in their order, with what stands in them and in their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.within = ""
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[tuple[str, str]] = []
        self.others: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.within = tag
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append((self.within, data))

    def handle_endtag(self, tag: str) -> None:
        self.within = self.within if tag == "wbr" else ""

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)

    def value(self, tag: str, name: str) -> list[str]:
        return [value for one, attribute, value in self.attributes if (one, attribute) == (tag, name)]

    def inside(self, tag: str) -> str:
        return "".join(data for one, data in self.texts if one == tag)

    @property
    def text(self) -> str:
        return " ".join("".join(data for tag, data in self.texts if tag not in {"script", "style"}).split())


def assert_closed(text: str) -> Page:
    """Nothing in the file acts but its own script and style, and nothing is asked for elsewhere."""
    page = Page(text)
    assert set(page.tags) <= ELEMENTS, set(page.tags) - ELEMENTS
    assert {name for _, name, _ in page.attributes} <= ATTRIBUTES
    assert page.others == []
    assert (page.tags.count("script"), page.tags.count("style")) == (1, 1)
    policy = next(value for value in page.value("meta", "content") if "default-src" in value)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["script-src"] == hashed(page.inside("script"))
    assert rules["style-src"] == hashed(page.inside("style"))
    return page


def hashed(part: str) -> str:
    return f"'sha256-{b64encode(sha256(part.encode()).digest()).decode()}'"


def entries(text: str, section: str) -> list[str]:
    """The addresses in a section, in their order."""
    _, _, rest = text.partition(f"id={section} ")
    return [
        "".join(re.findall(r">([^<]*)", one))
        for one in re.findall(r"<h3(.*?)</h3>", rest.partition("</section>")[0])
    ]


@pytest.mark.parametrize("review", EVERY)
def test_the_file_needs_nothing_and_lets_nothing_in(review: Review) -> None:
    """Its policy lets one script and one style run, by their hashes, and loads nothing from anywhere."""
    assert_closed(html(review))


@calm
@given(reviews())
def test_whatever_the_review_the_file_is_closed_and_the_same_again(review: Review) -> None:
    text = html(review)

    assert_closed(text)
    assert text == html(review)


@pytest.mark.parametrize("text", ACTING)
def test_text_that_tries_to_act_is_read_as_it_was_written(text: str) -> None:
    """Escaped once: not at all would let it act, and twice would show another name."""
    made, run = acting(text), acting_run(text)
    page = assert_closed(html(made))
    shown = " ".join(escape_control(text).split())

    assert page.text.count(shown) >= 10
    assert shown in assert_closed(html(run)).text


@effort.sample(24)  # each is a whole page, read as a browser reads it
@corpora.each("texts")
def test_every_text_of_the_corpus_stays_text(case: Case) -> None:
    """Nothing that somebody calls himself becomes an element, an attribute or a comment of the page."""
    corpora.claim(case, "texts in HTML", lambda: _told(case))


def _told(case: Case) -> str:
    assert_closed(html(acting(case.text)))
    safe = escape_control(case.text)
    assert " ".join(safe[:200].split()) in assert_closed(html(acting_run(case.text))).text
    return f"shown: {safe}" if len(safe) < 300 else f"shown: {len(safe)} characters"


def test_the_sentence_that_matters_comes_first_and_deletes_before_all_else() -> None:
    """A reviewer who reads one line reads what is lost and what costs money."""
    fields = (FieldChange("status", "DISABLED", "ACTIVE", "reactivated"),)
    revived = Update(device_address("ops", "sam-lee", "pixel"), "ops.yaml:1", "D2", fields)
    ours = [Delete(contact_address("ops", name), name, {"firstName": "A"}) for name in ("ann", "ben")]
    plan = structs.replace(cases.MIXED, changes=(*cases.MIXED.changes, revived, *ours))
    text = html(Review("plan", plan, SAFE, 2, show_values=True))
    first = Page(text.partition("<h1>")[2].partition("</h1>")[0]).text

    assert first == "3 contacts will be deleted and 1 disabled device will be enabled again and charged."
    sections = re.findall(r'<section class="list [a-z]+" id=([a-z]+) ', text)
    assert sections == ["deletes", "before", "updates", "creates", "records", "skips", "notices"]
    assert entries(text, "deletes") == ["contact/ops/ann", "contact/ops/ben"]
    assert entries(text, "before") == [str(cases.OLD_HAND.address)]
    assert len(entries(text, "records")) == plan.to_keep


def test_every_change_record_skip_and_notice_stands_in_the_page() -> None:
    plan = cases.MIXED
    text = html(REVIEWS["plan"])

    wanted = [
        *(one.address for one in (*plan.changes, *plan.adoptions, *plan.skips, *plan.records)),
        *plan.gone,
    ]
    assert sorted(re.findall(r"<h3>(.*?)</h3>", text)) == sorted(
        re.sub(r"([^/]+)$", r"<b>\1</b>", str(one))
        for one in [*wanted, *plan.renames.values(), *(notice.subject for notice in plan.notices)]
    )


def test_a_refused_plan_says_what_it_would_do_and_offers_no_command() -> None:
    page = Page(html(REVIEWS["plan-refused"]))

    assert "would be deleted" in page.text
    assert "will be deleted" not in page.text
    assert "Refused: nothing is written" in page.text
    assert REVIEWS["plan-refused"].next_step not in page.text


def test_a_run_tells_outcomes_time_and_calls_and_what_went_wrong_first() -> None:
    """Whoever looks at a run looks for what did not end well."""
    text = html(structs.replace(REVIEWS["run"], show_values=True))
    page = Page(text)

    assert "1 in doubt, 2 failed, 1 conflict and 1 of 7 changes applied." in page.text
    assert "72 s" in page.text
    assert "44 calls (41 GET, 2 POST, 1 PUT)" in page.text
    ended = [str(one.address) for one in cases.PARTIAL.outcomes if one.result != "applied"]
    assert sorted(entries(text, "ended")) == sorted(ended)
    assert entries(text, "ended")[0] == str(cases.NEW_CONTACT.address)


def test_a_delete_that_looks_like_a_rename_says_so_beside_its_create() -> None:
    """A person under a new name is deleted and created, and loses what only the service knows."""
    person = {"firstName": "Nora", "lastName": "More", "workEmailAddress1": "nora.more@example.com"}
    old, new = contact_address("ops", "nora-less"), contact_address("ops", "nora-more")
    changes = (Delete(old, "9A", person), Create(new, "manifests/ops.yaml:3", person))
    page = Page(html(Review("plan", structs.replace(cases.EMPTY, changes=changes), SAFE, 2)))

    assert f"looks like {new}, which is created" in page.text
    assert f"looks like a rename of {old}, which is deleted" in page.text
    assert "meta: {renamedFrom: nora-less}" in page.text


def test_drift_reads_as_time_does() -> None:
    """Before is what we left, after is what is live: the other way round than in a plan."""
    text = html(structs.replace(REVIEWS["drift"], show_values=True))

    assert "<dt>department<dd><del>Operations</del> <ins>Night</ins>" in text
    assert "<dt>mimeType<dd><del><s>(not known)</s></del> <ins>text/plain</ins>" in text


def test_whoever_is_updated_has_a_name_beside_the_address() -> None:
    """An address tells a reviewer little; of creates and deletes the page has the fields."""
    text = html(structs.replace(REVIEWS["plan-values"], whom=lambda one: f"Q {one.rpartition('/')[2]}"))

    assert "<b>jane-doe</b></h3><p class=who>Q jane-doe</p>" in text
    assert "<b>chief</b></h3><p class=who>Q chief</p>" in text
    assert "<b>ann-poe</b></h3><p class=who>Q ann-poe</p>" in text


@pytest.mark.parametrize("text", ACTING)
def test_a_name_beside_an_address_is_text(text: str) -> None:
    for review in ("plan-values", "drift", "run"):
        made = structs.replace(REVIEWS[review], show_values=True, whom=lambda _one: text)
        page = assert_closed(html(made))

        assert " ".join(escape_control(text).split()) in page.text


def marked(before: str, after: str) -> str:
    """Two texts as the page marks what goes and what comes."""
    found = ""
    for part in compare_words(before, after):
        more = f"… {part.omitted:,} more characters …" if part.omitted else ""
        found += f"<{part.tag}>{part.text}{more}</{part.tag}>" if part.tag else f"{part.text}{more}"
    return found


def test_a_change_inside_a_long_value_is_marked_and_the_rest_stands_once() -> None:
    before = "The person on duty answers every call within ten minutes, and sleeps."
    after = before.replace("sleeps", "never sleeps").replace("ten", "five")

    assert marked(before, after) == (
        "The person on duty answers every call within <del>ten</del><ins>five</ins> minutes, and"
        "<ins> never</ins> sleeps."
    )
    assert marked("Night", "Operations") == "<del>Night</del> <ins>Operations</ins>"
    assert "… 1,940 more characters …" in marked(f"{'a ' * 1000}b", f"{'a ' * 1000}c")


@settings(calm)
@given(worlds())
def test_the_plan_of_any_world_is_closed_and_holds_no_secret_and_no_salt(world: World) -> None:
    """A report travels further than a plan file; with the salt, masks could be tried out against guesses."""
    try:
        plan = world.plan()
    except ManifestError:
        return
    for command in ("plan", "drift"):
        for show_values in (False, True):
            text = html(Review(command, plan, Verdict(), 0, show_values=show_values))

            assert_closed(text)
            assert CANARY not in text
            assert "secret:" not in text
            assert not plan.salt or plan.salt not in text


@pytest.mark.parametrize("show_values", [False, True])
def test_eight_times_the_changes_take_about_eight_times_as_long(*, show_values: bool) -> None:
    def made(number: int) -> Review:
        return Review("plan", plan_of(number), Verdict(), 2, show_values=show_values)

    assert growth.ratio(html, made, 250) <= growth.RATIO_MAX


def test_the_page_of_validate_tells_mistakes_first_each_with_place_code_and_way_out() -> None:
    """Whoever opens it wants to know where to go, and what to type there."""
    text = html_of_checks(MISTAKES)
    page = assert_closed(text)

    assert "<title>validate: 3 mistakes and 1 warning.</title>" in text
    assert "In 2 files. Fix every mistake, then plan." in page.text
    assert re.findall(r'<section class="list [a-z]+" id=([a-z]+) ', text) == ["mistakes", "warnings"]
    assert entries(text, "mistakes") == [
        "manifests/ops.yaml:14:7",
        "manifests/ops.yaml:30",
        "people/staff.csv:3:2",
    ]
    assert entries(text, "warnings") == ["manifests/ops.yaml:31"]
    assert "next: did you mean firstName?" in page.text
    assert page.value("option", "value").count("manifests/ops.yaml") == 1
    assert {"E201", "warning"} <= set(page.value("option", "value"))
    assert text == html_of_checks(MISTAKES)


def test_the_page_of_good_manifests_says_so_and_has_no_controls() -> None:
    text = html_of_checks(Validated(()))

    assert "The manifests are valid. Ready to plan." in assert_closed(text).text
    assert "<form" not in text


def test_a_difference_of_long_values_takes_linear_time_and_little_room() -> None:
    """A value may be a megabyte, and share nothing with the one before it."""

    def made(number: int) -> tuple[str, str]:
        return "".join(_words(number, 1)), "".join(_words(number, 2))

    assert growth.ratio(lambda pair: marked(*pair), made, 4_000) <= growth.RATIO_MAX
    assert len(marked(*made(50_000))) < 4 * piece_max


def _words(number: int, step: int) -> Iterator[str]:
    return (f"w{each * step} " for each in range(number))


def test_ten_thousand_changes_take_at_most_six_mebibytes() -> None:
    assert len(html(Review("plan", plan_of(10_000), Verdict(), 2, show_values=True)).encode()) <= 6 * 2**20
