"""The ledger under stress, with whole `holdfast release` processes: run by hand with `make stress`.

Many processes take from one budget: exactly as many releases appear as it pays for. Then releases are killed
at random moments: the ledger still verifies, and no release is there without its charge.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

AT_ONCE = 2
"""Releases that are killed run this many at a time, so that they get as far as they can."""
HOLDFAST = Path(sys.executable).with_name("holdfast")


def holdfast(*arguments: str | Path) -> int:
    """Run one command to its end and return its exit code."""
    return subprocess.run([HOLDFAST, *arguments], capture_output=True, check=False).returncode


def race(folder: Path, processes: int, paid: int, at_once: int) -> bool:
    """Let many releases race for a budget that pays for some of them."""
    ledger = folder / "race.db"
    holdfast("ledger", "open", ledger, "--budget", str(paid))
    with ThreadPoolExecutor(at_once) as pool:
        codes = list(
            pool.map(
                lambda i: holdfast(
                    "release", folder / "holdfast.toml", "--out", folder / f"race-{i}", "--ledger", ledger
                ),
                range(processes),
            )
        )
    written = len(list(folder.glob("race-*/certificate.json")))
    print(f"race: {codes.count(0)} of {processes} succeeded, {written} releases, budget for {paid}")
    return codes.count(0) == written == paid and holdfast("ledger", "verify", ledger) == 0


def kills(folder: Path, times: int) -> bool:
    """Kill releases at random moments and look at what is left."""
    ledger = folder / "kills.db"
    holdfast("ledger", "open", ledger, "--budget", str(10 * times))
    pool = ThreadPoolExecutor(AT_ONCE)
    started = time.monotonic()
    list(
        pool.map(
            lambda i: holdfast("release", folder / "holdfast.toml", "--out", folder / f"warm-{i}"), [1, 2]
        )
    )
    whole = time.monotonic() - started  # how long an undisturbed release takes

    def one(i: int) -> None:
        out = folder / f"kill-{i}"
        process = subprocess.Popen(
            [HOLDFAST, "release", folder / "holdfast.toml", "--out", out, "--ledger", ledger],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(random.uniform(0.3, 1.4) * whole)
        process.kill()
        process.wait()

    list(pool.map(one, range(times)))
    rows = subprocess.run([HOLDFAST, "ledger", "export", ledger], capture_output=True, check=True).stdout
    charged = {row["hash"] for row in json.loads(rows)}
    releases = [json.loads(path.read_text()) for path in folder.glob("kill-*/certificate.json")]
    uncharged = [release for release in releases if release["ledger"]["hash"] not in charged]
    print(f"kills: {times}, {len(charged) - 1} charged, {len(releases)} releases, {len(uncharged)} uncharged")
    return not uncharged and holdfast("ledger", "verify", ledger) == 0


def main() -> None:
    """Run both and exit with 1 if either fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=200)
    parser.add_argument("--paid", type=int, default=50)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=16)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        holdfast("init", folder)
        kept = race(folder, options.processes, options.paid, options.at_once)
        kept = kills(folder, options.kills) and kept
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
