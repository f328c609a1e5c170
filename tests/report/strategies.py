"""Generated plans and runs: every shape the model allows, with text as hostile as text can be."""

from typing import Any, get_args

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from reconciler.model.address import Address
from reconciler.model.notices import Notice, NoticeKind
from reconciler.model.plans import (
    Adoption,
    Cause,
    Create,
    Delete,
    FieldChange,
    GuardReason,
    Options,
    Plan,
    RecordChange,
    RecordChangeKind,
    Skip,
    SkipReason,
    Target,
    Update,
    Verdict,
    Workspace,
)
from reconciler.model.runs import EXIT_CODE_WORDS, Context, Outcome, Result, Run
from reconciler.model.snapshots import Read, Scope

# Plans are large to draw, and a busy machine is no finding.
calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

names = st.from_regex(r"[a-z0-9](?:[a-z0-9._-]{0,12}[a-z0-9])?", fullmatch=True)
workspaces = st.sampled_from(["default", "ops", "night-shift"])
kinds = st.sampled_from(["contact", "device", "resource"])
hexadecimal = st.integers(0, 2**256 - 1).map(lambda number: f"{number:064x}")
texts = st.one_of(
    st.text(max_size=80),
    st.sampled_from(["", "\x1b[2J", "a\nb", "\u202egpj.exe", "近藤", "é", "secret:0a1b2c", " x", "x" * 200]),
)
scalars = st.one_of(texts, st.booleans())
paths = st.one_of(
    st.sampled_from(["firstName", "department", "custom.employeeId", "messagingOptions.sms.primary"]),
    st.sampled_from(["password", "pushToken", "status", "mimeType"]),
    texts,
)
causes: st.SearchStrategy[Cause] = st.sampled_from(
    [
        "declared",
        "drifted",
        "both",
        "no longer declared",
        "unknown",
        "gone",
        "reactivated",
        "undone",
        "given back",
    ]
)
times = st.datetimes().map(lambda moment: f"{moment:%Y-%m-%dT%H:%M:%SZ}".rjust(20, "0")) | st.just("")
digests = hexadecimal.map(lambda digits: f"sha256:{digits}")


@st.composite
def addresses(draw: st.DrawFn) -> Address:
    kind = draw(kinds)
    parts = [draw(names) for _ in range(2 if kind == "device" else 1)]
    return Address("/".join([kind, draw(workspaces), *parts]))


fields = st.dictionaries(paths, scalars, max_size=6)


@st.composite
def creates(draw: st.DrawFn) -> Create:
    address, values = draw(addresses()), draw(fields)
    if address.kind == "resource":
        values["content"] = draw(digests)
    return Create(address, draw(texts), values, draw(causes))


field_changes = st.builds(
    FieldChange, path=paths, before=st.none() | scalars, after=st.none() | scalars, cause=causes
)
updates = st.builds(
    Update,
    address=addresses(),
    place=texts,
    remote_id=texts,
    fields=st.lists(field_changes, max_size=4).map(tuple),
    parent_id=texts,
    adopts=texts,
)
deletes = st.builds(
    Delete,
    address=addresses(),
    remote_id=texts,
    before=fields,
    parent_id=texts,
    cascades=st.lists(texts, max_size=3).map(tuple),
    cause=causes,
    adopted=times | st.just("unknown"),
)
changes = st.one_of(creates(), updates, deletes)
reasons_to_skip: st.SearchStrategy[SkipReason] = st.sampled_from(
    [
        "ambiguous",
        "protected",
        "foreign mark",
        "in doubt",
        "disabled",
        "taken over",
        "not adopted",
        "not restored",
    ]
)
skips = st.builds(Skip, address=addresses(), reason=reasons_to_skip, what=texts, next=texts)
notices = st.builds(
    Notice,
    kind=st.sampled_from(get_args(NoticeKind)),
    subject=addresses() | texts,
    what=texts,
    next=texts,
    place=texts,
)
record_changes = st.builds(
    RecordChange,
    address=addresses(),
    what=st.sampled_from(get_args(RecordChangeKind)),
    fields=st.lists(texts, max_size=5).map(tuple),
)
scopes = st.builds(Scope, kind=kinds, workspace=workspaces)
counts = st.dictionaries(scopes.map(str), st.integers(0, 100_000), max_size=3)
reads = st.builds(
    Read,
    scope=scopes,
    how=st.sampled_from(["scan", "search", "get"]),
    calls=st.integers(0, 9999),
    avoided=st.integers(0, 9999),
    total=st.integers(-1, 9999),
    complete=st.booleans(),
)
few_texts = st.lists(texts, max_size=2).map(tuple)


