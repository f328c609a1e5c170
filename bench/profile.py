"""Where the time of a command goes, layer by layer: one command in this process, sampled every millisecond.

    .venv/bin/python bench/profile.py 10000                  the first plan, of nobody recorded
    .venv/bin/python bench/profile.py 10000 after            the plan after an apply: nothing to do
    .venv/bin/python bench/profile.py 10000 again            the same once more: it is found again
    .venv/bin/python bench/profile.py 10000 after --refresh full --no-cache
    .venv/bin/python bench/profile.py 1000 apply             creates, 16 at once, 20 ms for each answer

A sample counts for the innermost package of ours that it stands in, and so do the libraries that are called
from there; what is imported counts as start. Processor seconds: who waits is not sampled.
"""

import os
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

from cases import AT_ONCE, LATENCY_MS, project
from processes import environ_of, reconciler
from service import sandbox

from reconciler.concurrency import BUSY

_EACH_S = 0.001
_OURS = f"{Path(__file__).parent.parent / 'reconciler'}{os.sep}"
Layers = tuple[tuple[str, tuple[str, ...]], ...]
# The first that fits counts; a path is that of a package of ours.
_LAYERS: Layers = (
    ("manifests", ("manifest", "parsing")),
    ("check of what is declared", ("core/desired",)),
    ("HTTP and decoding", ("service",)),
    ("reading lists", ("engine/live", "engine/scopes", "engine/reading", "engine/list_cache")),
    ("planning", ("core", "model")),
    ("store", ("store",)),
    ("event loop, and waiting threads", ("cli/session", "concurrency", "engine/planning", "pipeline")),
    ("applying", ("engine",)),
    ("command and report", ("",)),
)
# Of an apply: what each part of a create costs. A name behind the path is that of a function.
_LAYERS_OF_APPLY: Layers = (
    ("manifests, and the check of what they declare", ("manifest", "parsing", "core/desired")),
    (
        "logs and spans",
        ("instrumentation", *(f"service/http/exchange.py:{one}_" for one in ("log", "request", "answer"))),
    ),
    ("limiter: places, turns, retries", ("service/http/limiter", "service/http/transport")),
    ("the libraries below a request", ("service/http/connections",)),
    ("request: address, headers, time limits", ("service/http/exchange", "service/http/urls", "concurrency")),
    ("decoding what comes", ("service",)),
    ("journal: intents, results, records", ("store", "engine/ledger", "engine/session")),
    ("look before the write", ("engine/look", "core/compare/match", "core/compare/identity")),
    ("read-back", ("engine/readback", "core/compare", "engine/settle")),
    ("event loop, and waiting threads", ("cli/session", "engine/planning", "pipeline")),
    ("order of the changes, outcomes", ("engine",)),
    ("plan, report, screen", ("",)),
)


def main(count: int, case: str, *options: str) -> None:
    """Prepare what the case needs, run its command here, and print seconds by layer."""
    applies = case == "apply"
    latency = ("--latency-ms", str(LATENCY_MS)) if applies else ()
    with (
        sandbox(0 if applies else count, *latency) as base_url,
        project(count, "yaml", base_url, at_once=AT_ONCE) as folder,
    ):
        if case in ("after", "again"):
            reconciler(folder, "apply", "--yes")
        if case == "again":
            reconciler(folder, "plan")
        os.environ.update(environ_of(folder))
        os.chdir(folder)
        command = ("apply", "--yes") if applies else ("plan",)
        seconds = _sampled([*command, *options], _LAYERS_OF_APPLY if applies else _LAYERS)
        os.chdir("/")
    total = sum(seconds.values())
    for layer, spent in seconds.most_common():
        sys.stderr.write(f"{spent:7.2f} s  {spent / total:4.0%}  {layer}\n")
    sys.stderr.write(f"{total:7.2f} s        {case}, {count:,} people\n")


def _sampled(arguments: list[str], layers: Layers) -> Counter[str]:
    """Run one command of ours and return its processor seconds by layer."""
    seen: Counter[str] = Counter()
    signal.signal(signal.SIGPROF, lambda _number, frame: seen.update((_layer(_busy(frame), layers),)))
    # The library asks for the handler in words that show all that the command returns, where it is Python's.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    began = sum(os.times()[:2])
    signal.setitimer(signal.ITIMER_PROF, _EACH_S, _EACH_S)
    from reconciler.cli.main import run  # noqa: PLC0415 - its start is a part of what is sampled

    run(arguments)
    signal.setitimer(signal.ITIMER_PROF, 0)
    spent = sum(os.times()[:2]) - began
    # By shares: a system with a slow timer takes fewer samples.
    return Counter({layer: spent * number / seen.total() for layer, number in seen.items()})


def _busy(frame: FrameType | None) -> FrameType | None:
    """Return the frame of the thread beside the event loop, where the loop itself is in none of ours."""
    if frame is None or not frame.f_code.co_filename.endswith("asyncio/runners.py"):
        return frame
    beside = next((one.ident for one in threading.enumerate() if one.name.startswith(BUSY)), None)
    return sys._current_frames().get(beside, frame) if beside else frame  # noqa: SLF001 - the documented way


def _layer(frame: FrameType | None, layers: Layers) -> str:
    inner = ""
    while frame is not None:
        path = frame.f_code.co_filename
        if "importlib._bootstrap" in path:
            return "start"
        if not inner and path.startswith(_OURS):
            inner = f"{path.removeprefix(_OURS)}:{frame.f_code.co_name}"
        frame = frame.f_back
    return next(layer for layer, parts in layers if any(inner.startswith(part) for part in parts))


if __name__ == "__main__":
    size, *more = sys.argv[1:]
    main(int(size), *(more or ["first"]))
