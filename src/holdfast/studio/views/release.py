"""Release: what it takes in words, one confirmation, its progress, and the certificate in the page.

A release that is confirmed has a nonce of the desk, which is spent when it begins: a second click, a reload
or another tab with the same one shows what the first did. Until the moment before its charge it can be ended
at no cost. A note in the folder says what was begun, so that a server that was killed can tell.
"""

import hashlib
import mimetypes
import re
import secrets
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from holdfast.certificate.model import Certificate
from holdfast.certificate.page import strength_of
from holdfast.certificate.protection import release_warnings
from holdfast.certificate.read import read_certificate
from holdfast.certificate.verdict import LEVELS
from holdfast.data.levels import formulas
from holdfast.ledger.account import Ledger
from holdfast.ledger.composition import spend
from holdfast.ledger.rows import MEASURES
from holdfast.releases.handover import Handover, Written
from holdfast.releases.prepare import kinds_of, prepare
from holdfast.spec.model import Spec
from holdfast.studio import pending
from holdfast.studio.desk import AnySpec, Desk
from holdfast.studio.jobs import Job
from holdfast.studio.pages import Scene, View, Visit, action, page
from holdfast.studio.pending import Confirmed
from holdfast.studio.place import CERTIFICATE
from holdfast.studio.views.account import opened
from holdfast.system.errors import HoldfastError, SpecError
from holdfast.system.files import plain_name
from holdfast.system.text import rational

LOOK, DRAW = "look", "release"
"""The names of the two jobs: looking what it takes, and the release."""
MOST_ROWS = 12
STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


@dataclass(frozen=True)
class Takes:
    """What a release would take, as it was looked up for a spec."""

    digest: str
    wanted: Confirmed
    certificate: Certificate
    seconds: float
    warnings: tuple[str, ...]
    measure: str = ""
    spent: Fraction | None = None
    total: Fraction | None = None
    budget: Fraction | None = None

    @property
    def cost(self) -> Fraction:
        """What is charged."""
        return (self.total or Fraction(0)) - (self.spent or Fraction(0))

    @property
    def left(self) -> Fraction:
        """What remains afterwards."""
        return (self.budget or Fraction(0)) - (self.total or Fraction(0))

    @property
    def more(self) -> int:
        """How many more releases like this one the rest is enough for, if each costs as much."""
        return floor(self.left / self.cost) if self.cost > 0 else 0


def shown(visit: Visit, said: str = "") -> Scene:
    """Return the view as it is: a form, a confirmation, progress, or the release."""
    desk = visit.desk
    asked = desk.asked
    look, job = desk.jobs.get(LOOK), desk.jobs.get(DRAW)
    running = next((one for one in (job, look) if one is not None and not one.over), None)
    values: dict[str, Any] = {
        "problem": asked.problem,
        "no_unit": asked.no_unit,
        "running": running,
        "takes": None,
        "trouble": "",
        "left": None if running else pending.left(desk.place),
        "done": None,
        "ledgers": desk.place.ledgers,
        "out": desk.place.free("release"),
        "measure": asked.budget_name,
        "nonce": desk.nonce,
        "releases": desk.place.releases[:MOST_ROWS],
        "formula": "",
    }
    if running is None and job is not None:
        if isinstance(job.result, Written):
            values["done"] = _done(desk, job.result)
        else:
            values["trouble"] = job.problem
    elif running is None and look is not None:
        takes = look.result
        if isinstance(takes, Takes) and takes.digest == asked.digest:
            values["takes"] = _words(takes)
        elif look.problem:
            values["trouble"] = look.problem
    if running is None and not values["done"] and not values["takes"]:
        values["formula"] = _formula(desk)
    return Scene("release.html.j2", values, said)


def _formula(desk: Desk) -> str:
    """Return a name of the tables that a spreadsheet would run; "" where there is none."""
    spec = desk.asked.spec
    specs = () if spec is None else spec.specs if not isinstance(spec, Spec) else (spec,)
    try:
        schemas = [(one, desk.public(one).schema) for one in specs if not one.of_records]
    except HoldfastError:
        return ""
    names = (
        name
        for one, schema in schemas
        for each in schema.attributes
        for name in (one.data.count or "", each.name, *each.levels)
    )
    return next(iter(formulas(names)), "")


