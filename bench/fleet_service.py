"""A sandbox with people in many workspaces, for as long as it is let.

python bench/fleet_service.py WORKSPACES PEOPLE_EACH
"""

import sys

import msgspec

from reconciler.sandbox.app import create_app
from reconciler.sandbox.config import SandboxConfig, workspace_id
from reconciler.sandbox.contacts import invent_contacts
from reconciler.sandbox.server import serve_app


def main(workspaces: int, each: int) -> None:
    """Serve workspaces w0, w1 and so on until a signal: w0 holds the first people that are invented."""
    names = [f"w{number}" for number in range(workspaces)]
    app = create_app(SandboxConfig(workspaces=tuple((name, None) for name in names)))
    for number, person in enumerate(invent_contacts(workspaces * each, after=0)):
        home = workspace_id(names[number // each])
        app.state.sandbox.put_contact(msgspec.structs.replace(person, workspace=home, type="PROJECT"))
    serve_app(lambda: app, host="127.0.0.1", port=0, on_ready=lambda address: print(address, flush=True))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
