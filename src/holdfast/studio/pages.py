"""From a request to a view and back: what a handler is given, and how what it shows becomes a page.

A template that extends ``layout`` is a whole page for a browser, and for htmx the part of it that changes:
the same words either way. An error is a sentence in the place where the visitor is.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import parse_qs

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from holdfast.certificate.templates import BLOCKS, Templates
from holdfast.studio import elsewhere
from holdfast.studio.desk import Desk, SpecState
from holdfast.studio.guard import MOST_UPLOAD
from holdfast.studio.jobs import FAULT, MEMORY
from holdfast.system.errors import HoldfastError
from holdfast.system.machine import short_of_memory
from holdfast.system.text import counted, plain_number, rational, visible
from holdfast.system.ways import of_a_file
from holdfast.version import VERSION

MOST_FIELDS = 5_000


@dataclass(frozen=True)
class Visit:
    """Who asks for what: the desk, and the fields of a form."""

    desk: Desk
    fields: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    path: str = ""

    def one(self, name: str, otherwise: str = "") -> str:
        """Return a field of the form."""
        return next(iter(self.fields.get(name, ())), otherwise)

    def all(self, name: str) -> tuple[str, ...]:
        """Return all fields of a name."""
        return tuple(self.fields.get(name, ()))


@dataclass(frozen=True)
class Scene:
    """A template with its values, and a sentence for those who listen; ``here`` is the path of its view."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    said: str = ""
    here: str = ""
    status: int = 200


Handler = Callable[[Visit], Scene | Response]


@dataclass(frozen=True)
class View:
    """A page with a link of its own; ``spec`` says whether the spec stands beside it."""

    name: str
    title: str
    routes: Sequence[BaseRoute]
    spec: bool = True

    @property
    def path(self) -> str:
        """Where it is."""
        return f"/{self.name}"


def page(path: str, handler: Handler) -> Route:
    """Return the route of what is looked at."""
    return Route(path, _answering(handler), methods=["GET"])


def action(path: str, handler: Handler) -> Route:
    """Return the route of what changes something, or has names in its question."""
    return Route(path, _answering(handler), methods=["POST"])


def _answering(handler: Handler) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        fields: Mapping[str, Sequence[str]] = {}
        if request.method == "POST":
            body = await request.body()
            try:
                fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
            except ValueError:
                return HTMLResponse("This form cannot be read.", 400)
        visit = Visit(request.app.state.desk, fields, request.url.path)
        return await run_in_threadpool(answered, handler, visit, request)

    return answer


def answered(handler: Handler, visit: Visit, request: Request) -> Response:
    """Return what a handler shows, or its error in a sentence."""
    try:
        with of_a_file():
            found = handler(visit)
            return found if isinstance(found, Response) else rendered(found, visit.desk, request)
    except HoldfastError as error:
        return trouble(str(error), request)
    except Exception as error:
        if request.app.state.debug:
            raise
        # its own words may hold what is confidential
        sentence = MEMORY if short_of_memory(error) else f"{type(error).__name__}: {FAULT}"
        return trouble(sentence, request, status=500)


def refused(error: HoldfastError) -> Handler:
    """Return a handler that refuses what was sent, in the sentence of an error."""

    def handler(_: Visit) -> Scene:
        raise error

    return handler


def rendered(shown: Scene, desk: Desk, request: Request) -> Response:
    """Return a page, or the part of it that htmx asked for."""
    part = request.headers.get("hx-request") == "true"
    views: Sequence[View] = request.app.state.views
    here = shown.here or f"/{shown.template.partition('.')[0].partition('/')[0]}"
    view = next((one for one in views if one.path == here), None)
    panel = view is not None and view.spec
    values = {
        "layout": "part.html.j2" if part else "page.html.j2",
        "views": views,
        "here": here,
        "said": shown.said,
        "panel": panel,
        # somebody may be typing there: what came of a change of the text leaves the text alone
        "typing": request.headers.get("hx-trigger") == "main",
        "asked": spec_state_of(desk) if panel else None,
        "desk": desk,
        **shown.values,
    }
    return HTMLResponse(environment().get_template(shown.template).render(values), shown.status)


def spec_state_of(desk: Desk) -> SpecState:
    """Return the spec, or why there is none."""
    try:
        return desk.asked
    except HoldfastError as error:
        return SpecState("", problem=str(error))


def trouble(sentence: str, request: Request, *, status: int = 422) -> Response:
    """Return a sentence about what went wrong, where the visitor is."""
    words = visible(sentence[:1].upper() + sentence[1:])
    template = environment().get_template("trouble.html.j2")
    if request.headers.get("hx-request") == "true":
        text = template.render(layout="part.html.j2", words=words)
        return HTMLResponse(text, status, headers={"HX-Retarget": "#trouble", "HX-Reswap": "innerHTML"})
    text = template.render(
        layout="page.html.j2", words=words, views=request.app.state.views, here="", said="", panel=False
    )
    return HTMLResponse(text, status)


@cache
def environment() -> Environment:
    """Return what templates are rendered with."""
    found = Environment(
        loader=PackageLoader("holdfast", "studio/templates"),
        bytecode_cache=Templates(),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        **BLOCKS,
    )
    found.globals |= {"VERSION": VERSION, "MOST_UPLOAD": MOST_UPLOAD}
    found.filters |= {"amount": counted, "rational": rational, "number": _number, "size": plain_number}
    found.filters |= {"share": _share}
    found.filters |= {"as_typed": lambda text: marked(str(escape(text))), "same_as": _elsewhere}
    return found


def _elsewhere(desk: Desk, here: str) -> Iterable[tuple[str, str]]:
    if desk.spec_name is None:
        return ()
    return elsewhere.of_spec(desk.spec_name, here, spec_state_of(desk).kind).items()


def _number(value: float) -> str:
    """Return whole numbers as they are, others to three digits; with a true minus sign."""
    text = f"{value:,}" if isinstance(value, int) else plain_number(value)
    return text.replace("-", "\u2212")


def _share(value: float) -> str:
    """Return a share in percent, never rounded to all or nothing."""
    text = f"{100 * float(value):.4g}"
    return f"{100 * float(value):.10g} %" if text in ("0", "100") else f"{text} %"


def _visible(value: object) -> object:
    """Return plain text as what can be seen of it; markup has been through here in its parts."""
    return visible(value) if type(value) is str else value


def marked(text: str) -> Markup:
    """Return text that was rendered here with everything escaped."""
    return Markup(text)  # noqa: S704
