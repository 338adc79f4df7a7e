"""A Spark to run on: the one that is there, or a new one by the user's own settings.

Master, memory and all else come from spark-defaults.conf, the environment, or a context that runs already;
without settings the master is local[*]. What a new one adds is only what nobody set: no web page, and on this
machine no address that others reach. What it logs is kept from the screen.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from holdfast.system.errors import ReleaseError
from holdfast.system.progress import doing
from holdfast.system.ways import option

if TYPE_CHECKING:
    from pyspark import SparkContext

JAVA = 17
"""The oldest Java that Spark 4 runs on."""
QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
HERE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def require_installed() -> None:
    """Raise ReleaseError where PySpark or Java is missing, or Spark is out of this process's reach."""
    try:
        from pyspark import SparkContext  # noqa: PLC0415 - an extra
    except ImportError:
        raise ReleaseError(
            f"{option('engine', 'spark')} needs PySpark 4 or newer, which is not installed: install pyspark,"
            " or leave the engine out."
        ) from None
    if {"SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"} & os.environ.keys():
        raise ReleaseError(
            f"{option('engine', 'spark')} hands records out to workers itself, which Spark Connect does not"
            " allow: unset SPARK_REMOTE and name a master."
        )
    if SparkContext._active_spark_context is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        _require_java()


def spark_context() -> "SparkContext":
    """Return the Spark that runs in this process, or else a new one, which runs until the process ends."""
    require_installed()
    from pyspark import SparkContext  # noqa: PLC0415 - an extra

    if SparkContext._active_spark_context is not None:
        return SparkContext._active_spark_context
    with tempfile.TemporaryFile() as log, doing("starting Spark"):
        return _started(log)


def is_local(context: "SparkContext") -> bool:
    """Whether workers run on this machine, in this process's care."""
    return str(context.master).startswith("local")


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    place = f"in JAVA_HOME ({home})" if home else "on this machine"
    way = (
        f"install Java {JAVA} (Debian: apt-get install openjdk-{JAVA}-jre-headless), or leave the engine out."
    )
    try:
        told = subprocess.run([java or "java", "-version"], capture_output=True, text=True, check=True).stderr  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        raise ReleaseError(
            f"{option('engine', 'spark')} needs Java {JAVA} or newer, and there is none {place}: {way}"
        ) from None
    version = re.search(r'version "(?:1\.)?(\d+)', told)
    if version and int(version[1]) < JAVA:
        raise ReleaseError(
            f"{option('engine', 'spark')} needs Java {JAVA} or newer, and {place} is Java {version[1]}: {way}"
        )


def _started(log: IO[bytes]) -> "SparkContext":
    """Start Spark; what others set counts, and nothing else of this process is changed."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - an extra
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - an extra
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415 - an extra

    try:
        with warnings.catch_warnings(), _own_signals():
            warnings.simplefilter("ignore")  # of starting a process beside threads
            if SparkContext._gateway is None:
                gateway = launch_gateway(popen_kwargs={"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
                SparkContext._ensure_initialized(gateway=gateway)
            conf = SparkConf()  # now with the settings of spark-defaults.conf
            for name, value in QUIET.items():
                conf.setIfMissing(name, value)
            if conf.get("spark.app.name") == "pyspark-shell":  # what it is called if nobody says
                conf.setAppName("holdfast")
            local = (conf.get("spark.master") or "").startswith("local")
            if local:
                for name, value in {**HERE, "spark.local.dir": tempfile.gettempdir()}.items():
                    conf.setIfMissing(name, value)
            with _python(local and not conf.contains("spark.pyspark.python")):
                context = SparkContext.getOrCreate(conf)
            context.setLogLevel("ERROR")
            return context
    except (Py4JError, PySparkException, ValueError, OSError):
        raise ReleaseError(
            f"Spark does not start ({_reason(log)}): check its settings, or leave the engine out."
        ) from None


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep what an interrupt does, which Spark would change."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


@contextmanager
def _python(this: bool) -> Iterator[None]:
    """Let workers run this very Python, unless another is set."""
    if not this or "PYSPARK_PYTHON" in os.environ:
        yield
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        yield
    finally:
        del os.environ["PYSPARK_PYTHON"]


def _reason(log: IO[bytes]) -> str:
    """Return the first thing that Spark complained of; no data were read by then."""
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()
    said = [line.strip() for line in lines if re.search(r"Exception|Error|ERROR|refused|not found", line)]
    return re.sub(r"^.*?(Exception in thread \S+ |ERROR )", "", said[0])[:200] if said else "it says nothing"
