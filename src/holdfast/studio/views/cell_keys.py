"""Audits of cell keys: what a table of perturbations gives away, between neighbours and by averaging."""

from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from holdfast.audit.cell_keys import CellKeyReport, cell_key
from holdfast.certificate.pictures import bars
from holdfast.privacy.keyed_counts import mean, variance
from holdfast.spec.values import parse_rational
from holdfast.studio import elsewhere
from holdfast.studio.pages import Scene, Visit, action, page
from holdfast.studio.views.published import MOST_LISTED, dropped
from holdfast.system.errors import SpecError


def cell_keys(visit: Visit) -> Scene:
    """Return what a table of perturbations gives away between neighbouring counts, and by averaging."""
    desk, name = visit.desk, visit.one("file")
    values: dict[str, Any] = {
        "files": [one for one in desk.place.data if Path(one).suffix.lower() == ".csv"],
        "file": name,
        "epsilons": visit.one("epsilons", "0, 1/2, 1, 2, 4, 8"),
        "levels": visit.one("levels", "10, 20"),
        "found": None,
        "ways": {},
        "tab": "keys",
    }
    if not name:
        return Scene("audits_keys.html.j2", values, here="/audits")
    try:
        epsilons = [parse_rational(text.strip()) for text in values["epsilons"].split(",")]
        levels = [int(text) for text in values["levels"].split(",")]
    except ValueError:
        raise SpecError("write numbers with commas between, such as 1/2, 1, 2 and 10, 20.") from None
    report = cell_key(desk.place.inside(name), epsilons, [levels])
    values["found"] = _keys_told(report)
    words = ["cell-key", name, *(part for one in epsilons if one for part in ("--epsilon", str(one)))]
    told: dict[str, object] = {"epsilons": [str(one) for one in epsilons], "shapes": [levels]}
    values["ways"] = elsewhere.audit(
        [*words, "--levels", ",".join(map(str, levels))], "cell_key", name, **told
    )
    return Scene("audits_keys.html.j2", values, "The table is read.", here="/audits")


def _keys_told(report: CellKeyReport) -> Mapping[str, Any]:
    deltas = [*report.losses, report.certain]
    drawn = bars([min(one.delta, 1.0) for one in deltas] + [1.0])
    laws = [
        (n, float(mean(law)), float(variance(law)), min(law), max(law))
        for n, law in enumerate(report.table.laws[:MOST_LISTED])
    ]
    return {
        "report": report,
        "epsilon": None if report.epsilon == inf else report.epsilon,
        "losses": [
            (str(one.epsilon) if one is not report.certain else "any", one.delta, one.between, bar)
            for one, bar in zip(deltas, drawn, strict=False)
        ],
        "laws": laws,
        "averaging": [(one, one.to_dict()["worth"]) for one in report.averaging],
        "unperturbed": report.unperturbed[:10],
    }


async def uploaded(request: Request) -> Response:
    """Take a table of perturbations from the browser."""
    return await dropped(request, cell_keys, "file")


ROUTES: Sequence[BaseRoute] = (
    page("/audits/keys", cell_keys),
    action("/audits/keys", cell_keys),
    Route("/audits/keys/upload", uploaded, methods=["POST"]),
)