def _words(takes: Takes) -> Mapping[str, Any]:
    """Return what is confirmed."""
    certificate = takes.certificate
    guarantee = certificate.guarantee
    kept = [
        (item.name, len(item.values))
        for part in certificate.parts
        for item in getattr(part, "invariants", ())
    ]
    alone = [(part.name, certificate.alone(part.name).guarantee) for part in certificate.parts]
    several = [(str(name), one.unit.value.whom.one, strength_of(one.intensity)) for name, one in alone]
    return {
        "takes": takes,
        "alone": several if len({whom for _, whom, _ in several}) > 1 else (),
        "whom": guarantee.unit.value.whom,
        "strength": strength_of(guarantee.intensity),
        "level": certificate.verdict.level,
        "word": LEVELS[certificate.verdict.level].partition(":")[0],
        "meaning": certificate.verdict.meaning,
        "kept": kept,
        "warnings": takes.warnings,
        "cost": rational(takes.cost),
        "spent": rational(takes.total or Fraction(0)),
        "budget": rational(takes.budget or Fraction(0)),
        "rest": rational(takes.left),
    }


def _done(desk: Desk, written: Written) -> Mapping[str, Any]:
    """Return what is told of a release that is there."""
    name = desk.place.name(written.folder.resolve())
    row = written.row
    return {
        "name": name,
        "files": sorted(path.name for path in written.folder.iterdir()),
        "warnings": written.warnings,
        "row": None if row is None else row.index,
        "left": None if written.left is None else rational(written.left),
        "report": None if written.report is None else written.report.name,
    }


# looking what it takes


def look(visit: Visit) -> Scene:
    """Begin to look what a release would take; nothing is charged or drawn."""
    desk = visit.desk
    wanted = _wanted(visit)
    spec, digest = _spec(desk), desk.asked.digest
    running = desk.jobs.get(DRAW)
    if running is not None and not running.over:
        return shown(visit)
    desk.jobs.pop(DRAW, None)
    job = Job("looking what it takes", lambda job: _takes(desk, spec, digest, wanted, job))
    desk.jobs[LOOK] = job.start()
    job.wait(1.0)
    return shown(visit, "What it takes is worked out." if job.over else "Working out what it takes.")


def _spec(desk: Desk) -> AnySpec:
    asked = desk.asked
    if asked.spec is None:
        raise SpecError(asked.problem)
    if asked.no_unit:
        raise SpecError("nobody is named whom the release protects: choose who is protected, under Data.")
    return asked.spec


def _wanted(visit: Visit) -> Confirmed:
    """Return what a form asks for; every name leads into the folder."""
    desk, out, ledger = visit.desk, visit.one("out").strip(), visit.one("ledger")
    if not plain_name(out) or out.startswith("."):
        raise SpecError("the name of the new folder is no plain name: write one such as release.")
    if desk.place.inside(out).exists():
        raise SpecError(f"{out} exists already: name a new folder, nothing is overwritten.")
    if ledger:
        Ledger.open(desk.place.inside(ledger))
    return Confirmed(
        desk.nonce,
        desk.spec_name or "",
        out,
        ledger,
        visit.one("parquet") == "yes",
        quoted=visit.one("quoted") == "yes",
    )


def _takes(desk: Desk, spec: AnySpec, digest: str, wanted: Confirmed, job: Job) -> Takes:
    prepared = prepare(spec)
    job.look()
    account = Ledger.open(desk.place.inside(wanted.ledger)) if wanted.ledger else None
    drawing = prepared.drawing(ledger=account)
    certificate = drawing.certificate
    warnings = (*release_warnings(certificate), *prepared.warnings)
    found = Takes(digest, wanted, certificate, prepared.seconds, tuple(dict.fromkeys(warnings)))
    if account is None:
        return found
    spent, total = account.foreseen(drawing.charge(account), spend)
    return replace(found, measure=MEASURES[account.standard], spent=spent, total=total, budget=account.budget)


def ledger(visit: Visit) -> Scene:
    """Open a new account in the folder."""
    return shown(visit, opened(visit))


# the release


def draw(visit: Visit) -> Scene:
    """Begin the release that was confirmed, once: the same confirmation again shows what the first did."""
    desk, given = visit.desk, visit.one("nonce")
    with desk.beginning:
        if given != desk.nonce:
            return shown(visit, "This release was begun already.")
        found = desk.jobs.get(LOOK)
        takes = None if found is None else found.result
        if not isinstance(takes, Takes) or takes.digest != desk.asked.digest or takes.wanted.nonce != given:
            raise SpecError("the spec has changed since: look again what the release takes.")
        wanted = replace(takes.wanted, accepted=visit.one("accepted") == "yes")
        job = _begun(desk, _spec(desk), wanted, None)
    job.wait(1.5)
    return shown(visit, _said(job))


def resume(visit: Visit) -> Scene:
    """Go on with a release that was charged and not handed over: it is not charged again."""
    desk = visit.desk
    with desk.beginning:
        running = desk.jobs.get(DRAW)
        if running is not None and not running.over:
            return shown(visit, "This release was begun already.")
        found = pending.left(desk.place)
        if found is None or found.row is None:
            return shown(visit, "There is nothing to go on with.")
        desk.take(found.wanted.spec)
        job = _begun(desk, _spec(desk), found.wanted, found.row)
    job.wait(1.5)
    return shown(visit, _said(job))


