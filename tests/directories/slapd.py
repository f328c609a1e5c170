"""A real LDAP server for the tests: OpenLDAP's slapd on loopback, a process in a folder of its own.

    with slapd.serving(folder) as server: ...      one server until the end of the block

Where there is none these tests are skipped, and nowhere else: slapd is no Python package, so no lock file can
bring it. CI has to have one (`.ci/run` installs it), so there they fail.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import postgres
import pytest
from service.roads import TRUSTED
from waiting import patience_s, until

BASE = "dc=example,dc=com"
READER, PASSWORD = f"cn=reader,{BASE}", "invented-Passwörd-1"
HURRIED = f"cn=hurried,{BASE}"  # who may have five entries of an answer
PEOPLE = 1_203  # below ou=people
_SCHEMA = Path("/etc/ldap/schema")

_CONFIGURATION = """
include {schema}/core.schema
include {schema}/cosine.schema
include {schema}/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCACertificateFile {certificate}
TLSCertificateFile {certificate}
TLSCertificateKeyFile {certificate}
sizelimit unlimited
database mdb
directory {data}
maxsize 67108864
suffix "{base}"
dbnosync
limits dn.exact="{hurried}" size.soft=5 size.hard=5 size.prtotal=5
access to attrs=userPassword by anonymous auth by * none
access to * by * read
"""

_PEOPLE = "".join(
    f"""
dn: uid=p{number:04},ou=people,{BASE}
objectClass: inetOrgPerson
uid: p{number:04}
cn: Person {number}
sn: Zoë-{number}
mail: p{number:04}@example.com
"""
    for number in range(PEOPLE)
)
_TREE = f"""
dn: {BASE}
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: {READER}
objectClass: person
cn: reader
sn: Reader
userPassword: {PASSWORD}

dn: {HURRIED}
objectClass: person
cn: hurried
sn: Hurried
userPassword: {PASSWORD}

dn: ou=people,{BASE}
objectClass: organizationalUnit
ou: people

dn: ou=nobody,{BASE}
objectClass: organizationalUnit
ou: nobody

dn: ou=far,{BASE}
objectClass: organizationalUnit
ou: far

dn: ou=away,ou=far,{BASE}
objectClass: referral
objectClass: extensibleObject
ou: away
ref: ldap://127.0.0.1:1/ou=away,{BASE}

dn: ou=odd,{BASE}
objectClass: organizationalUnit
ou: odd

dn: uid=several,ou=odd,{BASE}
objectClass: inetOrgPerson
uid: several
cn: One
cn: Two
sn: Several
mail: one@example.com
mail: two@example.com

dn: uid=photo,ou=odd,{BASE}
objectClass: inetOrgPerson
uid: photo
cn: Photo
sn: Photo
jpegPhoto:: /9j/4AAQ

dn: uid=german,ou=odd,{BASE}
objectClass: inetOrgPerson
uid: german
cn: Jörg
cn;lang-de: Jörg auf Deutsch
sn: Müller

dn: uid=bare,ou=odd,{BASE}
objectClass: inetOrgPerson
uid: bare
cn: Bare
sn: Bare

dn: cn=Doe\\2C Jane+sn=Doe,ou=odd,{BASE}
objectClass: inetOrgPerson
cn: Doe, Jane
sn: Doe
"""


@dataclass(frozen=True)
class Slapd:
    """Where a server listens."""

    plain: str
    secured: str


def program() -> str:
    """Return where slapd is. CI has it (`.ci/run`)."""
    path = shutil.which("slapd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if not path and not os.environ.get("CI"):
        pytest.skip("no slapd on PATH; apt-get install slapd brings it, and need not start it")
    assert path, "CI needs slapd, and it is not on PATH"
    return path


@contextmanager
def serving(folder: Path) -> Iterator[Slapd]:
    """Fill a directory in this folder, and serve it."""
    # A copy: some systems let the program of the package read its own folders alone.
    path, data = shutil.copy(program(), folder / "slapd"), folder / "data"
    data.mkdir()
    values = {"schema": _SCHEMA, "certificate": TRUSTED, "data": data, "base": BASE, "hurried": HURRIED}
    (folder / "slapd.conf").write_text(_CONFIGURATION.format(**values))
    (folder / "tree.ldif").write_text(f"{_TREE}\n{_PEOPLE}")
    options = ["-f", str(folder / "slapd.conf")]
    subprocess.run([path, "-T", "add", "-q", "-l", str(folder / "tree.ldif"), *options], check=True)
    # Both keep their ports while the server starts; it says SO_REUSEADDR as well, and is the one who listens.
    with closing(postgres._seat()) as plain, closing(postgres._seat()) as secured:
        ports = [one.getsockname()[1] for one in (plain, secured)]
        found = Slapd(f"ldap://127.0.0.1:{ports[0]}", f"ldaps://127.0.0.1:{ports[1]}")
        with subprocess.Popen([path, "-d", "0", "-h", f"{found.plain} {found.secured}", *options]) as process:
            try:
                until(lambda: all(map(_answers, ports)) or process.poll() is not None, "slapd listens")
                assert process.poll() is None
                yield found
            finally:
                process.terminate()
                process.wait(patience_s)


def _answers(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
