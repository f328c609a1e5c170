"""The whole service on loopback, written from its specification alone; imports nothing else of reconciler.

It shares no table with the client: a mistake in a shared table would make both wrong in the same way. Its
modules, in the order of the specification:

    2.1, 3.1, 4.1  devices.py               push devices and the states that failed pushes lead to
    2.2, 4.2       contacts.py, queries.py  contacts; filters, order and pages of lists (4.6)
    2.3, 4.3       resources.py             resources; imports.py takes contacts out of one
    2.4, 4.5       messages.py, message_endpoints.py, message_documents.py
    2.5, 3.2, 4.4  the same: statuses, responses and their categories
    2.6, 6         callbacks.py             what callbacks are sent; callback_calls.py sends it
    5              authentication.py        keys, passwords, tokens
    7              refusals.py              the body of every refusal
    8              gateway.py               rate limits, stored answers; workspaces.py
    9              routing.py, calls.py     addresses, media types; xml_codec.py, documents.py

Below them all are records.py (the values), state.py (where they are kept) and collections.py (what the
addresses of a collection do); above them app.py (one ASGI application), server.py (a port), openapi.py (the
description), config.py (options), faults.py and control_requests.py (what tests ask of the sandbox alone).
"""