def _begun(desk: Desk, spec: AnySpec, wanted: Confirmed, row: int | None) -> Job:
    """Begin: the nonce is spent, and the folder has a note of it."""
    desk.nonce = secrets.token_urlsafe(16)
    pending.note(desk.place, wanted)
    job = Job("preparing the release", lambda job: _released(desk, spec, wanted, row, job))
    desk.jobs[DRAW] = job.start()
    desk.jobs.pop(LOOK, None)
    return job


def _released(desk: Desk, spec: AnySpec, wanted: Confirmed, row: int | None, job: Job) -> Written:
    handover = Handover(
        out=desk.place.inside(wanted.out),
        parquet=wanted.parquet,
        ledger=desk.place.inside(wanted.ledger) if wanted.ledger else None,
        resume=row,
        accept_no_protection=wanted.accepted,
        quote_formulas=wanted.quoted,
        ready=job.commit,
    )
    try:
        written = handover.of(lambda: prepare(spec), kinds_of(spec))
    except HoldfastError as error:
        if pending.resumable(str(error)) is None:
            pending.forget(desk.place)  # nothing was charged
        raise
    pending.forget(desk.place)
    desk.release = wanted.out
    return written


def _said(job: Job) -> str:
    if not job.over:
        return "The release is being made."
    return "The release is there." if isinstance(job.result, Written) else "Nothing was released."


def end(visit: Visit) -> Scene:
    """End what is under way, if that is in time."""
    in_time = True
    for job in visit.desk.jobs.values():
        if not job.over:
            in_time = job.end()
            job.wait(3.0)
    return shown(visit, "It was ended, at no cost." if in_time else "It is too late: the release is drawn.")


def progress(visit: Visit) -> Scene:
    """Tell how far it is; once it is over, all of the view."""
    return shown(visit)


def another(visit: Visit) -> Scene:
    """Begin anew, beside the release that is there."""
    desk = visit.desk
    for name in (LOOK, DRAW):
        if (job := desk.jobs.get(name)) is not None and job.over:
            del desk.jobs[name]
    if pending.left(desk.place) is not None and visit.one("forget") == "yes":
        pending.forget(desk.place)
    return shown(visit)


# the files of a release


def certificate(request: Request) -> Response:
    """Return the page of the certificate of what was released."""
    desk: Desk = request.app.state.desk
    return certificate_page(desk, _made(desk))


def certificate_page(desk: Desk, name: str | None) -> Response:
    """Return the page of a certificate, with its own style, and nothing that runs."""
    try:
        folder = desk.place.inside(name or "")
        text = (folder / "certificate.html").read_text(encoding="utf-8")
        read_certificate(folder)
    except (HoldfastError, OSError, UnicodeDecodeError):
        return PlainTextResponse("There is no such page.", 404)
    hashes = " ".join(f"'sha256-{_sha256(style)}'" for style in STYLE.findall(text)) or "'none'"
    policy = f"default-src 'none'; style-src {hashes}; frame-ancestors 'self'; sandbox allow-popups"
    return Response(text, media_type="text/html", headers={"content-security-policy": policy})


def _made(desk: Desk) -> str | None:
    """Return the folder of the release that this view shows."""
    job = desk.jobs.get(DRAW)
    done = None if job is None else job.result
    return desk.place.name(done.folder.resolve()) if isinstance(done, Written) else None


def _sha256(text: str) -> str:
    return b64encode(hashlib.sha256(text.encode()).digest()).decode()


def file(request: Request) -> Response:
    """Return a file of the release, to be saved."""
    desk: Desk = request.app.state.desk
    name = str(request.path_params["name"])
    try:
        path = desk.place.inside(f"{_made(desk)}/{name}")
        if not (path.parent / CERTIFICATE).is_file() or not path.is_file():
            raise SpecError("no file")
        content = path.read_bytes()
    except (HoldfastError, OSError):
        return PlainTextResponse("There is no such page.", 404)
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    said = f'attachment; filename="{re.sub(r"[^A-Za-z0-9._-]", "_", name)}"'
    return Response(content, media_type=kind, headers={"content-disposition": said})


VIEW = View(
    "release",
    "Release",
    (
        page("/release", shown),
        page("/release/progress", progress),
        action("/release/look", look),
        action("/release/ledger", ledger),
        action("/release/draw", draw),
        action("/release/resume", resume),
        action("/release/end", end),
        action("/release/another", another),
        Route("/release/certificate", certificate),
        Route("/release/file/{name}", file),
    ),
)
