"""Where a run took place: taken from what is there, and only in the right form."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from opentelemetry.context import Context as Carried
from opentelemetry.trace import get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from reconciler.environment import run_context
from reconciler.environment.run_context import read_context
from reconciler.model.runs import Context
from reconciler.schema.shipped import read_schema
from reconciler.version import __version__

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TRACE = "1-65e2f0a1-0123456789abcdef01234567"


def read(environ: Mapping[str, str], root: Path) -> Context:
    return read_context(environ, root, random=lambda octets: "ab" * octets)


def test_a_build_system_tells_commit_region_and_trace(tmp_path: Path) -> None:
    """The run joins the trace of whoever started it."""
    told = read(
        {"GITHUB_SHA": COMMIT, "AWS_REGION": "eu-west-1", "_X_AMZN_TRACE_ID": f"Root={TRACE};Sampled=1"},
        tmp_path,
    )

    assert (told.commit, told.region, told.trace_id, told.program) == (
        COMMIT,
        "eu-west-1",
        TRACE,
        __version__,
    )


PARENT = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENTS = (
    f"00-{PARENT}-00f067aa0ba902b7-01",
    f"00-{PARENT}-00f067aa0ba902b7-00",
    f" cc-{PARENT}-00f067aa0ba902b7-01-later\n",
)
NO_PARENTS = (
    "",
    f"00-{PARENT}-00f067aa0ba902b7-01-later",
    f"ff-{PARENT}-00f067aa0ba902b7-01",
    f"00-{PARENT.upper()}-00f067aa0ba902b7-01",
    f"00-{'0' * 32}-00f067aa0ba902b7-01",
    f"00-{PARENT}-{'0' * 16}-01",
    f"00-{PARENT}-00f067aa0ba902b7",
)


@pytest.mark.parametrize("traceparent", [*PARENTS, *NO_PARENTS])
def test_a_traceparent_is_read_as_the_library_of_traces_reads_it(tmp_path: Path, traceparent: str) -> None:
    """Else the run would name one trace, and its spans be in another. X-Ray's form has the same digits."""
    told = read({"TRACEPARENT": traceparent, "_X_AMZN_TRACE_ID": f"Root={TRACE}"}, tmp_path).trace_id
    carrier = {"traceparent": traceparent.strip()}
    spans = TraceContextTextMapPropagator().extract(carrier, Carried())
    found = get_current_span(spans).get_span_context()

    assert found.is_valid is (traceparent in PARENTS)
    assert told == (f"1-{PARENT[:8]}-{PARENT[8:]}" if found.is_valid else TRACE)
    assert run_context.TRACE.fullmatch(told)


def test_of_a_command_that_is_recorded_the_trace_is_named(tmp_path: Path) -> None:
    """Where nobody began one before, the history leads to the trace that was made."""
    told = read_context({}, tmp_path, random=lambda octets: "ab" * octets, recorded=PARENT)

    assert told.trace_id == f"1-{PARENT[:8]}-{PARENT[8:]}"


@pytest.mark.parametrize(
    "environ",
    [
        {
            "GITHUB_SHA": "HEAD",
            "AWS_REGION": "somewhere",
            "HOSTNAME": "laptop",
            "_X_AMZN_TRACE_ID": "Root=1-2-3",
        },
        {"CI_COMMIT_SHA": f"{COMMIT}\n", "CLOUD_REGION": "eu-west-1 ", "HOSTNAME": "0123456789AB"},
    ],
)
def test_what_has_another_form_is_left_out(tmp_path: Path, environ: dict[str, str]) -> None:
    """A report that its own schema refuses helps nobody."""
    told = read(environ, tmp_path)

    assert (told.commit, told.region) == ("", "")
    assert told.container in ("", *re.findall(r"[0-9a-f]{64}", told.container))
    assert run_context.TRACE.fullmatch(told.trace_id)


def test_without_a_build_system_the_commit_is_the_repository_s(tmp_path: Path) -> None:
    """The manifests that were applied are those of this commit."""
    for arguments in (
        ["init", "-q"],
        ["-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True)
    head = subprocess.run(
        ["git", "-C", str(tmp_path), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    )

    assert read({}, tmp_path).commit == head.stdout.strip()


def test_a_short_container_id_is_the_host_name(tmp_path: Path) -> None:
    """Where the machine itself does not show the long one."""
    told = read({"HOSTNAME": "0123456789ab"}, tmp_path)

    assert told.container == "0123456789ab" or run_context.CONTAINER.fullmatch(told.container)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        (run_context.COMMIT, "commitHash"),
        (run_context.TRACE, "traceId"),
        (run_context.REGION, "regionCode"),
        (run_context.CONTAINER, "containerLongId"),
        (run_context.SHORT_CONTAINER, "containerShortId"),
    ],
)
def test_each_form_is_one_that_the_schema_takes(pattern: re.Pattern[str], name: str) -> None:
    """One definition each: what is looked for is what the schema allows, or less."""
    shown = read_schema("common")["$defs"][name]
    schema = re.compile(shown["pattern"], re.ASCII)
    samples = [COMMIT, TRACE, "eu-west-1", "0123456789abcdef" * 4, "0123456789ab", "", "x", f"{COMMIT}\n"]

    assert [text for text in samples if pattern.fullmatch(text) and not schema.search(text)] == []
    assert any(pattern.fullmatch(text) for text in samples)


def test_the_schema_takes_a_commit_whose_files_were_changed() -> None:
    """The mark stands behind all digits, and nothing else does."""
    commit = re.compile(read_schema("common")["$defs"]["commitHash"]["pattern"], re.ASCII)

    assert commit.search(COMMIT + run_context.DIRTY)
    assert [
        bad for bad in (f"{COMMIT}+", f"{COMMIT}-dirty", "+dirty", f"{COMMIT}+dirty ") if commit.search(bad)
    ] == []
