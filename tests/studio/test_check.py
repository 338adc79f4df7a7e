"""Any release is checked as by the command; what is dropped lands in the folder whole, or not at all."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest
from tests.example import written
from tests.studio.visitor import Visitor, words

import holdfast as hf
from holdfast.certificate.sign import generate_keys, read_signing_key


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("released")
    hf.release(written(folder), folder / "out")
    return folder / "out"


@pytest.fixture
def visitor(tmp_path: Path, released: Path) -> Visitor:
    """Return one whose folder has a release, and neither data nor a spec."""
    shutil.copytree(released, tmp_path / "place" / "out")
    return Visitor.at(tmp_path / "place")


def checked(visitor: Visitor, name: str = "out", **more: str) -> str:
    answer = visitor.post("/check/release", {"release": name, **more})
    assert answer.status_code == 200, words(answer)
    visitor.desk.jobs["check"].wait()
    return words(visitor.get("/check"))


def dropped(visitor: Visitor, files: Sequence[tuple[str, bytes]], folder: str = "") -> httpx.Response:
    sent = [("folder", (None, folder.encode())), *(("upload", file) for file in files)]
    return visitor.post("/check/upload", files=sent)


def contents(folder: Path) -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]


def test_a_release_is_derived_again_and_what_is_wrong_is_named(visitor: Visitor) -> None:
    out = visitor.desk.place.folder / "out"
    text = checked(visitor)
    assert "Every check holds, and all that the certificate claims was derived again" in text
    assert "Use its numbers" in text
    table = out / "table.csv"
    lines = table.read_text().splitlines()
    first, _, count = lines[1].rpartition(",")
    table.write_text("\n".join([lines[0], f"{first},{int(count) + 1}", *lines[2:]]) + "\n")
    assert "Every check holds" not in words(visitor.get("/check"))  # it is another folder now
    text = checked(visitor)
    assert "This is not the certified release" in text
    for check in hf.verify(out).checks:
        assert check.name in text
        assert check.detail in text


def test_what_is_checked_is_not_what_the_release_shows(visitor: Visitor) -> None:
    place = visitor.desk.place.folder
    spec = written(place)
    hf.release(spec, place / "other")
    one = Visitor.at(spec)
    for path, data in (("look", {"out": "mine"}), ("draw", {"nonce": one.desk.nonce})):
        assert one.post(f"/release/{path}", data).status_code == 200
        for job in one.desk.jobs.values():
            job.wait()
    checked(one, "other")
    for view, name in (("release", "mine"), ("check", "other")):
        page = one.get(f"/{view}/certificate")
        assert page.text == (place / name / "certificate.html").read_text()
        assert "unsafe" not in page.headers["content-security-policy"]
    assert one.get("/release/file/table.csv").content == (place / "mine" / "table.csv").read_bytes()
    assert Visitor.at(place / "out").get("/release/certificate").status_code == 404


def test_the_folder_that_was_named_at_the_start_is_the_first_view(visitor: Visitor) -> None:
    one = Visitor.at(visitor.desk.place.folder / "out")
    assert one.get("/").headers["location"] == "/check"
    assert "selected>out</option>" in one.get("/check").text


def test_a_signature_is_checked_with_a_key_of_the_folder(tmp_path: Path) -> None:
    private, _ = generate_keys(tmp_path / "mine")
    generate_keys(tmp_path / "other")
    hf.prepare(written(tmp_path)).release().write(tmp_path / "out", key=read_signing_key(private))
    visitor = Visitor.at(tmp_path)
    assert "It is signed" in checked(visitor)
    assert "Every check holds" in checked(visitor, key="mine.pub")
    assert "This is not the certified release" in checked(visitor, key="other.pub")


def test_a_folder_is_dropped_and_checked(visitor: Visitor, released: Path) -> None:
    place = visitor.desk.place.folder
    files = contents(released)
    assert dropped(visitor, [(f"mine/{name}", text) for name, text in files]).status_code == 200
    assert dropped(visitor, files, "mine").status_code == 200
    assert dropped(visitor, [*files, (".DS_Store", b"")]).status_code == 200
    assert sorted(path.name for path in (place / "checked").iterdir()) == ["mine", "mine-2", "release"]
    for path in (place / "checked").iterdir():
        assert contents(path) == files
        assert hf.verify(path).kept
    visitor.desk.jobs["check"].wait()
    assert "checked/release" in words(visitor.get("/check"))


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("../certificate.json", ""),
        ("../../x/certificate.json", ""),
        ("/etc/certificate.json", ""),
        ("a/b/certificate.json", ""),
        ("a\\certificate.json", ""),
        ("C:certificate.json", ""),
        ("certificate.json", ".."),
        ("certificate.json", "../out"),
        ("certificate.json", ".hidden"),
        ("certificate.json", "a\u202eb"),
        ("table.csv", "mine"),
        ("", ""),
    ],
)
def test_what_is_no_folder_of_a_release_leaves_nothing(
    visitor: Visitor, released: Path, name: str, folder: str
) -> None:
    def there() -> list[Path]:
        return sorted(path for path in visitor.desk.place.folder.parent.rglob("*") if path.name != "checked")

    before = there()
    answer = dropped(visitor, [(name, (released / "certificate.json").read_bytes())], folder)
    assert answer.status_code == 422
    assert there() == before


def test_a_file_that_comes_twice_is_refused(visitor: Visitor, released: Path) -> None:
    assert dropped(visitor, [*contents(released), ("table.csv", b"")]).status_code == 422
    assert list((visitor.desk.place.folder / "checked").iterdir()) == []


def test_a_hostile_certificate_is_a_sentence_and_never_run(visitor: Visitor) -> None:
    wild = b'{"<script>alert(1)</script>": "\xe2\x80\xae"}'
    answer = dropped(visitor, [("certificate.json", wild), ("<img src=x>.csv", b"=cmd()")], "<b>")
    assert answer.status_code == 200
    visitor.desk.jobs["check"].wait()
    page = visitor.get("/check").text
    for sign in ("<script>alert", "<img src=x>", "<b>", "\u202e"):
        assert sign not in page
    assert 'role="alert"' in page
    assert "Every check holds" not in page


@pytest.mark.parametrize("name", ["", "..", "../x", "none", "out/table.csv"])
def test_what_is_no_release_is_one_sentence(visitor: Visitor, name: str) -> None:
    assert visitor.post("/check/release", {"release": name}).status_code == 422
