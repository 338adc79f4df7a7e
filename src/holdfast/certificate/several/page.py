"""The page of several tables: what holds of all together, then a chapter for each.

A chapter is the body of the page that its table has alone, one heading lower. What comes from outside stands
there escaped, so no tag or mark of a name is of its making.
"""

import re
from datetime import datetime

from markupsafe import Markup

from holdfast.certificate.page import (
    MOST_ITEMS,
    STANDARDS,
    environment,
    render,
    strength_of,
    style_of,
    times_as_likely,
)
from holdfast.certificate.several.model import SharedSection, TablesCertificate
from holdfast.certificate.verdict import LEVELS
from holdfast.spec.whom import Whom

_NAMES = re.compile(r"(<bdi>.*?</bdi>)", re.S)
_BODY = re.compile(r"<main>(.*)</main>", re.S)
_MARK = re.compile(r'(<[^<>]*? )(id|aria-labelledby)="([^"]*)"')
_HEADING = re.compile(r"(</?)h([2-4])(?=[ >])")


def render_tables(certificate: TablesCertificate, *, parquet: bool = False) -> str:
    """Return the page of several tables, beside their files in CSV or Parquet.

    What readers are told of the publication is the same in all chapters, and stands once, on top.
    """
    pages = [
        render(
            chapter.certificate.model_copy(update={"publication": None}), parquet=parquet, name=chapter.name
        )
        for chapter in certificate.tables
    ]
    unit = certificate.guarantee.unit
    whom = Whom(unit.name, unit.records_per_unit)
    epsilon, exception = times_as_likely(certificate.guarantee)
    return (
        environment()
        .get_template("several/page.html.j2")
        .render(
            {name: getattr(certificate, name) for name in TablesCertificate.model_fields},
            style=style_of(),
            created_at=datetime.fromisoformat(certificate.created),
            chapters=[
                (place, chapter, Markup(_chapter(page, f"table-{place}")))  # noqa: S704
                for place, (chapter, page) in enumerate(zip(certificate.tables, pages, strict=True), start=1)
            ],
            numbers=sum(
                len(item.values) for one in certificate.tables for item in one.certificate.invariants
            ),
            parts=[
                (one.name, strength_of(one.certificate.guarantee.intensity), share.fraction, one.certificate)
                for one, share in zip(certificate.tables, certificate.budget.shares, strict=True)
            ],
            agree=[item for item in certificate.shared if len(item.exact) > 1],
            differ=[item for item in certificate.shared if item.noisy],
            what=lambda shared: what_of(shared, whom),
            whom=whom,
            publication=certificate.tables[0].certificate.publication,
            files=[f"{one.name}.{'parquet' if parquet else 'csv'}" for one in certificate.tables],
            LEVELS=LEVELS,
            semi=certificate.guarantee.unit.adjacency == "semi",
            standard=STANDARDS.get(certificate.guarantee.standard, certificate.guarantee.standard),
            strength=strength_of(certificate.guarantee.intensity),
            times=epsilon,
            exception=exception,
            MOST_ITEMS=MOST_ITEMS,
        )
    )


def _chapter(page: str, mark: str) -> str:
    """Return the body of a page with its headings one lower, and marks that no other chapter has.

    What it says of "this release" holds of its table. Names from outside, in <bdi>, stay as they are.
    """
    (body,) = _BODY.findall(page)
    parts = _NAMES.split(body)
    parts[::2] = [part.replace("this release", "this table") for part in parts[::2]]
    marked = _MARK.sub(rf'\1\2="{mark}-\3"', "".join(parts))
    return _HEADING.sub(lambda found: f"{found[1]}h{int(found[2]) + 1}", marked)


def what_of(shared: SharedSection, whom: Whom) -> str:
    """Return the words for a margin."""
    return " by ".join(shared.attributes) or f"the number of {whom.counted}"
