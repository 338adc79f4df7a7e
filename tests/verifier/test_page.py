"""The script of the page says what the quick check says, and the page can open no connection."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.certificate.test_quick import WHOLE
from tests.small_releases import released

from holdfast.certificate.sign import generate_keys, read_signing_key, sign

PAGE = Path(__file__).parents[2] / "verify" / "verify.html"
NODE = shutil.which("node")
with_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


def told(*asked: tuple[Path, Path | None]) -> list[Any]:
    """Return the exit code of each folder, and what does not hold."""
    lines = [json.dumps([str(folder), None if key is None else str(key)]) for folder, key in asked]
    done = subprocess.run(
        [NODE or "node", Path(__file__).with_name("page.mjs"), PAGE],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@with_node
def test_the_page_agrees_on_every_folder_that_it_reads(folders: dict[Path, int]) -> None:
    found = told(*((folder, None) for folder in folders))
    differ, unread = [], 0
    for (folder, code), (own, wrong) in zip(folders.items(), found, strict=True):
        open_ones = isinstance(wrong, list) and wrong and all(one["holds"] is None for one in wrong)
        unread += bool(open_ones)
        if not open_ones and own != code:
            differ.append((folder.name, code, own, wrong))
    assert differ == []
    assert 0 < unread < len(found) / 5


@with_node
def test_the_page_tells_who_signed(tmp_path: Path) -> None:
    folder = released(WHOLE).write(tmp_path / "release")
    secret, public = generate_keys(tmp_path / "key")
    _, stranger = generate_keys(tmp_path / "stranger")
    unsigned = told((folder, public))[0]
    assert (unsigned[0], [one["name"] for one in unsigned[1]]) == (1, ["signature"])
    made = sign((folder / "certificate.json").read_bytes(), read_signing_key(secret))
    (folder / "certificate.sig").write_bytes(made)
    codes = [code for code, _ in told((folder, public), (folder, stranger), (folder, secret))]
    assert codes == [0, 1, 2]


@pytest.mark.parametrize(("tag", "policy"), [("script", "script-src"), ("style", "style-src")])
def test_the_policy_lets_nothing_in_but_what_is_here(tag: str, policy: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    content = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    stated = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert content
    assert stated
    digest = base64.b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
    assert f"{policy} 'sha256-{digest}'" in stated[1]
    assert stated[1].startswith("default-src 'none';")
    assert not re.search(r"https?://|src=|href=|@import|url\(|fetch\(|XMLHttp|eval\(", page)
