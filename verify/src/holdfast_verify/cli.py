"""The command: `holdfast-verify DIR [--public-key KEY] [--json]`."""

import argparse
import json
import sys
from pathlib import Path

from holdfast_verify.folder import Verification, verify
from holdfast_verify.record import SIGNATURE, NoReleaseError, visible

MARKS = {True: "kept       ", False: "VIOLATED   ", None: "NOT CHECKED"}


def main(arguments: list[str] | None = None) -> None:
    """Check a folder; exit 0 if all is kept, 1 if not, 2 if it could not be checked."""
    parser = argparse.ArgumentParser(
        prog="holdfast-verify",
        description="Check a release of Holdfast: files, hashes, signature, invariants and constraints.",
        epilog="Exit code 0: all is kept. 1: something is violated. 2: something could not be checked.",
    )
    parser.add_argument("folder", metavar="DIR", help="the folder of a release, or of a processed table")
    parser.add_argument("--public-key", metavar="KEY", help="check the signature with the publisher's key")
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")
    asked = parser.parse_args(arguments)
    try:
        found = verify(asked.folder, asked.public_key)
    except NoReleaseError as error:
        sys.stderr.write(f"error: {visible(str(error))}\n")
        sys.exit(2)
    for warning in found.warnings:
        sys.stderr.write(f"warning: {visible(warning)}\n")
    if asked.json:
        checks = [check._asdict() for check in found.checks]
        told = {"kept": found.kept, "checks": checks, "warnings": found.warnings}
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
    else:
        for check in found.checks:
            detail = f": {check.detail}" if check.detail else ""
            _say(f"{MARKS[check.holds]} {check.name}{detail}")
        if asked.public_key is None and (Path(asked.folder) / SIGNATURE).exists():
            _say(f"{SIGNATURE} was not checked: give --public-key.")
        _say(f"{asked.folder}: {_verdict(found)}.")
    sys.exit(found.exit_code)


def _verdict(found: Verification) -> str:
    if found.violated:
        return "this is not the certified release"
    if not found.kept:
        return "nothing speaks against it, and not all could be checked"
    return "every check holds (files, invariants and constraints; what is claimed of privacy was not derived)"


def _say(line: str) -> None:
    """Print a line, on a terminal of any encoding."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(visible(line).encode(encoding, "backslashreplace").decode(encoding) + "\n")
