"""The second verifier says what the quick check says, of folders of every kind and changed in every way."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from random import Random

import pytest
from tests.certificate.falsify import write
from tests.certificate.test_quick import WHOLE
from tests.small_releases import released
from tests.verifier.folders import absurd, content_of

import holdfast_verify
from holdfast.certificate.sign import generate_keys, read_signing_key, sign
from holdfast.version import VERSION
from holdfast_verify.ed25519 import verifies

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "verify" / "src"


def code(folder: Path) -> int:
    try:
        return holdfast_verify.verify(folder).exit_code
    except holdfast_verify.NoReleaseError:
        return 2


def test_both_agree_on_every_folder(folders: dict[Path, int], tmp_path: Path) -> None:
    differ = [folder.name for folder, told in folders.items() if code(folder) != told]
    assert differ == []
    assert {*folders.values()} == {0, 1, 2}
    # the quick check holds every field of these to its type; here, what is absurd is no accident
    chance = Random("absurd")
    for given in (folder for folder in folders if folder.name in ("swapped", "rounded-l2")):
        folder = Path(shutil.copytree(given, tmp_path / given.name))
        for _ in range(60):
            write(folder, absurd(content_of(given), chance), page=False)
            assert code(folder) in (0, 1, 2)


# RFC 8032, section 7.1: key, message, signature of tests 1, 2, 3
VECTORS = (
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
            "d25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
            "387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
            "4a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
)


@pytest.mark.parametrize(("key", "message", "signature"), VECTORS)
def test_signatures_are_those_of_the_standard(key: str, message: str, signature: str) -> None:
    public, text, made = map(bytes.fromhex, (key, message, signature))
    assert verifies(public, text, made)
    for at in range(0, 64, 7):
        assert not verifies(public, text, made[:at] + bytes([made[at] ^ 1]) + made[at + 1 :])
    assert not verifies(public, text + b"x", made)
    assert not verifies(bytes([public[0] ^ 1]) + public[1:], text, made)
    # the same scalar plus the order of the group is another text for it, and is refused
    order = 2**252 + 27742317777372353535851937790883648493
    other = int.from_bytes(made[32:], "little") + order
    assert not verifies(public, text, made[:32] + other.to_bytes(32, "little"))
    assert not verifies(public, text, made[:63])


def run(*arguments: str | Path, python: str | Path = sys.executable) -> subprocess.CompletedProcess[str]:
    own = {"PYTHONPATH": str(SOURCE)} if python == sys.executable else {}
    return subprocess.run(
        [python, "-m", "holdfast_verify", *arguments],
        env={"PATH": os.environ["PATH"], "PYTHONIOENCODING": "utf-8", **own},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_the_command_tells_what_is_kept_and_who_signed(tmp_path: Path) -> None:
    folder = released(WHOLE).write(tmp_path / "release")
    secret, public = generate_keys(tmp_path / "key")
    text = (folder / "certificate.json").read_bytes()
    unsigned = run(folder, "--public-key", public)
    assert unsigned.returncode == 1
    assert "VIOLATED    signature: certificate.sig is missing" in unsigned.stdout
    (folder / "certificate.sig").write_bytes(sign(text, read_signing_key(secret)))
    whole = run(folder, "--public-key", public)
    assert (whole.returncode, whole.stdout.splitlines()[0]) == (0, "kept        signature")
    assert "kept        invariant sex: 2 kept" in whole.stdout
    assert "PROTECTS NOBODY" in whole.stderr
    assert "was not checked: give --public-key" in run(folder).stdout
    _, stranger = generate_keys(tmp_path / "stranger")
    assert run(folder, "--public-key", stranger).returncode == 1
    (folder / "table.csv").write_text("nothing\n")
    (folder / "more\x1b.txt").touch()
    changed = run(folder, "--json")
    told = json.loads(changed.stdout)
    assert (changed.returncode, told["kept"]) == (1, False)
    assert [check["name"] for check in told["checks"] if not check["holds"]] == [
        "table.csv unchanged",
        "schema",
    ]
    assert "more\\x1b.txt" in changed.stderr
    for wrong in ((tmp_path,), (tmp_path / "none",), (folder, "--public-key", secret), ()):
        refused = run(*wrong)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "Traceback" not in refused.stderr


def test_parquet_without_its_reader_is_said_to_be_unchecked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = released(WHOLE).write(tmp_path / "release", parquet=True)
    assert holdfast_verify.verify(folder).exit_code == 0
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    found = holdfast_verify.verify(folder)
    assert (found.exit_code, found.violated) == (2, False)
    assert "pyarrow is not installed" in found.checks[-1].detail
    (folder / "table.parquet").write_bytes(b"PAR1")
    assert holdfast_verify.verify(folder).exit_code == 1


def test_the_wheel_stands_alone(tmp_path: Path) -> None:
    """Built, and installed where nothing else is: it says the same of a release and of a changed one."""
    build = (
        "import sys; from hatchling.builders.wheel import WheelBuilder;"
        "print(next(WheelBuilder(sys.argv[1]).build(directory=sys.argv[2], versions=['standard'])))"
    )
    source = shutil.copytree(ROOT / "verify", tmp_path / "verify")
    made = subprocess.run(
        [sys.executable, "-c", build, source, tmp_path], capture_output=True, text=True, check=True
    )
    wheel = Path(made.stdout.splitlines()[-1])
    venv.create(tmp_path / "alone", symlinks=True)
    python = tmp_path / "alone" / "bin" / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([python, "-c", where], capture_output=True, text=True, check=True).stdout.strip()
    shutil.unpack_archive(wheel, site, "zip")
    assert (Path(site) / "holdfast_verify" / "verify.html").is_file()
    nothing = "import holdfast_verify, sys; print([m for m in sys.modules if m in ('numpy', 'holdfast')])"
    told = subprocess.run([python, "-c", nothing], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "[]"
    folder = released(WHOLE).write(tmp_path / "release")
    assert run(folder, python=python).returncode == 0
    body = content_of(folder)
    (folder / body["parts"][0]["outputs"][0]).with_suffix(".csv").write_text("nothing\n")
    assert run(folder, python=python).returncode == 1


def test_it_has_the_version_of_holdfast_and_stays_small() -> None:
    project = tomllib.loads((ROOT / "verify" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["version"], project.get("dependencies", [])) == (VERSION, [])
    modules = [*SOURCE.rglob("*.py")]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules) < 1500
    assert not any("import holdfast\n" in path.read_text(encoding="utf-8") for path in modules)
    assert not any("from holdfast." in path.read_text(encoding="utf-8") for path in modules)
