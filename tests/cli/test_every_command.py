"""One path of every command, in the order in which a curator might take them; `make quick` runs it."""

import shlex
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.test_options import EVERY

MODEL = """[model]
kind = "proportions"
areas = ["county"]

[prior]
weight = { median = 1, factor = 3 }

[sampler]
draws = 80
warmup = 20
"""
BLOCKS = """[data]
path = "blocks.csv"
cells = []
count = "people"
geography = { column = "block", prefixes = { all = 0, county = 1, block = 2 } }

[privacy]
standard = "zcdp"
rho = "1/2"
adjacency = "unit"

[mechanism]
name = "topdown"
"""
DEPENDENT = '[model]\nfamily = "dependent-counts"\nn = 50\nz0 = "1/10"\nz1 = "9/10"\n'
LINES = """
init
audit universe holdfast.toml
audit exposure holdfast.toml
plan holdfast.toml
compare holdfast.toml --draws 20
keygen agency.key
ledger open census.ledger --budget 2
release holdfast.toml --out release --ledger census.ledger --sign agency.key
verify release --public-key agency.key.pub
ledger show census.ledger
ledger verify census.ledger --release release
ledger export census.ledger --csv --out account.csv
intervals release
export release --to csv --out counts.csv
postprocess release --method integers-l1 --bias-draws 20 --out tidy
infer release --model model.toml --out posterior
audit guarantee --rho 2.56 --delta 1e-10 --semi-adjacency 2
audit compose --epsilon 1/2 --mu 1/2 --semi-adjacency 3 --delta 1e-6
audit swapping --stratum-size 264331 --rate 1/20
audit swapping --targeted --risk-rate 1/3
audit cell-key ptable.csv
compare holdfast.toml --mechanisms lattice-laplace --draws 20 --cell-key ptable.csv
audit census-2020
audit projection --people 20 --epsilon 1/5 --design total --null 0.3 --alternative 0.7
audit delta-z dependent.toml
audit publication children.csv --out facts.json
verify facts.json
coarsen children.toml --out coarser
verify coarser/rounding
test odds-ratio 10 2 3 15 --epsilon 1
certificate schema
completion bash
doctor
docs --out site-copy
demo --out demo
release blocks.toml --out measured
nmf write measured --as files
nmf open files --as opened
estimate opened
studio --no-browser
"""


@pytest.mark.quick
def test_one_path_of_every_command(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)  # it would run until it is stopped
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("a page")
    monkeypatch.setattr("holdfast.cli.docs.site", lambda: tmp_path / "site")
    (tmp_path / "model.toml").write_text(MODEL)
    (tmp_path / "blocks.csv").write_text("block,people\n11,4\n12,9\n21,6\n")
    (tmp_path / "blocks.toml").write_text(BLOCKS)
    (tmp_path / "dependent.toml").write_text(DEPENDENT)
    (tmp_path / "children.toml").write_text('[[published]]\npath = "children.csv"\n')
    (tmp_path / "ptable.csv").write_text("i,j,p,v\n0,0,1,0\n1,0,0.5,-1\n1,2,0.5,1\n")
    lines = list(map(shlex.split, LINES.strip().splitlines()))
    assert {path for path in EVERY if any(tuple(line[: len(path)]) == path for line in lines)} == set(EVERY)
    for line in lines:
        outcome = run(*line)
        assert outcome.code == 0, (line, outcome.err)
        assert outcome.out
