"""The commands around the store, over a real PostgreSQL that two people share."""

import signal

import postgres
from cli.hands import Project, Service
from cli.keeping import RUN, store_of, told
from cli.test_apply import terminal
from store.silence import proxy
from waiting import patience_s, taken


def test_the_commands_around_the_store_say_the_same_over_a_shared_one(
    project: Project, service: Service
) -> None:
    """What is looked at, unlocked and checked does not depend on where it is kept; no password is shown."""
    with postgres.database() as url:
        env = {"RECONCILER_STORE": url, "RECONCILER_SERVICE_LIMITS_REQUESTS_PER_SECOND": "100"}
        begun = told(project.run(service, "doctor", "--format", "json", env=env))
        reported = told(project.run(service, "apply", "--yes", "--format", "json", env=env))["audit_head"]
        history = project.run(service, "history", env=env)
        checked = project.run(service, "history", "--verify", "--anchor", reported, env=env)
        with store_of(project, service, url=url) as store, store.lock(RUN):
            holder = store.holder()
            assert holder is not None
            held = project.run(service, "lock", env=env)
            warned = told(project.run(service, "doctor", "--format", "json", env=env))
            wrong = project.run(service, "unlock", "--force", "0123456789ab", env=env)
            right = project.run(service, "unlock", "--force", holder.id, env=env)
            assert store.holder() is None
        free = project.run(service, "lock", env=env)

    states = {one["name"]: one["state"] for one in warned["checks"]}
    assert {one["state"] for one in begun["checks"]} == {"ok"}
    assert history.stdout.count("applied") == 6
    assert (checked.returncode, checked.stdout.split(",")[0]) == (0, "7 entries")
    assert holder.id in held.stdout
    assert (states["store"], states["lock"], states["history"]) == ("ok", "warn", "ok")
    assert (wrong.returncode, right.returncode) == (4, 0)
    assert free.stdout == "the lock of stack quickstart is free.\n"
    password = url.partition("://")[2].partition("@")[0].partition(":")[2]
    for done in (history, checked, held, wrong, right, free):
        assert "Traceback" not in done.stderr
        assert password not in done.stdout + done.stderr
    assert password
    assert password not in str(begun) + str(warned)


def test_two_signals_end_an_apply_whose_store_fell_silent(project: Project, service: Service) -> None:
    """In the middle of it: the server takes the first intent, and says nothing. Nothing is sent for it."""
    with (
        postgres.database() as url,
        proxy(url) as way,
        terminal(project, service, "apply", RECONCILER_STORE=way.url(connect_timeout=600)) as screen,
    ):
        screen.wait_for("[yes/no] ")
        way.silent.set()
        screen.type("yes\n")
        assert way.asked.wait(patience_s)
        screen.process.send_signal(signal.SIGTERM)
        taken(signal.SIGTERM, screen.process)
        screen.process.send_signal(signal.SIGTERM)
        code = screen.end()

    assert code == 130
    doubt = "stopped at once: requests under way are in doubt.\n  next: reconciler resume\n"
    assert screen.seen.endswith(doubt)
    assert service.writes() == []
