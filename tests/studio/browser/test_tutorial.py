"""The tutorial of the studio, followed by clicks: its file, its buttons, and what it promises."""

import re
from pathlib import Path

from tests.sources import ROOT
from tests.studio.browser.guest import Studios
from website.runs import blocks

import holdfast as hf

TUTORIAL = ROOT / "docs" / "tutorials" / "the-studio.md"


def test_the_tutorial_is_followed_word_by_word(studios: Studios, tmp_path: Path) -> None:
    told = TUTORIAL.read_text(encoding="utf-8")
    (data,) = (block.text for block in blocks(told) if block.language == "csv")
    (tmp_path / "people.csv").write_text(data, encoding="utf-8")
    buttons = re.findall(r"\*\*([^*]+)\*\*", told)
    assert buttons[:3] == ["Look at it", "Show the confidential counts", "Who is protected?"]
    guest = studios.guest(tmp_path)

    def press(name: str) -> None:
        """Press a button by the name that the tutorial has for it."""
        assert name in buttons
        one = guest.page.get_by_role("button", name=name, exact=True)
        guest.click(f"#{one.get_attribute('id')}")

    press("Look at it")
    assert guest.page.get_by_role("button", name="Show the confidential counts").count() == 1
    guest.fill({"unit": "person"})
    press("Protect them")
    open_before, open_after = re.findall(r"(?m)^(?!!\[).*?(\d+) (?:numbers )?are left open", told)
    guest.at("exact")
    assert guest.page.inner_text("#sentence").startswith(f"{open_before} numbers are left open")
    press("each county (3)")
    assert guest.page.inner_text("#sentence").startswith(f"{open_after} numbers are left open")
    assert "moves 2 people" in guest.page.inner_text("#sentence")
    guest.at("accuracy").fill({"of": "age", "within": "10"}, "#target-add")
    assert "this one binds" in guest.said
    guest.at("release")
    press("Release …")
    press("Release it")
    guest.page.frame_locator("iframe").get_by_role("heading", name="Certificate of release").wait_for()
    assert hf.verify(tmp_path / "release").kept
    assert "Do not say" in guest.at("use").click("#cell-1-2").said
