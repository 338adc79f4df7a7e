"""Do one thing of each extra, with the Holdfast that is installed; called in an empty folder."""

import importlib
import json
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import polars as pl

import holdfast as hf

SWAP = """
[data]
path = "people.csv"
[privacy]
standard = "pure"
adjacency = "unit"
epsilon = "2"
[mechanism]
name = "permutation-swapping"
stratify = ["age"]
swap = ["region"]
"""


def counts(**data: Any) -> hf.Prepared:
    """Prepare a release of the example's counts, read another way."""
    spec = hf.Spec(data=hf.Data(cells=("sex", "age"), count="n", **data), privacy=hf.Privacy(epsilon="1"))
    return hf.prepare(spec)


def databases(frame: pl.DataFrame) -> None:
    """Release a table of DuckDB, and load the driver of PostgreSQL."""
    duckdb = importlib.import_module("duckdb")
    importlib.import_module("adbc_driver_postgresql.dbapi")
    frame.write_csv("people.csv")
    with duckdb.connect("people.duckdb") as base:
        base.execute("CREATE TABLE people AS SELECT * FROM read_csv('people.csv')")
    counts(database="people.duckdb", table="people").release()


def docs(frame: pl.DataFrame) -> None:
    """Find the pages of this version, and copy them."""
    hold("docs", "--out", "pages")
    assert f"Holdfast {hf.__version__}" in Path("pages/index.html").read_text(encoding="utf-8")


def files(frame: pl.DataFrame) -> None:
    """Release a sheet of Excel and a file of Stata."""
    sheet = importlib.import_module("openpyxl").Workbook()
    for row in (frame.columns, *frame.rows()):
        sheet.active.append(row)
    sheet.save("people.xlsx")
    importlib.import_module("pyreadstat").write_dta(frame, "people.dta")
    for path in ("people.xlsx", "people.dta"):
        counts(path=path).release()


def infer(frame: pl.DataFrame) -> None:
    """Write draws as ArviZ keeps them, and read them again."""
    arviz = importlib.import_module("arviz")
    arviz.from_dict(posterior={"rate": [[0.1, 0.2], [0.2, 0.3]]}).to_netcdf("posterior.nc")
    assert arviz.from_netcdf("posterior.nc").posterior["rate"].shape == (2, 2)


def lakes(frame: pl.DataFrame) -> None:
    """Release a file of an object store."""
    with importlib.import_module("fsspec").open("memory://lake/people.csv", "wb") as file:
        frame.write_csv(file)
    counts(path="memory://lake/people.csv").release()


def spark(frame: pl.DataFrame) -> None:
    """Swap a file on Spark, where Java is."""
    importlib.import_module("pyspark")
    if shutil.which("java") is None:
        return
    rows = [("a" if i % 3 else "b", ("f", "m")[i % 2], ("young", "old")[i % 5 < 2]) for i in range(60)]
    pl.DataFrame(rows, schema=["region", "sex", "age"], orient="row").write_csv("people.csv")
    Path("swap.toml").write_text(SWAP, encoding="utf-8")
    hold("release", "swap.toml", "--engine", "spark", "--out", "swapped")
    hold("verify", "swapped")


def web(frame: pl.DataFrame) -> None:
    """Ask the studio for its page."""
    with subprocess.Popen(
        [sys.executable, "-m", "holdfast", "studio", "--no-browser", "--json"], stdout=subprocess.PIPE
    ) as server:
        try:
            assert server.stdout is not None
            told = ""
            while not told.rstrip().endswith("}"):
                told += server.stdout.readline().decode()
            visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            page = visitor.open(json.loads(told)["address"], timeout=60).read().decode()
            assert "Holdfast" in page
        finally:
            server.terminate()


def hold(*arguments: str) -> None:
    """Call the command."""
    subprocess.run(
        [sys.executable, "-m", "holdfast", *arguments, "--quiet"], check=True, stdout=subprocess.DEVNULL
    )


EXTRAS = (databases, docs, files, infer, lakes, spark, web)


def main() -> None:
    """Try the extras that are named, or all."""
    frame = pl.DataFrame({"sex": ["f", "f", "m", "m"], "age": ["young", "old"] * 2, "n": [3, 4, 2, 5]})
    for extra in EXTRAS:
        if extra.__name__ in (sys.argv[1:] or {one.__name__ for one in EXTRAS}):
            extra(frame)
            print(f"  {extra.__name__}: {extra.__doc__}")


if __name__ == "__main__":
    main()
