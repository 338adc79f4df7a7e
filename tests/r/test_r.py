"""The R package: installed from source, it releases, verifies, reads and estimates by the command."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.sources import ROOT

SCRIPT = """
.libPaths(c(Sys.getenv("R_LIBS_USER"), .libPaths()))
library(holdfast)
words <- strsplit(Sys.getenv("COMMAND"), "|", fixed = TRUE)[[1]]
options(holdfast.command = words)
folder <- release("holdfast.toml", "out", seed = 7)
stopifnot(verify(folder), verify(folder, quick = TRUE))
frame <- read(folder)
stopifnot(identical(names(frame), c("county", "education", "children")), sum(frame$children) == 135)
margin <- intervals(folder, margin = "county")
stopifnot(all(margin$kept_exactly), identical(margin$low, c(20, 55, 25, 35)))
two <- list("county=Beta,education=Low", list(county = "Alpha", education = "Low"))
one <- intervals(folder, difference = two, ratio = two, level = 0.95)
stopifnot(one$estimate[1] == 9, one$low < one$estimate, one$estimate < one$high)
sums <- intervals(folder, terms = list(list(1, "county=Alpha"), list(-0.5, list(county = "Beta"))))
stopifnot(sums$estimate == 20 - 55 / 2, sums$kept_exactly)
said <- tryCatch(intervals(folder, where = list(county = "Alpa")), holdfast_error = conditionMessage)
stopifnot(grepl("did you mean 'Alpha'?", said, fixed = TRUE))
cat("x\\n", file = file.path(folder, "table.csv"), append = TRUE)
stopifnot(!verify(folder))
con <- file("holdfast.toml", "a")
writeLines(c("[publication]", "status = true"), con)
close(con)
frame <- read(release("holdfast.toml", "told", seed = 7))
stopifnot(identical(names(frame), c("county", "education", "children", "status")), sum(frame$children) == 135)
stopifnot(all(frame$status == "noisy"))
places <- paste(R.home("lib"), "/usr/lib/x86_64-linux-gnu", "/opt/mine", sep = ":")
stopifnot(identical(holdfast:::libraries(places), "LD_LIBRARY_PATH='/opt/mine'"))
stopifnot(identical(holdfast:::libraries(""), character()))
cat("all is well\\n")
"""


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed: Debian has r-base-core")
def test_the_package_is_installed_from_source_and_calls_the_command(example: Path) -> None:
    folder = example.parent
    library = folder / "library"
    library.mkdir()
    source = shutil.copytree(ROOT / "r", folder / "source")
    given = {
        **os.environ,
        "R_LIBS_USER": str(library),
        "COMMAND": "|".join([sys.executable, "-m", "holdfast"]),
    }
    install = ["R", "CMD", "INSTALL", "--no-test-load", f"--library={library}", str(source)]
    installed = subprocess.run(install, check=False, capture_output=True, text=True, env=given)
    assert installed.returncode == 0, installed.stderr
    (folder / "script.R").write_text(SCRIPT)
    run = ["Rscript", "--vanilla", "script.R"]
    found = subprocess.run(run, check=False, capture_output=True, text=True, env=given, cwd=folder)
    assert found.stdout.endswith("all is well\n"), found.stdout + found.stderr
