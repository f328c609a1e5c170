"""Calls of a SCIM service: GETs with a token, to one origin, with limits in time and size.

It drives the library's transport and not its client, which would keep cookies, log whole URLs, and know about
redirects, proxies and netrc. Here they do not exist. What a service says in an error is never shown: it may
hold values of people.
"""

import json
import re
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import quote, urlencode, urlsplit

import httpx2

from reconciler import tls
from reconciler.concurrency import time_limit
from reconciler.core.calls import is_loopback, parse_retry_after_s
from reconciler.directories.answers import (
    ChangedError,
    DirectoryFailed,
    load_directory_trust,
    require_plain_url,
)
from reconciler.model.directories import ScimDirectory
from reconciler.model.documents import CHARACTERS_MAX
from reconciler.parsing.json_reader import EXACT_DECODER
from reconciler.parsing.tree_builder import NODES_MAX
from reconciler.service.http.exchange import chain_of_causes

ScimQuery = tuple[tuple[str, str], ...]

BODY_MAX = 16 * 1024 * 1024  # bytes of one answer; a page of 100 users has some 200 thousand
TRIES_MAX = 4  # of one call
_ERROR_MAX = 64 * 1024  # bytes of an error that are read, for the one word that says which it is
_WAIT_S = 0.5  # before the second try; doubled for each one after it
_OK = 200

_URL = "check `url` in the settings, and the network"
_ASK = "ask the operator of the directory"
_LATER = "run it again later"
_SLOW = "raise `timeout_s` if it is known to be slow"


@dataclass(frozen=True, slots=True)
class ScimRefusal:
    """Statuses from `low` to `high` whose error says `word`, what they mean, and what follows."""

    low: int
    high: int
    word: str  # the `scimType` of RFC 7644, table 9, and RFC 9865; "": any, or none
    what: str
    hint: str
    then: Literal["fail", "again", "changed"] = "fail"


_FILTER = 'check `filter`, which is written as in userType eq "Employee"'
# The first row that fits.
SCIM_REFUSALS = (
    ScimRefusal(300, 399, "", "it redirects, which is never followed.", "write the final address into `url`"),
    ScimRefusal(400, 400, "invalidFilter", "it does not accept the filter.", _FILTER),
    ScimRefusal(400, 400, "tooMany", "it finds more users than it returns.", "narrow `filter`"),
    ScimRefusal(400, 400, "expiredCursor", "its cursor was too old.", "", "changed"),
    ScimRefusal(400, 400, "invalidCursor", "it rejects a cursor that it sent itself.", "", "changed"),
    ScimRefusal(400, 400, "invalidCount", "it refuses this page size.", "lower `page`"),
    ScimRefusal(400, 400, "", "it refuses the request.", "check `filter`, `attributes`, `paging` and `page`"),
    ScimRefusal(401, 401, "", "it does not accept the token.", "check `token`: it may have expired"),
    ScimRefusal(403, 403, "", "this token may not read users.", f"check `token`, or {_ASK}"),
    ScimRefusal(404, 404, "", "nothing was found at its address.", "check `url`: /Users is below it"),
    ScimRefusal(408, 408, "", "it waited too long for the request.", _LATER, "again"),
    ScimRefusal(413, 414, "", "the request is too long.", "shorten `filter` or `attributes`"),
    ScimRefusal(425, 425, "", "it is not ready.", _LATER, "again"),
    ScimRefusal(429, 429, "", "it throttles requests.", _LATER, "again"),
    ScimRefusal(501, 501, "", "it does not support listing users.", _ASK),
    ScimRefusal(500, 599, "", "it failed.", _LATER, "again"),
    ScimRefusal(100, 999, "", "it answers with an unexpected status.", "check `url`"),
)


class _AgainError(Exception):
    """The call may be made again after `wait_s`; `failed` is raised where it is not."""

    def __init__(self, failed: DirectoryFailed, wait_s: float = 0.0) -> None:
        super().__init__()
        self.failed = failed
        self.wait_s = wait_s


