"""How fast the studio answers: when it opens, when exact numbers are clicked, and when many read a release.

python benchmarks/studio.py                seconds of every step
python benchmarks/studio.py --json         the same for machines
python benchmarks/studio.py --clicks 10    fewer clicks

The studio runs as a process of its own, and is asked over its port as a browser asks. Tables have four or
five attributes of ten levels, 10,000 and 100,000 cells; a third of the cells are empty. A click keeps a
margin or a selection exactly; no set of exact numbers comes twice, so that nothing is there before.
Whoever clicks looks for two seconds at what is still looked for; beside the times stand the shares of
clicks after which all figures were there by then, what is revealed, and what one change moves or a bound of
it. Without Chromium there is no first paint. On Linux the seconds of computing that the studio took for the
start and each click stand beside the times (cpu_...), as those of a machine that does other work are longer;
searches of large tables, in processes of their own that give way to it, are not among them.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from random import Random
from statistics import median, quantiles
from time import perf_counter, sleep
from typing import Any

import httpx

from holdfast.spec.example import write_example

sys.path.insert(0, str(Path(__file__).parents[1]))  # website/ is not installed
from website.browser import BROWSER, browsing, still

CELLS = (10_000, 100_000)
READERS, ROUNDS = 50, 4
LOOK = 2.0
UNIT = {"unit": "person"}


class Curator:
    """Somebody who was let in, and asks as htmx does."""

    def __init__(self, address: str) -> None:
        self.root = address.partition("/?")[0]
        self.client = httpx.Client(base_url=self.root, follow_redirects=True, timeout=600)
        self.headers = {"origin": self.root, "hx-request": "true"}
        self.client.get(address).raise_for_status()

    def post(self, path: str, data: dict[str, Any]) -> tuple[float, str]:
        """Send a form; return how long it took, and what came."""
        begun = perf_counter()
        answer = self.client.post(path, data=data, headers=self.headers)
        took = perf_counter() - begun
        if answer.status_code != 200:
            raise SystemExit(f"{path}: {answer.status_code} {answer.text[:500]}")
        return took, answer.text


def computed(process: int) -> float:
    """Return the seconds that a process has computed; 0 where the system does not tell."""
    try:
        told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def studio(folder: Path) -> Iterator[tuple[str, float, int]]:
    """Start the studio of a folder; yield its address, the seconds until it answers, and its process."""
    told = folder.parent / f"{folder.name}.address.json"
    command = [
        sys.executable,
        "-m",
        "holdfast",
        "studio",
        str(folder),
        "--no-browser",
        "--quiet",
        "--out",
        str(told),
    ]
    begun = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:  # noqa: S603
        try:
            while not told.exists():
                sleep(0.005)
            address = json.loads(told.read_text())["address"]
            while True:
                try:
                    httpx.get(f"{address.partition('/?')[0]}/data", timeout=60)
                    break
                except httpx.TransportError:
                    sleep(0.005)
            yield address, perf_counter() - begun, server.pid
        finally:
            server.terminate()


def table(folder: Path, cells: int) -> None:
    """Write a table of attributes with ten levels, and its spec."""
    folder.mkdir()
    count = len(str(cells)) - 1
    names, chance = [f"a{place}" for place in range(count)], Random(7)
    with (folder / "table.csv").open("w") as file:
        file.write(",".join([*names, "n"]) + "\n")
        for cell in range(cells):
            levels = ",".join(f"l{digit}" for digit in f"{cell:0{count}}")
            file.write(f"{levels},{max(0, chance.randrange(-5, 10))}\n")
    levels = "\n".join(f"{name} = {json.dumps([f'l{digit}' for digit in range(10)])}" for name in names)
    (folder / "holdfast.toml").write_text(
        f'[data]\npath = "table.csv"\ncells = {json.dumps(names)}\ncount = "n"\n\n[data.levels]\n{levels}\n\n'
        f'[[invariants]]\nmargin = ["a0"]\n\n'
        '[privacy]\nunit = "person"\nstandard = "pure"\nepsilon = "1"\n\n'
        '[mechanism]\nname = "lattice-laplace"\n'
    )


def clicks(count: int, many: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield clicks after each of which the exact numbers are others than ever before."""
    chance, names = Random(11), [f"a{place}" for place in range(count)]
    margins = [list(each) for size in (1, 2) for each in combinations(names, size) if each != ("a0",)]
    chance.shuffle(margins)
    for number in range(many):
        if number % 3 == 0 and margins:
            yield "/exact/margin", {"names": margins.pop()}
        else:
            chosen = chance.sample(range(count), 2)
            yield "/exact/where", {f"in_{place}": f"l{chance.randrange(10)}" for place in chosen}


