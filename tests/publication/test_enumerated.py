"""Two hundred random designs of mixed rules against all populations that fit them."""

from pathlib import Path

import pytest
from tests.publication.designs import design, group_facts

from holdfast.publication.report import audit
from holdfast.publication.spec import PublicationSpec

DESIGNS = range(200)


@pytest.mark.parametrize("first", DESIGNS[::20])
def test_what_follows_is_what_every_population_has(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        found = design(seed, folder)
        fact = list(found.attributes)[seed % len(found.attributes)]
        found.values["population"]["group"] = {"facts": fact, "largest": 4}
        report = audit(PublicationSpec.of(found.values, folder=folder), remedied=False).to_dict()
        least, largest = found.populations.min(axis=0), found.populations.max(axis=0)
        cells = report["cells"]
        assert [cell["least"] for cell in cells] == least.tolist(), seed
        assert [cell["largest"] for cell in cells] == largest.tolist(), seed
        assert all(cell["exact"] for cell in cells)
        fixed = [cell["levels"] for cell, low, high in zip(cells, least, largest, strict=True) if low == high]
        assert [cell["levels"] for cell in report["determined"]] == fixed
        assert len(report["narrow"]) == ((largest > least) & (largest - least < 3)).sum()
        assert report["tables_left"] == {
            "least": len(found.populations),
            "largest": len(found.populations),
            "exact": True,
        }, seed
        told = {
            (tuple(one["who"].items()), one["follows"][fact], one["least"], one["largest"])
            for one in report["groups"]
        }
        assert told == group_facts(found, fact, 4), seed
        assert report["contradictions"] == []
