"""Which table is looked at: the only one of a spec, or one of several, by its name."""

from dataclasses import dataclass

from holdfast.spec.files import FilesSpec
from holdfast.spec.model import Spec
from holdfast.spec.tables import TablesSpec
from holdfast.studio.pages import Visit
from holdfast.system.errors import SpecError


@dataclass(frozen=True)
class Looked:
    """A table of the spec; one of several has a place and a name among them."""

    spec: Spec
    place: int | None = None
    name: str = ""
    whole: TablesSpec | FilesSpec | None = None
    """The spec of all of them."""


def looked_at(visit: Visit) -> Looked:
    """Return the table that a form is of, or else the one that was chosen last."""
    desk, whole = visit.desk, visit.desk.asked.spec
    if whole is None or isinstance(whole, Spec):
        return Looked(desk.asked.table)
    names, given = whole.names, visit.one("table")
    if given and given not in names:
        raise SpecError("this table is not in the spec any more: look at the list again.")
    name = given or (desk.table if desk.table in names else names[0])
    place = names.index(name)
    return Looked(whole.specs[place], place, name, whole)


def turned_to(visit: Visit) -> str:
    """Look at another one of several tables, on every view; return what is said of it."""
    visit.desk.table = looked_at(visit).name
    return f"This is the table {visit.desk.table}."
