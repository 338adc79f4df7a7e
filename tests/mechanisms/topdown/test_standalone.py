"""A Spark standalone cluster of a master and two workers, processes of their own on the loopback address.

A top-down release that is made there is byte for byte the one that this machine makes by itself.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import sleep

import pytest
from tests.mechanisms.topdown.small import TOML, rows

from holdfast.engines.spark_session import require_installed
from holdfast.system.errors import ReleaseError

WORKERS = 2
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
RELEASED = """\
import json, os, sys
import holdfast
from holdfast.engines.spark_session import spark_context
from holdfast.estimation.hierarchy import family
from holdfast.mechanisms.topdown import engine

def where(_):
    import os
    return os.getppid()

family.AT_ONCE = 16  # several tasks at every level
engine.SLICES, engine.ROUNDS = 2, 2
holdfast.release("s.toml", sys.argv[1], seed=1, engine=sys.argv[2])
if sys.argv[2] == "spark":
    context = spark_context()
    places = sorted(set(engine.on_spark(where, range(16))))
    print(json.dumps({"master": context.master, "places": places, "here": os.getpid()}))
    context.stop()
"""


class Process:
    """A process of Spark, which ends with the test; what it says goes to a file."""

    def __init__(self, log: Path, *words: str) -> None:
        import pyspark

        command = (str(Path(pyspark.__file__).parent / "bin" / "spark-class"), *words)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYSPARK_PYTHON": sys.executable,
        }
        environment.pop("PYSPARK_SUBMIT_ARGS", None)
        self._log = log
        with log.open("wb") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)

    def said(self, sign: str) -> str:
        """Wait until it says something, and return the first group of it."""
        while (found := re.search(sign, told := self._log.read_text())) is None:
            assert self._process.poll() is None, told
            sleep(0.1)
        return found[1]

    def end(self) -> None:
        """End it, and wait for its end."""
        self._process.terminate()
        self._process.wait()


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The address of a master with two workers."""
    try:
        require_installed()
    except ReleaseError as error:
        pytest.skip(str(error))
    if os.name != "posix":
        pytest.skip("Spark has no standalone cluster here")
    with ExitStack() as running:
        first = Process(
            tmp_path / "master.log", MASTER, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"
        )
        running.callback(first.end)
        address = first.said(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
        usual = ("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "600m")
        for number in range(WORKERS):
            own = tmp_path / f"worker-{number}"
            own.mkdir()
            worker = Process(
                tmp_path / f"worker-{number}.log", WORKER, *usual, "--work-dir", str(own), address
            )
            running.callback(worker.end)
            worker.said(r"Successfully registered with master (\S+)")
        yield address


def test_a_cluster_makes_the_same_bytes(master: str, tmp_path: Path) -> None:
    (tmp_path / "blocks.csv").write_text(rows())
    (tmp_path / "s.toml").write_text(TOML)
    # nothing is done before both workers are there: with one core each, both take a task then
    both = ("minRegisteredResourcesRatio=1.0", "maxRegisteredResourcesWaitingTime=600s")
    scheduler = [f"spark.scheduler.{each}" for each in both]
    settings = ("spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1", "spark.cores.max=2")
    memory = ("spark.executor.memory=512m", "spark.driver.memory=512m")
    asked = " ".join(f"--conf {each}" for each in (*settings, *scheduler, *memory))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"--master {master} {asked} pyspark-shell",
    }
    told = {}
    for engine in ("embedded", "spark"):
        done = subprocess.run(
            (sys.executable, "-c", RELEASED, engine, engine),
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told[engine] = done.stdout
    found = json.loads(told["spark"].splitlines()[-1])
    assert found["master"] == master
    assert len(found["places"]) == WORKERS
    assert found["here"] not in found["places"]
    for name in ("table.csv", "measurements.parquet"):
        here, there = ((tmp_path / engine / name).read_bytes() for engine in ("embedded", "spark"))
        assert here == there
