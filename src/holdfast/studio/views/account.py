"""Account: what all releases cost together, by release and population; verified, and exported."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from holdfast.certificate.text import CERTIFICATE, parse, read_text
from holdfast.ledger import LedgerReport, export_csv, export_json, ledger_report
from holdfast.ledger.account import Ledger
from holdfast.ledger.report import DIGITS
from holdfast.ledger.rows import MEASURES, STANDARDS
from holdfast.ledger.verify import LedgerCheck, verify_ledger
from holdfast.spec.values import parse_rational
from holdfast.studio import elsewhere
from holdfast.studio.desk import Desk
from holdfast.studio.pages import Scene, View, Visit, action, page
from holdfast.system.errors import HoldfastError, SpecError
from holdfast.system.files import plain_name
from holdfast.system.text import rational

VERIFY = "account"
"""The name of the job."""
MOST_LANES, MOST_BARS, MOST_ROWS, MOST_PROBLEMS = 20, 1_000, 200, 20
FORMS = {"json": (export_json, "application/json"), "csv": (export_csv, "text/csv")}


@dataclass(frozen=True)
class Segment:
    """What a release added to the total, on a scale that ends with the budget, in percent."""

    left: float
    width: float
    words: str


@dataclass(frozen=True)
class Lane:
    """The releases of one population: a confidential file, by the first digits of its fingerprint."""

    name: str
    rows: int
    added: Fraction
    segments: Sequence[Segment]


def shown(visit: Visit, said: str = "") -> Scene:
    """Return the view of an account, or of how one is opened."""
    desk = visit.desk
    ledgers = desk.place.ledgers
    name = desk.account if desk.account in ledgers else next(iter(ledgers), None)
    values: dict[str, Any] = {
        "ledgers": ledgers,
        "name": name,
        "measure": desk.asked.budget_name,
        "report": None,
        "trouble": "",
        "running": desk.running(VERIFY),
        "check": None,
        "releases": [],
        "ways": {},
    }
    if name is None:
        return Scene("account.html.j2", values, said)
    values["releases"] = _charged(desk, name)
    values["check"] = _checked(desk, name)
    try:
        values |= _told(desk, name)
    except HoldfastError as error:
        values["trouble"] = str(error)
    values["ways"] = elsewhere.verify_ledger(name, [one for one, own in values["releases"] if own])
    return Scene("account.html.j2", values, said)


def _stamp(desk: Desk, name: str) -> tuple[Any, ...]:
    stat = desk.place.inside(name).stat()
    return (name, stat.st_mtime_ns, stat.st_size, stat.st_ino)


def _told(desk: Desk, name: str) -> Mapping[str, Any]:
    """Return the budget, what is spent of it, the picture, and the last rows."""
    path = desk.place.inside(name)
    report = desk.kept(("account", *_stamp(desk, name)), lambda: ledger_report(path))
    worth = report.tight
    return {
        "report": report,
        "unit": MEASURES[report.opening.standard],
        "opening": report.opening,
        "spent": rational(report.spent),
        "left": rational(report.left),
        "budget": rational(report.opening.budget),
        "worth": worth.words if worth is not None and report.opening.standard != "pure" else "",
        "whole": _segments(report, range(len(report.rows))),
        "lanes": lanes_of(report),
        "rows": _rows(desk, report),
        "more": max(0, len(report.rows) - MOST_ROWS),
        "warnings": report.warnings,
    }


def lanes_of(report: LedgerReport) -> Sequence[Lane]:
    """Return a lane for each population, in the order of their first releases; the last holds all others."""
    places: dict[str, list[int]] = {}
    for place, file in enumerate(report.files):
        places.setdefault(file, []).append(place)
    named = list(places.items())
    if len(named) > MOST_LANES:
        rest = [place for _, each in named[MOST_LANES - 1 :] for place in each]
        named = [*named[: MOST_LANES - 1], (f"{len(named) - MOST_LANES + 1:,} more", sorted(rest))]
    return [
        Lane(
            name,
            len(each),
            sum((_added(report, place) for place in each), Fraction(0)),
            _segments(report, each),
        )
        for name, each in named
    ]


def _added(report: LedgerReport, place: int) -> Fraction:
    """Return by how much a release raised the total."""
    return report.rows[place].total - (report.rows[place - 1].total if place else 0)


def _segments(report: LedgerReport, places: Sequence[int]) -> Sequence[Segment]:
    """Return where some rows lie on the way to the budget; of many the last ones, the others in one piece."""
    scale = 100 / report.opening.budget
    found = []
    if len(places) > MOST_BARS:
        end = report.rows[places[-MOST_BARS] - 1].total
        found.append(Segment(0.0, float(end * scale), "earlier rows"))
    for place in places[-MOST_BARS:]:
        row, added = report.rows[place], _added(report, place)
        words = f"row {row.index}: {rational(added)}"
        found.append(Segment(float((row.total - added) * scale), float(added * scale), words))
    return found


def _rows(desk: Desk, report: LedgerReport) -> Sequence[Mapping[str, Any]]:
    """Return the last rows, the newest first, with the folders of this place that they were released as."""
    folders = {charged: name for name, charged in _hashes(desk).items()}
    shown = range(len(report.rows) - 1, -1, -1)[:MOST_ROWS]
    files, released = report.files, report.released
    return [_row(report, place, files[place], released[place], folders) for place in shown]


def _row(
    report: LedgerReport, place: int, file: str, released: bool, folders: Mapping[str, str]
) -> Mapping[str, Any]:
    row = report.rows[place]
    return {
        "index": row.index,
        "time": row.time[:19].replace("T", " "),
        "file": file,
        "scope": row.charge.scope[:DIGITS],
        "alone": f"{MEASURES[row.charge.standard]} {rational(row.charge.intensity)}",
        "added": rational(_added(report, place)),
        "total": rational(row.total),
        "released": released,
        "folder": folders.get(row.hash, ""),
    }


def _hashes(desk: Desk) -> Mapping[str, str]:
    """Return the hash of the row that each release of the folder says it was charged as."""
    found = {}
    for name in desk.place.releases:
        try:
            folder = desk.place.inside(name)
            stat = (folder / CERTIFICATE).stat()
            key = ("charged", name, stat.st_mtime_ns, stat.st_size)
            named = desk.kept(key, lambda: parse(read_text(folder), CERTIFICATE).get("ledger"))  # noqa: B023
        except (HoldfastError, OSError):
            continue
        if isinstance(named, dict) and isinstance(named.get("hash"), str):
            found[name] = named["hash"]
    return found


def _charged(desk: Desk, name: str) -> Sequence[tuple[str, bool]]:
    """Return the releases of the folder that were charged to some account, and whether it is this one."""
    try:
        path = desk.place.inside(name)
        report = desk.kept(("account", *_stamp(desk, name)), lambda: ledger_report(path))
        own = {row.hash for row in report.rows}
    except (HoldfastError, OSError):
        own = set()
    return [(folder, charged in own) for folder, charged in _hashes(desk).items()]


# choosing, opening


def chosen(visit: Visit) -> Scene:
    """Look at another account of the folder."""
    name = visit.one("account")
    if name not in visit.desk.place.ledgers:
        raise SpecError("this account is not in the folder: choose one that is.")
    visit.desk.account = name
    return shown(visit, f"The account is {name}.")


def opened(visit: Visit) -> str:
    """Open a new account in the folder, and return its name; its budget is of the spec's standard."""
    desk, name = visit.desk, visit.one("name").strip()
    name = name if name.endswith(".ledger") else f"{name}.ledger"
    if not plain_name(name) or name.startswith("."):
        raise SpecError("the name of the account is no plain name: write one such as census.ledger.")
    try:
        budget = parse_rational(visit.one("budget").strip())
    except ValueError:
        raise SpecError("the budget is no number: write one such as 2 or 1/2.") from None
    measure = desk.asked.budget_name
    standard = next(one for one in STANDARDS if MEASURES[one] == measure)
    Ledger.create(desk.place.inside(name), standard=standard, budget=budget)
    desk.account = name
    return f"The account {name} is open, with its secret salt beside it."


