"""One of everything in a sandbox, and every address that shows something.

Belongs here: what tests over all addresses start from. Not here: claims.
"""

from typing import Any

from sandbox.asking import JANE, PIXEL, Sandbox, named, resource_body
from sandbox.receiving import MAIL, MOBILE, callback_body, sent


def town(**options: Any) -> tuple[Sandbox, dict[str, str]]:
    """A sandbox with three of everything, and its addresses by what they show."""
    sandbox = Sandbox(callback_check=False, workspaces=(("Night Shift", named),), **options)
    contact = sandbox.created("/contacts", JANE)
    for number in range(3):
        sandbox.created("/contacts", {"firstName": f"Person {number}"})
        sandbox.created(f"/workspaces/{named}/contacts", {"firstName": f"Person {number}"})
        sandbox.created(f"{contact}/devices", {**PIXEL, "appId": f"app-{number}"})
        sandbox.created("/resources", resource_body(name=f"staff-{number}.csv"))
        sandbox.created("/callbacks", callback_body(name=f"callback {number}"))
    message = f"/messages/{sent(sandbox, MOBILE, MAIL, '+61491570157')}"
    return sandbox, {
        "company": "/",
        "contacts": "/contacts",
        "contact": contact,
        "contacts of a workspace": f"/workspaces/{named}/contacts",
        "devices": f"{contact}/devices",
        "resources": "/resources",
        "callbacks": "/callbacks",
        "workspaces": "/workspaces",
        "workspace": f"/workspaces/{named}",
        "messages": "/messages",
        "message": message,
        "statuses": f"{message}/messagestatus?view=summary",
        "statuses one by one": f"{message}/messagestatus?view=detailed",
        "responses": f"{message}/messageresponses?view=summary",
        "responses one by one": f"{message}/messageresponses?view=detailed",
    }
