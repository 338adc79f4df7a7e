"""The site: built without a flaw, searched from files; what would make a reader stumble is noticed."""

import inspect
import os
import re
import shutil
import tomllib
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.sources import PACKAGE, ROOT
from website.build import build
from website.checks import flaws
from website.gallery import GALLERY, PICTURE, SCRIPT, projects
from website.pages import SECTIONS, sources
from website.reference import outputs, spec
from website.reference.keys import KEYS
from website.slides import slides, write
from website.stage import _leading

import holdfast
from holdfast.version import VERSION

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
CUT = """() => [...document.querySelectorAll(".highlight:not(.language-text) pre > code")]
  .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText)"""
BROKEN = """() => [...document.querySelectorAll("th code")]
  .filter((one) => one.getClientRects().length > 1).map((one) => one.innerText)"""
ASKED = ("negative counts", "household", "rho", "pip", "tract")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    assert build(folder / "staged", folder / "site") == []
    return folder / "site"


def test_the_site_is_whole_and_needs_no_network(site: Path) -> None:
    pages = [path for path in site.rglob("*.html") if path.parent.name != "assets"]
    assert len(pages) > 80
    first = (site / "index.html").read_text(encoding="utf-8")
    assert f"Holdfast {VERSION}" in first
    assert "data-md-color-scheme" in first
    for page in pages:
        if page.name != "404.html":
            assert page.with_suffix(".md").is_file(), page
    told = (site / "llms.txt").read_text(encoding="utf-8")
    assert told.startswith(f"# Holdfast {VERSION}")
    assert {f"]({page})" for page in sources()} <= set(re.findall(r"\]\([^)]*\)", told))
    scripts = [*site.rglob("*.js"), *site.rglob("*.css")]
    assert [path for path in scripts if "unpkg" in path.read_text(encoding="utf-8")] == []


@pytest.mark.skipif(
    BROWSER is None and "HOLDFAST_REQUIRE_ALL" not in os.environ, reason="Chromium is not installed"
)
def test_search_finds_things_from_files_and_asks_no_host(site: Path) -> None:
    from playwright.sync_api import sync_playwright

    quiet = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=list(quiet))
        page = browser.new_page(viewport={"width": 390, "height": 800})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "guides" / "data.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        for name in ("tutorials/people-and-units", "guides/data"):
            page.goto((site / f"{name}.html").as_uri())
            assert page.locator(".highlight:not(.language-text) pre > code").count()
            assert page.evaluate(CUT) == []
        page.goto((site / "guides" / "scale.html").as_uri())
        assert page.evaluate(BROKEN) == []
        page.goto((site / "guides" / "data.html").as_uri())
        for words in ASKED:
            page.reload()
            page.locator("label[for=__search]").first.click()
            page.locator("input[aria-label=Search]").first.fill(words)  # keys are lost while it starts
            found = page.locator("mark", has_text=re.compile(words.split()[0], re.I)).first
            found.wait_for(timeout=60_000)
        browser.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []


@pytest.mark.parametrize(
    ("html", "said"),
    [
        ('<a href="nothing.html">x</a>', "leads nowhere"),
        ('<a href="#nothing">x</a>', "leads nowhere"),
        ('<img src="picture.png" alt="">', "has no text"),
        ('<script src="https://cdn.evil.test/a.js"></script>', "foreign host"),
        ('<link href="//fonts.evil.test/a.css">', "foreign host"),
        ("<p>see https://evil.test/</p>", "foreign host"),
        ('<img src="gone.png" alt="a picture">', "is not there"),
    ],
)
def test_what_makes_a_reader_stumble_is_noticed(tmp_path: Path, html: str, said: str) -> None:
    (tmp_path / "picture.png").write_bytes(b"")
    good = (
        '<p id="here">https://example.org/x</p><a href="page.html#here">x</a><img src="picture.png" alt="a">'
    )
    (tmp_path / "page.html").write_text(good, encoding="utf-8")
    assert flaws(tmp_path) == []
    (tmp_path / "page.html").write_text(good + html, encoding="utf-8")
    assert any(said in flaw for flaw in flaws(tmp_path))


