"""A folder is dropped on verify.html as it is opened from a disk, in a browser."""

import os
import shutil
from pathlib import Path

import pytest
from tests.small_releases import released
from website.browser import BROWSER, browsing

PAGE = Path(__file__).parents[2] / "verify" / "verify.html"


@pytest.mark.skipif(
    BROWSER is None and "HOLDFAST_REQUIRE_ALL" not in os.environ, reason="Chromium is not installed"
)
def test_a_dropped_folder_is_checked(tmp_path: Path) -> None:
    good = released("lattice-laplace, told").write(tmp_path / "good")
    bad = Path(shutil.copytree(good, tmp_path / "bad"))
    (bad / "table.csv").write_text((bad / "table.csv").read_text() + "x\n")
    with browsing() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 800})
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        for dropped, said in (
            (good, "Kept: every check holds."),
            (bad, "violated"),
            (good / "table.csv", "Drop the folder of a release, not a file of it."),
        ):
            page.goto(PAGE.as_uri())
            box = page.locator("#drop").bounding_box()
            assert box is not None
            devices = page.context.new_cdp_session(page)
            for kind in ("dragEnter", "dragOver", "drop"):
                devices.send(
                    "Input.dispatchDragEvent",
                    {
                        "type": kind,
                        "x": box["x"] + 20,
                        "y": box["y"] + 10,
                        "data": {"items": [], "files": [str(dropped)], "dragOperationsMask": 1},
                    },
                )
            page.get_by_text(said).first.wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert complaints == []
