"""Check: any release folder, with no data and no spec: verified, derived again, what is wrong named."""

from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from holdfast.certificate.sign import SIGNATURE
from holdfast.certificate.text import require_release
from holdfast.studio import elsewhere
from holdfast.studio.desk import Desk
from holdfast.studio.pages import Scene, View, Visit, action, answered, page, refused
from holdfast.studio.uploads import folder_received
from holdfast.studio.views.release import certificate_page
from holdfast.system.checks import Verification
from holdfast.system.errors import HoldfastError
from holdfast.verification.verify import verify

CHECK = "check"
"""The name of the job."""
ROOM = "checked"
"""The folder where releases of a browser are put."""


def shown(visit: Visit, said: str = "") -> Scene:
    """Return the view of a release that is looked at, or of those that could be."""
    desk = visit.desk
    name = desk.release
    values: dict[str, Any] = {
        "releases": desk.place.releases,
        "keys": desk.place.keys,
        "name": name,
        "running": desk.running(CHECK),
        "found": None,
        "problem": "",
        "signed": False,
        "ways": {} if name is None else elsewhere.verify(name),
    }
    if name is not None:
        folder = desk.place.inside(name)
        values["signed"] = (folder / SIGNATURE).is_file()
        values |= _found(desk, name)
    return Scene("check.html.j2", values, said)


def stamp_of(desk: Desk, name: str) -> tuple[Any, ...]:
    """Return what tells a folder as it is from what it was."""
    folder = desk.place.inside(name)
    require_release(folder)
    files = sorted(folder.iterdir())
    stats = [(path.name, path.lstat()) for path in files]
    return (name, *((one, stat.st_mtime_ns, stat.st_size, stat.st_ino) for one, stat in stats))


def _found(desk: Desk, name: str) -> Mapping[str, Any]:
    """Return what the last verification found, if the folder is as it was then."""
    job = desk.jobs.get(CHECK)
    if job is None or not job.over:
        return {}
    if job.problem:
        return {"problem": job.problem}
    stamp, found = job.result
    try:
        same = stamp == stamp_of(desk, name)
    except HoldfastError as error:
        return {"problem": str(error)}
    if not same or not isinstance(found, Verification):
        return {}
    return {"found": found}


def chosen(visit: Visit) -> Scene:
    """Verify a release of the folder."""
    desk, name, key = visit.desk, visit.one("release"), visit.one("key")
    folder, stamp = desk.place.inside(name), stamp_of(desk, name)
    public = desk.place.inside(key) if key else None
    desk.release = name
    desk.end(CHECK)
    job = desk.begin(
        CHECK,
        "deriving what the certificate claims",
        lambda _: (stamp, verify(folder, public_key=public)),
    )
    return shown(visit, _said(job.result) if job.over else "The release is verified.")


def _said(result: Any) -> str:
    found = result[1] if result is not None else None
    if not isinstance(found, Verification):
        return "It could not be verified."
    return f"{found.verdict[:1].upper()}{found.verdict[1:]}."


def ended(visit: Visit) -> Scene:
    """End the verification."""
    visit.desk.end(CHECK)
    return shown(visit, "It was ended.")


async def dropped(request: Request) -> Response:
    """Take the folder of a release from the browser, and verify it."""
    desk: Desk = request.app.state.desk
    visit = Visit(desk, {}, request.url.path)
    try:
        name = await folder_received(request, desk.place, ROOM)
    except HoldfastError as error:
        return answered(refused(error), visit, request)
    visit = Visit(desk, {"release": [name]}, request.url.path)
    return await run_in_threadpool(answered, chosen, visit, request)


def certificate(request: Request) -> Response:
    """Return the page of the certificate that is looked at."""
    desk: Desk = request.app.state.desk
    return certificate_page(desk, desk.release)


VIEW = View(
    "check",
    "Check",
    (
        page("/check", shown),
        action("/check/release", chosen),
        action("/check/end", ended),
        Route("/check/certificate", certificate),
        Route("/check/upload", dropped, methods=["POST"]),
    ),
    spec=False,
)
