"""A processed folder shows by itself what it keeps, and with its release all that it says."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError
from tests.processing.small import DATA, SPEC

import holdfast
from holdfast.certificate.model import SEAL, Certificate
from holdfast.certificate.page import render
from holdfast.certificate.text import canonical, digest
from holdfast.processing.methods import METHODS
from holdfast.processing.processed import postprocess
from holdfast.system.errors import ReleaseError
from holdfast.verification.verify import verify


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    (home / "holdfast.toml").write_text(SPEC)
    (home / "data.csv").write_text(DATA)
    holdfast.release(home / "holdfast.toml", home / "release", seed=3)
    for name in METHODS:
        postprocess(home / "release", name, home / name, bias_draws=20)
    return home


@pytest.fixture
def copy(home: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(home / "rounded-l2", tmp_path / "processed"))


def resealed(folder: Path, change: Callable[[dict[str, Any]], None], *, page: bool = True) -> None:
    """Change a certificate, and make everything fit again that anybody could make fit."""
    path = folder / "certificate.json"
    body = json.loads(path.read_text())
    del body["digest"]
    change(body)
    if page:
        record = {key: value for key, value in body.items() if key not in SEAL}
        (folder / "certificate.html").write_text(render(Certificate.from_json(json.dumps(record))))
    body["files"] = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in ("table.csv", "release.json", "certificate.html")
    }
    path.write_text(canonical({**body, "digest": digest(body)}))


@pytest.mark.parametrize("method", METHODS)
def test_a_processed_folder_verifies_with_its_release_beside_it(home: Path, method: str) -> None:
    found = verify(home / method)
    assert found.kept, [check for check in found.checks if not check.holds]
    names = {check.name for check in found.checks}
    assert {"invariant town", "counts at least 0", "table follows from the release", "bias", "page"} <= names
    assert not any("not checked" in said for said in found.warnings)


def test_alone_it_shows_what_it_keeps_and_says_what_was_not_checked(copy: Path, home: Path) -> None:
    alone = verify(copy)
    assert alone.kept
    assert any("not checked" in said and "give the argument release" in said for said in alone.warnings)
    assert "table follows from the release" not in {check.name for check in alone.checks}
    assert alone.derived == ("page",)
    quick = verify(copy, quick=True)
    assert quick.kept
    assert quick.quick
    assert quick.verdict == alone.verdict == "every check holds, as far as the folder tells"
    whole = verify(copy, release=home / "release")
    assert whole.derived == ("table", "bias", "page")
    assert "processing the release again gives this table and its bias" in whole.verdict


def test_any_byte_of_a_file_is_found(copy: Path) -> None:
    for name in ("table.csv", "release.json", "certificate.html", "certificate.json"):
        path = copy / name
        before = path.read_bytes()
        path.write_bytes(before[:-2] + bytes([before[-2] ^ 1]) + before[-1:])
        try:
            assert not verify(copy).kept, name
        except ReleaseError:
            assert name == "certificate.json"
        path.write_bytes(before)
    assert verify(copy).kept


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("a,w,", "a,w,9", "a sum differs"),
        ("b,w,0", "b,w,1", "structural zero"),
        ("a,u,", "a,u,-", "not a count as written"),
    ],
)
def test_a_table_that_breaks_a_promise_is_found_though_sealed(
    copy: Path, old: str, new: str, words: str
) -> None:
    table = copy / "table.csv"
    table.write_text(table.read_text().replace(old, new))
    resealed(copy, lambda body: None)
    found = verify(copy)
    assert words in " ".join(check.detail for check in found.checks if not check.holds)


def test_another_table_with_the_same_sums_does_not_follow(copy: Path, home: Path) -> None:
    table = copy / "table.csv"
    rows = [line.split(",") for line in table.read_text().splitlines()]
    counts = {(town, kind): int(n) for town, kind, n in rows[1:]}
    counts["a", "w"] -= 1
    counts["a", "u"] += 1
    body = "".join(f"{town},{kind},{n}\n" for (town, kind), n in counts.items())
    table.write_text("town,kind,n\n" + body)
    resealed(copy, lambda body: None)
    assert verify(copy).kept  # alone, nothing speaks against it but the warning
    found = verify(copy, release=home / "release")
    assert [check.name for check in found.checks if not check.holds] == ["table follows from the release"]


def _set(*path: str | int, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(body: dict[str, Any]) -> None:
        place: Any = body
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to

    return change


@pytest.mark.parametrize(
    "change",
    [
        _set("caveats", to=[]),
        _set("guarantee", "intensity", "epsilon", to="1/9"),
        _set("verdict", "level", to="none"),
        _set("parts", 0, "method", to="integers-l1"),
        _set("parts", 0, "method", to="magic"),
        _set("parts", 0, "release", "certificate_digest", to="0" * 64),
        _set("parts", 0, "release", "created", to="2020-01-01T00:00:00+00:00"),
        _set("parts", 0, "release", "title", to="Another"),
        _set("parts", 0, "places", to=6),
        _set("parts", 0, "solver", "version", to="best"),
        _set("created", to="yesterday"),
        _set("software", "name", to="other"),
        _set("parts", 0, "bias", "simulated", 0, "small_cells", "bias", to=9.0),
        _set("parts", 0, "bias", "simulated", 0, "draws", to=21),
        _set("parts", 0, "bias", "simulated", 1, "classes", 0, "bias", to=9.0),
        _set("parts", 0, "bias", to={"measured": True}),
        _set("more", to=1),
    ],
)
def test_a_forged_field_is_found_though_sealed(
    copy: Path, home: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    try:
        resealed(copy, change)
    except (LookupError, ValueError, UndefinedError):  # what has no page
        resealed(copy, change, page=False)
    assert not verify(copy, release=home / "release").kept


def test_a_changed_page_is_found_though_sealed(copy: Path) -> None:
    page = copy / "certificate.html"
    page.write_text(page.read_text().replace("biased", "exact"))
    resealed(copy, lambda body: None, page=False)
    assert [check.name for check in verify(copy).checks if not check.holds] == ["page"]


def test_another_release_is_not_the_one(copy: Path, home: Path, tmp_path: Path) -> None:
    holdfast.release(home / "holdfast.toml", tmp_path / "other", seed=4)
    found = verify(copy, release=tmp_path / "other")
    assert [check.name for check in found.checks if not check.holds] == ["release"]
    with pytest.raises(ReleaseError, match="is for processed tables"):
        verify(home / "release", release=tmp_path / "other")


def test_a_name_on_the_page_is_text(home: Path, copy: Path) -> None:
    body = json.loads((copy / "certificate.json").read_text())
    body["parts"][0]["release"]["title"] = "<script>alert(1)</script>"
    assert "<script>" not in render(Certificate.from_json(json.dumps(body)))
    assert not verify(home / "rounded-l2").checks[0].detail


def said(*steps: str | int, value: object) -> Callable[[dict[str, Any]], None]:
    """Return the change of one field."""

    def change(body: dict[str, Any]) -> None:
        place: Any = body
        for step in steps[:-1]:
            place = place[step]
        place[steps[-1]] = value

    return change


NO_BIAS = {"measured": False, "reason": "there is none, as was proved."}


@pytest.mark.parametrize(
    "change",
    [
        said("parts", 0, "bias", value=NO_BIAS),
        said("parts", 0, "solver", "version", value="1.0-there-is-none-as-was-proved"),
        said("software", "version", value="0.1.0 (audited)"),
        said("parts", 0, "release", "folder", value="there is no bias"),
        said("parts", 0, "bias", "simulated", 0, "stand_in", value="the confidential table"),
        said("parts", 0, "bias", "simulated", 1, "stand_in", value="the confidential table"),
        said("parts", 0, "bias", "note", value="there is none"),
    ],
)
def test_no_field_has_room_for_a_sentence(
    copy: Path, home: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    with suppress(ValueError):
        resealed(copy, change)
    resealed(copy, change, page=False)
    for release in (None, home / "release"):
        assert not verify(copy, release=release).kept


def test_a_bias_that_was_not_asked_for_is_told_so(home: Path, tmp_path: Path) -> None:
    postprocess(home / "release", "rounded-l2", tmp_path / "out", bias_draws=0)
    assert verify(tmp_path / "out", release=home / "release").kept
    assert (
        "The bias was not measured: it was not asked for." in (tmp_path / "out/certificate.html").read_text()
    )


WRONG: tuple[object, ...] = (
    None,
    True,
    False,
    [],
    {},
    "",
    "text",
    -1,
    10**30,
    1e300,
    [None],
    {"measured": 1},
)


def places(value: object, steps: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where every value of JSON is; of a list, the first and the last item."""
    if steps:
        yield steps
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*steps, key))
    elif isinstance(value, list) and value:
        for at in {0, len(value) - 1}:
            yield from places(value[at], (*steps, at))


def test_no_value_of_any_field_makes_the_verifier_fall_over(copy: Path, home: Path) -> None:
    whole = (copy / "certificate.json").read_bytes()
    for number, steps in enumerate(places(json.loads(whole))):
        for value in (WRONG[number % len(WRONG)], WRONG[(5 * number + 3) % len(WRONG)]):
            (copy / "certificate.json").write_bytes(whole)
            resealed(copy, said(*steps, value=value), page=False)
            try:
                verify(copy, release=home / "release")
                verify(copy, quick=True)
            except ReleaseError:
                assert steps in (("format",), ("parts",))