class ScimCalls:
    """The calls of one reading. Raises DirectoryFailed for an address or a token that cannot be used.

    `sleep` waits between tries.
    """

    def __init__(
        self, directory: ScimDirectory, sleep: Callable[[float], Awaitable[object]], ends_at: float
    ) -> None:
        self._address = f"{_require_base_url(directory.url)}/Users"
        self._fixed: ScimQuery = tuple(
            (name, value)
            for name, value in (("filter", directory.filter), ("attributes", ",".join(directory.attributes)))
            if value
        )
        self._headers = {
            "Accept": "application/scim+json, application/json",
            "Accept-Encoding": "identity",  # what is packed can unpack to anything
            **_build_authorization(directory),
        }
        self._ends_at = ends_at
        self._sleep = sleep
        self._left = CHARACTERS_MAX
        self._transport = httpx2.AsyncHTTPTransport(
            verify=load_directory_trust(directory.ca)
            if self._address.startswith("https:")
            else tls.make_empty_tls_context(),
            trust_env=False,
            limits=httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=2.0),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.aclose()

    async def page(self, query: ScimQuery) -> Any:
        """What the service answers, as plain values, within what is left of the time of all pages.

        Raises DirectoryFailed, and ChangedError where the service says so.
        """
        last = DirectoryFailed("it gave no complete answer in time.", _SLOW)
        try:
            async with time_limit(max(0.0, self._ends_at - time.monotonic())):
                for attempt in range(TRIES_MAX):
                    try:
                        return parse_body(await self._get(query))
                    except _AgainError as error:
                        last = error.failed
                        wait_s = max(error.wait_s, _WAIT_S * 2**attempt)
                    if wait_s >= self._ends_at - time.monotonic():
                        break
                    await self._sleep(wait_s)
        except TimeoutError:
            pass
        raise last

    async def _get(self, query: ScimQuery) -> bytes:
        """The body of a list. Raises _AgainError where another try may help."""
        parts = urlencode([*self._fixed, *query], quote_via=quote, safe="")
        request = httpx2.Request("GET", f"{self._address}?{parts}", headers=self._headers)
        try:
            response = await self._transport.handle_async_request(request)
            try:
                if response.status_code != _OK:
                    raise await self._refused(response)
                return await self._body(response)
            finally:
                await response.aclose()
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            raise _explain_broken(error) from error

    async def _body(self, response: httpx2.Response) -> bytes:
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise DirectoryFailed("it sent a compressed answer, which was not requested.", _ASK)
        most = min(BODY_MAX, self._left)
        body = await _read_body(response, most)
        self._left -= len(body)
        if len(body) > most:
            what = "its answer is larger than the limit."
            raise DirectoryFailed(what, "lower `page`, or narrow `filter`")
        return body

    async def _refused(self, response: httpx2.Response) -> Exception:
        """What to raise for an answer that is no list."""
        status, headers = response.status_code, response.headers
        word = _find_keyword(await _read_body(response, _ERROR_MAX)) if status == 400 else ""  # noqa: PLR2004 - the one with words
        row = next(row for row in SCIM_REFUSALS if row.low <= status <= row.high and row.word in ("", word))
        if row.then == "changed":
            return ChangedError(row.what)
        failed = DirectoryFailed(f"{row.what} (HTTP {status})", row.hint)
        asked_s = parse_retry_after_s(
            headers.get("retry-after", ""), headers.get("date", ""), now=datetime.now(UTC)
        )
        return _AgainError(failed, asked_s) if row.then == "again" else failed


async def _read_body(response: httpx2.Response, most: int) -> bytes:
    """The bytes of a body; where it has more than it may, a little more than that."""
    body = bytearray()
    assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - an async transport gives no other
    async for chunk in response.stream:
        body += chunk
        if len(body) > most:
            break
    return bytes(body)


def _find_keyword(body: bytes) -> str:
    """Return the keyword of an error (RFC 7644, 3.12), "" where there is none. Nothing else of it is used."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    word = found.get("scimType") if isinstance(found, dict) else None
    return word if isinstance(word, str) else ""


def parse_body(body: bytes) -> Any:
    """What the bytes of an answer say. Raises DirectoryFailed where they are no JSON."""
    hint = "check `url`: something else may answer there"
    if sum(map(body.count, (b",", b"[", b"{"))) > NODES_MAX:  # each value opens, or follows one of them
        raise DirectoryFailed(f"its answer has more than {NODES_MAX:,} values.", "lower `page`")
    try:  # no error of these is kept as a cause: some of them hold the answer
        return EXACT_DECODER.decode(body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise DirectoryFailed("its answer is not UTF-8.", hint) from None
    except json.JSONDecodeError:
        raise DirectoryFailed("its answer is not JSON, or was cut off.", hint) from None
    except RecursionError:
        raise DirectoryFailed("its answer is nested too deeply.", hint) from None
    except ValueError as error:
        raise DirectoryFailed(f"of its answer: {error}", hint) from None


def _explain_broken(error: Exception) -> Exception:
    """Return what to raise where a connection broke. Certificates do not change from try to try."""
    known = chain_of_causes(error)
    for one in known:
        if isinstance(one, ssl.SSLCertVerificationError):
            what = f"its certificate is not trusted ({one.verify_message})."
            return DirectoryFailed(what, "check `ca`, and the name in `url`")
    refused = any(isinstance(one, ConnectionRefusedError) for one in known)
    connecting = isinstance(error, httpx2.ConnectError)
    what = "it refuses the connection." if refused else "there is no connection to it."
    return _AgainError(DirectoryFailed(what if connecting else "the connection broke.", _URL))


def _require_base_url(url: str) -> str:
    """Return the URL without a slash at its end. Raises DirectoryFailed where the token may not go there."""
    hint = "write it like https://idp.example.com/scim/v2"
    try:
        parts = urlsplit(require_plain_url(url))
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise DirectoryFailed("its `url` is not an address.", hint) from None
    more = "@" in parts.netloc or parts.query or parts.fragment
    if parts.scheme not in ("http", "https") or not host or more:
        raise DirectoryFailed("its `url` is not the address of a SCIM service.", hint)
    if parts.scheme == "http" and not is_loopback(host):
        raise DirectoryFailed(
            "this `url` is not encrypted: anyone on the network could read what is sent.", hint
        )
    return url.rstrip("/")


def _build_authorization(directory: ScimDirectory) -> dict[str, str]:
    if directory.token is None:
        return {}
    token = directory.token.reveal()
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise DirectoryFailed("its `token` holds a character that no token has.", "check the secret")
    return {"Authorization": f"Bearer {token}"}