def opened_here(visit: Visit) -> Scene:
    """Open a new account, and look at it."""
    return shown(visit, opened(visit))


# verifying


def verified(visit: Visit) -> Scene:
    """Begin to recompute an account, and to hold releases of the folder against their rows."""
    desk, name = visit.desk, visit.one("account")
    path = desk.place.inside(name)
    folders = [desk.place.inside(one) for one in visit.all("release")]
    stamp = _stamp(desk, name)
    job = desk.begin(
        VERIFY, "composing all rows again", lambda _: (stamp, verify_ledger(path, releases=folders))
    )
    return shown(visit, "It was verified." if job.over else "It is verified.")


def _checked(desk: Desk, name: str) -> Mapping[str, Any] | None:
    """Return what the last verification of the account found, if the account is still as it was then."""
    job = desk.jobs.get(VERIFY)
    if job is None or not job.over:
        return None
    if job.problem:
        return {"problem": job.problem}
    stamp, found = job.result
    if stamp != _stamp(desk, name) or not isinstance(found, LedgerCheck):
        return None
    notes = [note for one in found.releases for note in one["notes"]]
    return {
        "problem": "",
        "found": found,
        "problems": found.problems[:MOST_PROBLEMS],
        "more": max(0, len(found.problems) - MOST_PROBLEMS),
        "notes": notes,
        "releases": len(found.releases),
    }


def ended(visit: Visit) -> Scene:
    """End the verification."""
    visit.desk.end(VERIFY)
    return shown(visit, "It was ended.")


def exported(request: Request) -> Response:
    """Return all rows of the account that is looked at, to be saved."""
    desk: Desk = request.app.state.desk
    write, kind = FORMS.get(str(request.path_params["form"]), (None, ""))
    name = desk.account if desk.account is not None else next(iter(desk.place.ledgers), None)
    try:
        if write is None or name is None:
            raise SpecError("no file")
        text = write(desk.place.inside(name))
    except (HoldfastError, OSError):
        return PlainTextResponse("There is no such page.", 404)
    stem = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    said = f'attachment; filename="{stem}.{request.path_params["form"]}"'
    return Response(text, media_type=kind, headers={"content-disposition": said})


VIEW = View(
    "account",
    "Account",
    (
        page("/account", shown),
        action("/account/choose", chosen),
        action("/account/open", opened_here),
        action("/account/verify", verified),
        action("/account/end", ended),
        Route("/account/export/{form}", exported),
    ),
    spec=False,
)
