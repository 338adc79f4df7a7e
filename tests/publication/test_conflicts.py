"""Contradictions are named by a smallest set; what would undo a finding does, against every population."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from tests.publication.designs import RULES, Design, design, published

from holdfast.publication.report import PublicationReport, audit
from holdfast.publication.spec import PublicationSpec

PEOPLE = 7


def fits(found: Design, report: PublicationReport, every: Any) -> Any:
    """Return for each population whether it has each number."""
    publication = report.publication
    sums = every @ publication.numbers.matrix.T.toarray()
    return (sums >= publication.numbers.low) & (sums <= publication.numbers.high)


def test_the_smallest_conflict_is_as_small_as_any(tmp_path: Path) -> None:
    tried = 0
    for seed in range(60):
        folder = tmp_path / str(seed)
        folder.mkdir()
        found = design(seed, folder)
        rng = np.random.default_rng(seed)
        path = folder / f"{rng.integers(len(found.values['published']))}.csv"
        rows = path.read_text().splitlines()
        at = int(rng.integers(1, len(rows)))
        levels, _, token = rows[at].rpartition(",")
        number = int(path.stem)
        rule = found.values["published"][number]
        told = sorted(published(rule, int(rng.integers(0, PEOPLE))))[0]
        rows[at] = f"{levels},{told}"
        path.write_text("\n".join(rows) + "\n")
        report = audit(PublicationSpec.of(found.values, folder=folder), remedied=False)
        if not report.contradictions:
            continue
        tried += 1
        sizes = [len(level) for level in found.attributes.values()]
        every = np.indices((PEOPLE + 1,) * int(np.prod(sizes))).reshape(int(np.prod(sizes)), -1).T
        if len(every) > 300_000:
            every = every[every.sum(axis=1) <= PEOPLE]
        has = fits(found, report, every)
        first = report.contradictions[0]
        assert first.smallest
        least = next(
            size
            for size in range(1, has.shape[1] + 1)
            if any(
                not has[:, list(some)].all(axis=1).any() for some in combinations(range(has.shape[1]), size)
            )
        )
        assert len(first.numbers) == least, seed
        del token
    assert tried > 15
    assert len(RULES) > 5


def test_a_remedy_undoes_its_finding(tmp_path: Path) -> None:
    told = 0
    for seed in range(40):
        folder = tmp_path / str(seed)
        folder.mkdir()
        found = design(seed, folder)
        report = audit(PublicationSpec.of(found.values, folder=folder))
        publication = report.publication
        cells = np.indices((PEOPLE + 1,) * publication.cells).reshape(publication.cells, -1).T
        if len(cells) > 300_000:
            continue
        has = fits(found, report, cells)
        for one in report.remedies:
            out = (
                publication.table == one.table
                if one.number is None
                else np.arange(has.shape[1]) == one.number
            )
            left = cells[has[:, ~out].all(axis=1)][:, one.cell]
            assert left.min() == one.least, seed
            if one.largest is not None and one.largest <= PEOPLE:
                assert left.max() == one.largest, seed
            told += 1
        numbers = {one.number for one in report.remedies if one.number is not None}
        findings = [*report.determined.tolist(), *report.near.tolist()]
        for cell in findings[:20]:
            for number in set(range(has.shape[1])) - numbers:
                left = cells[has[:, np.arange(has.shape[1]) != number].all(axis=1)][:, cell]
                assert left.max() - left.min() < report.narrow or left.max() == PEOPLE, (seed, cell, number)
    assert told > 20
