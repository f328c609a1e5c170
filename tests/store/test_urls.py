import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reconciler import database_urls


def test_every_part_of_a_url_arrives() -> None:
    url = database_urls.parse_server_url(
        "postgresql://ops%40team:p%2Fw%3A@db.example.com:5433/the%20store?sslmode=require&passfile=/run/pass"
    )

    assert (url.user, url.password.reveal(), url.host, url.port) == (
        "ops@team",
        "p/w:",
        "db.example.com",
        5433,
    )
    assert (url.database, url.options) == ("the store", {"sslmode": "require", "passfile": "/run/pass"})


def test_what_is_left_out_is_left_to_the_usual_places() -> None:
    """PGHOST, PGUSER and a passfile are where every program of PostgreSQL looks."""
    url = database_urls.parse_server_url("postgresql:///store")

    assert (url.user, url.password.reveal(), url.host, url.port) == ("", "", "", 0)


def test_a_socket_is_named_by_its_folder() -> None:
    url = database_urls.parse_server_url("postgresql://ops@/store?host=/run/postgresql")

    assert (url.host, url.options) == ("/run/postgresql", {})
    assert url.name == "postgresql:///run/postgresql/store"


REFUSED = {
    "postgresql://ops:canary@db.example.com": "is not user, host, port and database",
    "postgresql://ops:canary@db.example.com/": "is not user, host, port and database",
    "postgresql://ops:can@ry@db.example.com/store": "is not user, host, port and database",
    "postgresql://ops:canary@db.example.com:0/store": "is not user, host, port and database",
    "postgresql://ops:canary@db.example.com:65536/store": "is not user, host, port and database",
    "postgresql://ops:canary@a,b/store": "is not user, host, port and database",
    "postgresql://ops:canary@db.example.com/store/more": "is not user, host, port and database",
    "postgresql://ops:canary@db.example.com/store#canary": "is not user, host, port and database",
    "postgresql://ops@db.example.com/store?password=canary": "has an option password, which",
    "postgresql://ops@db.example.com/store?options=-ccanary": "has an option options, which",
    "postgresql://ops@db.example.com/store?canary=1": "has an unknown option, which",
    "postgresql://ops@db.example.com/store?sslmode=": "has an empty sslmode",
    "postgresql://ops@db.example.com/store?sslmode=canary": "has an unknown sslmode",
    "postgresql://ops@db.example.com/store?connect_timeout=canary": "has a connect_timeout that is not",
    "postgresql://ops@db.example.com/store?host=/run": "has an option host that is not the folder",
    "postgresql://ops@/store?host=canary": "has an option host that is not the folder",
    "postgresql+psycopg://ops:canary@db.example.com/store": "postgresql+psycopg is not supported",
    "mysql://ops:canary@db.example.com/store": "mysql is not supported",
    "sqlite://ops:canary@host/store.db": "does not name a file",
    "postgresql:/ops:canary@db.example.com/store": "a URL like this is not supported",
    "postgresql:ops:canary@db.example.com/store": "a URL like this is not supported",
    "": "an empty URL is not supported",
}


@pytest.mark.parametrize("url", REFUSED)
def test_a_url_that_names_no_store_says_what_does_and_shows_no_password(url: str) -> None:
    error = database_urls.find_url_fault(url)

    assert error is not None
    assert REFUSED[url] in str(error)
    assert error.next
    assert "canary" not in f"{error} {error.next}"
    assert "can@ry" not in f"{error} {error.next}"


@given(
    user=st.text(max_size=8),
    password=st.from_regex(r"CANARY[!-~]{0,12}", fullmatch=True),
    rest=st.text(max_size=20),
    scheme=st.sampled_from(["postgresql", "postgres", "sqlite", "mysql", ""]),
)
def test_no_password_is_ever_shown_whatever_the_rest_looks_like(
    user: str, password: str, rest: str, scheme: str
) -> None:
    """A password with an odd sign makes a URL that means something else; it must not end up in a message."""
    url = f"{scheme}://{user}:{password}@{rest}"
    assume(not any(sign in user for sign in ":/"))

    error = database_urls.find_url_fault(url)

    assert "CANARY" not in database_urls.hide_url_password(url)
    assert error is None or "CANARY" not in f"{error} {error.next}"


@given(
    user=st.from_regex(r"[a-z@%.]{0,8}", fullmatch=True),
    password=st.from_regex(r"[!-~]{1,12}", fullmatch=True),
    database=st.from_regex(r"[a-z_]{1,8}", fullmatch=True),
)
def test_what_is_taken_has_its_password_found(user: str, password: str, database: str) -> None:
    """Or it would stand in the file, and in the output of `config`."""
    url = f"postgresql://{user}:{password}@db.example.com/{database}"
    assume(database_urls.find_url_fault(url) is None)

    assert database_urls.parse_server_url(url).password.reveal()
    assert database_urls.url_has_password(url)
    assert database_urls.hide_url_password(url) == f"postgresql://{user}:(secret)@db.example.com/{database}"