def plans(of: st.SearchStrategy[Any] = changes, *, max_size: int = 6) -> st.SearchStrategy[Plan]:
    return st.builds(
        Plan,
        target=st.builds(
            Target,
            origin=texts,
            stack=texts,
            workspaces=st.lists(st.builds(Workspace, alias=names, id=texts, name=texts), max_size=2).map(
                tuple
            ),
        ),
        options=st.builds(Options, only=few_texts, excluded=few_texts, reactivate=few_texts),
        manifest_digest=hexadecimal,
        salt=hexadecimal,
        changes=st.lists(of, max_size=max_size).map(tuple),
        adoptions=st.lists(
            st.builds(Adoption, address=addresses(), remote_id=texts, by=texts, parent_id=texts), max_size=3
        ).map(tuple),
        skips=st.lists(skips, max_size=3).map(tuple),
        gone=st.lists(addresses(), max_size=2).map(tuple),
        records=st.lists(record_changes, max_size=3).map(tuple),
        renames=st.dictionaries(addresses(), addresses(), max_size=2),
        unchanged=counts,
        outside=counts,
        unmanaged=counts,
        owned=counts,
        notices=st.lists(notices, max_size=2).map(tuple),
        reads=st.lists(reads, max_size=3).map(tuple),
        created_at=times,
        expires_at=times,
        fingerprint=hexadecimal,
    )


verdicts = st.builds(
    Verdict,
    reasons=st.lists(
        st.builds(
            GuardReason,
            rule=st.sampled_from(["G1", "G2", "G4"]),
            scope=texts,
            count=st.integers(0, 999),
            limit=st.integers(0, 999),
            what=texts,
            next=texts,
        ),
        max_size=2,
    ).map(tuple),
)

results: st.SearchStrategy[Result] = st.sampled_from(
    ["applied", "skipped", "conflict", "failed", "in doubt", "not attempted"]
)
outcomes = st.builds(
    Outcome,
    address=addresses(),
    action=st.sampled_from(["create", "update", "delete"]),
    result=results,
    what=texts,
    next=texts,
    remote_id=texts,
)


contexts = st.builds(
    Context,
    program=st.sampled_from(["", "0.1.0", "1.2.3-rc.1+build.5"]),
    commit=st.sampled_from(["", "0123456789abcdef0123456789ABCDEF01234567"]),
    trace_id=st.sampled_from(["", "1-65e2f0a1-0123456789abcdef01234567"]),
    container=st.sampled_from(["", "0123456789ab", "0123456789abcdef" * 4]),
    region=st.sampled_from(["", "ap-southeast-2"]),
)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    # A run has begun to write: what still waits, for a person or a window, is none.
    code = draw(st.sampled_from(sorted(EXIT_CODE_WORDS.keys() - {9, 10})))
    return Run(
        run=str(draw(st.uuids())),
        fingerprint=draw(hexadecimal | st.just("")),
        started_at=draw(times),
        ended_at=draw(times),
        outcome=EXIT_CODE_WORDS[code],
        exit_code=code,
        outcomes=tuple(draw(st.lists(outcomes, max_size=6))),
        adopted=draw(st.integers(0, 999)),
        calls=draw(
            st.dictionaries(
                st.sampled_from(["GET", "POST", "PUT", "DELETE"]), st.integers(0, 9999), max_size=4
            )
        ),
        stopped=draw(texts),
        context=draw(contexts),
        notices=tuple(draw(st.lists(notices, max_size=2))),
    )
