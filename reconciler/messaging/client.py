"""The whole client of the service: entities and workspaces, and messages and callbacks on top."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal

from reconciler.core.rules import resolve_workspace
from reconciler.errors import SettingsError
from reconciler.messaging.callbacks import Callbacks, ReadCallbacks
from reconciler.messaging.messages import Messages, ReadMessages
from reconciler.model.profile import Profile
from reconciler.model.secrets import Secret
from reconciler.model.settings import Auth, Limits, SendKey, Service, Settings
from reconciler.service.client import EntityClient, Reader, open_with_transport
from reconciler.service.http.connections import Connections
from reconciler.service.http.limiter import Timing
from reconciler.service.http.transport import Transport


class ServiceReader(Reader):
    """The whole service for reading: nothing here writes, and its transport sends nothing but GET."""

    def __init__(self, transport: Transport, profile: Profile, *, window: int) -> None:
        super().__init__(transport, profile, window=window)
        self.messages = ReadMessages(transport, profile)
        self.callbacks = ReadCallbacks(transport, profile)


class ServiceClient(EntityClient, ServiceReader):
    """The whole service for reading and writing."""

    messages: Messages
    callbacks: Callbacks

    def __init__(self, transport: Transport, profile: Profile, *, window: int) -> None:
        super().__init__(transport, profile, window=window)
        self.messages = Messages(transport, profile)
        self.callbacks = Callbacks(transport, profile)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        base_url: str,
        *,
        username: str,
        password: str,
        api_key: str,
        format: Literal["json", "xml"] = "json",  # noqa: A002 - the name of the setting
        profile: str = "service",
        send_key: SendKey = "header",
        limits: Limits | None = None,
        timing: Timing | None = None,
        connections: Connections | None = None,
    ) -> AsyncIterator["ServiceClient"]:
        """A client of this service for as long as the context lasts. Sends nothing by itself.

        `limits` are the rate, the concurrency and the time it may take, by default an hour in all;
        `timing` and `connections` stand in for the clock and the network in tests.
        Raises SettingsError for a base address, credentials or a profile that cannot be used.
        """
        auth = Auth(Secret(username), Secret(password), Secret(api_key), send_key)
        service = Service(
            base_url=base_url, auth=auth, profile=profile, format=format, limits=limits or Limits()
        )
        async with open_service_client(
            service, timing=timing or Timing.real(), connections=connections
        ) as client:
            yield client


def open_service_reader(
    service: Service, *, timing: Timing, connections: Connections | None = None
) -> AbstractAsyncContextManager[ServiceReader]:
    """A client that can only read, for as long as the context lasts. See `open_service_client`."""
    return open_with_transport(ServiceReader, service, timing, connections, None, read_only=True)


def open_service_client(
    service: Service, *, timing: Timing, connections: Connections | None = None
) -> AbstractAsyncContextManager[ServiceClient]:
    """A client that can read and write, for as long as the context lasts. Sends nothing by itself.

    `connections` stand in for the network, and stay their owner's to close.
    Raises SettingsError for a base address, credentials or a profile that cannot be used.
    """
    return open_with_transport(ServiceClient, service, timing, connections, None, read_only=False)


async def find_workspace_id(client: Reader, settings: Settings, alias: str) -> str:
    """Return the service's id of a workspace by its alias; "" for the default one. Raises SettingsError."""
    if alias in ("", "default"):
        return ""
    if alias not in settings.workspaces:
        raise SettingsError(
            f"the settings have no workspace {alias!r}.",
            next=f"name one of {', '.join(settings.workspaces)}, or add it under `workspaces:`",
        )
    return resolve_workspace(alias, settings.workspaces[alias], await client.workspaces.list()).id
