"""A call as the request that leaves us: address, query, headers, credentials, body, and its times.

Belongs here: what is on the wire. Not here: when it leaves and how often (transport.py), paths and encoding
(urls.py), the names of media types (media.py).
"""

import httpx2

from reconciler.model.settings import Service
from reconciler.service.answers import Call
from reconciler.service.http import caches, media, urls
from reconciler.service.http.auth import Credentials

connect_share = 0.25  # of one try: TCP and TLS take a share each, and a try never ends while connecting


class Requests:
    """Makes requests to one service. `first` is the number of the first address of a GET; see `_query`.

    Raises SettingsError for a base address that cannot be used.
    """

    def __init__(self, service: Service, credentials: Credentials, *, vendor: str, first: int) -> None:
        self._base = urls.base(service.base_url)
        self._credentials = credentials
        self._vendor = vendor
        self._form: media.Form = service.format
        self._fresh = first
        self._headers: dict[tuple[str, str, bool], httpx2.Headers] = {}

    @property
    def server(self) -> tuple[str, int]:
        """The name and the port of the service."""
        return self._base.host, self._base.port

    def made(self, call: Call, timeout_s: float) -> httpx2.Request:
        """The request as it leaves us. The key joins the URL here, and nothing above ever sees that URL."""
        query = "&".join(part for part in (self._query(call), self._credentials.key_in_query) if part)
        target = self._base.prefix + call.path
        url = httpx2.URL(f"{self._base.origin}{target}{'?' if query else ''}{query}")
        # The library brings addresses into a normal form. One that it changed would name another entity, or
        # send the credentials to another host.
        sent_to = (url.scheme, url.raw_path.partition(b"?")[0].decode("ascii"))
        if sent_to != (self._base.scheme, target) or url.host != self._base.host.strip("[]"):
            raise AssertionError(f"{call}: the address was rewritten on its way")
        connect_s = timeout_s * connect_share
        timeout = {"connect": connect_s, "pool": connect_s, "read": timeout_s, "write": timeout_s}
        return httpx2.Request(
            call.method,
            url,
            headers=self._headers_of(call),
            content=call.body,
            extensions={"timeout": timeout},
        )

    def _headers_of(self, call: Call) -> httpx2.Headers:
        """The headers of a call, which the library copies: the same for all calls of one form."""
        form = (call.method, call.media, call.body is not None)
        if form not in self._headers:
            accepted = media.media_type(self._vendor, call.media, self._form)
            aside = caches.ASIDE if call.method == "GET" else ()
            # gzip and nothing else, because nothing else is unpacked (exchange.py).
            headers = [("Accept", accepted), ("Accept-Encoding", "gzip"), *aside, *self._credentials.headers]
            if call.body is not None:
                headers.append(("Content-Type", accepted))
            self._headers[form] = httpx2.Headers(headers)
        return self._headers[form]

    def _query(self, call: Call) -> str:
        """The query of a call; that of a GET is one which no cache has seen before, at every try."""
        # Numbers begin by chance, so that no two clients use the same, and go on by one.
        if call.method != "GET":
            return urls.query(call.query)
        self._fresh += 1
        pairs = urls.varied(call.query, call.varies, self._fresh) if call.varies else call.query
        return urls.query(pairs, self._fresh)
