"""The studio as an application: its views, the spec beside them, its own files, and the guard before all."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from holdfast.studio import beside
from holdfast.studio.desk import Desk
from holdfast.studio.guard import Guard, Keys, TooLargeError, too_large
from holdfast.studio.views import VIEWS

HERE = Path(__file__).parent
STATIC = {
    "certificate.css": (HERE.parent / "certificate" / "style.css", "text/css"),
    "studio.css": (HERE / "static" / "studio.css", "text/css"),
    "studio.js": (HERE / "static" / "studio.js", "text/javascript"),
    "htmx.min.js": (HERE / "static" / "htmx.min.js", "text/javascript"),
    "mark.svg": (HERE / "static" / "mark.svg", "image/svg+xml"),
}


def studio(
    desk: Desk, keys: Keys, *, port: int, names: Iterable[str] = (), any_address: bool = False
) -> ASGIApp:
    """Return the application for a desk, guarded."""
    routes = [
        Route("/", lambda request: RedirectResponse(_first(request), 303)),
        Route("/static/{name}", _static),
        *beside.ROUTES,
        *(route for view in VIEWS for route in view.routes),
    ]
    app = Starlette(routes=routes, exception_handlers=ANSWERS)
    app.state.desk, app.state.views = desk, VIEWS
    app.state.debug = False
    return Guard(app, keys, port=port, names=names, any_address=any_address)


def _first(request: Request) -> str:
    """Return the view to begin with: that of a release where one was named."""
    paths = [view.path for view in request.app.state.views]
    desk: Desk = request.app.state.desk
    return "/check" if desk.release is not None and "/check" in paths else paths[0]


def _static(request: Request) -> Response:
    path, kind = STATIC.get(request.path_params["name"], (None, ""))
    if path is None:
        return PlainTextResponse("There is no such page.", 404)
    return Response(path.read_bytes(), media_type=kind)


async def _refused(request: Request, error: Exception) -> Response:
    del request, error
    return too_large()


async def _missing(request: Request, error: Exception) -> Response:
    del request
    return PlainTextResponse("There is no such page.", getattr(error, "status_code", 404))


ANSWERS: Mapping[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
    404: _missing,
    405: _missing,
    TooLargeError: _refused,
}
