"""Keep the people, push devices and resources of a messaging service as YAML in git.

The data path, and where each step lives::

    manifests --load--> documents --resolve--> DESIRED --+
                                                         +- plan -> PLAN - guard -> report
    service --fetch---> wire ------normalize--> LIVE ----+            |
                                                         |            v
    store ----read----> ---------------------> RECORDED -+          apply -> outcomes -> report
                          ^                                           |
                          +------------- recorded --------------------+

Files are read in `manifest/`, the service in `service/` and `live/`, the store in `store/`; `core/` resolves,
normalizes, plans and guards, `engine/` carries out, `report/` renders; docs/architecture.md has the map.

Read `pipeline.py` first: one short function a verb.

As a library, `plan` and `apply` do what the commands do, and `ServiceClient` is the whole service, typed
(docs/library.md). The public names are below and are loaded when they are first used, so that
`reconciler --version` waits for none of them.
"""

TYPE_CHECKING = False  # importing it from `typing` would take 4 ms, in which no signal is heard
if TYPE_CHECKING:
    from reconciler.errors import (
        DirectoryError,
        FileError,
        InDoubt,
        InputError,
        LockHeld,
        Malformed,
        ManifestError,
        MissingExtra,
        NotFound,
        Permanent,
        Problem,
        ReconcilerError,
        Refused,
        Rejected,
        ServiceError,
        SettingsError,
        StalePlan,
        StoreError,
        Temporary,
        Throttled,
        Unauthorized,
        Unavailable,
        UnknownAddress,
        UnsafePlan,
    )
    from reconciler.files.plan_file import read_plan, write_plan
    from reconciler.library import Project, Proposal, apply, apply_async, plan, plan_async
    from reconciler.messaging.client import ServiceClient
    from reconciler.messaging.inbox import Inbox
    from reconciler.messaging.messages import Progress
    from reconciler.messaging.receiver import ReceiverConfig, create_receiver
    from reconciler.messaging.replies import parse_reply
    from reconciler.messaging.values import (
        BulkResource,
        Callback,
        CallbackAuth,
        CallbackCall,
        Delivery,
        Message,
        MessageDetail,
        MessageRow,
        Reply,
        Respondent,
        Response,
        ResponseCount,
        Sent,
        StatusCount,
    )
    from reconciler.model.plans import Consent, Options, Plan, Verdict, Workspace
    from reconciler.model.runs import Outcome, Run
    from reconciler.model.secrets import Secret
    from reconciler.model.settings import Limits
    from reconciler.service.http.limiter import Timing
    from reconciler.service.paging import Found, Page, Query, Rows
    from reconciler.version import __version__


__all__ = [
    "BulkResource",
    "Callback",
    "CallbackAuth",
    "CallbackCall",
    "Consent",
    "Delivery",
    "DirectoryError",
    "FileError",
    "Found",
    "InDoubt",
    "Inbox",
    "InputError",
    "Limits",
    "LockHeld",
    "Malformed",
    "ManifestError",
    "Message",
    "MessageDetail",
    "MessageRow",
    "MissingExtra",
    "NotFound",
    "Options",
    "Outcome",
    "Page",
    "Permanent",
    "Plan",
    "Problem",
    "Progress",
    "Project",
    "Proposal",
    "Query",
    "ReceiverConfig",
    "ReconcilerError",
    "Refused",
    "Rejected",
    "Reply",
    "Respondent",
    "Response",
    "ResponseCount",
    "Rows",
    "Run",
    "Secret",
    "Sent",
    "ServiceClient",
    "ServiceError",
    "SettingsError",
    "StalePlan",
    "StatusCount",
    "StoreError",
    "Temporary",
    "Throttled",
    "Timing",
    "Unauthorized",
    "Unavailable",
    "UnknownAddress",
    "UnsafePlan",
    "Verdict",
    "Workspace",
    "__version__",
    "apply",
    "apply_async",
    "create_receiver",
    "parse_reply",
    "plan",
    "plan_async",
    "read_plan",
    "write_plan",
]

# Where each name is defined; a test compares it with the imports for type checkers above.
_HOMES = {
    "reconciler.files.plan_file": "read_plan write_plan",
    "reconciler.errors": (
        "DirectoryError FileError InDoubt InputError LockHeld Malformed ManifestError MissingExtra "
        "NotFound Permanent Problem ReconcilerError Refused Rejected ServiceError SettingsError StalePlan "
        "StoreError Temporary Throttled Unauthorized Unavailable UnknownAddress UnsafePlan"
    ),
    "reconciler.library": "Project Proposal apply apply_async plan plan_async",
    "reconciler.messaging.values": (
        "BulkResource Callback CallbackAuth CallbackCall Delivery Message MessageDetail "
        "MessageRow Reply Respondent Response ResponseCount Sent StatusCount"
    ),
    "reconciler.model.plans": "Consent Options Plan Verdict Workspace",
    "reconciler.model.runs": "Outcome Run",
    "reconciler.model.secrets": "Secret",
    "reconciler.model.settings": "Limits",
    "reconciler.messaging.receiver": "ReceiverConfig create_receiver",
    "reconciler.messaging.inbox": "Inbox",
    "reconciler.messaging.client": "ServiceClient",
    "reconciler.service.paging": "Found Page Query Rows",
    "reconciler.service.http.limiter": "Timing",
    "reconciler.messaging.messages": "Progress",
    "reconciler.messaging.replies": "parse_reply",
    "reconciler.version": "__version__",
}

if not TYPE_CHECKING:  # or a misspelt name would pass every type checker

    def __getattr__(name: str) -> object:
        """The public name, from its home."""
        from importlib import import_module  # noqa: PLC0415 - the command does without it at first

        for home, names in _HOMES.items():
            if name in names.split():
                return getattr(import_module(home), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
