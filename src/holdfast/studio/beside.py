"""What stands beside the forms: the text of the spec, which is typed, watched, and taken back."""

from collections.abc import Sequence

from starlette.responses import Response
from starlette.routing import BaseRoute

from holdfast.studio.pages import Visit, action
from holdfast.system.errors import SpecError

CHANGED = {"HX-Trigger": "specchanged"}
"""Tells the page that the text was typed: its view asks for itself again, and the text is left alone."""
MOVED = {"HX-Trigger": "specmoved"}
"""Tells the page that the spec was changed elsewhere: all of it is asked for again."""


def written(visit: Visit) -> Response:
    """Save the text that was typed; the view then asks for itself again."""
    visit.desk.save(visit.one("text"))
    return Response(status_code=204, headers=CHANGED)


def watched(visit: Visit) -> Response:
    """Say whether the spec is another one than that which is seen, by whoever changed it."""
    same = visit.desk.spec_name is None or visit.one("seen") == visit.desk.asked.digest
    return Response(status_code=204, headers={} if same else MOVED)


def undone(visit: Visit) -> Response:
    """Take the last edit back."""
    if not visit.desk.undo():
        raise SpecError("there is no edit to take back.")
    return Response(status_code=204, headers=MOVED)


ROUTES: Sequence[BaseRoute] = (
    action("/spec", written),
    action("/spec/watch", watched),
    action("/spec/undo", undone),
)
