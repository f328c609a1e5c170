"""Parts of JSON documents that are no values of the model: what `report/` puts together itself."""

from collections.abc import Mapping
from typing import Any, get_type_hints

from msgspec import defstruct

from reconciler.messaging.reports import callback_values
from reconciler.messaging.values import Callback, CallbackAuth


def _shown(name: str, about: str, parts: Mapping[str, Any]) -> Any:
    return defstruct(name, list(parts.items()), namespace={"__doc__": about})


_callback = get_type_hints(Callback) | {"auth": get_type_hints(CallbackAuth)["type"] | None}
CallbackShown = _shown(
    "CallbackShown",
    "A callback of the account, all but its key: `auth` is how the key travels, null where there is none.",
    {name: _callback[name] for name in callback_values(Callback("", ""))},
)
