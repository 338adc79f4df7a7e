"""Another user of the machine: somebody whom this process, where it may, acts for."""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

STRANGER = 65533
"""No account has this number; the system need not know it."""


def _may_act_for_another() -> bool:
    """Whether files can be given away and commands run as the stranger: root may, not in every container."""
    if getattr(os, "geteuid", lambda: 1)() != 0:
        return False
    with TemporaryDirectory() as folder:
        try:
            os.chown(folder, STRANGER, STRANGER)
            subprocess.run(["true"], user=STRANGER, group=STRANGER, extra_groups=[], check=True)
        except (OSError, subprocess.SubprocessError):
            return False
    return True


as_root = pytest.mark.skipif(not _may_act_for_another(), reason="only root can act for another user")


def give_away(path: Path) -> Path:
    """Let something belong to the stranger, as if they had made it."""
    os.chown(path, STRANGER, STRANGER, follow_symlinks=False)
    return path


def can(*command: str, within: Path) -> bool:
    """Whether a command of the system, such as cat, succeeds for the stranger, who stands in a folder."""
    within.chmod(within.stat().st_mode | 0o011)
    ended = subprocess.run(
        command,
        cwd=within,  # entered before the user changes: who may enter the folders above is of no matter
        user=STRANGER,
        group=STRANGER,
        extra_groups=[],
        env={"LC_ALL": "C", "PATH": os.defpath},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0 or "Permission denied" in ended.stderr, ended.stderr
    return ended.returncode == 0
