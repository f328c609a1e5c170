"""The records of one workspace, in memory, in the order in which lists show them.

Belongs here: order, lookup, the walk of a search, fast at 100,000 contacts. Not here: rules, ids, the disk.
"""

from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from reconciler.sandbox.keeping.search import Question, column_text
from reconciler.sandbox.records import Contact, Resource

views_max = 8  # answers of searches kept while nothing changes, so that walking their pages costs one search

columns_max = 200  # fields whose texts are kept for searches; names are free, so there is no end of them

_number = attrgetter("number")


class Shelf:
    """One workspace; `id` and `name` are "" for the default one."""

    def __init__(self, wid: str, name: str) -> None:
        self.id = wid
        self.name = name
        self.resources: dict[str, Resource] = {}  # least recently updated first
        self._contacts: dict[str, Contact] = {}
        self._records: dict[str, dict[str, Any]] = {"contact": self._contacts, "resource": self.resources}
        self._order: list[Contact] = []  # by creation, that is by number
        self._columns: dict[str, list[str]] = {}  # texts to search, aligned with _order
        self._views: dict[Question, list[Contact]] = {}

    def records(self, name: str) -> dict[str, Any]:
        """The records of the collection of this name by id, those that were put last at the end."""
        return self._records.setdefault(name, {})

    def contact(self, contact_id: str) -> Contact | None:
        """The contact with this id, if it stands here."""
        return self._contacts.get(contact_id)

    def contacts(self) -> Iterator[Contact]:
        """All contacts, in the order of creation."""
        return iter(self._order)

    def put_contact(self, contact: Contact) -> None:
        """The contact stands here afterwards: in its old place, or behind the others when it is new."""
        self._views.clear()
        if contact.id in self._contacts:
            place = self._place(contact)
            self._order[place] = contact
            for name, column in self._columns.items():
                column[place] = column_text(contact, name)
        else:
            self._order.append(contact)
            for name, column in self._columns.items():
                column.append(column_text(contact, name))
        self._contacts[contact.id] = contact

    def drop_contact(self, contact: Contact) -> None:
        """The contact is gone, with its devices."""
        self._views.clear()
        place = self._place(contact)
        del self._order[place], self._contacts[contact.id]
        for column in self._columns.values():
            del column[place]

    def find(self, question: Question) -> list[Contact]:
        """The contacts that answer the question, in its order. Not to be changed."""
        if question.plain:
            return self._order
        view = self._views.get(question)
        if view is None:
            while len(self._views) >= views_max:
                del self._views[next(iter(self._views))]
            view = self._views[question] = self._sorted(self._matching(question), question)
        return view

    def _matching(self, question: Question) -> list[Contact]:
        if not question.filters:
            return list(self._order)
        (first, needle), *others = question.filters
        places = [place for place, text in enumerate(self._column(first)) if needle in text]
        for name, wanted in others:
            column = self._column(name)
            places = [place for place in places if wanted in column[place]]
        return [self._order[place] for place in places]

    def _sorted(self, found: list[Contact], question: Question) -> list[Contact]:
        if question.sort:
            found.sort(key=lambda contact: [column_text(contact, name) for name in question.sort])
        if question.descending:
            found.reverse()
        return found

    def _column(self, name: str) -> list[str]:
        column = self._columns.get(name)
        if column is None:
            if len(self._columns) >= columns_max:
                self._columns.clear()
            column = self._columns[name] = [column_text(contact, name) for contact in self._order]
        return column

    def _place(self, contact: Contact) -> int:
        return bisect_left(self._order, contact.number, key=_number)
