"""Install the wheels as a stranger would, and use them: python -m distribution.trial [3.12 ...].

On each Python from 3.11 to 3.13 that is here: the demo with nothing but the wheel and what it needs, both
verifiers, one thing of each extra, and the quick tests against what was installed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from distribution.sbom import ROOT

VERSIONS = ("3.11", "3.12", "3.13")
EXTRAS = ("databases", "docs", "files", "infer", "lakes", "spark", "test", "web")
QUICK = ("-m", "quick", "tests/contract/test_mechanisms.py", "tests/cli/test_every_command.py")


def interpreters(version: str) -> Iterator[Path]:
    """Yield where a Python of this version may be: this one, on the path, or kept beside others."""
    yield Path(sys.executable)
    if found := shutil.which(f"python{version}"):
        yield Path(found)
    kept = os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")
    yield from sorted(Path(kept, "versions").glob(f"{version}.*/bin/python{version}"), reverse=True)


def interpreter(version: str) -> Path | None:
    """Return the Python of a version, if one is here that can make environments."""
    ask = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    for place in interpreters(version):
        ran = subprocess.run([place, "-c", ask], capture_output=True, text=True, check=False)
        if ran.stdout.strip() == version:
            return place
    return None


def call(*command: str | Path, folder: Path) -> None:
    """Run a program in a folder; what it says is shown where it fails."""
    usual = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run(
        command, cwd=folder, env=usual, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if ran.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{ran.stdout.decode(errors='replace')}")


def tried(version: str, python: Path, wheels: Path) -> None:
    """Install and use everything on one Python."""
    place = ROOT / ".venv-tried" / version
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    versions = ROOT / ".venv-tried" / "versions.txt"
    versions.parent.mkdir(exist_ok=True)
    versions.write_text("\n".join(re.findall(r"^\S+==[^\\]+", lock, re.M)), encoding="utf-8")
    call(python, "-m", "venv", "--clear", place, folder=ROOT)
    binaries = place / "bin"
    pip = (binaries / "python", "-m", "pip", "--disable-pip-version-check", "install", "--find-links", wheels)
    wheel = next(wheels.glob("holdfast_dp-[0-9]*.whl"))
    call(*pip, "--constraint", versions, wheel, folder=ROOT)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        call(binaries / "holdfast", "demo", "--out", "demo", folder=folder)
        call(binaries / "holdfast", "verify", "demo", folder=folder)
        call(binaries / "holdfast", "doctor", folder=folder)
        verifier = next(wheels.glob("holdfast_verify-*.whl"))
        call(*pip, "--no-index", verifier, folder=folder)
        call(binaries / "holdfast-verify", "demo", folder=folder)
        call(*pip, "--constraint", versions, f"{wheel}[{','.join(EXTRAS)}]", folder=ROOT)
        call(binaries / "python", ROOT / "distribution" / "each_extra.py", folder=folder)
    if python != Path(sys.executable):  # all tests run on this one
        call(binaries / "python", "-m", "pytest", *QUICK, folder=ROOT)


def main(asked: Sequence[str]) -> None:
    """Try the versions that are asked for, or all that are here."""
    wheels = ROOT / "wheels"
    for version in asked or VERSIONS:
        python = interpreter(version)
        if python is None:
            print(f"Python {version}: not here, not tried")
            continue
        started = time.monotonic()
        tried(version, python, wheels)
        print(
            f"Python {version}: demo, verifiers, extras and quick tests, {time.monotonic() - started:.0f} s"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