def test_a_link_to_nothing_is_left_to_the_checks_and_one_to_a_file_of_the_project_becomes_text() -> None:
    lead = _leading("guides/page.md", ROOT / "docs" / "guides", {})
    assert lead("nothing.md") == "nothing.md"
    assert lead("../../Makefile") is None


def test_every_key_of_a_spec_has_a_meaning_and_an_example_that_is_toml() -> None:
    assert spec.missing() == []
    for section, keys in KEYS.items():
        for name, key in keys.items():
            assert {"source": "from"}.get(name, name) in tomllib.loads(key.example), (section, name)


@pytest.mark.skipif(
    BROWSER is None and "HOLDFAST_REQUIRE_ALL" not in os.environ, reason="Chromium is not installed"
)
def test_the_slides_are_printed_one_a_page(tmp_path: Path) -> None:
    printed = write(tmp_path / "slides.pdf")
    assert printed == len(slides()) >= 10
    assert len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "slides.pdf").read_bytes())) == printed


@pytest.mark.parametrize("room", ["holdfast", "holdfast.audit"])
def test_every_public_name_has_an_example_in_its_docstring(room: str) -> None:
    module = import_module(room)
    values = {name: getattr(module, name) for name in module.__all__}
    told = {name: inspect.getdoc(value) or "" for name, value in values.items() if callable(value)}
    assert len(told) >= 10
    assert [name for name, doc in told.items() if ">>> " not in doc] == []


def test_every_page_stands_in_a_section() -> None:
    folders = {page.partition("/")[0] for page in sources() if "/" in page}
    assert folders <= set(SECTIONS.values())


def test_the_gallery_shows_every_project_with_its_picture_and_its_archive(site: Path) -> None:
    shown = (GALLERY / "index.md").read_text(encoding="utf-8")
    assert len(projects()) == 14
    for project in projects():
        assert f"({project.name}/{PICTURE})]({project.name}/README.md)" in shown
        assert (project / PICTURE).stat().st_size < 100_000
        page = (site / "gallery" / f"{project.name}.md").read_text(encoding="utf-8")
        code = (project / SCRIPT).read_text(encoding="utf-8").rstrip("\n")
        assert f"```python\n{code}\n```" in page
        with zipfile.ZipFile(site / "gallery" / project.name / f"{project.name}.zip") as packed:
            assert {f"{project.name}/{path.name}" for path in project.iterdir()} == set(packed.namelist())


def test_the_reference_of_outputs_has_what_is_told_of_swapped_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (line,) = outputs.NAMES
    monkeypatch.setattr(outputs, "LINES", line)
    page = outputs.page()
    assert "\n## holdfast compare, of records\n" in page
    places = ("by_population[].mean_absolute_error", "bias[].bias", "segregation[].negative", "exposed")
    told = (
        "swap.rate",
        "tabulation.size",
        "pairs[].why",
        "standards",
        *(f"places.rows[].{one}" for one in places),
    )
    assert [name for name in told if f"| `{name}` |" not in page] == []


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").stat().st_size <= 7 * 1024


def test_statements_name_code_and_tests_that_exist() -> None:
    for name in ("statements", "notation"):
        text = (ROOT / "docs" / "theory" / f"{name}.md").read_text(encoding="utf-8")
        named = set(re.findall(r"`((?:tests/)?[a-z_]+/[\w/]+(?:\.py)?)`", text))
        assert len(named) >= 20
        for path in named:
            assert (ROOT / path if path.startswith("tests/") else PACKAGE / path).exists(), path


def test_fields_that_standards_are_mapped_to_are_in_a_certificate(tmp_path: Path) -> None:
    files = holdfast.write_example(tmp_path)
    certificate: Any = holdfast.prepare(files[0]).release().certificate.to_dict()
    text = (ROOT / "docs" / "standards" / "index.md").read_text(encoding="utf-8")
    table = text.partition("## NIST")[2]
    for path in re.findall(
        r"`((?:target|guarantee|parts|randomness|verdict|caveats|software)[\w.\[\]]*)`", table
    ):
        value: Any = certificate
        for step in path.replace("[]", ".0").split("."):
            value = value[int(step)] if step.isdigit() else value[step]
