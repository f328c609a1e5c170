"""Invented people, the same ones every time: addresses at example.com, numbers reserved for fiction.

Belongs here: making contacts in numbers, fast. Not here: the rules for contacts that clients write.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from reconciler.sandbox.entities.contacts import created, read_contact
from reconciler.sandbox.records import Body, Contact, make_id

_FIRST_NAMES = """
Ada Alan Amara Ana Anders Aroha Ben Bianca Callum Carmen Chen Chloe Daniel Daria David Edith Elena Emeka
Farid Fiona Grace Hana Hugo Ines Ivan Jack Jane Joao Kaia Karim Lena Liam Lucia Mateo Maya Mina Nadia
Noah Olga Oscar Priya Quinn Rafael Rosa Sam Samantha Sofia Tane Theo Uma Victor Wanda Xavier Yara Zoe
"""
_LAST_NAMES = """
Abbott Adeyemi Almeida Bauer Bennett Brandt Campbell Castro Chang Cole Doe Duarte Edwards Evans Fischer
Fofana Garcia Green Haddad Harris Ito Jansen Jones Kaur Keller Kim Larsen Lee Lopez Martin Meyer Moreau
Nakamura Ngata Novak Okafor Olsen Park Patel Quist Reyes Rossi Sato Schmidt Silva Singh Stone Tan Taylor
Umarov Varga Walker Watanabe Wood Xu Young Zhang Zimmer Zulu
"""
FIRST_NAMES = _FIRST_NAMES.split()
LAST_NAMES = _LAST_NAMES.split()
JOBS = ("Engineer", "Senior Engineer", "Duty Manager", "Analyst", "Nurse", "Planner", "Technician")
DEPARTMENTS = ("Operations", "Finance", "Field Service", "Security", "Logistics")
PLACES = (
    ("Australia", "Australia/Melbourne"),
    ("United Kingdom", "Europe/London"),
    ("United States", "America/New_York"),
)
FICTION_NUMBERS = (
    *(f"+61491570{last}" for last in ("156", "157", "158", "159", "110")),
    *(f"+447700900{last:03d}" for last in range(1000)),
    *(f"+120255501{last:02d}" for last in range(100)),
)
_beginning = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def invented(count: int, *, after: int) -> Iterator[Contact]:
    """`count` contacts of the default workspace, numbered from `after` + 1; the nth is always the same."""
    for place in range(count):
        number = after + place + 1
        yield created(
            read_contact(_body(place)),
            known=(make_id("contact", number), number),
            workspace=("", ""),
            now=_beginning + timedelta(seconds=place),
        )


def _body(place: int) -> Body:
    first = FIRST_NAMES[place % len(FIRST_NAMES)]
    last = LAST_NAMES[(place * 7 + place // len(FIRST_NAMES)) % len(LAST_NAMES)]
    country, zone = PLACES[place % len(PLACES)]
    return {
        "firstName": first,
        "lastName": last,
        "timezone": zone,
        "workEmailAddress1": f"{first}.{last}.{place + 1}@example.com".lower(),
        "workMobilePhone1": FICTION_NUMBERS[place % len(FICTION_NUMBERS)],
        "workCountry": country,
        "jobTitle": JOBS[place % len(JOBS)],
        "department": DEPARTMENTS[place % len(DEPARTMENTS)],
        "messagingoptions": [{"channel": "sms", "enabled": "true", "primary": "WorkMobilePhone1"}],
        "customFields": [
            {"fieldName": "employeeId", "fieldValue": str(1000 + place), "searchKey": "custom_employeeId"}
        ],
    }
