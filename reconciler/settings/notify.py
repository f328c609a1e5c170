"""`notify` of the settings: whom `reconciler sync` tells of changes of state. No secret is read here."""

from collections.abc import Iterator, Mapping

from reconciler.core.suggest import did_you_mean
from reconciler.errors import Problem
from reconciler.model.secrets import Secret
from reconciler.model.settings import Notify, NotifyWebhook
from reconciler.service.http.urls import UnusableUrl
from reconciler.service.webhooks import read_webhook_address
from reconciler.settings.late_secrets import LateSecret, make_secret_reader
from reconciler.settings.layers import SettingLayers
from reconciler.settings.secrets import Revealed

URL, KEY = "notify.webhook.url", "notify.webhook.secret"


def find_notify_problems(layers: SettingLayers) -> Iterator[Problem]:
    """Yield what the schema cannot check: the address, a key without it, and names that nobody has."""
    url, key = layers.value_of(URL), layers.value_of(KEY)
    if isinstance(url.raw, str):
        try:
            read_webhook_address(url.raw)
        except UnusableUrl as error:
            yield url.problem(str(error), error.next, code="E100")
    if url.raw is not None and key.raw is None:
        yield url.problem(f"{KEY} is not set.", f"set it too, or remove {URL}", code="E100")
    people, known = layers.value_of("notify.people"), layers.value_of("policy.approvers").raw or {}
    for name in people.raw:
        if name not in known:
            hint = did_you_mean("approver", name, known, "add it under policy.approvers")
            yield people.problem(f"{name!r} is not one of policy.approvers.", hint, code="E100")


def read_notify(layers: SettingLayers, environ: Mapping[str, str], revealed: Revealed) -> Notify:
    """Return whom to tell. The secrets are read when they are revealed, and raise SettingsError then."""
    found: dict[str, Secret] = {}
    for name, path in (("url", URL), ("secret", KEY)):
        value = layers.value_of(path)
        if isinstance(value.raw, str):
            found[name] = Secret(value.raw)
        elif value.raw is not None:
            found[name] = LateSecret(make_secret_reader(value, value.raw, layers, environ, revealed))
    return Notify(
        NotifyWebhook(**found),
        tuple(layers.value_of("notify.people").raw),
        layers.value_of("notify.digest_every").raw or "",
    )