def live(scratch: Path, cells: int, many: int) -> dict[str, float]:
    """Measure clicks on the exact numbers of a table."""
    folder = scratch / f"of{cells}"
    table(folder, cells)
    with studio(folder) as (address, _, process):
        curator = Curator(address)
        begun = perf_counter()
        curator.client.get("/exact").raise_for_status()
        first = perf_counter() - begun
        took, cpu, known, revealed, bounded = [], [], 0, 0, 0
        for path, data in clicks(len(str(cells)) - 1, many):
            before = computed(process)
            seconds, text = curator.post(path, data)
            took.append(seconds)
            cpu.append(computed(process) - before)
            end = perf_counter() + LOOK
            while (open_still := "still look" in text) and perf_counter() < end:
                sleep(0.1)
                text = curator.client.get("/exact", headers=curator.headers).text
            known += not open_still
            revealed += "is revealed: still looking" not in text
            bounded += "change: still looking" not in text
    computing = {f"cpu_{name}": value for name, value in spread(cpu).items()}
    shares = {"all": known, "revealed": revealed, "moved_or_bound": bounded}
    in_time = {f"{name}_figures_in_time": number / many for name, number in shares.items()}
    return {"first": first, **spread(took), **computing, **in_time}


def spread(took: list[float]) -> dict[str, float]:
    """Return the middle, the 95th percentile and the longest of some times."""
    return {"median": median(took), "p95": quantiles(took, n=20, method="inclusive")[-1], "max": max(took)}


def opening(scratch: Path) -> dict[str, float | None]:
    """Measure from the command to the first answer, and from the address to the first paint."""
    folder = scratch / "demo"
    folder.mkdir()
    write_example(folder)
    starts, cpu, paints = [], [], []
    for _ in range(3):
        with studio(folder) as (address, started, process):
            starts.append(started)
            cpu.append(computed(process))
            if BROWSER is not None:
                with browsing() as browser:
                    page = browser.new_page()
                    page.goto(address)
                    still(page)
                    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
                    asked = "performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
                    paints.append(page.evaluate(asked))
        (folder.parent / "demo.address.json").unlink()
    painted = median(paints) if paints else None
    return {"start": median(starts), "cpu_start": median(cpu), "first_paint": painted}


def reading(scratch: Path) -> dict[str, float]:
    """Measure many readers at once of a release that is there."""
    folder = scratch / "read"
    folder.mkdir()
    write_example(folder)
    with studio(folder) as (address, _, _):
        curator = Curator(address)
        curator.post("/data/unit", UNIT)
        curator.post("/release/look", {"out": "release", "ledger": ""})
        while 'name="nonce"' not in (text := curator.client.get("/release").text):
            sleep(0.05)
        nonce = re.findall(r'name="nonce" value="([^"]+)"', text)[0]
        curator.post("/release/draw", {"nonce": nonce})
        while "<iframe" not in curator.client.get("/release").text:
            sleep(0.05)
        curator.client.get("/use").raise_for_status()
        return asyncio.run(crowd(curator))


async def crowd(curator: Curator) -> dict[str, float]:
    """Let readers look at the certificate, the check and the use of a release, all at once."""
    paths = ("/release", "/release/certificate", "/check", "/use", "/release/file/table.csv")
    took: list[float] = []
    cookies = dict(curator.client.cookies)
    limits = httpx.Limits(max_connections=READERS)
    async with httpx.AsyncClient(
        base_url=curator.root, cookies=cookies, limits=limits, timeout=120
    ) as client:

        async def reader() -> None:
            for _ in range(ROUNDS):
                for path in paths:
                    begun = perf_counter()
                    (await client.get(path)).raise_for_status()
                    took.append(perf_counter() - begun)

        begun = perf_counter()
        await asyncio.gather(*(reader() for _ in range(READERS)))
        whole = perf_counter() - begun
    return {"readers": READERS, "answers": len(took), "answers_a_second": len(took) / whole, **spread(took)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    parser.add_argument("--clicks", type=int, default=24, help="how often exact numbers are clicked")
    parser.add_argument("--cells", type=int, nargs="+", default=CELLS, help="powers of ten")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        found = {
            "opening": opening(scratch),
            "live": {str(cells): live(scratch, cells, asked.clicks) for cells in asked.cells},
            "reading": reading(scratch),
        }
    if asked.json:
        print(json.dumps(found, indent=2))
        return
    for name, values in (
        ("opening", found["opening"]),
        *found["live"].items(),
        ("reading", found["reading"]),
    ):
        told = ", ".join(f"{key} {value:.3g}" for key, value in values.items() if value is not None)
        print(f"{name}: {told}")


if __name__ == "__main__":
    main()
